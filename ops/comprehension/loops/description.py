"""The description of schedules for all emitters: how the loops of each lowered nest are tiled and ordered.

Schedules come from files too, and what they say ends in generated code. So a schedule is whole numbers within bounds,
flags, and names of axes, checked when it is made; `suits` holds the names against the nests. Generators read schedules
only, and write nothing of one but its numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ..expr.errors import OptionsError
from .ir import Loops

MOST_VECTORS = 16
MOST_UNROLLED = 64
MOST_AT_ONCE = 256
"""Vectors of one tile, beyond which compiling takes minutes and no processor has the registers."""
MOST_THREADS = 1024
LANES = (0, 2, 4, 8, 16, 32, 64)
LONGEST_NAME = 256
_NAME = re.compile(r"\w+")


def whole_number(what: str, value: object, least: int, most: int) -> int:
    """A whole number within bounds.

    Raises:
        OptionsError: anything else.
    """
    if type(value) is not int or not least <= value <= most:
        raise OptionsError(f"{what} is no whole number of {least} to {most}", got=_shown(value))
    return value


def axis_name(what: str, value: object) -> str:
    """The name of an axis; which ones there are, only a program says.

    Raises:
        OptionsError: anything else.
    """
    if type(value) is not str or len(value) > LONGEST_NAME or not _NAME.fullmatch(value):
        raise OptionsError(f"{what} is no name of an axis", got=_shown(value))
    return value


def flag(what: str, value: object) -> bool:
    """True or False.

    Raises:
        OptionsError: anything else.
    """
    if type(value) is not bool:
        raise OptionsError(f"{what} is neither True nor False", got=_shown(value))
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


@dataclass(frozen=True)
class Schedule:
    """The schedule of one nest.

    Args:
        vector: the axis whose values are computed side by side, or None for one at a time.
        vectors: how many vectors of it at once.
        unroll: how many values of other left axes at once; with `vectors` the tile of registers.
        order: the left axes from the outermost loop to the innermost; those left out keep their place behind.
        pack: copy what varies along the vector axis to a buffer in the order of its use first.
        parallel: share the outermost loops among threads.
        threads: at most so many threads; 0 is as many as torch uses.
        lanes: of one vector; 0 is as many as the machine's widest vectors have. Narrower ones waste less at the
            end of a short axis.
        winograd: compute a 3x3 convolution by Winograd's method; other nests use the other arguments.

    Raises:
        OptionsError: a value of another type, or a number outside of its bounds.
    """

    vector: str | None = None
    vectors: int = 1
    unroll: tuple[tuple[str, int], ...] = ()
    order: tuple[str, ...] = ()
    pack: bool = False
    parallel: bool = True
    threads: int = 0
    lanes: int = 0
    winograd: bool = False

    def __post_init__(self) -> None:
        if self.vector is not None:
            axis_name("a schedule's vector axis", self.vector)
        whole_number("a schedule's number of vectors", self.vectors, 1, MOST_VECTORS)
        whole_number("a schedule's number of threads", self.threads, 0, MOST_THREADS)
        for name in ("pack", "parallel", "winograd"):
            flag(f"a schedule's '{name}'", getattr(self, name))
        if type(self.lanes) is not int or self.lanes not in LANES:
            raise OptionsError(
                "a schedule's number of lanes is no power of two", got=_shown(self.lanes), expected=LANES
            )
        if type(self.order) is not tuple or type(self.unroll) is not tuple:
            raise OptionsError("a schedule's axes are no tuples", got=_shown((self.order, self.unroll)))
        for axis in self.order:
            axis_name("an axis of a schedule's order", axis)
        for pair in self.unroll:
            if type(pair) is not tuple or len(pair) != 2:
                raise OptionsError("a schedule's unrolled axis is no pair of axis and number", got=_shown(pair))
            axis_name("a schedule's unrolled axis", pair[0])
            whole_number(f"a schedule's unrolling of '{pair[0]}'", pair[1], 1, MOST_UNROLLED)
        at_once = self.vectors * math.prod(n for _, n in self.unroll)
        whole_number("the number of values that a schedule computes at once", at_once, 1, MOST_AT_ONCE)

    @property
    def tiled(self) -> frozenset[str]:
        """The axes of which several values are computed at once."""
        return frozenset((*(a for a, _ in self.unroll), *([self.vector] if self.vector else [])))

    def suits(self, nest: Loops) -> bool:
        """Whether every axis is one of the nest's, and none computes at once what is added one by one."""
        return self.tiled.union(self.order) <= nest.extents.keys() and not self.tiled & nest.scatter

    def renamed(self, names: Mapping[str, str]) -> Schedule:
        """The schedule in other names for its axes, all of which have one."""
        return replace(
            self,
            vector=None if self.vector is None else names[self.vector],
            unroll=tuple((names[a], n) for a, n in self.unroll),
            order=tuple(names[a] for a in self.order),
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "vector": self.vector,
            "vectors": self.vectors,
            "unroll": [list(u) for u in self.unroll],
            "order": list(self.order),
            "pack": self.pack,
            "parallel": self.parallel,
            "threads": self.threads,
            "lanes": self.lanes,
            "winograd": self.winograd,
        }

    @classmethod
    def from_plain(cls, data: object) -> Schedule:
        """From `to_plain`'s data, which may be of anyone.

        Raises:
            OptionsError: unknown keys, other types, or numbers outside of their bounds.
        """
        known = known_keys("a schedule", data, {f.name for f in fields(cls)})
        unroll, order = (_sequence(f"a schedule's '{k}'", known.get(k, ())) for k in ("unroll", "order"))
        known["unroll"] = tuple(tuple(_sequence("an unrolled axis", pair)) for pair in unroll)
        known["order"] = tuple(order)
        return cls(**known)


def known_keys(what: str, data: object, names: set[str]) -> dict[str, Any]:
    """A mapping from a file that has no keys but these.

    Raises:
        OptionsError: it has others, or is no mapping.
    """
    if not isinstance(data, Mapping):
        raise OptionsError(f"{what} is no mapping", got=type(data).__name__)
    unknown = [k for k in data if k not in names]
    if unknown:
        raise OptionsError(f"{what} of another version", got=f"the key {_shown(unknown[0])}")
    return dict(data)


def _sequence(what: str, data: object) -> Sequence[Any]:
    if not isinstance(data, (list, tuple)):
        raise OptionsError(f"{what} is no list", got=type(data).__name__)
    return data


@dataclass(frozen=True)
class ProgramSchedule:
    """The schedule of a program: one for each lowered nest, and whether neighbouring nests share outer loops.

    Raises:
        OptionsError: anything but schedules and a flag.
    """

    nests: tuple[Schedule, ...]
    fuse: bool = True

    def __post_init__(self) -> None:
        flag("a schedule's 'fuse'", self.fuse)
        if type(self.nests) is not tuple or not all(type(n) is Schedule for n in self.nests):
            raise OptionsError("a program's schedule is no tuple of schedules", got=_shown(self.nests))

    def suits(self, nests: Sequence[Loops]) -> bool:
        """Whether it was made for a program of these nests."""
        return len(nests) == len(self.nests) and all(s.suits(n) for s, n in zip(self.nests, nests, strict=True))

    def with_nest(self, at: int, **changes: Any) -> ProgramSchedule:
        """A copy with one nest's schedule changed."""
        nests = list(self.nests)
        nests[at] = replace(nests[at], **changes)
        return replace(self, nests=tuple(nests))

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {"fuse": self.fuse, "nests": [n.to_plain() for n in self.nests]}

    @classmethod
    def from_plain(cls, data: object) -> ProgramSchedule:
        """From `to_plain`'s data, which may be of anyone.

        Raises:
            OptionsError: unknown keys, other types, or numbers outside of their bounds.
        """
        known = known_keys("a program's schedule", data, {"fuse", "nests"})
        nests = _sequence("a program's schedules", known.get("nests"))
        return cls(tuple(Schedule.from_plain(n) for n in nests), known.get("fuse", True))
