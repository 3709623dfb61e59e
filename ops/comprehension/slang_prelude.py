"""The fixed head of generated Slang: extrema, floor division, half precision, and every function on every target.

The CPU and CUDA have C's functions of floats and doubles, so the language's are those. Vulkan has some of them, of
floats; the rest is written out in `prelude.slang`, and a function of doubles is refused there.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from .functions import BUILTINS

_INLINE = frozenset({"rsqrt", "sigmoid", "fma", "fmax", "fmin"})
"""Written where they are used, or for every target below."""
_OWN = frozenset({"asin", "acos", "exp10", "expm1", "log1p", "erf", "erfc", "lgamma", "cbrt", "hypot", "round"})
_SLANG = {"fabs": "abs({0})", "fdim": "tp_max({0} - {1}, {0} - {0})", "rint": "rint({0})"}
OF_DOUBLES = frozenset("sqrt rsqrt floor ceil trunc rint round fabs fmax fmin fmod copysign fdim fma hypot".split())
"""What Vulkan computes of doubles."""


@lru_cache(maxsize=1)
def prelude() -> str:
    """The head with the functions."""
    lines = [files(__package__).joinpath("prelude.slang").read_text()]
    for kind in ("float", "double"):
        for name, sign in (("max", ">"), ("min", "<")):
            lines.append(f"{kind} tp_{name}({kind} a, {kind} b) {{ return tp_nan(a) || a {sign} b ? a : b; }}")
            lines.append(f"{kind} tp_f{name}({kind} a, {kind} b) {{ return tp_nan(b) || a {sign} b ? a : b; }}")
        lines += [_function(n, b.arity, b.c, kind) for n, b in BUILTINS.items() if n not in _INLINE]
        lines.append(_MODULO.replace("KIND", kind))
    return "\n".join(lines)


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
    other = slang.format(*args) if kind == "float" or name in OF_DOUBLES else "a"  # refused before it is reached
    head = f"{kind} tp_{name}({', '.join(f'{kind} {a}' for a in args)})"
    return (
        f'{head} {{ __target_switch {{ case cpp: __intrinsic_asm "{called}"; '
        f'case cuda: __intrinsic_asm "{called}"; default: return {other}; }} }}'
    )
