"""Golden examples: inputs stored with the outputs that they gave, replayed to find skew before traffic does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from ..ops.graph.errors import GoldenMismatchError, SignatureError
from ..ops.runtime.primitives.named_tuples import map_values, to_record
from ..serialization.program import Example
from .running.binding import as_tensor

# Relative and absolute tolerance by dtype: another machine's libraries may sum in another order.
_TOLERANCE = {torch.float64: 1e-10, torch.complex128: 1e-10, torch.float32: 1e-4, torch.complex64: 1e-4}
_COARSE = 2e-2  # half precision and below


@dataclass(frozen=True)
class OutputReport:
    """One output over all examples.

    Attributes:
        name: where it is in the result, such as ``"out[0]"``.
        largest: the largest absolute difference; infinity where shape, dtype or kind differ.
        equal: whether all were equal bit for bit.
        passed: whether all were within tolerance.
    """

    name: str
    largest: float
    equal: bool
    passed: bool


@dataclass(frozen=True)
class Report:
    """What replaying the examples found."""

    examples: int
    outputs: tuple[OutputReport, ...]

    @property
    def passed(self) -> bool:
        """Whether every output was within tolerance."""
        return all(output.passed for output in self.outputs)

    def require(self) -> None:
        """Raises where an output was not within tolerance.

        Raises:
            GoldenMismatchError: naming the outputs and their largest differences.
        """
        bad = [f"{o.name} differs by up to {o.largest:.3g}" for o in self.outputs if not o.passed]
        if bad:
            raise GoldenMismatchError(
                f"golden examples give other outputs here: {', '.join(bad)}",
                fix="Compare the torch versions with `tracepack inspect`.",
            )


class Runnable(Protocol):
    """What examples are recorded from and replayed on: a pipeline."""

    @property
    def stateful(self) -> bool:
        """Whether a run changes what later runs give."""
        ...

    def session(self) -> Runnable:
        """A pipeline with a state of its own."""
        ...

    def run(self, feed: Mapping[str, Any]) -> Any:
        """The outputs for named inputs."""
        ...


def record_examples(pipeline: Runnable, feeds: Sequence[Mapping[str, Any]]) -> Iterator[Example]:
    """Every feed with the outputs that it gives now, as an archive holds them.

    Raises:
        SignatureError: they are no list of feeds, or one does not fit the pipeline.
    """
    if isinstance(feeds, Mapping) or not all(isinstance(feed, Mapping) for feed in feeds):
        got = type(feeds).__name__
        raise SignatureError("examples are a list of dicts like run's", got=got, expected="[{'x': …}, …]")
    pipeline = pipeline.session() if pipeline.stateful else pipeline  # examples follow each other from the start
    for feed in feeds:
        inputs = {name: _stored(value) for name, value in feed.items()}  # before a run that may write into them
        yield inputs, _stored(pipeline.run(feed))


def _stored(tree: Any) -> Any:
    """A tree as an archive holds it: tensors of its own for whatever stands for one, records for namedtuples."""
    return map_values(_stored_leaf, tree, to_record)


def _stored_leaf(leaf: Any) -> Any:
    tensor = as_tensor(leaf)
    return leaf if tensor is None else tensor.clone()


def replay(pipeline: Runnable, examples: Sequence[tuple[Mapping[str, Any], Any]]) -> Report:
    """Runs every example and compares its outputs with those stored."""
    worst: dict[str, OutputReport] = {}
    for feed, wanted in examples:
        for name, a, b in _pairs(wanted, pipeline.run(feed), "out"):
            found = _compare(name, a, b)
            before = worst.get(name, found)
            worst[name] = OutputReport(
                name, max(before.largest, found.largest), before.equal and found.equal, before.passed and found.passed
            )
    return Report(len(examples), tuple(worst.values()))


def _pairs(wanted: Any, got: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(wanted, tuple | list) and isinstance(got, tuple | list) and len(wanted) == len(got):
        for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
            yield from _pairs(a, b, f"{name}[{index}]")
    elif isinstance(wanted, dict) and isinstance(got, dict) and wanted.keys() == got.keys():
        for key in wanted:
            yield from _pairs(wanted[key], got[key], f"{name}[{key!r}]")
    else:
        yield name, wanted, got


def _compare(name: str, wanted: Any, got: Any) -> OutputReport:
    if isinstance(got, np.ndarray | np.generic):
        got = as_tensor(got)
    if not isinstance(wanted, torch.Tensor) or not isinstance(got, torch.Tensor):
        plain = type(wanted) is type(got) and not isinstance(wanted, tuple | list | dict)  # those differ in structure
        same = plain and (wanted == got or (wanted != wanted and got != got))
        close = isinstance(wanted, float) and isinstance(got, float) and abs(wanted - got) <= 1e-4 * max(1, abs(wanted))
        return OutputReport(name, 0.0 if same else _gap(wanted, got), same, same or close)
    got = got.cpu()
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return OutputReport(name, float("inf"), False, False)
    same = torch.equal(wanted, got) or _same_bits(wanted, got)
    if same or not (wanted.dtype.is_floating_point or wanted.dtype.is_complex):
        return OutputReport(name, 0.0 if same else _largest(wanted, got), same, same)
    tolerance = _TOLERANCE.get(wanted.dtype, _COARSE)
    wide = torch.complex128 if wanted.dtype.is_complex else torch.float64
    close = torch.allclose(got.to(wide), wanted.to(wide), rtol=tolerance, atol=tolerance, equal_nan=True)
    return OutputReport(name, _largest(wanted, got), same, close)


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equality in which NaN equals NaN."""
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _largest(a: torch.Tensor, b: torch.Tensor) -> float:
    wide = torch.complex128 if a.dtype.is_complex else torch.float64
    return float((a.to(wide) - b.to(wide)).abs().nan_to_num(nan=float("inf")).max())


def _gap(a: Any, b: Any) -> float:
    numbers = isinstance(a, int | float) and isinstance(b, int | float)
    return abs(float(a) - float(b)) if numbers else float("inf")
