"""Functions that go on where an error was raised, by their own code or by a helper that they call."""

import math
from datetime import datetime
from decimal import Decimal, InvalidOperation


class UnsureError(Exception):
    pass


class FormError(ValueError):
    pass


class EmptyError(FormError):
    """There is no text."""


def _sure(x, least):
    if x.max() < least:
        raise UnsureError(f"below {least}")
    return x * 2, "small"


def falls_back(x, least):
    try:
        y, by = _sure(x, least)
    except UnsureError:
        y, by = x * 3, "large"
    return y, by


def _asserted(x):
    assert x.max() < 5
    return x + 1


def falls_back_by_assertion(x):
    try:
        y = _asserted(x)
    except AssertionError:
        y = x - 1
    return y


def raises_through(x):
    try:
        y, _ = _sure(x, 0.5)
    except KeyError:
        y = x
    return y


def _named(label, x):
    if label not in ("a", "b"):
        raise ValueError(label)
    return x * 2


def falls_back_by_text(label, x):
    try:
        y = _named(label, x)
    except (ValueError, KeyError):
        y = x
    return y


def _whole(text):
    return int(text)


def number_of_helper(text, x):
    try:
        n = _whole(text)
    except ValueError:
        n = -1
    return x * n


TABLE = {"a": 1.0, "b": 2.0}


def _entry(key):
    return TABLE[key]


def entry_of_helper(key, x):
    try:
        n = _entry(key)
    except KeyError:
        n = -1.0
    return x * n


def quotient(x, n, m):
    try:
        k = n / m
    except ZeroDivisionError:
        k = 0.0
    return x * k


def halved(x, n):
    try:
        k = n / 2
    except ZeroDivisionError:
        k = 0.0
    return x * k


def year(text, x):
    try:
        n = datetime.strptime(text, "%Y-%m-%d").year
    except ValueError:
        n = 0
    return x * n


def root(n, x):
    try:
        k = math.sqrt(n)
    except ValueError:
        k = 0.0
    return x * k


def largest(values, x):
    try:
        n = max(values)
    except ValueError:
        n = 0
    return x * n


def first_large(values, x):
    try:
        n = next(each for each in values if each > 1)
    except StopIteration:
        n = 0
    return x * n


def pair(text, x):
    try:
        before, after = text.split(":")
    except ValueError as error:
        before, after = text, ""
        del error
    return x * len(before) + len(after)


def doubled(text):
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal(0)
    return f"{number * 2:.2f}"


def _digits(text):
    if not text:
        raise EmptyError("nothing")
    if not text.isdigit():
        raise FormError(f"no number: {text}")
    return int(text)


def parsed(rows):
    found, errors = [], []
    for row in rows:
        try:
            number = _digits(row)
        except EmptyError:
            number = 0
        except FormError as error:
            errors.append(str(error))
            continue
        found.append(number)
    return found, errors


def summed(rows):
    try:
        return sum(_digits(row) for row in rows)
    except (FormError, KeyError):
        return -1
