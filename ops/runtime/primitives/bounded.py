"""Python's operators with a bound on their results: integers, lists and texts of a file must not grow without end.

Sizes and counts stay far below the bounds. Generated code calls these only for operands without a known bound (see
`growth`), and writes the operator itself for all others.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

from ...graph.errors import GuardError

MOST_BITS = 1 << 16
"""Bits of the largest integer."""
MOST_DIGITS = 4300
"""Digits of the longest text that is read as an integer."""
MOST_ITEMS = 1 << 24
"""Items of the longest list, and characters of the longest text."""
MOST_PLACES = 10_000
"""Digits before or after the point of the largest decimal number."""
_MOST_ROUNDED = 400  # digits before or after the point, to which a number is rounded

_JOINED = (str, bytes, list, tuple)
_WIDTH = r"%(?:\([^)]*\))?[^%a-zA-Z]*?(\*|\d{5,})"


def _grown(what: str, got: Any, most: int) -> GuardError:
    return GuardError(f"{what} grows too large", got=got, expected=f"at most {most}")


def require_few(count: int) -> None:
    """Checks how many items a list gets."""
    if count > MOST_ITEMS:
        raise GuardError("a list grows too large", got=count, expected=f"at most {MOST_ITEMS}")


def as_int(value: Any) -> int | None:
    """A whole number as Python has it: also one of numpy, and that of a tensor or array of one; None for others."""
    if isinstance(value, int):
        return value
    if isinstance(value, _NO_INTS) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except Exception:  # a tensor or an array of more than one number, or of none that is known
        return None


_NO_INTS = (float, complex, str, bytes, list, tuple, dict)


def add(a: Any, b: Any) -> Any:
    """``a + b``."""
    _join(a, b)
    return a + b


def add_numbers(a: Any, b: Any) -> Any:
    """``a + b`` of what is no list."""
    _require_no_list("add", a, b)
    return add(a, b)


def mul_numbers(a: Any, b: Any) -> Any:
    """``a * b`` of what is no list."""
    _require_no_list("mul", a, b)
    return mul(a, b)


def _require_no_list(name: str, *given: Any) -> None:
    for value in given:
        if isinstance(value, list | tuple | dict):
            raise GuardError(f"py.{name} was given a {type(value).__name__}", expected="what the graph says it takes")


def in_place(name: str) -> Callable[..., Any]:
    """An operator that writes its first argument, which is no list: one could come to hold itself."""
    plain = getattr(operator, name)

    def call(a: Any, *rest: Any) -> Any:
        _require_no_list(name, a)
        return plain(a, *rest)

    return call


def short(number: Any) -> Any:
    """A number; a decimal one has no large exponent, of which Python would write out each digit."""
    adjusted = getattr(number, "adjusted", None)  # decimal is not imported for it
    if adjusted is not None and number.is_finite() and abs(adjusted()) > MOST_PLACES:
        raise GuardError("a decimal number has too large an exponent", expected=f"at most {MOST_PLACES}")
    return number


def of_short(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that makes whole numbers, of numbers without a large exponent."""
    return lambda number: function(short(number))


def whole(value: Any, *base: Any) -> int:
    """``int(value, base)``; a text in any base is as short as Python itself demands of decimal digits."""
    if base and isinstance(value, str | bytes) and len(value) > MOST_DIGITS:
        raise _grown("an integer", f"{len(value)} digits", MOST_DIGITS)
    return int(short(value), *base)


def iadd(a: Any, b: Any) -> Any:
    """``a += b``."""
    _require_no_list("iadd", a)
    _join(a, b)
    return operator.iadd(a, b)  # type: ignore[no-untyped-call]  # typeshed leaves it untyped


def _join(a: Any, b: Any) -> None:
    joined = isinstance(a, _JOINED) and isinstance(b, _JOINED)  # else Python's own error
    if joined and len(a) + len(b) > MOST_ITEMS:
        raise _grown("a text or a list", len(a) + len(b), MOST_ITEMS)


def mul(a: Any, b: Any) -> Any:
    """``a * b``."""
    _repeat(a, b)
    return a * b


def imul(a: Any, b: Any) -> Any:
    """``a *= b``."""
    _require_no_list("imul", a)
    _repeat(a, b)
    return operator.imul(a, b)  # type: ignore[no-untyped-call]  # typeshed leaves it untyped


def _repeat(a: Any, b: Any) -> None:
    if isinstance(a, int) and isinstance(b, int):
        _within(a.bit_length() + b.bit_length())
    for items, given in ((a, b), (b, a)):
        if isinstance(items, str | bytes | list | tuple):
            times = as_int(given)
            if times is not None and len(items) * times > MOST_ITEMS:
                raise _grown("a text or a list", len(items) * times, MOST_ITEMS)


def power(a: Any, b: Any) -> Any:
    """``a ** b``."""
    _raise_to(a, b)
    return a**b


def ipow(a: Any, b: Any) -> Any:
    """``a **= b``."""
    _raise_to(a, b)
    return operator.ipow(a, b)  # type: ignore[no-untyped-call]  # typeshed leaves it untyped


def _raise_to(a: Any, b: Any) -> None:
    if isinstance(a, int) and isinstance(b, int) and b > 0:
        _within(a.bit_length() * b)


def lshift(a: Any, b: Any) -> Any:
    """``a << b``."""
    _shift(a, b)
    return a << b


def ilshift(a: Any, b: Any) -> Any:
    """``a <<= b``."""
    _shift(a, b)
    return operator.ilshift(a, b)  # type: ignore[no-untyped-call]  # typeshed leaves it untyped


def _shift(a: Any, b: Any) -> None:
    if isinstance(a, int) and isinstance(b, int):
        _within(a.bit_length() + b)


def mod(a: Any, b: Any) -> Any:
    """``a % b``, which also formats a text."""
    _fill_in(a, b)
    return a % b


def imod(a: Any, b: Any) -> Any:
    """``a %= b``."""
    _fill_in(a, b)
    return operator.imod(a, b)  # type: ignore[no-untyped-call]  # typeshed leaves it untyped


def _fill_in(a: Any, b: Any) -> None:
    """Checks the length of a text that is filled in: each place may be as wide as it says, and as the longest text."""
    if isinstance(a, str | bytes):
        text = a if isinstance(a, str) else a.decode("latin-1")
        if re.search(_WIDTH, text):
            raise _grown("a text", repr(a)[:80], MOST_ITEMS)
        widest = max(map(int, re.findall(r"\d{1,4}", text)), default=0) + text_length(b)
        if len(text) + text.count("%") * widest > MOST_ITEMS:
            raise _grown("a text", f"{text.count('%')} places of up to {widest} characters", MOST_ITEMS)


def text_length(value: Any) -> int:
    """The characters that a value has at most as a text, where it is a number, a text, or containers of them."""
    waiting, found = [value], 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, str | bytes):
            found += len(item) + 2
        elif isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        else:
            found += item.bit_length() // 3 + 3 if isinstance(item, int) else 32
        found += 2
    return found


def rounded(a: Any, digits: Any = None) -> Any:
    """``round(a, digits)``."""
    whole_digits = as_int(digits)
    if whole_digits is not None and abs(whole_digits) > _MOST_ROUNDED:
        raise GuardError("round has too many digits", got=digits, expected=f"{-_MOST_ROUNDED} to {_MOST_ROUNDED}")
    a = short(a)
    return round(a) if digits is None else round(a, digits)


def factorial(n: Any, /) -> int:
    """``math.factorial(n)``."""
    whole_n = as_int(n)
    if whole_n is not None and whole_n > 1:
        _within(whole_n if whole_n > MOST_BITS else int(math.lgamma(whole_n + 1) / math.log(2)))
    return math.factorial(n)


def comb(n: Any, k: Any, /) -> int:
    """``math.comb(n, k)``."""
    whole_n, whole_k = as_int(n), as_int(k)
    if whole_n is not None and whole_k is not None and 0 < whole_k < whole_n:
        least = min(whole_k, whole_n - whole_k)  # the result has this many bits at least
        most = math.log2(math.e) + math.log2(whole_n) - math.log2(least)  # for each of those
        _within(least if least > MOST_BITS else int(least * most))
    return math.comb(n, k)


def perm(n: Any, k: Any = None, /) -> int:
    """``math.perm(n, k)``."""
    if k is None:
        return factorial(n)
    whole_n, whole_k = as_int(n), as_int(k)
    if whole_n is not None and whole_k is not None and 0 < whole_k <= whole_n:
        _within(whole_k if whole_k > MOST_BITS else int(whole_k * math.log2(whole_n)))
    return math.perm(n, k)


def cat_strings(*lists: Any) -> list[Any]:
    """The items of all lists."""
    if sum(map(len, lists)) > MOST_ITEMS:
        raise _grown("a list", sum(map(len, lists)), MOST_ITEMS)
    return [item for items in lists for item in items]


def _within(bits: int) -> None:
    if bits > MOST_BITS:
        raise _grown("an integer", f"{bits} bits", MOST_BITS)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": add, "iadd": iadd, "mul": mul, "imul": imul, "pow": power, "ipow": ipow, "lshift": lshift,
    "ilshift": ilshift, "mod": mod, "imod": imod, "round": rounded, "cat_strings": cat_strings, "int": whole,
    "factorial": factorial, "comb": comb, "perm": perm,
    **{name: of_short(getattr(math, name)) for name in ("floor", "ceil", "trunc")},
    **{
        name: in_place(name)
        for name in ("setitem", "isub", "imatmul", "itruediv", "ifloordiv", "iand", "ior", "ixor", "irshift")
    },
}  # fmt: skip
"""The bounded operators by their names in the family ``py.…``."""

NUMBERS_ONLY = {"py.add": add_numbers, "py.mul": mul_numbers}
"""The operators for nodes whose arguments are no lists, by what the graph says of them (see `memory.may_join`)."""
