"""Reverse mode through one expression: from the gradient of its value to the gradients of its tensor accesses.

Seeds stay products as long as they can, because products contract without materialising anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod

from ..expr.dtypes import INT32, INT64
from ..expr.errors import DerivativeError
from ..expr.ir import Access, Const, Expr, Op, children, op, var

MOST_PARTS, DEEPEST = 32_768, 208
"""The most parts of all gradients of a definition, and the most levels of one: passes over it are recursive."""


def pullback(value: Expr, seed: Expr, known: dict[Expr, Expr]) -> list[tuple[Access, Expr]]:
    """The gradient of every access to a float tensor, in order; equal accesses are added up.

    Args:
        value: the expression.
        seed: the gradient of its value.
        known: expressions whose value a tensor already holds, with the access that reads it.

    Example:
        >>> pullback(a * b, g, {})  # doctest: +SKIP
        [(a, g * b), (b, g * a)]
    """
    found: dict[Access, Expr] = {}
    _pull(value, seed, known, found)
    return list(found.items())


def parts_of(gradient: Expr, access: Access, most: int) -> int:
    """How many parts the gradient of an access has: it is a sum of products, one for each way to the access.

    Raises:
        DerivativeError: more than so many, or too many levels.
    """
    waiting, count = [(gradient, 1)], 0
    while waiting:
        e, level = waiting.pop()
        count += 1
        if count > most or level > DEEPEST:
            raise DerivativeError(
                f"the gradient by '{access.tensor}' is too large",
                at=access.place,
                expected=f"{MOST_PARTS} parts in all and {DEEPEST} levels at most",
                fix="Write parts of the statements to tensors of their own, or name a backward definition.",
            )
        waiting += [(child, level + 1) for child in children(e)]
    return count


def number(value: float, like: Expr) -> Const:
    """A literal of an expression's type."""
    return Const(like.dtype, value if like.dtype.is_float else int(value))


def _pull(e: Expr, seed: Expr, known: dict[Expr, Expr], found: dict[Access, Expr]) -> None:
    if isinstance(e, Access):
        if e.dtype.is_float:
            seed = seed if seed.dtype == e.dtype else op("cast", seed, dtype=e.dtype)
            found[e] = op("+", found[e], seed) if e in found else seed
        return
    if isinstance(e, Op) and e.name == "?:" and e.dtype.is_float:
        _pull_branches(e, seed, known, found)
        return
    if not isinstance(e, Op) or not e.dtype.is_float:
        return
    for arg, grad in zip(e.args, _arguments(e, seed, known.get(e, e)), strict=True):
        if grad is not None:
            _pull(arg, grad, known, found)


def _pull_branches(e: Op, seed: Expr, known: dict[Expr, Expr], found: dict[Access, Expr]) -> None:
    """Each branch's gradients stay under its condition, as what they read may only be read there."""
    condition, then, other = e.args
    for branch, holds in ((then, condition), (other, op("!", condition))):
        inner: dict[Access, Expr] = {}
        _pull(branch, seed, known, inner)
        for access, grad in inner.items():
            kept = _where(holds, grad)
            found[access] = op("+", found[access], kept) if access in found else kept


def _arguments(e: Op, seed: Expr, own: Expr) -> list[Expr | None]:
    """The gradient of each argument of an operator."""
    if e.name in _RULES:
        return _RULES[e.name](e, seed, own)
    if e.name in _FLAT:
        return [None] * len(e.args)
    raise DerivativeError(f"'{e.name}' has no derivative", at=e.place, fix="Name a backward definition.")


def mul(a: Expr, b: Expr) -> Expr:
    """A product."""
    return op("*", a, b)


def _where(condition: Expr, seed: Expr) -> Expr:
    return op("?:", condition, seed, number(0.0, seed))


def _quotient(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    a, b = e.args
    return [op("/", s, b), op("neg", op("/", mul(s, own if own is not e else op("/", a, b)), b))]


def _extreme(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    """The gradients of `max` or `min`, as torch's: each of two equal arguments gets half, and with a NaN all."""
    a, b = e.args
    loses = "<" if e.name == "max" else ">"
    one, half, zero = (number(v, e) for v in (1.0, 0.5, 0.0))

    def share(x: Expr, y: Expr) -> Expr:
        return op("?:", op(loses, x, y), zero, op("?:", op("==", x, y), half, one))

    return [mul(s, share(a, b)), mul(s, share(b, a))]


def _extreme_of_numbers(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    """The gradients of `fmax` or `fmin`, as torch's: the first of two equal arguments gets all, and so beside a NaN."""
    a, b = e.args
    first = op("||", op(">=" if e.name == "fmax" else "<=", a, b), op("!=", b, b))
    return [_where(first, s), _where(op("!", first), s)]


def _power(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    """The gradients of `pow`, as torch's: none for a base to the power of 0, nor for the exponent of 0 from 0 on."""
    a, b = e.args
    zero = number(0.0, e)
    base = mul(s, mul(b, op("pow", a, op("-", b, number(1.0, e)), dtype=e.dtype)))
    if isinstance(b, Const):
        return [base if b.value else None, None]
    flat = op("&&", op("==", a, number(0.0, a)), op(">=", b, number(0.0, b)))
    exponent = op("?:", flat, zero, mul(s, mul(own, _f("log", a, e))))
    return [op("?:", op("==", b, number(0.0, b)), zero, base), exponent]


def _modulo(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    return [s, op("neg", mul(s, _floored_quotient(e)))]


def _floored_quotient(e: Op) -> Expr:
    """`floor(a / b)` of the exact quotient, as torch computes it: in floating point, 1 / 0.1 is 10, and 9 fit in 1."""
    a, b = e.args
    zero = number(0.0, e)
    rest = op("fmod", a, b, dtype=e.dtype)
    towards_zero = _f("rint", op("/", op("-", a, rest), b), e)
    other_sign = op("&&", op("!=", rest, zero), op("!=", op("<", rest, zero), op("<", b, zero)))
    floored = op("?:", other_sign, op("-", towards_zero, number(1.0, e)), towards_zero)
    return op("?:", op("==", b, zero), op("/", a, b), floored)


def _atan2(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    """The gradients of `atan2`; none at the origin, as torch's."""
    y, x = e.args
    square = op("+", mul(y, y), mul(x, x))
    square = op("?:", op("==", square, number(0.0, e)), number(1.0, e), square)
    return [op("/", mul(s, x), square), op("neg", op("/", mul(s, y), square))]


def _hypot(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    return [op("/", mul(s, x), own) for x in e.args]


def _fma(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    a, b, _ = e.args
    return [mul(s, b), mul(s, a), s]


def _abs(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    (a,) = e.args
    zero, one = number(0.0, e), number(1.0, e)
    sign = op("?:", op(">", a, zero), one, op("?:", op("<", a, zero), op("neg", one), zero))
    return [mul(s, sign)]


def _copysign(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    a, _ = e.args
    return [op("?:", op("==", a, number(0.0, e)), number(0.0, e), mul(s, op("/", own, a))), None]


def _fdim(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    inside = op(">", e.args[0], e.args[1])
    return [_where(inside, s), op("neg", _where(inside, s))]


def _fmod(e: Op, s: Expr, own: Expr) -> list[Expr | None]:
    a, b = e.args
    return [s, op("neg", mul(s, _f("trunc", op("/", a, b), e)))]


def _f(name: str, a: Expr, like: Expr) -> Expr:
    return op(name, a, dtype=like.dtype)


_Rule = Callable[[Op, Expr, Expr], "list[Expr | None]"]


def _unary(derivative: Callable[[Expr, Expr], Expr]) -> _Rule:
    """Makes a rule from `f'(x)`, which is given x and f(x)."""
    return lambda e, s, own: [mul(s, derivative(e.args[0], own))]


def _over(derivative: Callable[[Expr, Expr], Expr]) -> _Rule:
    """Makes a rule from `1 / f'(x)`."""
    return lambda e, s, own: [op("/", s, derivative(e.args[0], own))]


def _one_minus_square(x: Expr) -> Expr:
    return op("-", number(1.0, x), mul(x, x))


def _one_plus_square(x: Expr) -> Expr:
    return op("+", number(1.0, x), mul(x, x))


def _square_minus_one(x: Expr) -> Expr:
    return op("-", mul(x, x), number(1.0, x))


def _scaled(factor: float) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: mul(y, number(factor, y))


def _gauss(factor: float) -> Callable[[Expr, Expr], Expr]:
    return lambda x, y: mul(number(factor, x), _f("exp", op("neg", mul(x, x)), x))


_RULES: dict[str, _Rule] = {
    "+": lambda e, s, own: [s, s],
    "-": lambda e, s, own: [s, op("neg", s)],
    "neg": lambda e, s, own: [op("neg", s)],
    "*": lambda e, s, own: [mul(s, e.args[1]), mul(s, e.args[0])],
    "/": _quotient,
    "%": _modulo,
    "cast": lambda e, s, own: [s],
    "min": _extreme,
    "max": _extreme,
    "fmin": _extreme_of_numbers,
    "fmax": _extreme_of_numbers,
    "abs": _abs,
    "fabs": _abs,
    "pow": _power,
    "atan2": _atan2,
    "hypot": _hypot,
    "fma": _fma,
    "copysign": _copysign,
    "fdim": _fdim,
    "fmod": _fmod,
    "exp": _unary(lambda x, y: y),
    "exp2": _unary(_scaled(math.log(2.0))),
    "exp10": _unary(_scaled(math.log(10.0))),
    "expm1": _unary(lambda x, y: op("+", y, number(1.0, y))),
    "log": _over(lambda x, y: x),
    "log2": _over(lambda x, y: mul(x, number(math.log(2.0), x))),
    "log10": _over(lambda x, y: mul(x, number(math.log(10.0), x))),
    "log1p": _over(lambda x, y: op("+", x, number(1.0, x))),
    "sqrt": _over(_scaled(2.0)),
    "rsqrt": _unary(lambda x, y: mul(number(-0.5, y), mul(y, mul(y, y)))),
    "cbrt": _over(lambda x, y: mul(number(3.0, y), mul(y, y))),
    "sin": _unary(lambda x, y: _f("cos", x, x)),
    "cos": _unary(lambda x, y: op("neg", _f("sin", x, x))),
    "tan": _unary(lambda x, y: _one_plus_square(y)),
    "asin": _over(lambda x, y: _f("sqrt", _one_minus_square(x), x)),
    "acos": _over(lambda x, y: op("neg", _f("sqrt", _one_minus_square(x), x))),
    "atan": _over(lambda x, y: _one_plus_square(x)),
    "sinh": _unary(lambda x, y: _f("cosh", x, x)),
    "cosh": _unary(lambda x, y: _f("sinh", x, x)),
    "tanh": _unary(lambda x, y: _one_minus_square(y)),
    "asinh": _over(lambda x, y: _f("sqrt", _one_plus_square(x), x)),
    "acosh": _over(lambda x, y: _f("sqrt", _square_minus_one(x), x)),
    "atanh": _over(lambda x, y: _one_minus_square(x)),
    "sigmoid": _unary(lambda x, y: mul(y, op("-", number(1.0, y), y))),
    "erf": _unary(_gauss(2.0 / math.sqrt(math.pi))),
    "erfc": _unary(_gauss(-2.0 / math.sqrt(math.pi))),
}
_FLAT = frozenset({"floor", "ceil", "trunc", "round", "rint"})


def position(axes: list[tuple[str, int]]) -> Expr:
    """The place of an iteration in the order of the reduced axes, an integer that also holds their number."""
    kind = INT32 if prod(n for _, n in axes) <= INT32.span[1] else INT64
    total: Expr = Const(kind, 0)
    for name, extent in axes:
        total = op("+", op("*", total, Const(kind, extent)), var(name))
    return total
