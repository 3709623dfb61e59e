"""The one schedule description that emitters share: how the loops of each lowered nest are cut and ordered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Schedule:
    """How one nest runs.

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
        winograd: compute a 3x3 convolution by Winograd's method; what else is said counts where it is none.
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
    def from_plain(cls, data: Mapping[str, Any]) -> Schedule:
        """From `to_plain`'s data; unknown keys are an error."""
        known = dict(data)
        known["unroll"] = tuple((str(a), int(n)) for a, n in known.get("unroll", ()))
        known["order"] = tuple(known.get("order", ()))
        return cls(**known)


@dataclass(frozen=True)
class ProgramSchedule:
    """How a program runs: one schedule a lowered nest, and whether neighbouring nests share their outer loops."""

    nests: tuple[Schedule, ...]
    fuse: bool = True

    def with_nest(self, at: int, **changes: Any) -> ProgramSchedule:
        """A copy with one nest's schedule changed."""
        nests = list(self.nests)
        nests[at] = replace(nests[at], **changes)
        return replace(self, nests=tuple(nests))

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {"fuse": self.fuse, "nests": [n.to_plain() for n in self.nests]}

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> ProgramSchedule:
        """From `to_plain`'s data."""
        return cls(tuple(Schedule.from_plain(n) for n in data["nests"]), bool(data["fuse"]))
