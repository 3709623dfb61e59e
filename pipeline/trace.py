"""`trace`: records a processing function into a Pipeline.

The function runs on copies of the examples and is recorded, then again on other data, and at another batch size.
A difference between the two that no guard explains would be frozen into the graph, and is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch

from ..ops.graph.errors import GuardError, RecordError, TracepackError
from ..ops.graph.graph import Graph
from ..ops.graph.program import Program
from ..ops.graph.verify import verify
from ..ops.lowering.patches.modules import idle_moves
from ..ops.runtime.interrupts.changes import Lock
from ..ops.runtime.interrupts.verbs import undisturbed
from ..ops.runtime.user_code import first_line, unpacks, writing_line
from ..ops.tracing_hook import as_scripted, current, recording
from .asked_marks import AskedMarks
from .attempts import GivenUp, agreeing, guards_of, here, with_filled_caches, without_state
from .blame import advice_on, blamed, name_of, refuse_swallowed, with_own_line
from .comparing.held_arrays import holding
from .examples import Examples, describe
from .lists.fixed import fixed_lengths, lengths
from .lists.ways import EMPTY
from .patches.builtins import LentCode, recordable
from .patches.library.enums import members
from .patches.library.tables.asked_frames import frames
from .patches.library.values.sample_sizes import samples
from .patches.numpy import hooks
from .patches.plain_code.statements.other_inputs import kinds_of_trace
from .patches.print import muted, printable, tell
from .patches.threads import threads
from .patches.torch import generation, questions
from .patches.unanswered import answered
from .pipeline import Pipeline
from .proxies.branches import BRANCH, MAY_BE_NONE
from .proxies.dicts import RUN_KEYS
from .proxies.lists import CHANGED
from .proxies.sets import UNORDERED
from .proxies.values.known_values import returned
from .proxies.values.members import MEMBER
from .recheck.diff import Difference, difference
from .recheck.mismatch import CHANGES_GIVEN, Mismatch, instead_of_state
from .recheck.op_state import refuse_gaps, refuse_reads
from .recheck.prune import prune
from .recheck.reach.asked_settings import asked_unseen
from .recheck.reach.objects import Objects
from .recheck.sizes import forget_contradicted, forget_sizes, name_sizes, pipeline_facts
from .recheck.vary import clones
from .recording.aliases import refuse_written_weights
from .recording.effects import Watch
from .recording.leaves.ended import ending
from .recording.random import with_states_kept
from .recording.recorder import Recorder
from .recording.rollback import Undo
from .replay import Replay
from .rewriting.attempted import Attempted
from .rewriting.choices_anew import with_choices_anew
from .rewriting.left_out_arguments import with_ways
from .rules.gradients import without_history
from .rules.loadable import refuse_unloadable
from .rules.settings import default_dtype, with_settings
from .running.handed import Looking
from .second import Recording, refuse_motion, second_recording
from .signature.arguments import Given, arguments
from .signature.proofs.needed_sizes import known_facts
from .signature.proofs.proven_sizes import prove_sizes
from .unlike_items import lines_on

_one_at_a_time = Lock(seconds=60)
"""Two traces would each take what the other does to shared objects for their function's state; one may wait for it."""


@undisturbed
def trace(process: Callable[..., Any], *examples: Any, **named: Any) -> Pipeline:
    """Records a Python function that calls ops, and any torch code around them, into a pipeline.

    The function runs on copies of the examples: they are not changed. Sizes stay free except where the function or
    an op relies on them; `print(pipeline.signature)` shows which.

    Args:
        process: the function; a lambda, a method or a closure as well.
        *examples: its positional arguments: tensors, numpy arrays, numbers, strings, and tuples, lists and dicts of
            them.
        **named: its keyword arguments.

    Returns:
        The pipeline: call it like the function, or `run` it on a dict of inputs.

    Raises:
        RecordError: the function does something that a graph cannot hold; the message shows the line.
        SignatureError: an example is of a kind that no pipeline takes.
        LoweringError: a model that it calls cannot be lowered.

    Example:
        >>> import torch, tracepack
        >>> op = tracepack.script(torch.nn.Linear(4, 2), device="cpu")
        >>> mod = tracepack.trace(lambda x: op(x).softmax(-1), torch.rand(3, 4))
        >>> mod.run({"x": torch.rand(8, 4)}).shape
        torch.Size([8, 2])
    """
    if not callable(process):
        raise RecordError("trace takes a function", got=type(process).__name__)
    if current() is not None:
        raise RecordError("trace was called while another trace runs", fix="Trace the outer function only.")
    given = arguments(process, examples, named)
    with _one_at_a_time(), as_scripted(), kinds_of_trace():
        made: Pipeline = with_ways(given, partial(_attempted, process))
    return holding(made._engaged_as_named({each.name: each.value for each in given if each.given}), process)


def _attempted(process: Callable[..., Any], given: Sequence[Given]) -> Attempted:
    """The recording of a function for some arguments, its branches written anew where that holds for more."""
    with Looking("the examples"):
        examined, names = describe(given)
    tried = list[GivenUp]()

    def attempt(before: list[Any]) -> Attempted:
        tried.append(earlier := GivenUp(before))
        with earlier.with_first_cause():
            free, lines = _with_free_lists(process, given, earlier)
            found = free or _recorded(process, examined, names, earlier.reach(process), earlier)
            return Attempted(found, [*lines_on(process, given, found.program.parameters), *lines], earlier)

    return without_state(with_choices_anew(process, attempt), tried)


def _with_free_lists(
    process: Callable[..., Any], given: Sequence[Given], earlier: GivenUp
) -> tuple[Pipeline | None, list[str]]:
    """The pipeline for lists of any length, or None; and a line for each length that the function fixes."""
    examined, names = describe(given, free=True)
    leaves = zip(names, examined.leaves, strict=True)
    lists = {name: len(leaf) for name, leaf in leaves if isinstance(leaf, list) and not isinstance(leaf[0], str)}
    if not lists:
        return None, []
    try:
        found = _recorded(process, examined, names, earlier.reach(process), earlier)
    except Exception as error:  # the recording of lists of fixed lengths says what is wrong
        earlier.of_lists = error
        return None, [] if unpacks(error) else lengths(lists, error)
    return (None, fixed) if (fixed := fixed_lengths(found)) else (found, [])


def _recorded(
    process: Callable[..., Any], examples: Examples, names: Sequence[str], objects: Objects, earlier: GivenUp
) -> Pipeline:
    """The pipeline of a function: recorded as it is, and deeply where that is refused or fixes a text or a number.

    A later recording has to agree with the first of each that was given up: what a function keeps may be another.
    """
    found, problem = cast("Pipeline | None", None), cast("TracepackError | None", None)
    with LentCode(objects.functions):
        plainly = _Tracing(process, examples, names, objects, earlier)
        try:
            found = plainly.pipeline()
        except (RecordError, GuardError) as error:
            problem = error
            earlier += plainly.begun()
        if found is not None and not plainly.fixed:
            return agreeing(found, earlier, plainly, problem)
    with LentCode(objects.functions, deeply=True):
        try:
            make = partial(_Tracing, process, examples, names, objects, earlier, deeply=True)
            deeply, made = with_filled_caches(make, _Tracing.pipeline, earlier)
            if found is not None and plainly.fixed == BRANCH and guards_of(made) >= guards_of(found):
                return agreeing(found, earlier, plainly, problem)
            return agreeing(made, earlier, deeply, problem)
        except Exception as error:
            if found is not None:
                if any(why in str(error) for why in (EMPTY, UNORDERED, CHANGED, RUN_KEYS)):  # no mere length
                    earlier.notes.append(str(error))
                elif isinstance(error, RecordError):
                    earlier.refused = error
                return found
            raise error if isinstance(error, RecordError | GuardError) or problem is None else problem from None


class _Tracing:
    """One call of `trace`.

    Args:
        process: the user's function.
        examples: the arguments that it is recorded with.
        names: the names of the flat inputs.
        objects: the Python objects that the function can reach, as they were before.
        earlier: gets what is to be said of the pipeline, and a refusal for state.
        deeply: whether operations of Python are recorded: subscripts, f-strings, comprehensions.
    """

    def __init__(
        self, process: Callable[..., Any], examples: Examples, names: Sequence[str], objects: Objects,
        earlier: GivenUp, deeply: bool = False,
    ) -> None:  # fmt: skip
        self.user, self.process, self.deeply = process, recordable(process, deeply), deeply
        self.examples, self.names, self.objects, self.earlier = examples, names, objects, earlier
        self.fixed, self.began = "", cast(Recording | None, None)
        tell(objects)

    @with_states_kept()
    def pipeline(self) -> Pipeline:
        """Records twice, compares the recordings, and compares the resulting pipeline with the function."""
        began, dtype = time.perf_counter(), default_dtype()
        first = self.first()
        self.fixed, self.began = first.recorder.plainly_used, first
        if self.fixed == MAY_BE_NONE and not self.deeply:
            raise RecordError(MAY_BE_NONE, where=str(first_line(self.user) or ""))
        refuse_reads(first.graph, self.objects.ops, first.recorder.values.readers())
        second = second_recording(self.record, self.examples, first)
        parameters, facts = known_facts(self.examples.items, self.names, first.graph, self.examples.leaves)
        name_sizes(first.graph, second, self.examples.leaves)
        asked = first.recorder.asked | asked_unseen(self.objects)
        graph = with_settings(first.graph, dtype, asked, self.examples.leaves)
        refuse_unloadable(graph, str(first_line(self.user) or ""), self.objects.plain_values())
        found = here(Program(name_of(self.user), graph, parameters, facts))
        replay = Replay(self.user, self.examples, first.recorder, found, self.objects, time.perf_counter() - began)
        if (mismatch := replay.mismatch()) is not None:
            raise self.explained(mismatch, first)
        refuse_motion(replay, partial(self.record, self.examples))
        if found_class := replay.class_mismatch():
            what = f"the function asks for the class of a dict or a list, which no signature holds: {found_class}"
            raise RecordError(what, where=str(first_line(self.user) or ""), fix="Pass the difference as a flag.")
        self.earlier.notes += [*replay.notes, *[CHANGES_GIVEN] * replay.changed]
        refuse_gaps(found.program, self.on_example)
        forget_sizes(graph, parameters, replay.shapes)
        prove_sizes(graph, parameters, self.examples.leaves)
        forget_contradicted(graph, parameters, replay.shapes)
        marked = AskedMarks(replay).marked(graph, self.names)
        return found if marked is graph else here(replace(found.program, graph=marked))

    def on_example(self, program: Program) -> Any:
        """The answer of a pipeline to the example."""
        args, kwargs = self.examples.call(clones(self.examples.leaves))
        return here(program)(*args, **kwargs)

    def begun(self) -> list[Pipeline]:
        """The first recording by itself, as a pipeline, where there was one that can run."""
        if self.began is None or self.fixed in (MAY_BE_NONE, MEMBER) or self.examples.whole:  # with floats for ints
            return []
        try:
            parameters, facts = pipeline_facts(self.examples.items, self.names, self.began.graph)
            name_sizes(self.began.graph, None)
            return [here(Program(name_of(self.user), self.began.graph, parameters, facts))]
        except TracepackError:
            return []

    def record(self, examples: Examples, settled: bool = True) -> Recording:
        """One recording, which leaves Python's objects as they were."""
        try:
            return _record(self.process, examples, settled)
        except TracepackError as error:
            with_own_line(error, function=self.user)
            raise
        finally:
            self.objects.restore()

    def first(self) -> Recording:
        """The recording that becomes the pipeline; raises the function's own error if it also fails unrecorded."""
        try:
            return self.record(self.examples, settled=False)
        except TracepackError:
            raise
        except Exception as error:
            raise (found := blamed(error, self.user, self.examples)) from found.__cause__
        finally:
            self.objects.restore()

    def explained(self, mismatch: Mismatch, first: Recording) -> RecordError:
        """The error for a call in which graph and function differ, with the line of the first different node."""
        if mismatch.asking is not None:
            return mismatch.of_moment()
        if mismatch.repeated:
            return self.earlier.of_state(self.explained_state(mismatch, first))
        found = self.again(mismatch.leaves, first)
        if (chosen := first.recorder.values.chosen.explaining(mismatch.what)) is not None:
            return chosen
        return RecordError(
            f"the recorded graph does not answer as the function does: {found.what if found else mismatch.what}",
            where=str((found and found.line) or first_line(self.user) or ""), got=found and mismatch.what,
            fix=advice_on(mismatch.what, bool(self.examples.numbers), self.user),
        )  # fmt: skip

    def explained_state(self, mismatch: Mismatch, first: Recording) -> RecordError:
        args, kwargs = self.examples.call(self.examples.alike(self.examples.leaves))
        try:
            undo = Undo(first.recorder.values)
            with torch.no_grad(), muted(), undo.restored(), undo:
                self.user(*args, **kwargs)
            found = self.again(self.examples.leaves, first)
        except Exception:  # the mismatch is reported anyway, without a line
            found = None
        finally:
            self.objects.restore()
        place, key = mismatch.place or (None, None)
        kept = f" in {place.name}" + (f", {key!r}" if isinstance(key, str) and key else "") if place else ""
        line = (found and found.line) or (writing_line(self.objects.functions, key) if place else None)
        return RecordError(
            f"the function keeps state{kept}: a later call answers otherwise, {mismatch.what}"
            if found is None
            else f"a second recording on other data differs: {found.what}; the function keeps state{kept}",
            where=str(line or first_line(self.user) or ""),
            fix=instead_of_state("" if place is None else place.name),
        )

    def again(self, leaves: Sequence[Any], first: Recording) -> Difference | None:
        """How the recording of one more call differs from the first recording."""
        try:
            return difference(first.whole, _record(self.process, replace(self.examples, leaves=leaves), True).whole)
        except Exception:
            return None
        finally:
            self.objects.restore()


def _record(process: Callable[..., Any], examples: Examples, settled: bool = False) -> Recording:
    """Records the function on copies of the leaves."""
    recorder = Recorder(settled=settled)
    pairs = [recorder.input(leaf) for leaf in clones(examples.leaves)]
    undo = Undo(recorder.values)
    with (
        recorder.states, torch.no_grad(), recording(recorder), printable(), hooks(), questions(), members(), samples(),
        generation(), threads(), answered(), frames(), idle_moves(), undo.restored(), undo, Watch(recorder), recorder,
        ending(recorder),
    ):  # fmt: skip
        args, kwargs = examples.call([handed for _, handed in pairs])
        try:
            output = returned(recorder, recorder.output(process(*args, **kwargs)))
        except Exception as error:
            if recorder.refused is not None:  # the later error follows from the refusal that the function caught
                raise with_own_line(recorder.refused, error) from None
            raise
    if recorder.refused is not None:
        raise recorder.refused
    recorder.rounds.refuse_open()
    recorder.values.refuse_changes()
    refuse_swallowed(recorder)
    whole = Graph(tuple(value for value, _ in pairs), tuple(recorder.nodes), output)
    verify(graph := without_history(prune(whole), recorder.values.readers()))
    refuse_written_weights(graph)
    return Recording(graph, whole, recorder)
