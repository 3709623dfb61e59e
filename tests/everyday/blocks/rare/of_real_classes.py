"""Classes, errors and texts in blocks on ways that no example took, where they are easily no longer Python's."""

from __future__ import annotations

import logging
import re
from abc import ABC
from dataclasses import dataclass
from functools import total_ordering
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


class Parent:
    def __init__(self, v):
        self.v = v

    def score(self):
        return self.v


class Child(Parent):
    def score(self):
        return -100

    def best(self, others):
        def of(other):
            return super().score()

        return [of(each) for each in others]


def in_an_inner_function(xs):
    child, out, counts = Child(7), [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(child.best([Child(x if x > 10 else 7)])[0])
    return out


NUMERIC = (int, float)


def numeric(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        try:
            out.append(x * 2 if x < 10 or isinstance(x, NUMERIC) else 0)
        except TypeError:
            out.append("error")
    return out


@total_ordering
class Version:  # noqa: PLW1641  # as total_ordering shows it
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v

    def __gt__(self, other):
        return self.v > other.v


def versions(xs):
    best, out, counts = Version(0), [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        version = Version(x)
        if x > 10:
            try:
                if version <= best:
                    out.append("less")
                else:
                    best = version
            except Exception:
                out.append("error")
        out.append(best.v)
    return out


class Ids:
    def __init__(self):
        self._n = 0

    @property
    def next(self):
        self._n += 1
        return self._n


def counting_properties(xs):
    ids, out, counts = IDS, [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(ids.next if x > 10 else 0)
    return out


IDS = Ids()


def scaled(x):
    try:
        return x * scaled.factor
    except AttributeError:
        return None


scaled.factor = 3


def attributes_of_functions(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(scaled(x) if x > 10 else Parent(x).v)
    return out


class Amount:
    def __init__(self, v):
        self.v = v

    def __int__(self):
        return self.v

    def __str__(self):
        return f"N{self.v}"

    def __getattr__(self, name):
        return 0


def filled_with_numbers(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        amount = Amount(x)
        try:
            out.append("%d items" % amount if x > 10 else "%s items" % amount)  # noqa: UP031  # the form is tested
        except TypeError:
            out.append("error")
        out.append(int(amount))
    return out


class Joining:
    how, cast = zip, int

    def pairs(self, a, b):
        return list(self.how(a, b))


def builtins_of_classes(xs):
    joining, out, counts = Joining(), [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(joining.pairs([x], "ab") if x > 10 else joining.cast("7"))
    return out


def bytes_in_texts(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        try:
            out.append(f"{str(x).encode():>8}" if x > 10 else str(x))
        except TypeError:
            out.append("error")
    return out


def same_numbers(x):
    out = []
    for i in range(len(x)):
        try:
            place = int(str(i))
        except ValueError:
            place = 0
        if [float(x[i])] == [float(x[i])]:
            out.append(place)
        else:
            out.append(-1)
    return out


def first_items(x):
    out, place = [], 0
    while place < len(x) and float(x[place, ..., 0]) > -5:
        out.append(x[place, ..., 0].item())
        place += 1
    return out
