"""The search for a program's schedule on a GPU: tiles of each nest in turn, the heaviest first, with torch's operators.

A schedule there is a tile and the axis along which neighbouring threads lie, so the nests are tried one after the
other and each keeps its best. Every candidate has to agree with torch's operators before it counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import torch

from ..expr.errors import CompilerError, OptionsError
from ..expr.ir import Program
from ..loops.description import ProgramSchedule, Schedule
from ..loops.ir import Loops
from ..run.first_call import close
from ..run.select import Run
from ..schedule.gpu import gpu_schedule
from ..schedule.options import Options
from ..slang.emitter import SlangEmitter
from ..slang.program import lowered
from ..torch.emitter import TorchEmitter
from .progress import Progress, ProgressError
from .search_settings import Settings


class GpuSearch:
    """A search for one program on one device.

    Args:
        program: the program to tune.
        inputs: values to time and check it on.
        clamp: whether indices are clamped, as for emitters.
        settings: `generations` times `pop_size` candidates at most, `seconds` and `progress`; the others do not apply.
        label: its name in the progress line.
        device: `cuda` or `vulkan`.

    Attributes:
        interrupted: whether Ctrl-C, or an error of the function that shows the progress, ended it.
    """

    def __init__(
        self,
        program: Program,
        inputs: list[torch.Tensor],
        clamp: bool,
        settings: Settings,
        label: str,
        device: torch.device,
    ) -> None:
        self._program, self._inputs, self._clamp, self._settings = program, inputs, clamp, settings
        self._progress, self._device = Progress(f"{program.name} {label}", settings.progress), device
        self._end = time.monotonic() + settings.seconds if settings.seconds is not None else float("inf")
        self._reference = TorchEmitter(program, clamp)
        self._expected = self._reference(inputs)
        self._left = settings.generations * settings.pop_size
        self._times: dict[ProgramSchedule | None, float] = {}
        self.interrupted = False

    @property
    def failed(self) -> Exception | None:
        """The error of the function that shows the progress."""
        return self._progress.failed

    def run(self, seeds: Sequence[Options]) -> list[tuple[float, Options]]:
        """Milliseconds and options, the fastest first; an interrupt ends the search with what was found."""
        try:
            self._times[None] = self._timed(self._reference)
            for options in [*seeds, Options("conv"), Options("naive")]:
                self._try_options(options)
            nests = lowered(self._program)
            for at in sorted(range(len(nests)), key=lambda i: -nests[i].iterations):
                self._tune(at, nests[at])
            self._progress.close()
        except (KeyboardInterrupt, ProgressError):
            self.interrupted = True
            self._progress.interrupted()
        ranked = sorted(self._times.items(), key=lambda item: item[1])
        found = [
            (1e3 * seconds, Options("torch") if schedule is None else Options(schedule=schedule))
            for schedule, seconds in ranked
            if seconds < float("inf")
        ]
        return found or [(float("inf"), Options())]

    def _try_options(self, options: Options) -> None:
        try:
            schedule = gpu_schedule(self._program, options, cuda=False)
        except OptionsError:
            return
        if schedule is not None:
            self._try(schedule)

    def _tune(self, at: int, nest: Loops) -> None:
        """Tries one nest's tiles in the best schedule so far."""
        for tile in tiles(nest):
            known = [s for s in self._times if s is not None and self._times[s] < float("inf")]
            if not known or self._left <= 0 or time.monotonic() > self._end:
                return
            self._try(min(known, key=self._times.__getitem__).with_nest(at, **vars(tile)))

    def _try(self, schedule: ProgramSchedule) -> None:
        """Times a schedule that compiles and agrees; others never win."""
        if schedule in self._times:
            return
        self._left -= 1
        self._times[schedule] = float("inf")
        try:
            run = SlangEmitter(self._program, schedule, self._clamp, self._device.type, self._device.index or 0)
        except CompilerError:
            return
        if all(close(a, b) for a, b in zip(run(self._inputs), self._expected, strict=True)):
            self._times[schedule] = self._timed(run)
        line = f"{self._left} left, best {1e3 * min(self._times.values()):.4f} ms"
        self._progress.show(1 - self._left / (self._settings.generations * self._settings.pop_size), line, False)

    def _timed(self, run: Run) -> float:
        """The least time of one run, until the device is done: of 20 ms' worth, three at least."""
        run(self._inputs)
        best, end, count = float("inf"), time.perf_counter() + 0.02, 0
        while count < 3 or time.perf_counter() < end:
            self._wait()
            start = time.perf_counter()
            run(self._inputs)
            self._wait()
            best = min(best, time.perf_counter() - start)
            count += 1
        return best

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)


def tiles(nest: Loops) -> Iterator[Schedule]:
    """The schedules that are tried for a nest: which axis neighbouring threads lie along, and tiles of two axes."""
    names = [a for a, _ in nest.left if a not in nest.scatter]
    for vector in reversed(names[-2:]):
        others = [a for a in names if a != vector][-2:]
        for vectors in (1, 2, 4):
            yield Schedule(vector, vectors)
            if nest.reduced:
                for axis in others:
                    for count in (2, 4, 8):
                        if count <= nest.extents[axis]:
                            yield Schedule(vector, vectors, ((axis, count),))
