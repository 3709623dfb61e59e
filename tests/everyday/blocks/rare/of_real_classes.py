"""Classes, errors and texts in blocks on ways that no example took, where they are easily no longer Python's."""

from __future__ import annotations

import logging
import re
from abc import ABC
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

log = logging.getLogger(__name__)


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, kind=None):
        return getattr(obj, self.name)

    def __set__(self, obj, value):
        if value > 100:
            raise ValueError("large")
        setattr(obj, self.name, value)


class Account:
    balance = Positive()

    def __init__(self, balance):
        self.balance = balance


def descriptors(xs):
    out = []
    for x in xs:
        try:
            Account(x)
        except ValueError:
            out.append("bad")
            continue
        out.append("good")
    return out


class Gauge:
    def __init__(self):
        self._level = 0

    @property
    def level(self):
        log.info("asked")
        return self._level

    @level.setter
    def level(self, value):
        self._level = max(0, value)


def gauges(xs):
    gauge, out = Gauge(), []
    for x in xs:
        if x > 10:
            gauge.level = x
        out.append(gauge._level)
    return out


class ReadOnly:
    v = property(attrgetter("_v"))

    def __init__(self):
        self._v = 3


def read_only(xs):
    out = []
    for x in xs:
        thing = ReadOnly()
        if x > 10:
            try:
                thing.v = x
            except AttributeError:
                out.append("read only")
                continue
        out.append(thing._v)
    return out


def in_a_finally(xs):
    out = []
    for x in xs:
        opened = {}
        try:
            try:
                if x > 10:
                    for each in {str(x), "a", "b"}:
                        opened["k"] = each
                else:
                    opened["k"] = 1
            finally:
                del opened["k"]
            out.append("fine")
        except KeyError:
            out.append("key")
    return out


class Base:
    def __init__(self, v):
        self.v = v

    def score(self):
        return self.v


class Derived(Base):
    def summed(self, n):
        return sum(super().score() for _ in range(n))


def in_a_generator(xs):
    thing, out = Derived(7), []
    for x in xs:
        if x > 10:
            out.append(thing.summed(2))
        else:
            out.append(x)
    return out


def depths(xs):
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    out, pad = [], []
    for x in xs:
        while pad:
            pad.pop()
        try:
            out.append(depth(x * 2))
        except Exception:
            out.append(-1)
    return out


class Shape(ABC):  # noqa: B024  # others register with it
    pass


class Circle:
    def __init__(self, r):
        self.r = r


class Square(Shape):
    def __init__(self, r):
        self.r = r


Shape.register(Circle)


def registered(xs):
    out, pad = [], []
    for x in xs:
        while pad:
            pad.pop()
        shape = Circle(x) if x > 10 else Square(x)
        out.append(isinstance(shape, Shape))
    return out


@dataclass
class Config:
    LIMIT: ClassVar[int] = 3
    x: int = 0

    def over(self):
        try:
            return self.x > self.LIMIT
        except AttributeError:
            return None


def class_variables(xs):
    out, pad = [], []
    for x in xs:
        while pad:
            pad.pop()
        out.append(Config(x).over() if x > 10 else False)
    return out


class Owner:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Owner({self.n})"


class Record(NamedTuple):
    owner: Any
    x: int

    def __str__(self):
        return f"own {self.x}" if isinstance(self.owner, Owner) else f"none {self.x}"


def texts_of_records(xs):
    out, pad = [], []
    for x in xs:
        while pad:
            pad.pop()
        out.append(str(Record(Owner(x), x) if x > 10 else Record(None, x)))
    return out


def bad_templates(xs):
    out, pad = [], []
    for x in xs:
        while pad:
            pad.pop()
        try:
            out.append(re.sub(r"(a)b", "\\2" if x > 10 else "c", "b"))
        except Exception as error:
            out.append(type(error).__name__)
    return out


class Task:
    def __init__(self, name, rank):
        self.name, self.rank = name, rank

    def __hash__(self):
        return len(self.name)

    def __eq__(self, other):
        return self.name == other.name

    def __lt__(self, other):
        return self.rank < other.rank


def sorted_set(xs):
    out, pad = [], []
    for x in xs:
        while pad:
            pad.pop()
        tasks = {Task("a" * (x % 3), x > 10), Task("b", 3)} if x > 10 else {Task("b", 3)}
        tasks.add(Task("c", 3 if x > 100 else 9))
        out.append([each.name for each in sorted(tasks)])
    return out


def mixed_items(x):
    total, count, place = 0.0, 0, 0
    while place < len(x) and x[place:].sum() > -1e9:
        total += x[place].item()
        count += (total > 0.3) + 10 * (total > 0.6000000001)
        place += 1
    return count
