"""Fractions in a block of plain Python: Python's own, whose parts stay within the bounds of other integers."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .. import bounded
from .one_run.block_refusals import refuse, within

_EXPONENT = re.compile(r"[eE]([-+]?[\d_]+)\s*\Z")


class BlockFraction(Fraction):
    """``Fraction(numerator, denominator)``."""

    __slots__ = ()

    def __new__(cls, numerator: Any = 0, denominator: Any = None) -> Any:
        """As for Fraction, of numbers and texts."""
        for each in (numerator, denominator):
            if not isinstance(each, str | int | float | Fraction | Decimal | None):
                raise TypeError("argument should be a string or a Rational instance")
        if isinstance(numerator, str):
            _require_short(numerator)
        return _kept(Fraction(numerator, denominator), cls)

    def limit_denominator(self, max_denominator: int = 1000000) -> Any:
        """As for Fraction."""
        return _kept(super().limit_denominator(max_denominator))

    def __round__(self, ndigits: Any = None) -> Any:
        if ndigits is not None and abs(ndigits) > bounded.MOST_PLACES:
            refuse("round has too many digits", got=ndigits, expected=f"at most {bounded.MOST_PLACES}")
        return _kept(super().__round__(ndigits))

    def __pow__(self, exponent: Any) -> Any:
        whole = exponent.numerator if isinstance(exponent, int | Fraction) and exponent.denominator == 1 else 0
        bits = max(self.numerator.bit_length(), self.denominator.bit_length())
        if abs(whole) * bits > bounded.MOST_BITS:
            refuse(
                "a fraction grows too large", got=f"{abs(whole) * bits} bits", expected=f"at most {bounded.MOST_BITS}"
            )
        return _kept(super().__pow__(exponent))

    def __rpow__(self, base: Any) -> Any:
        if self.denominator == 1:
            return within(bounded.power, base, self.numerator)
        return base ** Fraction(self.numerator, self.denominator)  # of the base class, which asks this one no more


BlockFraction.__name__ = BlockFraction.__qualname__ = "Fraction"  # which its texts and errors show


def _require_short(text: str) -> None:
    """Refuses a text that stands for a number with very many digits."""
    found = _EXPONENT.search(text)
    places = len(text) if found is None else len(text) + min(abs(int(found[1])), bounded.MOST_PLACES)
    if len(text) > bounded.MOST_DIGITS or places > bounded.MOST_PLACES:
        refuse("a text of a fraction stands for very many digits", got=text[:40])


def _kept(found: Any, kind: type = BlockFraction) -> Any:
    """What a function of fractions gave, as one of a block.

    Args:
        found: the fraction, or any other thing.
        kind: the class of the block's fractions.
    """
    if type(found) is not Fraction:
        return found
    bits = max(found.numerator.bit_length(), found.denominator.bit_length())
    if bits > bounded.MOST_BITS:
        refuse("a fraction grows too large", got=f"{bits} bits", expected=f"at most {bounded.MOST_BITS}")
    made: Any = object.__new__(kind)
    made._numerator, made._denominator = found.numerator, found.denominator
    return made


def _of_numbers(name: str) -> Callable[..., Any]:
    plain = getattr(Fraction, name)

    def call(self: Any, *others: Any) -> Any:
        found = plain(self, *others)
        return tuple(map(_kept, found)) if type(found) is tuple else _kept(found)

    return call


for _name in ("add", "sub", "mul", "truediv", "mod", "divmod", "floordiv"):
    for _form in (f"__{_name}__", f"__r{_name}__"):
        setattr(BlockFraction, _form, _of_numbers(_form))
for _name in ("neg", "pos", "abs"):
    setattr(BlockFraction, f"__{_name}__", _of_numbers(f"__{_name}__"))
