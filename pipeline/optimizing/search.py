"""The search for engines: every engine on every region, then the combinations that are worth it, as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from ...ops.engines import catalogue
from ...ops.engines.engine import Engine
from ...ops.engines.region import regions
from ...ops.engines.rescue import Engaged
from ...ops.graph.device import CPU
from ...ops.graph.errors import SignatureError
from ...ops.graph.program import EngineChoice
from ...ops.graph.traverse import bodies
from ...ops.runtime.placement import settle
from ..comparing.contest import ALIKE, contest
from .candidate import NO_FASTER, Match, Observed, observe, renamed, try_engine
from .cases import Case
from .engaging import ATEN, calls, here
from .findings import Attempt, Findings
from .trial import Bench, Differences

LEAST_GAIN = 0.97  # of the time of the flat function, above which an engine is not worth its artefact
NEAR, MOST_NEAR = 1.15, 4  # of the least time of an op, up to which an engine is tried in the whole; how many are
_SHARE = 0.05  # of the time of the search for one measurement
_LAST = 0.15  # of it for the measurement of the whole, which takes what the regions left, too


class Search:
    """One search.

    Args:
        stage: the pipeline, and the cases on which an engine must answer rightly.
        engines: those to try.
        precision: a lower one to try besides; empty for none.
        seconds: the time after which no more is tried; what has begun is brought to its end.
        threads: of torch, and so of the engines.
        progress: called with the fraction that is done and what comes next.
    """

    def __init__(
        self, stage: Bench, engines: Sequence[Engine], precision: str, seconds: float, threads: int,
        progress: Callable[[float, str], None],
    ) -> None:  # fmt: skip
        self.stage, self.seconds, self.threads, self.progress = stage, seconds, threads, progress
        self.tries = [(engine, way) for engine in engines for way in self._ways(engine, precision, threads)]
        self.start = time.perf_counter()
        self.attempts: list[Attempt] = []
        self.candidates: list[Match] = []
        self.finished = True

    def run(self) -> tuple[list[Match], Findings]:
        """The candidates to keep, and the report. Ctrl-C ends the search; what was found until then counts."""
        chosen: list[Match] = []
        before = after = float("nan")
        try:
            self._try_all()
        except KeyboardInterrupt:
            self.finished = False
        try:
            chosen, before, after = self._best()
        except KeyboardInterrupt:
            self.finished = False
        return chosen, self._findings(chosen, before, after)

    def _ways(self, engine: Engine, precision: str, threads: int) -> Sequence[str]:
        several = threads > 1 and self.stage.device == CPU
        return ("", *(engine.cores if several else ()), *engine.ways.get(precision, ()))

    # -- the regions -----------------------------------------------------------------------------------------

    def _try_all(self) -> None:
        found = renamed(regions(self.stage.program.graph))
        for number, region in enumerate(found):
            seen = observe(self.stage, region)
            for index, (engine, way) in enumerate(self.tries):
                if time.perf_counter() - self.start > self.seconds * (1 - _LAST):
                    self.finished = False
                    return
                done = (number + index / len(self.tries)) / len(found)
                self.progress(done, f"{engine.name} {way}".strip() + f" on {region.name}")
                self._try(seen, engine, way)

    def _try(self, seen: Observed, engine: Engine, way: str) -> None:
        name, label = seen.region.name, f"{engine.name} {way}".strip()
        made = seen.fault or try_engine(self.stage, seen, engine, self.seconds * _SHARE, way)
        if isinstance(made, str):
            self.attempts.append(Attempt(name, label, reason=made))
            return
        self.candidates.append(made)
        slow = "" if made.after < LEAST_GAIN * made.before else NO_FASTER
        size = made.engaged.size
        found = made.differences
        self.attempts.append(
            Attempt(name, label, made.before, made.after, found.largest, found.error, size, reason=slow)
        )

    # -- the whole -------------------------------------------------------------------------------------------

    def _best(self) -> tuple[list[Match], float, float]:
        """The combination that is fastest as a whole, with the seconds of the flat function and its own."""
        self.progress(1 - _LAST, "the whole")
        options: list[list[Match]] = [[], *self._combinations()]
        given = [case for case in self.stage.cases if case.given]
        ways = [self._way([each.engaged for each in option], given) for option in options]
        left = self.seconds - (time.perf_counter() - self.start)
        times = contest(ways, max(0.2, self.seconds * _LAST, left))
        for index in _order(times, [sum(each.engaged.size for each in option) for option in options]):
            option = options[index]
            if times[index] < LEAST_GAIN * times[0] and not self._fault(option):
                return option, times[0], times[index]
        return [], times[0], times[0]

    def _combinations(self) -> Iterator[list[Match]]:
        """The fastest engine of each op together, and each run of nodes alone, with the ops outside of it.

        What is nearly as fast on an op has its try, too: alone, engines of one speed come in an order of chance.
        """
        fast = [each for each in self.candidates if each.after < LEAST_GAIN * each.before]
        ops = _fastest([each for each in fast if each.engaged.region.body is not None])
        runs = [each for each in fast if each.engaged.region.body is None]
        if ops:
            yield ops
            yield from _nearly(ops, fast)
        for run in runs:
            yield [run]
        together = _fastest(runs)
        if len(together) > 1:
            yield together
        if together and _outside(ops, together):
            yield [*together, *_outside(ops, together)]

    def _way(self, engaged: Sequence[Engaged], given: Sequence[Case]) -> Callable[[], None]:
        program = self.stage.program
        runner = self.stage.runner(calls(program.graph, engaged))
        feeds = [case.feed(program) for case in given]

        def run() -> None:
            for feed in feeds:
                runner.run(feed)
            settle(self.stage.device or CPU)

        return run

    def _fault(self, option: Sequence[Match]) -> str:
        """Why engines that are right one by one are not together: their differences add up."""
        return self.stage.verdict([each.engaged for each in option]).fault if len(option) > 1 else ""

    def _findings(self, chosen: Sequence[Match], before: float, after: float) -> Findings:
        taken = {(each.engaged.region.name, each.engaged.label) for each in chosen}
        marked = [
            replace(each, chosen=True, reason="")
            if (each.region, each.engine) in taken
            else replace(each, reason=each.reason or "another choice is faster")
            for each in self.attempts
        ]
        marked.sort(key=lambda each: not each.chosen)
        found = self.stage.verdict([each.engaged for each in chosen]) if chosen else Differences()
        return Findings(
            tuple(marked), before, after, found.largest, found.error, len(self.stage.cases), self.threads,
            time.perf_counter() - self.start, self.finished,
        )  # fmt: skip


def _nearly(fastest: Sequence[Match], candidates: Sequence[Match]) -> Iterator[list[Match]]:
    """The fastest engines of some ops, with one that is nearly as fast in place of one of them."""
    near = [
        (best, each)
        for best in fastest
        for each in candidates
        if each is not best and each.engaged.region.place == best.engaged.region.place
        if _behind(best, each) <= NEAR
    ]
    for best, each in sorted(near, key=lambda pair: _behind(*pair))[:MOST_NEAR]:
        yield [each if found is best else found for found in fastest]


def _behind(best: Match, other: Match) -> float:
    """The ratio of the times of two engines on an op: of their own, or of those to the flat function beside each.

    They were not timed in turns: another process may have slowed the one, and then the flat function with it.
    """
    plain = other.after / best.after
    return min(plain, plain * best.before / other.before)


def _outside(ops: Sequence[Match], runs: Sequence[Match]) -> list[Match]:
    """The ops that no run holds."""
    held = {id(body) for run in runs for body in bodies(run.engaged.region.graph)}
    return [op for op in ops if id(op.engaged.region.body) not in held]


def _order(times: Sequence[float], sizes: Sequence[int]) -> list[int]:
    """The numbers of some ways, fastest first; of those as fast as the fastest, that of the least MiB first."""
    alike = ALIKE * min(times, default=0.0)
    keys = [(time > alike, size >> 20 if time <= alike else 0, time) for time, size in zip(times, sizes, strict=True)]
    return sorted(range(len(times)), key=keys.__getitem__)


def _fastest(candidates: Sequence[Match]) -> list[Match]:
    """The fastest candidate of each region."""
    found: dict[Any, list[Match]] = {}
    for each in candidates:
        found.setdefault(each.engaged.region.place, []).append(each)
    return [
        matches[_order([each.after for each in matches], [each.engaged.size for each in matches])[0]]
        for matches in found.values()
    ]


def choices(chosen: Sequence[Match]) -> tuple[EngineChoice, ...]:
    """The candidates as a program keeps them."""
    return tuple(choice(each.engaged, here(each.engaged.reference.device)) for each in chosen)


def choice(engaged: Engaged, measured_on: Mapping[str, str]) -> EngineChoice:
    """An engine on a region as a program keeps it."""
    place = engaged.region.place
    if isinstance(place, int):
        return EngineChoice(place, None, measured_on, engaged.described(), engaged.tolerance)
    return EngineChoice(None, place, measured_on, engaged.described(), engaged.tolerance)


def engines_of(names: Sequence[str] | None, kinds: Collection[str]) -> list[Engine]:
    """The engines of some names; by default all whose packages are installed, and that run on a kind of device.

    Raises:
        SignatureError: it is no list of names.
        GraphError: there is no engine of a name; MissingExtraError: its package is not installed.
    """
    if names is None:
        found = [catalogue.find(name) for name in catalogue.known() if not catalogue.missing(name)]
        return [engine for engine in found if set(engine.devices) & set(kinds)]
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise SignatureError("engines is no list of names", got=repr(names), expected="a list such as ['onnxruntime']")
    return [catalogue.find(name) for name in dict.fromkeys(names) if name != ATEN]


@contextmanager
def threads_of_torch(count: int | None) -> Iterator[int]:
    """Torch's number of threads for a while; None leaves it."""
    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(count)
    try:
        yield torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
