"""Options: how a comprehension runs, as a user or the tuner says; sizes are needed only to resolve them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from ...kernels.cpu import target
from ...kernels.toolchain import has_toolchain
from ..expr.errors import OptionsError
from ..expr.ir import Program
from ..loops.description import (
    MOST_THREADS,
    MOST_UNROLLED,
    MOST_VECTORS,
    ProgramSchedule,
    Schedule,
    axis_name,
    flag,
    known_keys,
    whole_number,
)
from ..loops.fusion import groups
from ..loops.ir import Loops
from .analysis import default_schedule, naive_schedule

PRESETS = ("default", "naive", "pointwise", "mlp", "conv", "group_conv", "single_thread", "torch")


@dataclass(frozen=True)
class Options:
    """How a comprehension runs.

    Args:
        preset: the options to start from. `"default"` lets the analysis choose; `"torch"` is torch's operators;
            `"naive"` generated code without any optimisation;
            `"pointwise"`, `"mlp"`, `"conv"` and `"group_conv"` generated code, fused for the first and tiled
            for the others; `"single_thread"` the default on one thread.
        vectorise: the axis (an index variable of the text) whose values are computed side by side.
        tile: vectors of the vector axis, and values of other left-side axes, that are computed at once.
        unroll: the same as `tile` for axes that are not vectorised.
        order: left-side axes from the outermost loop.
        fuse: whether neighbouring statements share their outer loops.
        pack: copy an operand into the order of its use first.
        parallel: share the outermost loops among torch's threads.
        threads: the largest number of these threads.
        schedule: a whole schedule, as the tuner finds it; then the other arguments do not apply.
        check: hold the first call of each compiled kernel against torch's operators, on the first and last places of
            its outputs, and run these instead where they do not agree.

    Raises:
        OptionsError: an unknown preset, a value of another type, or a number outside of its bounds.

    Example:
        >>> import tracepack
        >>> tracepack.comprehension.Options("conv").preset
        'conv'
    """

    preset: str = "default"
    vectorise: str | None = None
    tile: Mapping[str, int] = field(default_factory=dict)
    unroll: Mapping[str, int] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    fuse: bool | None = None
    pack: bool | None = None
    parallel: bool | None = None
    threads: int = 0
    schedule: ProgramSchedule | None = None
    check: bool = True

    def __post_init__(self) -> None:
        if type(self.preset) is not str or self.preset not in PRESETS:
            raise OptionsError(f"unknown options {self.preset!r}", expected=f"one of {', '.join(PRESETS)}")
        if self.vectorise is not None:
            axis_name("the axis to vectorise", self.vectorise)
        for kind in ("tile", "unroll"):
            numbers = getattr(self, kind)
            if not isinstance(numbers, Mapping):
                raise OptionsError(f"the {kind} is no mapping of axes to numbers", got=type(numbers).__name__)
            for axis, number in numbers.items():
                whole_number(f"the {kind} of '{axis_name(f'an axis of the {kind}', axis)}'", number, 1, MOST_UNROLLED)
        if type(self.order) is not tuple:
            raise OptionsError("the order is no tuple of axes", got=type(self.order).__name__)
        for axis in self.order:
            axis_name("an axis of the order", axis)
            if self.order.count(axis) > 1:
                raise OptionsError("the order names an axis twice", got=axis)
        for name in ("fuse", "pack", "parallel"):
            if getattr(self, name) is not None:
                flag(f"'{name}'", getattr(self, name))
        flag("'check'", self.check)
        whole_number("the number of threads", self.threads, 0, MOST_THREADS)
        if self.schedule is not None and type(self.schedule) is not ProgramSchedule:
            raise OptionsError("schedule has a wrong type", got=type(self.schedule).__name__)

    # -- the page's spelling -------------------------------------------------------------------------------

    def with_tile(self, **tile: int) -> Options:
        """A copy with other tiles, by axis."""
        return replace(self, tile=tile)

    def with_unroll(self, **unroll: int) -> Options:
        """A copy with other unrolled axes."""
        return replace(self, unroll=unroll)

    def with_threads(self, threads: int) -> Options:
        """A copy on at most so many threads."""
        return replace(self, threads=threads)

    def with_fusion(self, fuse: bool) -> Options:
        """A copy that fuses statements, or does not."""
        return replace(self, fuse=fuse)

    # -- resolving -----------------------------------------------------------------------------------------

    def resolve(self, program: Program) -> ProgramSchedule | None:
        """The schedule for a program on this machine; None is torch's operators.

        Raises:
            OptionsError: an axis that the program does not have, or a schedule of another program.
        """
        if self.preset == "torch" or not has_toolchain():
            return None
        if self.schedule is not None:
            return self._checked(program, self.schedule)
        start = self._start(program)
        return self.adjusted(program, start)

    @property
    def is_explicit(self) -> bool:
        """Whether they say more than the preset."""
        return bool(self.vectorise or self.tile or self.unroll or self.order or self.pack is not None)

    def _start(self, program: Program) -> ProgramSchedule:
        fuse = self.fuse if self.fuse is not None else self.preset in ("default", "pointwise", "single_thread")
        if self.preset == "naive":
            return naive_schedule(program)
        return default_schedule(program, target(), fuse)

    def fits(self, program: Program) -> bool:
        """Whether the schedule, where there is one, was made for a program of these nests."""
        if self.schedule is None:
            return True
        return self.schedule.suits([n for g in groups(program, self.schedule.fuse) for n in g.nests])

    def _checked(self, program: Program, schedule: ProgramSchedule) -> ProgramSchedule:
        if not self.fits(program):
            raise OptionsError(f"the schedule is of another program than '{program.name}'")
        return schedule

    def adjusted(self, program: Program, start: ProgramSchedule) -> ProgramSchedule:
        """A schedule with what these options say explicitly.

        Raises:
            OptionsError: an axis that the program does not have.
        """
        self._check_axes(program)
        nests = [n for g in groups(program, start.fuse) for n in g.nests]
        changed = []
        for nest, schedule in zip(nests, start.nests, strict=True):
            changed.append(self._applied(schedule, nest))
        return replace(start, nests=tuple(changed))

    def _check_axes(self, program: Program) -> None:
        known = {a for n in program.nests for a, _ in n.axes}
        named = [*self.tile, *self.unroll, *self.order, *([self.vectorise] if self.vectorise else [])]
        unknown = [a for a in named if a not in known]
        if unknown:
            raise OptionsError(f"'{program.name}' has no axis '{unknown[0]}'", expected=f"one of {sorted(known)}")

    def _applied(self, s: Schedule, nest: Loops) -> Schedule:
        """A nest's schedule with what is said of its axes; those that are added up one by one stay as they are."""
        axes = nest.extents.keys()
        tiled = axes - nest.scatter
        if self.is_explicit:
            s = replace(s, winograd=False)
        if self.vectorise in tiled:
            s = replace(s, vector=self.vectorise, unroll=tuple(u for u in s.unroll if u[0] != self.vectorise))
        tiles = {a: n for a, n in {**self.tile, **self.unroll}.items() if a in tiled}
        if s.vector in tiles:
            s = replace(s, vectors=min(tiles.pop(s.vector), MOST_VECTORS))
        if tiles:
            s = replace(s, unroll=tuple(tiles.items()))
        if self.order:
            s = replace(s, order=tuple(a for a in self.order if a in axes))
        if self.pack is not None:
            s = replace(s, pack=self.pack)
        parallel = self.parallel
        if self.preset == "single_thread" or self.threads == 1:
            parallel = False
        if parallel is not None:
            s = replace(s, parallel=parallel)
        return replace(s, threads=self.threads) if self.threads > 1 else s

    # -- plain data ----------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "preset": self.preset,
            "vectorise": self.vectorise,
            "tile": dict(self.tile),
            "unroll": dict(self.unroll),
            "order": list(self.order),
            "fuse": self.fuse,
            "pack": self.pack,
            "parallel": self.parallel,
            "threads": self.threads,
            "schedule": None if self.schedule is None else self.schedule.to_plain(),
            **({} if self.check else {"check": False}),
        }

    @classmethod
    def from_plain(cls, data: object) -> Options:
        """From `to_plain`'s data, which may be of anyone.

        Raises:
            OptionsError: unknown keys, other types, or numbers outside of their bounds.
        """
        known = known_keys("options", data, {f.name for f in fields(cls)})
        if known.get("schedule") is not None:
            known["schedule"] = ProgramSchedule.from_plain(known["schedule"])
        if isinstance(known.get("order"), list):
            known["order"] = tuple(known["order"])
        return cls(**known)

    def key(self) -> str:
        """A text that is equal for equal options."""
        return self._key

    @cached_property
    def _key(self) -> str:
        return json.dumps(self.to_plain(), sort_keys=True)


@dataclass(frozen=True)
class OptionsPair:
    """Options of the forward and of the backward."""

    forward: Options
    backward: Options

    def key(self) -> str:
        """A text that is equal for equal pairs."""
        return self.forward.key() + self.backward.key()


OptionsLike = Options | str | Sequence[Options | str]
"""Options, a preset's name, or a pair for forward and backward."""


def options_pair(options: OptionsLike) -> OptionsPair:
    """Options for forward and backward from any of the accepted forms.

    Raises:
        OptionsError: something else.
    """
    if isinstance(options, (Options, str)):
        one = Options(options) if isinstance(options, str) else options
        return OptionsPair(one, one if one.schedule is None else Options())
    if isinstance(options, Sequence) and 1 <= len(options) <= 2:
        both = [Options(o) if isinstance(o, str) else o for o in options]
        if all(isinstance(o, Options) for o in both):
            return OptionsPair(both[0], both[1] if len(both) == 2 else Options())
    raise OptionsError(
        "options have a wrong type", got=type(options).__name__, expected="Options, a preset's name, or a pair"
    )
