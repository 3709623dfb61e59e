"""The fixed head of generated Slang: extrema, floor division, half precision, and every function on every target.

The CPU and CUDA have C's functions of floats and doubles, so the language's are those. Vulkan has some of them, of
floats; the rest is written out in `prelude.slang`, and a function of doubles is refused there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

from ..expr.functions import BUILTINS

_INLINE = frozenset({"rsqrt", "sigmoid", "fma", "fmax", "fmin"})
"""Written where they are used, or for every target below."""
_OWN = frozenset(
    "sqrt log log2 log10 pow fmod sin cos tan atan2 asin acos acosh atanh exp10 expm1 log1p erf erfc lgamma cbrt hypot"
    " round rint".split()
)
_SLANG = {"fabs": "abs({0})", "fdim": "{0} <= {1} ? {kind}(0) : {0} - {1}"}
OF_DOUBLES = frozenset("sqrt rsqrt floor ceil trunc rint round fabs fmax fmin fmod copysign fdim fma hypot".split())
"""The functions of doubles that Vulkan has."""


def prelude(body: str) -> str:
    """The parts of the head that a text needs: parsing all of it would take longer than the text."""
    found: dict[str, str] = {}
    wanted = _named(body)
    while wanted:
        found.update((name, _functions()[name]) for name in wanted)
        wanted = {n for name in wanted for n in _named(_functions()[name])} - found.keys()
    return "".join(text for name, text in _functions().items() if name in found)


def _named(text: str) -> set[str]:
    return set(re.findall(r"\btp_\w+", text)) & _functions().keys()


@lru_cache(maxsize=1)
def _functions() -> dict[str, str]:
    """Every function of the head by its name, overloads together, those that others call first."""
    found: dict[str, str] = {}
    texts = re.split(r"(?m)^(?=\w+ tp_\w+\()", files(__package__).joinpath("prelude.slang").read_text())[1:]
    for text in [*texts, *(t for kind in ("float", "double") for t in _of_every_target(kind))]:
        code = re.sub(r"//.*", "", text).strip() + "\n"
        name = re.findall(r"tp_\w+", code)[0]
        found[name] = found.get(name, "") + code
    return found


def _of_every_target(kind: str) -> Iterator[str]:
    for name, sign in (("max", ">"), ("min", "<")):
        yield f"{kind} tp_{name}({kind} a, {kind} b) {{ return tp_nan(a) || a {sign} b ? a : b; }}"
        yield f"{kind} tp_f{name}({kind} a, {kind} b) {{ return tp_nan(b) || a {sign} b ? a : b; }}"
    yield from (_function(n, b.arity, b.c, kind) for n, b in BUILTINS.items() if n not in _INLINE)
    yield _DIVIDE.replace("KIND", kind)
    yield _MODULO.replace("KIND", kind)


_DIVIDE = """KIND tp_divide(KIND a, KIND b)
{
    __target_switch { case cpp: return a / b; case cuda: return a / b; default: return tp_own_divide(a, b); }
}"""
_MODULO = """KIND tp_modulo(KIND a, KIND b)
{
    KIND rest = tp_fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}"""


def _function(name: str, arity: int, c: str, kind: str) -> str:
    """One function: C's on the CPU and on CUDA, else Slang's or our own."""
    args = ["a", "b"][:arity]
    called = f"{c}{'f' if kind == 'float' else ''}"
    slang = _SLANG.get(name, f"{'tp_own_' if name in _OWN else ''}{name}({', '.join(['{0}', '{1}'][:arity])})")
    other = (
        slang.format(*args, kind=kind) if kind == "float" or name in OF_DOUBLES else "a"
    )  # the emitter refuses such a program before
    head = f"{kind} tp_{name}({', '.join(f'{kind} {a}' for a in args)})"
    return (
        f'{head} {{ __target_switch {{ case cpp: __intrinsic_asm "{called}"; '
        f'case cuda: __intrinsic_asm "{called}"; default: return {other}; }} }}'
    )
