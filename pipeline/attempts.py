"""Several recordings of one function, held against each other.

One that is given up has called the function all the same. What the function keeps where nobody looks, such as a lock
that is taken or an attribute of an object of torch, is then another thing for the next recording, which may see nothing
but that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from ..ops.graph.device import parse_device
from ..ops.graph.errors import RecordError
from ..ops.graph.graph import Guard
from ..ops.graph.program import Program
from ..ops.graph.traverse import bodies, walk
from ..ops.runtime.placement import runs_on
from ..ops.runtime.primitives.control_flow import LimitedRounds
from ..ops.runtime.user_code import first_line
from .examples import Examples
from .lists.fixed import OF_ONE_TYPE
from .patches.plain_code.called_models import calls_of_trace
from .patches.python.choices.sides import noting_mixed
from .patches.python.loops.constants import Key, attempting
from .pipeline import Pipeline
from .recheck.answers import difference
from .recheck.mismatch import DIFFERS
from .recheck.reach.later import used_up
from .recheck.reach.objects import Objects
from .recheck.uninitialised import examples_within
from .recheck.vary import clones

Found = TypeVar("Found")
Made = TypeVar("Made", bound=Callable[..., Any])


class GivenUp(list[Any]):
    """The first recordings that were given up, as pipelines.

    Attributes:
        refused: what the deep recording was refused for, where the plain one takes its place.
        of_lists: what the recording of lists of any length failed with.
        mixed: the lines of choices between an int and a float.
        notes: what is to be said of the pipeline that is found.
        state: the first refusal for state: calls were held against each other, so that no other recording answers it.
    """

    refused: RecordError | None = None
    of_lists: Exception | None = None
    state: RecordError | None = None

    def __init__(self, before: Iterable[Any] = ()) -> None:
        super().__init__(before)
        self.mixed, self.notes, self._reached = set[str](), list[str](), list[Objects]()

    def reach(self, process: Any) -> Objects:
        """What a function can reach before one more recording.

        Raises:
            RecordError: it keeps state, as an earlier recording has shown.
        """
        if self.state is not None:
            raise self.state
        self._reached.append(Objects(process))
        return self._reached[-1]

    def of_state(self, error: RecordError) -> RecordError:
        """A refusal for state, of which note is taken."""
        self.state = self.state or error
        return error

    @property
    def first(self) -> Objects | None:
        """What the function could reach before anything called it."""
        return next(iter(self._reached), None)

    @contextmanager
    def with_first_cause(self) -> Iterator[None]:
        """While it is entered, a refusal that only follows from lists of fixed length gives way to that of the others.

        Code that takes plain numbers was given the items one by one then, and it fails inside of itself. In the end
        the caches that the function filled keep nothing that it wrote to.
        """
        try:
            with noting_mixed(self.mixed), calls_of_trace():
                yield
        except StopIteration as error:  # its first call may well have had an item
            raise RecordError(
                "the function takes an item of an iterator that has no more, or had none any more after some calls",
                where=self.first_line,
                fix="Make it in the function, or pass what it gives as an argument.",
            ) from error
        except RecordError as error:
            if error.where in self.mixed:
                what, where, got, expected = error.what, error.where, error.got, error.expected
                raise RecordError(what, where=where, got=got, expected=expected, fix=f"{OF_ONE_TYPE}.") from error
            first = self.of_lists
            if not isinstance(first, RecordError) or first.where != error.where or not _follows(error):
                raise
            raise (error if _follows(first) else first) from None
        finally:
            for objects in self._reached:
                objects.empty_caches()

    @property
    def first_line(self) -> str:
        """The first line of the function."""
        functions = self.first.functions if self.first is not None else []
        return str((functions and first_line(functions[0])) or "")


def without_state(found: Found, tried: Sequence[GivenUp]) -> Found:
    """What came of some attempts, unless calls of one showed state, or took the last of what each takes more from."""
    first = tried[0].first
    if first is not None and (place := used_up(place for place, _ in first.changes())) is not None:
        raise RecordError(
            f"the function keeps state in {place.name}: each call goes on where the one before ended, up to its end",
            where=tried[0].first_line,
            fix="Make it in the function, or pass what it gives as an argument.",
        )
    if (state := next((each.state for each in tried if each.state is not None), None)) is not None:
        raise state
    return found


def _follows(error: RecordError) -> bool:
    return error.what.startswith(("code that takes plain numbers failed", "a value that data decides cannot leave"))


MOST_TRIALS = 6
MOST_ROUNDS = 1000
MOST_MORE = 16
"""Further recordings in which loops over constants become loops of the graph, and choices go both ways.

One may show another one inside of it, or after it.
"""


def with_constant_loops(make: Callable[[], Any], recorded: Callable[[Any], Made]) -> tuple[Any, Made]:
    """The pipeline of a function whose loops over constants branch on what is recorded, and the tracing that made it.

    Each is recorded anew, as a loop of the graph, where that fixes less.

    Args:
        make: begins a tracing.
        recorded: gives the pipeline of one.
    """
    best: tuple[Any, Made] | None = None
    problem: Exception | None = None
    looped, failed = frozenset[Key](), set[Key]()
    for _ in range(1 + MOST_MORE):
        tracing = make()
        with attempting(looped) as attempt:
            try:
                found = recorded(tracing)
            except Exception as error:
                beyond = getattr(error, "where", "") != getattr(problem, "where", "")
                further = not attempt.running and (attempt.passed or beyond)
                problem, found = error if further else problem or error, None
        if found is not None and (best is None or guards_of(found) < guards_of(best[1])):
            best = tracing, found
        elif attempt.wanted <= looped | failed:
            if looped and not attempt.running and (best is not None or attempt.others <= looped | failed):
                break
            failed |= {*attempt.running[-1:]}  # a side of it fails on the example, or gives other things
        more = (attempt.wanted if best is not None else attempt.wanted | attempt.others) - failed
        if more <= looped and not looped & failed:
            break
        looped = (looped | more) - failed
    if best is None:
        assert problem is not None
        raise problem
    return best


def with_filled_caches(
    make: Callable[[], Any], recorded: Callable[[Any], Made], earlier: list[Any]
) -> tuple[Any, Made]:
    """As `with_constant_loops`; once more where a cache that the function filled made the second recording another one.

    Args:
        make: begins a tracing.
        recorded: gives the pipeline of one.
        earlier: gets the first recordings of the tracings that are given up.
    """
    begun: list[Any] = []

    def making() -> Any:
        begun.append(make())
        return begun[-1]

    try:
        return with_constant_loops(making, recorded)
    except RecordError as error:
        if DIFFERS not in str(error):
            raise
    earlier += [each for tracing in begun for each in tracing.begun()]
    return with_constant_loops(make, recorded)


def guards_of(pipeline: Any) -> int:
    """How many conditions a pipeline checks in each run."""
    return sum(isinstance(node.target, Guard) for node in walk(pipeline.graph))


def agreeing(found: Made, earlier: Sequence[Any], tracing: Any, problem: Exception | None) -> Made:
    """A pipeline that answers as the first recordings of all that were given up do.

    Args:
        found: the pipeline.
        earlier: those recordings.
        tracing: the one that made the pipeline.
        problem: why an earlier recording was given up; None where it was not refused.

    Raises:
        RecordError: it answers otherwise.
    """
    pipeline: Any = found
    others = examples_within(pipeline.graph, tracing.examples.leaves, tracing.objects.plain_values())
    if earlier and not _agree(earlier, found, tracing.examples, others):
        what = "the function keeps state out of sight: it does not answer as it did when it was called first"
        fix = "Pass it as an input, or keep it in an attribute, a list or a dict."
        raise problem or RecordError(what, where=str(first_line(tracing.user) or ""), fix=fix)
    return found


def _agree(earlier: Sequence[Any], found: Any, examples: Examples, others: Iterable[list[Any]]) -> bool:
    """Whether pipelines answer alike, on the example and on other data, as far as they take it."""
    for leaves in [examples.leaves, *islice(others, MOST_TRIALS)]:
        wanted = _answer(found, examples, leaves)
        for other in earlier:
            answer = _answer(other, examples, leaves)
            if wanted and answer and difference(wanted[0], answer[0], exact=False):
                return False
    return True


def _answer(pipeline: Any, examples: Examples, leaves: Sequence[Any]) -> list[Any]:
    """What a pipeline answers in its initial state, in a list; an empty one where it does not take the data."""
    try:
        pipeline = pipeline.session() if pipeline.stateful else pipeline  # which keeps its state for the user
        args, kwargs = examples.call(clones(leaves))
        with LimitedRounds(MOST_ROUNDS):  # on some data a loop never ends
            return [pipeline(*args, **kwargs)]
    except Exception:
        return []


def here(program: Program) -> Pipeline:
    """The pipeline in the process that traced it, where ops for accelerators that this machine lacks run on the CPU."""
    lacking = any(runs_on(device) != device for device in map(parse_device, {b.device for b in bodies(program.graph)}))
    return Pipeline(program, gpu_ops="cpu" if lacking else "gpu")
