"""Proof by replay: compares a pipeline with the function it was recorded from, which runs outside of any recording.

Both are called in turn, on the example and on other data, sizes, layouts and numbers. What the function leaves in
Python's objects stays there from call to call, so that state shows; all of it is restored at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import torch

from ..ops.engines.rest import Exactly
from ..ops.graph.errors import TracepackError
from ..ops.graph.traverse import bodies
from ..ops.lowering.patches.lock import Patched
from ..ops.runtime.interrupts.unheard import Unheard
from ..ops.runtime.primitives.control_flow import LimitedRounds
from ..ops.runtime.safety.card_indices import tried_on_cpu
from ..ops.tracing_hook import models_run, plainly
from .examples import Examples
from .patches.builtins import as_written
from .patches.library.elsewhere.moments import other_answer
from .patches.print import muted
from .pipeline import Pipeline
from .recheck.answers import by_chance, difference, shares_otherwise
from .recheck.calls_in_a_row import CallsInARow
from .recheck.given.containers import ordered, plain, shared_leaves
from .recheck.given.key_order import key_orders
from .recheck.glimpses import outline, shapes
from .recheck.mismatch import Mismatch, note, raised
from .recheck.reach.later import Moves, in_later_states, moved
from .recheck.reach.objects import Objects
from .recheck.reach.solved_numbers import solved_numbers
from .recheck.reach.unseen_sides import TakenSides, leading_there
from .recheck.uninitialised import Filled, examples_within, fills, is_unchecked, is_uninitialised, trusts_values
from .recheck.vary import clones, ones
from .recording.recorder import Recorder
from .recording.rollback import States, Undo

TRIES = 4  # of a function that may give other results by chance, as some reductions in several threads do
Made = TypeVar("Made")
CALLS = 3  # in a row, with the example itself
MOST_MOVED = 8  # things that change on other data than the example: each is followed through many calls
MOST_ROUNDS = 20  # of a loop on other data than the example: it may never end, or double its tensors each time
MOST_SECONDS = 10.0  # spent on replays, or as long as the recording took: only large models get fewer replays


class Replay:
    """Calls of one function and its pipeline.

    Args:
        process: the user's function.
        examples: the arguments that it was recorded with.
        recorder: the one that recorded it.
        pipeline: the result of the recording.
        objects: the Python objects that the function can reach, as they were before.
        seconds: how long the recording took.

    Attributes:
        shapes: the flat inputs and the result of each call.
        changed: whether the function changed a list or a dict that it was given.
        moving: what it still changes in Python's objects after some calls with the example.
        notes: what is to be said of what it reads.
    """

    def __init__(
        self, process: Callable[..., Any], examples: Examples, recorder: Recorder, pipeline: Pipeline, objects: Objects,
        seconds: float,
    ) -> None:  # fmt: skip
        self.process, self.examples, self.recorder, self.objects = process, examples, recorder, objects
        self.stateful, self.until = pipeline.stateful, time.perf_counter() + max(MOST_SECONDS, seconds)
        self.pipeline = pipeline.session() if self.stateful else pipeline
        self.sides = TakenSides(self.pipeline._runner.plan)
        self.values, self.fills = not is_uninitialised(pipeline.graph), fills(pipeline.graph)
        self.shapes: list[tuple[Sequence[Any], Any]] = []
        self.row, self.moving, self.notes = CallsInARow(process, objects), Moves(), list[str]()
        self.resizes, self.changed, self.exact = not is_unchecked(pipeline.graph), False, True
        self.trusts = trusts_values(pipeline.graph)
        self.within: AbstractContextManager[Any] = nullcontext()

    def mismatch(self) -> Mismatch | None:
        """The first call in which the two differ."""
        return note(self._in_turn() or self._with_models())

    def recorded_after(self, more: int, record: Callable[[], Made]) -> Made | None:
        """One more recording, after some calls and `more`, with what they left in objects; None where that fails."""
        with self.aside(), suppress(Exception):
            for _ in range(CALLS + more):
                self.plain(self.examples.alike(self.examples.leaves))
            self.recorder.generators.restore()
            return record()
        return None

    def class_mismatch(self) -> str:
        """How both differ where dicts of other classes come as plain dicts, or as OrderedDicts; empty if not at all."""
        own = self.examples
        kinds = [plain, ordered] if own.originals else []
        return next((f for kind in kinds if (f := self.first_call(own.leaves, replace(own, dicts=kind))[1])), "")

    def first_call(self, leaves: Sequence[Any], examples: Examples) -> tuple[bool, str]:
        """Calls both in their initial state, with other arguments; what they leave is removed. As `_call` returns."""
        if self.stateful:
            self.pipeline.reset()
        before, self.examples = self.examples, examples
        try:
            with self.aside():
                return self._call(leaves)
        finally:
            self.examples = before

    def _in_turn(self) -> Mismatch | None:
        with self.aside():
            ran, found, number = self._in_a_row(self.examples.leaves, own=True)
            if found:
                return Mismatch(found, self.examples.leaves, repeated=number > 0, place=self.objects.first_change())
            if not ran:
                return None
            self.moving = self.row.moving
            late = self._moved()
            if self.stateful and late is None:  # now, since the states of both may not keep in step
                late = self._after_many_calls()
            late = late or other_answer(self._within, self.objects, self.examples.leaves, self.notes)
            if late is not None:
                return late
            known, tried = self.objects.state(), list[Sequence[Any]]()
            for leaves in self._trials():
                if time.perf_counter() > self.until:
                    break
                if not self.resizes and shapes(leaves) != shapes(self.examples.leaves):
                    continue
                ran, found = self._call(leaves)
                if found:
                    return self._judged(found, leaves)
                if ran:
                    tried.append(leaves)
                elif self.stateful:
                    break
            if self.stateful:
                return None
            late = self._on_unseen_sides(tried)
            now = self.objects.state()
            if late is None and any(each not in known for each in now) and self.objects.state() == now:
                late = self._on_untaken_ways(tried)  # no other thread writes there
            if late is not None:
                return late
            if self.row.restore():  # what calls at other sizes have left may make all further ones fail
                self._in_a_row(self.examples.leaves, own=True)
            return self._after_many_calls()

    def _on_untaken_ways(self, tried: Sequence[Sequence[Any]]) -> Mismatch | None:
        """Compares many calls with data on which an object changes from call to call, where with the example none does.

        Args:
            tried: data that function and pipeline take.
        """
        seen, kept, until = set[tuple[int, str]](), len(self.shapes), time.perf_counter() + MOST_SECONDS / 4
        for leaves in (each for each in tried if time.perf_counter() < until):
            self.row.restore()
            ran, found, _ = self._in_a_row(leaves)
            if found:
                return Mismatch(found, leaves, repeated=True, place=self.objects.first_change())
            new = {(id(place), str(key)) for place, key, _ in self.row.moving} - seen
            late = self._moved() if ran else None
            if ran and new and len(seen) < MOST_MOVED:
                late = late or self._after_many_calls(leaves)
            if late is not None:
                return late
            seen |= new
        del self.shapes[kept:]
        return None

    def _on_unseen_sides(self, tried: list[Sequence[Any]]) -> Mismatch | None:
        """Compares calls on data that take sides of choices which no other data took, and adds them to those tried."""
        if self.trusts:
            return None
        kept, known = len(self.shapes), [*self._known(), *solved_numbers(self.pipeline.graph)]
        for leaves in leading_there(self.sides, self._run, self.examples.leaves, known):
            _, found = self._call(leaves)
            tried.append(leaves)
            if found:
                return self._judged(found, leaves)
        del self.shapes[kept:]
        return None

    def _within(self, context: AbstractContextManager[Any]) -> str:
        self.within = context
        found = self._call(self.examples.leaves, own=True)[1]
        self.within = nullcontext()
        return found

    def _in_a_row(self, leaves: Sequence[Any], own: bool = False) -> tuple[bool, str, int]:
        return self.row.over([partial(self._call, leaves, own)] * CALLS)

    def _moved(self) -> Mismatch | None:
        """The mismatch of a function that moves an iterator or a queue which it keeps."""
        taken = moved(self.row.moving)
        what, leaves = "it goes on where this one ended", self.examples.leaves
        return None if taken is None else Mismatch(what, leaves, repeated=True, place=(taken, ""))

    def _judged(self, found: str, leaves: Sequence[Any]) -> Mismatch:
        """The mismatch, blamed on state if function and pipeline agree once that call is the first one."""
        changed = self.objects.first_change()
        if changed is None:
            return Mismatch(found, leaves)
        self.objects.restore()
        _, first = self._call(leaves)
        return Mismatch(found, leaves, repeated=not first, place=changed)

    def _after_many_calls(self, other: Sequence[Any] = ()) -> Mismatch | None:
        """Compares function and pipeline where an object still changes after some calls with one example.

        It counts, sums or collects: both are called often, and with values in it that more calls could give.

        Args:
            other: the inputs of these calls, where they are not the example's.
        """
        moving, before = self.row.moving, self.row.before
        kept, own = len(self.shapes), [*[other] * bool(other), self.examples.leaves]
        for _ in in_later_states(moving, before, self.objects.plain_values()):
            others = [] if self.trusts else [ones(self.examples.leaves)]  # a factor would not show on zeros
            for leaves in (*own, *others):
                _, found = self._call(leaves)
                if found:
                    return Mismatch(found, leaves, repeated=True, place=moving[0][:2])
            del self.shapes[kept:]
        return None

    def _with_models(self) -> Mismatch | None:
        """Compares calls in which ops run their original models, whose hooks and attributes may keep state.

        Where the first one changes objects of Python, others and what many would leave show whether that matters.
        """
        if next(iter(bodies(self.pipeline.graph)), None) is None:
            return None
        self.pipeline.reset()
        self.exact = False  # a lowered model may sum in another order
        others = next(self._trials(), self.examples.leaves)  # what a hook left of the example would be right for it
        in_turn = [partial(self._call, leaves) for leaves in (self.examples.leaves, self.examples.leaves, others)]
        with self.aside(), plainly():
            ran, found, _ = self.row.over(in_turn, idle_ends=True)
            if ran and found:
                return Mismatch(found, self.examples.leaves, place=self.objects.first_change())
            late = other_answer(self._within, self.objects, self.examples.leaves, self.notes)
            if late is not None or not ran or self.stateful:  # what a model writes to its buffers is in step
                return late or (self._moved() if ran else None)
            late = self._moved()
            if self.row.restore() and late is None:
                self.row.over(in_turn, idle_ends=True)
            return late or self._after_many_calls()

    def _trials(self) -> Iterator[list[Any]]:
        return examples_within(self.pipeline.graph, self.examples.leaves, self._known())

    def _known(self) -> list[Any]:
        """The numbers and texts that the function's code names."""
        with as_written():  # a block has its constants elsewhere
            return [*self.objects.plain_values()]

    def _run(self, leaves: Sequence[Any]) -> Any:
        """What the pipeline answers on other data than the example."""
        args, kwargs = self.examples.call(clones(leaves))
        with LimitedRounds(MOST_ROUNDS), tried_on_cpu():
            return self.pipeline(*args, **kwargs)

    def _call(self, leaves: Sequence[Any], own: bool = False) -> tuple[bool, str]:
        """Calls both: returns whether both ran, and how they differ; empty where one of them refuses its inputs."""
        alike = self.examples.alike if own else clones
        given, handed = alike(leaves), alike(leaves)
        try:
            args, kwargs = self.examples.call(given)
            with nullcontext() if own else LimitedRounds(MOST_ROUNDS), tried_on_cpu(), self.sides.watched():
                got = self.pipeline(*args, **kwargs)
        except TracepackError as error:
            return False, f"it refuses its own example: {error}" if own and self._runs(leaves, alike) else ""
        except Exception:
            return False, ""
        before = models_run()
        try:
            with self.within:
                wanted = self.plain(handed)
        except Exception as error:
            return False, raised(error, own)
        self.exact = self.exact and models_run() == before  # an op made by the function has nothing lowered
        found = self.difference(wanted, got) or self.difference(shared_leaves(handed), shared_leaves(given))
        found = found or (shares_otherwise([wanted, handed], [got, given]) if own else "")
        open_to_chance = bool(found) and not self.objects.first_change() and key_orders(wanted) == key_orders(got)
        if open_to_chance and not isinstance(self.within, Patched) and self._is_chancy(wanted, got, leaves, alike):
            found = ""
        self.shapes.append((leaves, got))
        return True, found

    def _is_chancy(self, wanted: Any, got: Any, leaves: Sequence[Any], alike: Callable[[Any], list[Any]]) -> bool:
        """Whether the function itself gives another result for the same inputs, at times.

        One that changes something on the way, and is back where it was after some calls, gives it by its state.
        """
        results = [wanted]
        for _ in range(TRIES):
            results.append(self.plain(alike(leaves)))
            if self.objects.first_change():
                return False
        return by_chance(results, self.difference, rounded=not difference(wanted, got, values=self.values))

    def _runs(self, leaves: Sequence[Any], alike: Callable[[Sequence[Any]], list[Any]]) -> bool:
        with suppress(Exception):
            self.plain(alike(leaves))
            return True
        return False

    def difference(self, wanted: Any, got: Any) -> str:
        """How two results differ; empty if not at all."""
        if self.examples.dicts is not None:  # a dict that is handed on keeps its class
            wanted, got = plain(wanted), plain(got)
        return difference(wanted, got, values=self.values, exact=self.exact)

    def plain(self, leaves: Sequence[Any]) -> Any:
        """What the function gives."""
        args, kwargs = self.examples.call(leaves)
        before = outline([args, kwargs])
        with torch.no_grad(), Exactly(), as_written(), tried_on_cpu():
            result = self.process(*args, **kwargs)
        self.changed = self.changed or outline([args, kwargs]) != before
        return result

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Runs calls of the function whose traces are removed: text, warnings, state, and writes to memory."""
        generators = self.recorder.generators
        generators.restore()
        states, undo = States(), Undo(self.recorder.values if self.recorder.values.captured else None)
        kept, filled = undo if self.recorder.values.captured else nullcontext(), Filled if self.fills else nullcontext
        with muted(), Unheard(), states, undo.restored(), kept, filled():
            for state in self.recorder.states.met():
                states.enter(state)
            try:
                yield
            finally:
                self.row.restore()
        generators.restore()
