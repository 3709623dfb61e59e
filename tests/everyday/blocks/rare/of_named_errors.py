"""Functions that ask for the texts of errors that name functions, classes and types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


def helper(a, b=1):
    return a + b


class KW:
    def __init__(self, v):
        self.v = v

    def more(self, by):
        return self.v + by


@dataclass
class Pd:
    x: float
    y: float = 0.0


class Rec(NamedTuple):
    a: int
    b: int = 0


def of_a_function(xs):
    out = []
    for v in xs:
        try:
            w = [1, 2, 3] if v > 100 else [1, 2]
            out.append(str(helper(*w)))
        except TypeError as e:
            out.append(str(e))
    return out


def of_a_class(xs):
    out = []
    for v in xs:
        try:
            w = [1, 2, 3] if v > 100 else [1]
            out.append(KW(*w).v)
        except TypeError as e:
            out.append(str(e))
    return out


def of_a_method(xs):
    out = []
    for v in xs:
        made = KW(v)
        try:
            w = [1, 2, 3] if v > 100 else [1]
            out.append(made.more(*w))
        except TypeError as e:
            out.append(str(e))
    return out


def of_a_dataclass(xs):
    out = []
    for v in xs:
        try:
            w = [1, 2, 3] if v > 100 else [1]
            out.append(Pd(*w).x)
        except TypeError as e:
            out.append(str(e))
    return out


def of_a_record(xs):
    out = []
    for v in xs:
        try:
            w = [1, 2, 3] if v > 100 else [1]
            out.append(Rec(*w).a)
        except TypeError as e:
            out.append(str(e))
    return out


def of_an_inner_function(xs):
    def inner(a):
        return a

    out = []
    for v in xs:
        try:
            w = [1, 2, 3] if v > 100 else [1]
            out.append(inner(*w))
        except TypeError as e:
            out.append(str(e))
    return out


def of_a_lambda(xs):
    inner = lambda a: a  # noqa: E731
    out = []
    for v in xs:
        try:
            w = [1, 2, 3] if v > 100 else [1]
            out.append(inner(*w))
        except TypeError as e:
            out.append(str(e))
    return out


def of_objects(xs):
    out = []
    for v in xs:
        one = KW(v)
        if v <= 100:
            out.append(one.v)
            continue
        for number in range(8):
            try:
                if number == 0:
                    out.append(one < KW(1))
                elif number == 1:
                    out.append(one + one)
                elif number == 2:
                    out.append(len(one))
                elif number == 3:
                    out.append(one[0])
                elif number == 4:
                    out.append(one * 2)
                elif number == 5:
                    out.append(one())
                elif number == 6:
                    out.append(1 in one)
                else:
                    out.append([*one])
            except TypeError as e:
                out.append(str(e))
    return out


def caught_whole(xs):
    out = []
    for v in xs:
        try:
            w = [1, 2, 3] if v > 100 else [1, 2]
            out.append(str(helper(*w)))
        except TypeError as e:
            out.append(repr(e))
            out.append(f"{e}")
            out.append(e.args[0])
    return out
