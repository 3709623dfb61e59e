# ruff: noqa: PLW1641 - classes with an order and without a hash are what is tried
"""Functions that make objects of classes with methods of Python's own, bases, setters, and of frozen dataclasses."""

from __future__ import annotations

import copy
import heapq
from dataclasses import FrozenInstanceError, dataclass, field, replace
from functools import total_ordering
from typing import ClassVar


class Money:
    def __init__(self, amount, cur="EUR"):
        self._amount = amount
        self.cur = cur

    def __add__(self, other):
        if not isinstance(other, Money):
            return NotImplemented
        return Money(self._amount + other._amount, self.cur)

    def __radd__(self, other):
        return self if other == 0 else Money(self._amount + other, self.cur)

    def __eq__(self, other):
        return isinstance(other, Money) and self._amount == other._amount

    def __lt__(self, other):
        return self._amount < other._amount

    def __repr__(self):
        return f"{type(self).__name__}({self._amount:.1f} {self.cur})"

    def __bool__(self):
        return self._amount != 0


def money(xs):
    out, seen, total = [], [], Money(0)
    for x in xs:
        m = Money(x)
        while m in seen:
            m = m + Money(0.5)
        seen.append(m)
        if m:
            out.append(str(m))
        total = total + m
    return {
        "out": out,
        "max": repr(max(seen)) if seen else "",
        "sum": f"{sum(seen)}",
        "total": f"{total}",
        "sorted": [str(s) for s in sorted(seen)],
    }


class Bag:
    def __init__(self):
        self._items = {}

    def add(self, w):
        self._items[w] = self._items.get(w, 0) + 1

    def __len__(self):
        return sum(self._items.values())

    def __contains__(self, w):
        return w in self._items

    def __iter__(self):
        return iter(sorted(self._items))

    def __getitem__(self, w):
        return self._items[w]

    def __setitem__(self, w, n):
        self._items[w] = n

    def __delitem__(self, w):
        del self._items[w]


def bag(words):
    b = Bag()
    first = None
    for w in words:
        if w in b and len(b) < 5:
            b[w] += 10
            continue
        if w == "del" and len(b):
            del b[next(iter(b))]
        b.add(w)
        if first is None and b:
            first = w
    return [(w, b[w]) for w in b], len(b), first


class Shape:
    KINDS: ClassVar[dict] = {"s": 1, "c": 2}

    def __init__(self, name):
        self.name = name
        self.log = []

    def area(self):
        return 0.0

    def describe(self):
        self.log.append(self.name)
        return f"{self.name}:{self.area():.2f}"

    @staticmethod
    def half(x):
        return x / 2

    @classmethod
    def named(cls, name):
        return cls(name)


class Square(Shape):
    def __init__(self, side):
        super().__init__("square")
        self._side = side

    def area(self):
        return self._side**2

    @property
    def side(self):
        return self._side

    @side.setter
    def side(self, v):
        if v < 0:
            raise ValueError("neg")
        self._side = v


class Circle(Shape):
    def __init__(self, r):
        super().__init__("circle")
        self.r = r

    def area(self):
        return 3 * self.r**2

    def describe(self):
        return super().describe() + "!"


def shapes(xs):
    out = []
    prev = None
    for x in xs:
        if x < 0:
            s = Square(1)
            try:
                s.side = x
            except ValueError as e:
                out.append(str(e))
        elif x > 2:
            s = Circle(x)
        else:
            s = Square(x)
            s.side += 1
        if prev is not None and type(prev) is type(s):
            out.append("same")
        if isinstance(s, Square) and isinstance(s, Shape):
            out.append(Shape.KINDS["s"])
        out.append(s.describe())
        out.append(s.half(s.area()))
        out.append(Shape.named("q").name)
        prev = s
    return out


@dataclass(frozen=True)
class Pt:
    x: float
    y: float = 0.0

    def moved(self, d):
        return replace(self, x=self.x + d)


def frozen(xs):
    seen, out = {}, []
    for x in xs:
        p = Pt(x)
        while p in seen:
            p = p.moved(1)
        seen[p] = len(seen)
        try:
            p.x = 5
        except FrozenInstanceError:
            out.append("frozen")
        except AttributeError:
            out.append("attr")
        out.append(str(p))
    return out, [seen[p] for p in seen]


def frozen2(xs):
    seen, out = {}, []
    for x in xs:
        p = Pt(x)
        while p in seen:
            p = p.moved(1)
        seen[p] = len(seen)
        try:
            p.x = 5
        except AttributeError:
            out.append("attr")
        out.append(f"{p} {[p]} {p!r:>30}")
    return out, [seen[p] for p in seen]


@dataclass(order=True)
class Job:
    prio: int
    name: str = field(compare=False)
    tags: list = field(default_factory=list)
    done: bool = field(default=False, init=False)


def jobs(items):
    h = []
    for p, n in items:
        heapq.heappush(h, Job(p, n))
    out = []
    while h:
        j = heapq.heappop(h)
        j.tags.append("x")
        k = copy.deepcopy(j)
        other = copy.copy(j)
        k.tags.append("y")
        other.name = "other"
        other.done = True
        out.append((j.name, len(j.tags), len(k.tags), other.name, j.done, j == other, repr(j)))
    return out


@total_ordering
class Ver:
    def __init__(self, t):
        self.parts = [int(p) for p in t.split(".")]

    def __eq__(self, o):
        return self.parts == o.parts

    def __lt__(self, o):
        return self.parts < o.parts


def vers(ts):
    best, n = None, 0
    for t in ts:
        v = Ver(t)
        if best is None or v >= best:
            best = v
        if not v > best and v != best:
            n += 1
    return best.parts if best else [], n


@dataclass
class Own:
    a: str
    b: int = 0

    def __eq__(self, o):
        return self.a.lower() == o.a.lower()

    def __repr__(self):
        return "<" + self.a + ">"


def own(ws):
    out = []
    for w in ws:
        o = Own(w)
        if o in out:
            out[out.index(o)].b += 1
        else:
            out.append(o)
    return [str(o) for o in out], [o.b for o in out]
