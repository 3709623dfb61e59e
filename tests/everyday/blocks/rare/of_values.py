"""Decimals, members, errors and formats in blocks, on ways that no example took."""

from __future__ import annotations

import datetime
import enum
from decimal import Decimal


class Level(enum.Enum):
    """Has a property of its own."""

    LOW = "low"
    HIGH = "high"

    @property
    def nice(self):
        return self.value.title()


class NeedError(Exception):
    """Has a field of its own."""

    def __init__(self, text, need=3):
        super().__init__(text)
        self.need = need


def is_decimal(xs):
    out = []
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        try:
            out.append(isinstance(Decimal(v), Decimal) if v > 100 else k)
        except Exception as e:
            out.append(str(e))
    return out


def decimal_of_digits(xs):
    out = []
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        try:
            out.append(str(Decimal((0, (1, 2, v % 10), -2))) if v > 100 else str(k))
        except Exception as e:
            out.append(str(e))
    return out


def formatted_lists(xs):
    out = []
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        for each in ([v], (v,), {"a": v}, datetime.timedelta(hours=k)):
            try:
                out.append(f"{each:>9}" if v > 100 else f"{each}")
            except Exception as e:
                out.append(str(e))
    return out


def nice_member(xs):
    out = []
    for v in xs:
        level = Level.LOW
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
            level = Level.HIGH
        try:
            out.append(level.nice if v > 100 else k)
        except Exception as e:
            out.append(str(e))
    return out


def highest_member(xs):
    out = []
    for v in xs:
        level = Level.LOW
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
            level = Level.HIGH
        try:
            out.append(max(level, Level.HIGH).value if v > 100 else k)
        except Exception as e:
            out.append(str(e))
    return out


def needed(xs):
    out = []
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        try:
            if v > 100:
                raise NeedError("bad", v)
            out.append(k)
        except NeedError as e:
            out.append(f"{e} {e.need}")
        except Exception as e:
            out.append(str(e))
    return out
