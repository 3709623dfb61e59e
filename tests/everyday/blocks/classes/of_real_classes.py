"""Functions with classes that do what only real ones do: several bases, slots, errors and Enums with methods."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, InitVar, asdict, astuple, dataclass, field, replace
from enum import Enum, IntEnum
from functools import cached_property
from typing import ClassVar, NamedTuple


class ParseError(ValueError):
    def __init__(self, line, reason):
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class EmptyError(ParseError):
    pass


def parse(line, number):
    if not line.strip():
        raise EmptyError(number, "empty")
    key, _, value = line.partition("=")
    if not value:
        raise ParseError(number, "no value")
    return key.strip(), float(value)


def settings(lines):
    found, problems = {}, []
    for number, line in enumerate(lines, 1):
        try:
            key, value = parse(line, number)
        except EmptyError as error:
            problems.append(("empty", error.line))
        except ParseError as error:
            problems.append((str(error), error.line, error.reason))
        else:
            found[key] = value
    return [found, problems]


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, dx):
        return type(self)(self.x + dx, self.y)

    def __eq__(self, other):
        return isinstance(other, Point) and (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash_of(self.x)


def hash_of(x):
    return int(x) % 7


def slots(xs):
    seen, points = {}, []
    for x in xs:
        p = Point(x, 1).moved(2)
        seen[p] = seen.get(p, 0) + 1
        try:
            p.z = 3
        except AttributeError:
            p.y += 1
        points.append([p.x, p.y])
    return [points, list(seen.values())]


class Level(Enum):
    LOW = "low"
    HIGH = "high"
    TOP = "top"

    @property
    def weight(self):
        return 1 + len(self.value)

    @classmethod
    def of(cls, score):
        for member in cls:
            if score <= member.limit():
                return member
        return cls.TOP

    def limit(self):
        return {"low": 0.2, "high": 0.7}.get(self.value, 1e9)

    def __str__(self):
        return f"<{self.value}>"


class Mode(str, Enum):
    FAST = "fast"
    SLOW = "slow"


def levels(scores):
    counts = dict.fromkeys(Level, 0)
    out = []
    for score in scores:
        level = Level.of(score)
        counts[level] += level.weight
        mode = Mode.FAST if score > 0.5 else Mode("slow")
        out.append([str(level), f"{level}", level.name, mode.value, mode == "fast", mode.upper(), repr(Level.TOP)])
    return [out, [(level.name, n) for level, n in counts.items()], Level["LOW"].value]


class Box(NamedTuple):
    left: float
    right: float = 1.0

    @property
    def width(self):
        return self.right - self.left

    def cut(self, at):
        return self._replace(right=min(at, self.right))


def boxes(pairs):
    out = []
    for left, right in pairs:
        box = Box(left, right) if right else Box(left)
        while box.width > 2:
            box = box.cut(box.right - 1)
        out.append([box.width, box[0], box._asdict()])
    return out


class Named:
    def __init__(self, name, **rest):
        super().__init__(**rest)
        self.name = name

    def describe(self):
        return [self.name]


class Timed:
    def __init__(self, begin=0, **rest):
        super().__init__(**rest)
        self.begin = begin

    def describe(self):
        return [self.begin]


class Event(Named, Timed):
    made: ClassVar[int] = 3

    def describe(self):
        return [*super().describe(), *Timed.describe(self), self.made]

    @cached_property
    def parts(self):
        self.asked = getattr_of(self) + 1
        return self.name.split("-")


def getattr_of(event):
    try:
        return event.asked
    except AttributeError:
        return 0


def events(names):
    out = []
    for place, name in enumerate(names):
        event = Event(name, begin=place)
        out.append([event.describe(), event.parts, event.parts[0], event.asked])
    return out


class Shape(ABC):
    @abstractmethod
    def area(self): ...

    def text(self):
        return f"{type(self).__name__} {self.area():.1f}"


class Square(Shape):
    def __init__(self, a):
        self.a = a

    def area(self):
        return self.a**2


class Circle(Shape):
    def __init__(self, r):
        self.r = r

    def area(self):
        return 3 * self.r**2

    def __getattr__(self, name):
        return f"no {name}"


KINDS = {"square": Square, "circle": Circle}


def shapes(items):
    out, total = [], 0.0
    for kind, size in items:
        try:
            shape = KINDS[kind](size)
        except KeyError:
            try:
                shape = Shape()
            except TypeError:
                shape = None
        if shape is None:
            out.append("none")
            continue
        total += shape.area()
        out.append(shape.text())
        if isinstance(shape, Circle):
            out.append(shape.colour)
    return [out, total]


@dataclass(order=True)
class Job:
    rank: int
    name: str = field(compare=False)
    tags: list = field(default_factory=list, compare=False, repr=False)
    _: KW_ONLY
    scale: InitVar[int] = 1
    cost: float = field(default=0.0, init=False)

    def __post_init__(self, scale):
        self.cost = self.rank * scale


@dataclass(frozen=True, slots=True)
class Key:
    a: int
    b: str = "x"


class Priority(IntEnum):
    LOW = 1
    HIGH = 5


def jobs(items):
    waiting, keys = [], {}
    for rank, name in items:
        job = Job(rank, name, scale=2)
        job.tags.append(Priority.HIGH if rank > 2 else Priority.LOW)
        waiting.append(job)
        key = Key(rank)
        keys[key] = keys.get(key, 0) + 1
        try:
            key.a = 3
        except AttributeError:
            job.cost += 1
    ordered = sorted(waiting, reverse=True)
    first = replace(ordered[0], name="first", scale=3) if ordered else Job(0, "none")
    twin = copy.deepcopy(first)
    twin.tags.append(7)
    return [
        [(job.name, job.cost, max(job.tags).name) for job in ordered], str(first), asdict(first)["cost"],
        len(first.tags), [astuple(key) for key in keys], list(keys.values()), twin == first, repr(Key(1)),
    ]  # fmt: skip


class Counter2:
    total = 0

    def __init__(self):
        self.items = []

    def add(self, x):
        self.total += x
        self.items.append(x)
        return self

    def save(self, path):
        with open(path, "w") as file:
            file.write(str(self.total))

    @staticmethod
    def unit():
        return "u"

    @classmethod
    def of(cls, xs):
        made = cls()
        for x in xs:
            made.add(x)
        return made

    def __iadd__(self, other):
        self.total += 10 * other
        return self

    def __missing__(self, key):
        return key


def counted(xs):
    counter = Counter2.of(xs)
    for x in xs:
        if x > 1:
            counter += x
        same = counter.add(0) is counter
        counter.items.append(same)
    return [counter.total, counter.items, counter.unit(), Counter2.total]
