"""Expressions and programs as text, in the language's own notation: for tests, and for people."""

from __future__ import annotations

from .ir import Access, Const, Expr, Extent, Op, Program, Size, Var


def pretty(e: Expr) -> str:
    """The expression in the language's own notation.

    Example:
        >>> from tracepack.ops.comprehension.expr.ir import integer, op, var
        >>> pretty(op("+", var("i"), integer(1)))
        '(i + 1)'
    """
    match e:
        case Const(value=value):
            return str(value)
        case Var(name=name) | Size(name=name):
            return name
        case Extent(tensor=tensor, dim=dim):
            return f"{tensor}.{dim}"
        case Access(tensor=tensor, indices=indices):
            return f"{tensor}({', '.join(pretty(i) for i in indices)})" if indices else tensor
        case Op(name="cast", args=(a,)):
            return f"{e.dtype}({pretty(a)})"
        case Op(name="?:", args=(c, a, b)):
            return f"({pretty(c)} ? {pretty(a)} : {pretty(b)})"
        case Op(name="neg" | "!" as name, args=(a,)):
            return f"{'-' if name == 'neg' else '!'}{pretty(a)}"
        case Op(name=name, args=(a, b)) if not name[0].isalpha():
            return f"({pretty(a)} {name} {pretty(b)})"
        case Op(name=name, args=args):
            return f"{name}({', '.join(pretty(a) for a in args)})"
    return repr(e)


def pretty_program(program: Program) -> str:
    """One line for each nest, for tests and for people: `O(n, m) +=! (I(n, k) * W(k, m)) over n:4 m:8 k:16`."""
    lines = []
    for nest in program.nests:
        assign = ("" if nest.op == "=" else nest.op) + "=" + ("!" if nest.init and nest.op != "=" else "")
        left = f"{nest.target}({', '.join(pretty(i) for i in nest.index)})"
        base = f" from {nest.base}" if nest.base else ""
        loops = " ".join(f"{a}:{n}" for a, n in nest.axes)
        lines.append(f"{left} {assign} {pretty(nest.value)}{base} over {loops}")
    return "\n".join(lines)
