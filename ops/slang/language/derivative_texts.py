"""Derivatives of Slang's own functions that are wrong, written anew for the kernels of gradients.

Slang 2026.12 gives 0 for the slope of `pow` wherever its base is below 1e-6, so for `pow(-2, 2)` too, and for that of
`fmod` by its second argument; `sqrt` and `rcp` have the slope of 1e-7 wherever they are called below it, and so have
`length` and `distance`: the gradient of the length of a vector of 1e-6 is a hundredth of what it is. `copysign` has the
slope 0 where the sign is that of a zero, `clamp` that of its lower bound where this is above the upper one, which is
the value, and `atan2` NaN at the origin. Each call of such
a function becomes one of a function that is defined at the end of the text: its values are those of Slang's own, its
derivative is the right one. At exactly 0, `sqrt` keeps Slang's finite slope, and `length` the slope 0.

A name that the module declares itself stays. Whether a call of it means the module's function or Slang's depends on the
types: so a function with the parameters of Slang's is added that does not compile where it is called.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

_SKIPPED = r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\""
_NAMES = r"(?P<name>pow|fmod|atan2|copysign|clamp|sqrt|rcp|length|distance|normalize)"
_CALL = re.compile(rf"{_SKIPPED}|(?<![\w.:]){_NAMES}(?=\s*\()", re.DOTALL)
_NO_TYPES = "return|else|in|case|do|no_diff|expand|each|try|throw"
_TYPE = rf"\b(?!(?:{_NO_TYPES})\b)[A-Za-z_]\w*(?:\s*<[\w<>,.\s]*>)?(?:\s*\[\w*\])*"
_DECLARED = re.compile(rf"{_SKIPPED}|(?:#\s*define|{_TYPE})\s+{_NAMES}\s*[(<]", re.DOTALL)

_ONE = """
void @d{name}<T : __BuiltinFloatingPointType>(inout DifferentialPair<T> x, T.Differential d)
{{ x = diffPair(x.p, __mul_p_d({slope}, d)); }}
[BackwardDerivative(@d{name})] T @{name}<T : __BuiltinFloatingPointType>(T x) {{ return {name}(x); }}
[Differentiable] vector<T, N> @{name}<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> x)
{{ vector<T, N> r; [ForceUnroll] for (int i = 0; i < N; i++) r[i] = @{name}(x[i]); return r; }}
[Differentiable] matrix<T, R, C> @{name}<T : __BuiltinFloatingPointType, let R : int, let C : int>(matrix<T, R, C> x)
{{ matrix<T, R, C> r; [ForceUnroll] for (int i = 0; i < R; i++) r[i] = @{name}(x[i]); return r; }}
"""
_TWO = """
void @d{name}<T : __BuiltinFloatingPointType>(
    inout DifferentialPair<T> x, inout DifferentialPair<T> y, T.Differential d)
{{ T by_x = {by_x}; T by_y = {by_y}; x = diffPair(x.p, __mul_p_d(by_x, d)); y = diffPair(y.p, __mul_p_d(by_y, d)); }}
[BackwardDerivative(@d{name})] T @{name}<T : __BuiltinFloatingPointType>(T x, T y) {{ return {name}(x, y); }}
[Differentiable]
vector<T, N> @{name}<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> x, vector<T, N> y)
{{ vector<T, N> r; [ForceUnroll] for (int i = 0; i < N; i++) r[i] = @{name}(x[i], y[i]); return r; }}
[Differentiable] matrix<T, R, C> @{name}<T : __BuiltinFloatingPointType, let R : int, let C : int>(
    matrix<T, R, C> x, matrix<T, R, C> y)
{{ matrix<T, R, C> r; [ForceUnroll] for (int i = 0; i < R; i++) r[i] = @{name}(x[i], y[i]); return r; }}
"""
_CLAMP = """
void @dclamp<T : __BuiltinFloatingPointType>(
    inout DifferentialPair<T> x, inout DifferentialPair<T> low, inout DifferentialPair<T> high, T.Differential d)
{
    bool above = x.p > high.p || low.p > high.p, below = !above && x.p < low.p;
    x = diffPair(x.p, __mul_p_d(above || below ? T(0) : T(1), d));
    low = diffPair(low.p, __mul_p_d(below ? T(1) : T(0), d));
    high = diffPair(high.p, __mul_p_d(above ? T(1) : T(0), d));
}
[BackwardDerivative(@dclamp)] T @clamp<T : __BuiltinFloatingPointType>(T x, T low, T high)
{ return clamp(x, low, high); }
[Differentiable] vector<T, N> @clamp<T : __BuiltinFloatingPointType, let N : int>(
    vector<T, N> x, vector<T, N> low, vector<T, N> high)
{ vector<T, N> r; [ForceUnroll] for (int i = 0; i < N; i++) r[i] = @clamp(x[i], low[i], high[i]); return r; }
[Differentiable] matrix<T, R, C> @clamp<T : __BuiltinFloatingPointType, let R : int, let C : int>(
    matrix<T, R, C> x, matrix<T, R, C> low, matrix<T, R, C> high)
{ matrix<T, R, C> r; [ForceUnroll] for (int i = 0; i < R; i++) r[i] = @clamp(x[i], low[i], high[i]); return r; }
T @clamp<T : __BuiltinIntegerType>(T x, T low, T high) { return clamp(x, low, high); }
vector<T, N> @clamp<T : __BuiltinIntegerType, let N : int>(vector<T, N> x, vector<T, N> low, vector<T, N> high)
{ return clamp(x, low, high); }
"""
_LENGTH = """
[Differentiable] T @length<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> x) { return @sqrt(dot(x, x)); }
T @length<T : __BuiltinFloatingPointType>(T x) { return length(x); }
"""
_DISTANCE = """
[Differentiable] T @distance<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> x, vector<T, N> y)
{ vector<T, N> r; [ForceUnroll] for (int i = 0; i < N; i++) r[i] = x[i] - y[i]; return @length(r); }
T @distance<T : __BuiltinFloatingPointType>(T x, T y) { return distance(x, y); }
"""
_NORMALIZE = """
[Differentiable] vector<T, N> @normalize<T : __BuiltinFloatingPointType, let N : int>(vector<T, N> x)
{ T size = @length(x); vector<T, N> r; [ForceUnroll] for (int i = 0; i < N; i++) r[i] = x[i] / size; return r; }
T @normalize<T : __BuiltinFloatingPointType>(T x) { return normalize(x); }
"""
_SQRT = _ONE.format(name="sqrt", slope="T(0.5) / sqrt(x.p == T(0) ? T(1e-7) : x.p)")
_TEXTS: dict[str, tuple[str, ...]] = {
    "pow": (
        _TWO.format(
            name="pow",
            by_x="y.p == T(0) ? T(0) : y.p * pow(x.p, y.p - T(1))",
            by_y="x.p == T(0) && y.p >= T(0) ? T(0) : pow(x.p, y.p) * log(x.p)",
        ),
    ),
    "fmod": (_TWO.format(name="fmod", by_x="T(1)", by_y="-round((x.p - fmod(x.p, y.p)) / y.p)"),),
    "atan2": (
        _TWO.format(
            name="atan2",
            by_x="x.p == T(0) && y.p == T(0) ? T(0) : y.p / (x.p * x.p + y.p * y.p)",
            by_y="x.p == T(0) && y.p == T(0) ? T(0) : -x.p / (x.p * x.p + y.p * y.p)",
        ),
    ),
    "copysign": (
        _TWO.format(
            name="copysign",
            by_x="x.p == T(0) ? T(0) : copysign(T(1), x.p) * copysign(T(1), y.p)",
            by_y="T(0)",
        ),
    ),
    "clamp": (_CLAMP,),
    "sqrt": (_SQRT,),
    "rcp": (_ONE.format(name="rcp", slope="T(-1) / (x.p * x.p)"),),
    "length": (_SQRT, _LENGTH),
    "distance": (_SQRT, _LENGTH, _DISTANCE),
    "normalize": (_SQRT, _LENGTH, _NORMALIZE),
}


_REFUSED = "the slope of Slang's own"
_NAMED_ANEW = re.compile(
    rf"{_REFUSED} (?P<refused>\w+)|ambiguous call to '(?P<ambiguous>\w+)'|function '(?P<again>\w+)' already has a body"
)

_ARITY = {"pow": 2, "fmod": 2, "atan2": 2, "copysign": 2, "distance": 2, "clamp": 3}
_HEADS = (
    ("<T : __BuiltinFloatingPointType>", "T"),
    ("<T : __BuiltinFloatingPointType, let N : int>", "vector<T, N>"),
    ("<T : __BuiltinFloatingPointType, let R : int, let C : int>", "matrix<T, R, C>"),
)


def declared_names(text: str) -> frozenset[str]:
    """Those of these functions whose names a text declares itself, as a function, a method or a macro."""
    return frozenset(match["name"] for match in _DECLARED.finditer(text) if match["name"])


def with_derivatives(text: str, own: frozenset[str]) -> str:
    """The text with functions of the right derivative in the place of Slang's; lines stay where they are.

    Args:
        text: of one file.
        own: the names that some file of the module declares itself.
    """
    called = {match["name"] for match in _CALL.finditer(text)} - {None}
    used, kept = called - own, sorted(called & own)
    prefix = f"tracepack_{hashlib.sha256(text.encode()).hexdigest()[:8]}_"  # files of one module see each other's names

    def renamed(match: re.Match[str]) -> str:
        return prefix + match[0] if match["name"] in used else match[0]

    definitions = dict.fromkeys(part for name in sorted(used) for part in _TEXTS[name])
    added = [part.replace("@", prefix) for part in definitions] + [each for name in kept for each in _refusing(name)]
    return "\n".join((_CALL.sub(renamed, text), *added)) if added else text


def _refusing(name: str) -> Iterator[str]:
    """Functions with the parameters of Slang's own, whose calls do not compile."""
    for generic, kind in _HEADS:
        parameters = ", ".join(f"{kind} {each}" for each in "xyz"[: _ARITY.get(name, 1)])
        result = "T" if name in ("length", "distance") else kind
        if kind.startswith("matrix") and name in ("length", "distance", "normalize"):
            continue
        body = f'static_assert(false, "{_REFUSED} {name}"); return {"T(0)" if result == "T" else "x"};'
        yield f"[Differentiable] {result} {name}{generic}({parameters}) {{ {body} }}"


def slope_of(message: str) -> str:
    """The function whose slope would be Slang's own, where an error of the compiler says so; else nothing."""
    found = _NAMED_ANEW.search(message)
    name = found[found.lastgroup or 0] if found else ""
    return name if name in _TEXTS else ""
