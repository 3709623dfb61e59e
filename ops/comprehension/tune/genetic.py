"""The genetic search for one program's schedule, checked and timed on this machine.

Candidates compile a few at a time in parallel and are timed alone. Every one has to agree with the torch emitter before
it counts, and the torch emitter is itself a candidate, so tuning never makes a layer slower than torch's operators.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import zip_longest

import torch

from ...kernels.cpu import target
from ...kernels.toolchain import has_toolchain
from ..cpp.emitter import CppEmitter
from ..expr.errors import CompilerError, OptionsError
from ..expr.ir import Program
from ..loops.description import ProgramSchedule, Schedule
from ..loops.fusion import groups
from ..run.first_call import close
from ..run.select import Run
from ..schedule.analysis import Rated, rated
from ..schedule.options import Options
from ..torch.emitter import TorchEmitter
from .progress import Progress, ProgressError
from .search_settings import Settings

SETTLING = 3.0
"""Seconds at most for timing the fastest again in the end; a quarter of the time where less is given."""
WORSE = 1.6
"""How much worse than its best sum as written the analysis may rate a schedule that the search draws."""


@dataclass(frozen=True)
class _Candidate:
    """A schedule; None is the torch emitter."""

    schedule: ProgramSchedule | None

    @property
    def options(self) -> Options:
        return Options("torch") if self.schedule is None else Options(schedule=self.schedule)


class Search:
    """A genetic search for one program.

    Args:
        program: the program to tune.
        inputs: values to time and check it on.
        clamp: whether indices are clamped, as for emitters.
        settings: the settings of the search.
        label: its name in the progress line.

    Attributes:
        interrupted: whether Ctrl-C, or an error of the function that shows the progress, ended it.
    """

    def __init__(
        self, program: Program, inputs: list[torch.Tensor], clamp: bool, settings: Settings, label: str
    ) -> None:
        self._program, self._inputs, self._clamp, self._settings = program, inputs, clamp, settings
        self._random = random.Random(settings.seed)
        self._progress = Progress(f"{program.name} {label}", settings.progress)
        self._started = time.monotonic()
        self._settling = SETTLING if settings.seconds is None else min(SETTLING, settings.seconds / 4)
        self._batch = 0.0
        self._reference = TorchEmitter(program, clamp)
        self._expected = self._reference(inputs)
        self._times: dict[_Candidate, float] = {}
        self._runs: dict[_Candidate, Run] = {}
        self._choices: dict[bool, list[list[Rated]]] = {}
        self._analysed = _Candidate(None)
        self.interrupted = False

    @property
    def failed(self) -> Exception | None:
        """The error of the function that shows the progress."""
        return self._progress.failed

    def run(self, seeds: Sequence[Options]) -> list[tuple[float, Options]]:
        """Milliseconds and options, the fastest first; an interrupt ends the search with what was found."""
        population = [_Candidate(None)]
        if has_toolchain():
            population += self._seeded(seeds) + self._first()
        try:
            for generation in range(self._settings.generations):
                self._evaluate(population, generation)
                if self._left() < self._batch:
                    break
                population = self._bred()
            self._settle()
            self._progress.close()
        except (KeyboardInterrupt, ProgressError):
            self.interrupted = True
            self._progress.interrupted()
        ranked = sorted(self._times.items(), key=lambda item: item[1])
        found = [(1e3 * seconds, candidate.options) for candidate, seconds in ranked if seconds < float("inf")]
        return found or [(float("inf"), Options())]

    def _left(self) -> float:
        """Seconds until the search settles."""
        limit = self._settings.seconds
        return float("inf") if limit is None else self._started + limit - self._settling - time.monotonic()

    # -- populations -------------------------------------------------------------------------------------

    def _ratings(self, fuse: bool) -> list[list[Rated]]:
        """The analysis's schedules of every nest that may turn out best, in the order of their trial."""
        if fuse not in self._choices:
            self._choices[fuse] = [
                _promising(rated(n, target(), len(g.shared))) for g in groups(self._program, fuse) for n in g.nests
            ]
        return self._choices[fuse]

    def _seeded(self, seeds: Sequence[Options]) -> list[_Candidate]:
        found = []
        for options in seeds:
            try:
                found.append(_Candidate(options.resolve(self._program)))
            except OptionsError:
                continue
        return found

    def _first(self) -> list[_Candidate]:
        """The analysis's best of each nest, fused or not, then others of other kinds."""
        found: list[_Candidate] = []
        fused = groups(self._program, True)
        fusions = (True, False) if any(g.shared for g in fused) else (True,)
        for rank in range(self._settings.pop_size):
            fuse = fusions[rank % len(fusions)]
            chosen = [r[min(rank // len(fusions), len(r) - 1)].schedule for r in self._ratings(fuse)]
            found.append(_Candidate(ProgramSchedule(tuple(chosen), fuse)))
        self._analysed = found[0]
        return list(dict.fromkeys(found))[: self._settings.pop_size]

    def _bred(self) -> list[_Candidate]:
        """The next generation from the fastest of all so far."""
        s = self._settings
        ranked = [c for c in sorted(self._times, key=self._times.__getitem__) if c.schedule is not None]
        if not ranked:
            return []
        parents = ranked[: max(2, s.pop_size // 2)]
        children = ranked[: s.number_elites]
        for _ in range(8 * s.pop_size):
            if len(children) >= s.pop_size:
                break
            child = self._mutated(self._crossed(parents))
            if child not in self._times and child not in children:
                children.append(child)
        return children

    def _crossed(self, parents: list[_Candidate]) -> ProgramSchedule:
        first, second = (self._random.choice(parents).schedule for _ in range(2))
        assert first is not None
        assert second is not None
        if self._random.randrange(100) >= self._settings.crossover_rate or first.fuse != second.fuse:
            return first
        pairs = zip(first.nests, second.nests, strict=True)
        return replace(first, nests=tuple(self._random.choice(pair) for pair in pairs))

    def _mutated(self, schedule: ProgramSchedule) -> _Candidate:
        """Changes one nest for sure, and each other by the rate."""
        ratings = self._ratings(schedule.fuse)
        certain = self._random.randrange(len(ratings))
        for at, choices in enumerate(ratings):
            if at == certain or self._random.randrange(100) < self._settings.mutation_rate:
                with suppress(OptionsError):  # a tile of more values at once than any may have
                    schedule = schedule.with_nest(at, **vars(self._neighbour(schedule.nests[at], choices)))
        return _Candidate(schedule)

    def _neighbour(self, s: Schedule, choices: list[Rated]) -> Schedule:
        kind = 5 if s.winograd else self._random.randrange(6)
        if kind == 0 and len(s.order) > 1:
            order = list(s.order)
            self._random.shuffle(order)
            return replace(s, order=tuple(order))
        if kind == 1:
            return replace(s, pack=not s.pack)
        if kind == 2 and s.vector is not None:
            return replace(s, vectors=self._random.choice((1, 2, 3, 4, 6, 8, 12, 16)))
        if kind == 3 and s.unroll:
            axis, n = self._random.choice(s.unroll)
            changed = max(1, n + self._random.choice((-2, -1, 1, 2)))
            return replace(s, unroll=tuple((a, changed if a == axis else m) for a, m in s.unroll))
        return self._random.choice(choices).schedule

    # -- evaluation --------------------------------------------------------------------------------------

    def _evaluate(self, population: list[_Candidate], generation: int) -> None:
        """Compiles what is new, a few at a time in parallel, then checks and times each alone."""
        new = [c for c in dict.fromkeys(population) if c not in self._times]
        workers = max(1, min(self._settings.threads, os.cpu_count() or 1))
        first = 0
        with ThreadPoolExecutor(workers) as pool:
            while first < len(new) and self._left() > self._batch:
                few = new[first : first + (2 * workers if self._left() > 3 * self._batch else workers)]
                started = time.monotonic()
                built = list(pool.map(self._compiled, few))  # all of them, as timing is done alone
                for number, (candidate, run) in enumerate(zip(few, built, strict=True)):
                    self._rate(candidate, run)
                    self._report(generation, first + number + 1, len(new))
                first += len(few)
                # Of one candidate for each compiler: the least that another batch would take.
                self._batch = max(self._batch, (time.monotonic() - started) * workers / len(few))

    def _rate(self, candidate: _Candidate, run: Run | None) -> None:
        """Times a candidate that compiled and agrees with the reference; others never win."""
        self._times[candidate] = float("inf")
        if run is not None and self._agrees(run):
            self._times[candidate] = self._timed(run, 3)
            self._runs[candidate] = run

    def _compiled(self, candidate: _Candidate) -> Run | None:
        if candidate.schedule is None:
            return self._reference
        try:
            return CppEmitter(self._program, candidate.schedule, self._clamp)
        except CompilerError:
            return None

    def _agrees(self, run: Run) -> bool:
        """Whether a candidate computes what the torch emitter does, within what another order of sums may change."""
        found = run(self._inputs)
        return all(close(a, b) for a, b in zip(found, self._expected, strict=True))

    def _timed(self, run: Run, rounds: int) -> float:
        """The least time of one run: of several milliseconds' worth for each round, 200 at most."""
        best = float("inf")
        for _ in range(rounds):
            end = time.perf_counter() + 0.004
            for _ in range(200):
                start = time.perf_counter()
                run(self._inputs)
                now = time.perf_counter()
                best = min(best, now - start)
                if now > end:
                    break
        return best

    def _settle(self) -> None:
        """Times the fastest, the analysis's choice and torch's again, in turns, so that noise does not choose."""
        few = sorted(self._runs, key=self._times.__getitem__)[:4]
        always = [c for c in (_Candidate(None), self._analysed) if c in self._runs]
        few += [c for c in always if c not in few]
        again = dict.fromkeys(few, float("inf"))
        end = time.monotonic() + self._settling
        for turn in range(60):
            if turn >= 2 and time.monotonic() > end:  # one round is too few: the noise of a moment would choose
                break
            for candidate in few:
                again[candidate] = min(again[candidate], self._timed(self._runs[candidate], 1))
        self._times.update(again)

    def _report(self, generation: int, done: int, count: int) -> None:
        s = self._settings
        share = (generation + done / count) / s.generations
        if s.seconds:
            share = max(share, (time.monotonic() - self._started) / s.seconds)
        best = 1e3 * min(self._times.values())
        line = f"generation {generation + 1}/{s.generations}, {done}/{count}, best {best:.4f} ms"
        self._progress.show(share, line, done == count)


def _promising(ratings: list[Rated]) -> list[Rated]:
    """The best of each kind first, in turns, so that trials differ in what the model knows least."""
    kinds: dict[object, list[Rated]] = {}
    most = WORSE * min(r.cost for r in ratings if not r.schedule.winograd)
    for r in ratings:
        if r.cost < float("inf") and r.cost <= most:
            s = r.schedule
            kinds.setdefault((s.vector, s.lanes, s.vectors, s.pack, s.winograd), []).append(r)
    rows = zip_longest(*kinds.values())
    return [r for row in rows for r in row if r is not None]
