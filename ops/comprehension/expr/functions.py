"""The built-in functions, with the number of their arguments and their names in torch and in C++."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Builtin:
    """A function of float arguments with a float result.

    Args:
        arity: the number of arguments.
        torch: the name under `torch.`, or `""` where the torch emitter spells it out.
        c: C's name, without the `f` of float.
    """

    arity: int
    torch: str
    c: str


_SAME = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
]
BUILTINS: dict[str, Builtin] = {name: Builtin(1, name, name) for name in (*_SAME, "erf", "erfc", "floor", "ceil")}
BUILTINS |= {
    "trunc": Builtin(1, "trunc", "trunc"),
    "round": Builtin(1, "", "round"),
    "rint": Builtin(1, "round", "rint"),
    "fabs": Builtin(1, "abs", "fabs"),
    "rsqrt": Builtin(1, "rsqrt", "rsqrt"),
    "sigmoid": Builtin(1, "sigmoid", "sigmoid"),
    "cbrt": Builtin(1, "", "cbrt"),
    "lgamma": Builtin(1, "lgamma", "lgamma"),
    "exp10": Builtin(1, "", "exp10"),
    "fmax": Builtin(2, "fmax", "fmax"),
    "fmin": Builtin(2, "fmin", "fmin"),
    "pow": Builtin(2, "pow", "pow"),
    "atan2": Builtin(2, "atan2", "atan2"),
    "fmod": Builtin(2, "fmod", "fmod"),
    "hypot": Builtin(2, "hypot", "hypot"),
    "copysign": Builtin(2, "copysign", "copysign"),
    "fdim": Builtin(2, "", "fdim"),
    "fma": Builtin(3, "", "fma"),
}
# Not functions of floats only: min, max and abs also take integers and keep their type.
POLYMORPHIC = {"min": 2, "max": 2, "abs": 1}
