"""The fixed head of generated C++: vectors of any lane count, masks, floor division, and math by libmvec.

GCC's vector extensions carry the arithmetic, so the same text compiles for AVX-512, AVX2, SSE and NEON; only masked
loads and stores and the math library have fast paths of their own. A `max` or `min` gives NaN when either is NaN.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

_MATH = "exp log sin cos"
_MATH_235 = "tan asin acos atan sinh cosh tanh asinh acosh atanh exp2 exp10 expm1 log2 log10 log1p cbrt erf erfc"


@lru_cache(maxsize=1)
def prelude() -> str:
    """The head with the math functions declared."""
    old, new = _MATH.split(), _MATH_235.split()
    plain = ["floor", "ceil", "trunc", "round", "rint", "fabs", "sqrt", "lgamma"]
    folder = files(__package__).joinpath("headers")
    lines = ["#ifdef __clang__", folder.joinpath("clang.h").read_text(), "#endif"]
    lines += [folder.joinpath("prelude.h").read_text()]
    lines += [f"DECLARE({n})" for n in (*old, *new, *plain)]
    lines += ["#if defined(__x86_64__) && defined(__GLIBC__) && !defined(NO_MVEC)"]
    lines += [f"MVEC_ALL({n})" for n in old]
    lines += ["#if __GLIBC_PREREQ(2, 35)", *(f"MVEC_ALL({n})" for n in new), "#endif", "#endif"]
    lines += ["#ifndef __GLIBC__", "static inline float exp10f(float a) { return powf(10.0f, a); }"]
    lines += ["static inline double exp10(double a) { return pow(10.0, a); }", "#endif"]
    lines += [f"SCALAR1({n})" for n in (*old, *new, *plain)]
    exp16 = "template <> inline Vec<float, 16> v_exp<float, 16>(Vec<float, 16> a) { return exp16(a); }"
    lines += ["#ifdef EXP16", exp16, "#endif"]
    lines += [f"SCALAR2({n})" for n in ["pow", "atan2", "fmod", "hypot", "copysign", "fdim"]]
    return "\n".join(lines)


@lru_cache(maxsize=1)
def winograd_prelude() -> str:
    """The functions for convolutions by Winograd's method."""
    return (files(__package__) / "headers" / "winograd.h").read_text()
