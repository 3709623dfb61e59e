"""Golden examples: stored inputs and outputs, replayed to find numerical differences between machines."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from ...ops.engines.rest import Alone, Exactly
from ...ops.graph.errors import GoldenMismatchError, SignatureError, shown
from ...ops.graph.graph import Graph, Record
from ...ops.runtime.primitives.named_tuples import is_record, map_values, to_record
from ...serialization.golden import Example, Golden
from ..running.binding import as_tensor
from ..running.handed import Looking
from ..running.runner import may_write
from ..running.stand_ins import fixed
from .precision import TOLERANCES, output_precisions, precision, stepped_outputs
from .processor import moved, processor, processor_text
from .values import are_texts, compare_plain, compare_tensors, is_floating, is_number, relative_error


@dataclass(frozen=True)
class OutputReport:
    """One output over all examples.

    Attributes:
        name: where it is in the result, such as ``"out[0]"``.
        largest: the largest absolute difference; infinity where shape, dtype or kind differ.
        tolerance: what it may differ by, relative and absolute; zero for what is exact.
        equal: whether all were equal bit for bit.
        within: whether all were within the tolerance.
        passed: whether all are accepted: within the tolerance, or decided by rounding on another kind of processor.
        error: the largest relative error: the norm of the difference to that of the stored output.
    """

    name: str
    largest: float
    tolerance: float
    equal: bool
    within: bool
    passed: bool
    error: float = 0.0


@dataclass(frozen=True)
class Report:
    """What replaying the examples found.

    Attributes:
        recorded: the processor that gave the stored outputs; empty where the file does not say.
        here: the processor of this machine.
    """

    examples: int
    outputs: tuple[OutputReport, ...]
    recorded: Mapping[str, str]
    here: Mapping[str, str]

    @property
    def passed(self) -> bool:
        """Whether every output was accepted."""
        return all(output.passed for output in self.outputs)

    @property
    def moved(self) -> bool:
        """Whether the file is known to come from another kind of processor, or another torch."""
        return moved(self.recorded, self.here)

    def require(self) -> None:
        """Raises an error where an output was not accepted; warns where another kind of processor gives other bits.

        Raises:
            GoldenMismatchError: naming the outputs and their largest differences.
        """
        bad = [output for output in self.outputs if not output.passed]
        if bad:
            raise GoldenMismatchError(
                f"golden examples give other outputs here: {_differences(bad)}",
                where=self.moved_text,
                fix="Compare the torch versions with `tracepack inspect`.",
            )
        other = [output for output in self.outputs if not output.equal]
        if other and self.moved:
            warnings.warn(
                shown(f"golden examples give other bits here: {_differences(other)}; {self.moved_text}"), stacklevel=4
            )

    @property
    def moved_text(self) -> str:
        """The processors that wrote and replayed the outputs, for a message; empty where they are of one kind."""
        if not self.moved:
            return ""
        return f"written on {processor_text(self.recorded)}, replayed on {processor_text(self.here)}"


def _differences(outputs: Sequence[OutputReport]) -> str:
    return ", ".join(f"{o.name} differs by up to {o.largest:.3g} (tolerance {o.tolerance:g})" for o in outputs)


class Runnable(Protocol):
    """The parts of a pipeline that recording and replaying examples need."""

    @property
    def stateful(self) -> bool:
        """Whether a run changes what later runs give."""
        ...

    @property
    def graph(self) -> Graph:
        """The graph of the pipeline."""
        ...

    @property
    def placement(self) -> dict[str, str]:
        """The device on which each op runs."""
        ...

    def session(self) -> Runnable:
        """A pipeline with a state of its own."""
        ...

    def run(self, feed: Mapping[str, Any]) -> Any:
        """The outputs for named inputs."""
        ...


def record_examples(
    pipeline: Runnable, feeds: Sequence[Mapping[str, Any]], plain: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> Iterator[Example]:
    """Runs every feed, and returns the feeds with their outputs, as an archive holds them.

    Args:
        pipeline: to run them with.
        feeds: dicts like those of a run.
        plain: makes a feed of plain tensors and numbers from one with arrays and numbers of numpy.

    Raises:
        SignatureError: they are no list of feeds, or one does not fit the pipeline.
    """
    _require_feeds(feeds)
    if pipeline.stateful:  # the examples run one after the other, from the initial state
        pipeline = pipeline.session()
    for feed in feeds:
        with Looking("the examples"):
            inputs = stored(plain(feed))  # before a run that may write into them
        with Exactly():  # a machine without the engines must give these outputs too
            outputs = pipeline.run(stored(inputs))  # which has the memory that a replay will have, without gaps
        yield inputs, stored(outputs)


def _require_feeds(feeds: Any) -> None:
    with Looking("the examples"):
        are_feeds = isinstance(feeds, Iterable) and not isinstance(feeds, Mapping)
        are_feeds = are_feeds and all(isinstance(feed, Mapping) for feed in feeds)
    if not are_feeds:
        got = type(feeds).__name__
        raise SignatureError("examples are a list of dicts like run's", got=got, expected="[{'x': …}, …]")


def checked_feeds(feeds: Any, plain: Callable[[Mapping[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    """The feeds as plain tensors and numbers; at least one.

    Raises:
        SignatureError: they are no list of feeds, there is none, or one does not fit the pipeline.
    """
    _require_feeds(feeds)
    found = [plain(feed) for feed in feeds]
    if not found:
        raise SignatureError("there are no examples", expected="[{'x': …}, …], of the sizes that matter")
    return found


def stored(tree: Any) -> Any:
    """A tree as an archive holds it: copies of tensors, arrays as tensors, records for namedtuples."""
    return map_values(_stored_leaf, tree, to_record)


def _stored_leaf(leaf: Any) -> Any:
    tensor = as_tensor(leaf)
    return fixed(leaf) if tensor is None else tensor.clone()


def golden_terms(graph: Graph, devices: Iterable[str], tolerance: float | None) -> Golden:
    """The terms that an archive stores for replays: the precision of each output, and this processor.

    Args:
        graph: of the pipeline whose outputs are compared.
        devices: where its ops run.
        tolerance: for every output of numbers, in place of that of its precision.

    Raises:
        SignatureError: the tolerance is not a finite number of at least 0.
    """
    if tolerance is not None and not (type(tolerance) in (int, float) and 0 <= tolerance <= sys.float_info.max):
        raise SignatureError("not a tolerance", got=repr(tolerance), expected="a number of at least 0")
    return Golden(
        None if tolerance is None else float(tolerance),
        output_precisions(graph, may_write),
        processor(devices),
    )


def replay(pipeline: Runnable, examples: Sequence[tuple[Mapping[str, Any], Any]], terms: Golden | None) -> Report:
    """Runs every example and compares its outputs with those stored.

    Args:
        pipeline: runs them.
        examples: feeds with the outputs that they gave.
        terms: what the file says about the comparison; None for a file of format 1.0, which says nothing.
    """
    here = processor(pipeline.placement.values())
    terms = terms or Golden(None, output_precisions(pipeline.graph, may_write), {})
    elsewhere = moved(terms.processor, here)
    rules = _Rules(terms, stepped_outputs(pipeline.graph, may_write) if elsewhere else None)
    worst: dict[str, OutputReport] = {}
    for feed, wanted in examples:
        with Alone():
            got = pipeline.run(feed)
        for name, a, b in _pairs(wanted, got, "out"):
            found = rules.compare(name, _on_cpu(a), _on_cpu(b))
            before = worst.get(name, found)
            worst[name] = OutputReport(
                name, max(before.largest, found.largest), max(before.tolerance, found.tolerance),
                before.equal and found.equal, before.within and found.within, before.passed and found.passed,
                max(before.error, found.error),
            )  # fmt: skip
    return Report(len(examples), tuple(worst.values()), terms.processor, here)


def _on_cpu(value: Any) -> Any:
    return value.cpu() if isinstance(value, torch.Tensor) else value


def _pairs(wanted: Any, got: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, Record) and is_record(got):
        wanted = wanted.items
    if isinstance(wanted, tuple | list) and isinstance(got, tuple | list) and len(wanted) == len(got):
        for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
            yield from _pairs(a, b, f"{name}[{index}]")
    elif isinstance(wanted, dict) and isinstance(got, dict) and wanted.keys() == got.keys():
        for key in wanted:
            yield from _pairs(wanted[key], got[key], f"{name}[{key!r}]")
    else:
        yield name, wanted, got


class _Rules:
    """The rules of the comparison: by how much an output may differ.

    Floating numbers may differ by their tolerance: the given one, or that of the lowest precision on the way to them.
    Integers and booleans are exact unless a tolerance was given, and booleans always; where floating numbers decided
    them, rounding at a threshold may decide otherwise on another kind of processor, which is accepted and reported.
    The same holds for texts, and for floating outputs behind such a step: of a rounding, or of what a comparison chose.
    On another kind of processor a tensor may differ by its tolerance as a whole, too: where large numbers cancel, no
    single small one is exact.

    Args:
        terms: what the file says.
        stepped: the outputs behind a step, on another kind of processor than the file's; None on the same.
    """

    def __init__(self, terms: Golden, stepped: Collection[str] | None) -> None:
        self.terms, self.stepped = terms, stepped

    def compare(self, name: str, wanted: Any, got: Any) -> OutputReport:
        """Compares one output of one example."""
        if isinstance(got, np.ndarray | np.generic):
            got = as_tensor(got)
        tensors = isinstance(wanted, torch.Tensor) and isinstance(got, torch.Tensor)
        compare = compare_tensors if tensors else compare_plain
        tolerance = self._tolerance(name, wanted)
        largest, same, within = compare(wanted, got.cpu() if tensors else got, tolerance)
        decided = self._is_decided_by_rounding(name, wanted) and (largest < float("inf") or are_texts(wanted, got))
        error = 0.0 if same else relative_error(wanted, got)
        whole = self.stepped is not None and is_floating(wanted) and error <= tolerance
        return OutputReport(name, largest, tolerance, same, within, within or decided or whole, error)

    def _is_decided_by_rounding(self, name: str, wanted: Any) -> bool:
        if self.stepped is None or not self._precision(name):
            return False
        return not is_floating(wanted) or self._known(name, self.stepped) in self.stepped

    def _tolerance(self, name: str, wanted: Any) -> float:
        if not is_number(wanted):
            return 0.0
        if not is_floating(wanted):
            return self.terms.tolerance or 0.0
        return max(self._floating_tolerance(name, wanted), self.terms.engines)

    def _floating_tolerance(self, name: str, wanted: Any) -> float:
        if self.terms.tolerance is not None:
            return self.terms.tolerance
        own = precision(str(wanted.dtype).removeprefix("torch.") if isinstance(wanted, torch.Tensor) else "float")
        return max(TOLERANCES[own], TOLERANCES[self._precision(name) or own])

    def _precision(self, name: str) -> str:
        return self.terms.precisions.get(self._known(name, self.terms.precisions), "")

    def _known(self, name: str, names: Collection[str]) -> str:
        """An output's name among others, or that of the list or dict of run time that it is in; empty if not there."""
        while name and name not in names:
            name = name.rpartition("[")[0]
        return name
