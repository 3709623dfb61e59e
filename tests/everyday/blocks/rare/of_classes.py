# ruff: noqa: F841, PLW1641 - some lines are there for what they raise, some classes for being compared
"""Functions with objects of classes that are used in a way on some inputs that their example does not take."""

from __future__ import annotations

import copy
import dataclasses
import enum


@dataclasses.dataclass
class Q:
    x: float


class Counting:
    n = 0

    def hit(self):
        self.n += 1
        return self.n


class Static:
    @staticmethod
    def norm(v):
        return v / 2

    @classmethod
    def made(cls, v):
        return v + 1


class Square:
    def __init__(self, v):
        self.v = v

    @property
    def area(self):
        return self.v * self.v


class Letter(enum.Enum):
    A = "a"
    B = "b"


@dataclasses.dataclass
class Limited:
    x: float

    def __init__(self, x):
        self.x = min(x, 1e6)


class Lower(Q):
    def __init__(self, x):
        super().__init__(min(x, 1e6))


@dataclasses.dataclass
class Near:
    x: float

    def __eq__(self, o):
        return abs(self.x - o.x) < 1e-3


@dataclasses.dataclass
class Tagged:
    name: str
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Token:
    text: str
    pos: int = dataclasses.field(default=0, compare=False)


class Box:
    def __init__(self, v):
        self.v = v
        self.items = [v]


def with_a_flag(xs):
    out = []
    for x in xs:
        q = Q(x)
        if x > 100:
            q.flag = True
        n = 0
        while n < 1:
            n += 1
        out.append(dataclasses.asdict(q))
    return out


def hits(xs):
    out = []
    for x in xs:
        c = Counting()
        k = 0
        while k < 2:
            k += 1
        try:
            out.append(c.hit() + c.hit() if x > 100 else 0)
        except Exception:
            out.append(-1)
    return out


def statics(xs):
    out = []
    for x in xs:
        c = Static()
        k = 0
        while k < 2:
            k += 1
        try:
            out.append(c.norm(x) + c.made(x) if x > 100 else 0.0)
        except (ValueError, AttributeError):
            out.append(-1.0)
    return out


def set_area(xs):
    out = []
    for x in xs:
        c = Square(x)
        k = 0
        while k < 2:
            k += 1
        try:
            if x > 100:
                c.area = 7
            if x > 200:
                c.area += 7
        except AttributeError as e:
            out.append(str(e))
        out.append(c.area)
    return out


def set_area_uncaught(xs):
    out = []
    for x in xs:
        c = Square(x)
        k = 0
        while k < 2:
            k += 1
        if x > 100:
            c.area = 7
        out.append(c.area)
    return out


def copied_members(xs):
    st = {"s": Letter.A}
    out = []
    for v in xs:
        if v > 100:
            st = copy.deepcopy(st)
        k = v
        while k > 5:
            k -= 5
        out.append("A" if st["s"] is Letter.A and st["s"] == Letter.A else "other")
    return out


def identical(xs):
    out = []
    prev = None
    for v in xs:
        try:
            k = v
            while k > 5:
                k -= 5
            out.append("same" if v > 100 and prev is v else "diff")
        except Exception:
            out.append("err")
        prev = v
    return out


def limited(xs):
    out = []
    for x in xs:
        c, d = Limited(x), Lower(x)
        n = 0
        while n < 3 and c.x > 50:
            c.x -= 10
            n += 1
        out.append((c.x, d.x))
    return out


def repeated(xs):
    last = None
    out = []
    k = 0
    for i, w in enumerate(xs):
        c = Q(w)
        if i == 3:
            c.note = "x"
        while k > 10:
            k -= 1
        out.append("dup" if last is not None and last == c else "new")
        last = c
    return out


def near(xs):
    last = None
    out = []
    for x in xs:
        c = Near(x / 1e4)
        try:
            k = 1 // int(x)
        except ZeroDivisionError:
            k = 0
        out.append("dup" if last is not None and last == c else "new")
        last = c
    return out


def tagged(names):
    out = []
    for name in names:
        c = Tagged(name, name) if len(name) > 2 else Tagged(name)
        n = 0
        while n < 2:
            n += 1
        out.append(str(c.tags))
    return out


def tokens(xs):
    last = None
    out = []
    for i, v in enumerate(xs):
        c = Token(str(v), i)
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        out.append("dup" if last is not None and last == c else "new")
        last = c
    return out


def copied(xs):
    out = []
    for v in xs:
        a = Box(v)
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        if v > 100:
            b = copy.copy(a)
            b.v = -1
            b.items.append(2)
            c = copy.deepcopy(a)
            c.items.append(3)
            c.v = 9
        out.append((a.v, str(a.items)))
    return out


def set_members(xs):
    out = []
    for v in xs:
        s = Letter.A
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        try:
            if v > 100:
                s.value = "z"
            out.append(s.value)
        except AttributeError as e:
            out.append(str(e))
    return out
