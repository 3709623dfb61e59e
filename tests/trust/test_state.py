"""State in Python: what one call leaves for the next is seen, whatever holds it."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.trust.trials import refused, trial

X, BIG, WIDE = torch.randn(2, 3), torch.randn(2, 3) * 10, torch.randn(2, 5)
ZEROS = torch.zeros(2, 3)


class Counts:
    def __init__(self) -> None:
        self.n = 0

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        before = self.n
        self.n += x.shape[1]
        return x.sum() * 0 + before


class Averages:
    def __init__(self, reads: Any) -> None:
        self.mean, self.reads = 0.0, reads

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.mean = 0.9 * self.mean + 0.1 * self.reads(x.mean())
        return x - self.mean


class Scales:
    def __init__(self) -> None:
        self.scale: float | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self.scale is None:
            self.scale = float(x.abs().max())
        return x * self.scale


class Warms:
    """Answers otherwise from its fourth call on."""

    def __init__(self, calls: int = 3) -> None:
        self.calls, self.limit = 0, calls

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2 if self.calls > self.limit else x


class Arrays:
    def __init__(self) -> None:
        self.total = np.zeros(3, np.float32)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.total = self.total + x.sum(0).numpy()
        return x + torch.from_numpy(self.total)


class Tensors:
    def __init__(self) -> None:
        self.last = torch.zeros(2, 3)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        y = x + self.last
        self.last = x
        return y


class Lists:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.append(x)
        return x * len(self.seen)


class Optional:
    """Leaves an attribute behind, and looks for it."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        offset = getattr(self, "offset", 0.0)
        self.offset = x.mean().item()
        return x + offset


def closure() -> Any:
    count = 0

    def process(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += x.shape[0]
        return x * count

    return process


def helper() -> Any:
    state = SimpleNamespace(n=0)

    def step(x: torch.Tensor) -> int:
        state.n += x.shape[1]
        return state.n

    return lambda x: x + step(x)


def default() -> Any:
    def process(x: torch.Tensor, memory: dict[str, Any] = {}) -> torch.Tensor:  # noqa: B006  # that is the trial
        memory["n"] = memory.get("n", 0) + 1
        return x * memory["n"]

    memory: dict[str, Any] = {}
    return lambda x: process(x, memory)


CASES = {
    "a sum of sizes": Counts,
    "an average by item": lambda: Averages(lambda t: t.item()),
    "an average by float": lambda: Averages(float),
    "the first call's scale": Scales,
    "the fourth call": Warms,
    "the hundredth call": lambda: Warms(99),
    "an array": Arrays,
    "a tensor": Tensors,
    "a list that grows": Lists,
    "an attribute made": Optional,
    "a closure": closure,
    "a helper": helper,
    "a default": default,
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("example", [X, ZEROS], ids=["data", "zeros"])
def test_state_in_python_is_refused(name: str, example: torch.Tensor) -> None:
    others = [(BIG,), (WIDE,), *[(X,)] * 5]
    refused(trial(CASES[name], example, others=others), "a second recording|keeps state|cannot leave the graph")


def test_the_users_objects_are_left_as_they_were() -> None:
    for make in (Counts, Scales, Tensors, Lists, Optional, Warms):
        process: Any = make()
        before = {key: list(v) if isinstance(v, list) else v for key, v in vars(process).items()}
        with pytest.raises(tracepack.TracepackError):
            tracepack.trace(process, X)
        assert vars(process) == before


def test_a_cache_that_changes_no_answer_is_taken() -> None:
    class Positions:
        def __init__(self) -> None:
            self.known: torch.Tensor | None = None

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            if self.known is None or self.known.shape[0] < x.shape[0]:
                self.known = torch.arange(x.shape[0]).float()[:, None]
            return x + self.known[: x.shape[0]]

    others = [(torch.randn(5, 3),), (torch.randn(1, 3),)]
    assert trial(Positions, X, others=others) == "right"


def test_notes_that_nobody_reads_are_taken() -> None:
    class Notes:
        def __init__(self) -> None:
            self.calls, self.shapes, self.last = 0, list[Any](), None

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            self.shapes.append(x.shape)
            self.last = x.mean()
            return x * 2

    assert trial(Notes, X, others=[(BIG,), (WIDE,)]) == "right"
    process = Notes()
    tracepack.trace(process, X)
    assert (process.calls, process.shapes, process.last) == (0, [], None)


def test_a_number_kept_beyond_its_trace_says_so() -> None:
    places: list[Any] = []
    store = itertools.repeat(places.append)  # what an iterator holds is out of sight

    def process(x: torch.Tensor) -> torch.Tensor:
        next(store)(x.shape[0])
        return x * 2

    tracepack.trace(process, X)
    with pytest.raises(tracepack.RecordError, match="of a trace that has ended"):
        _ = places[0] + 1


def test_state_of_a_class_without_a_module_is_seen() -> None:
    text = "class Process:\n  n = 0\n  def __call__(self, x):\n    self.n += x.shape[1]\n    return x * self.n\n"
    names: dict[str, Any] = {}
    exec(text, names)
    found = trial(names["Process"], X, others=[(BIG,), (WIDE,)])
    assert re.search("a second recording on other data differs.*the function keeps state in Process, 'n'", found), found


def test_a_number_of_one_recording_in_the_next_is_refused() -> None:
    def make() -> Any:
        last = itertools.cycle([[0]])  # out of sight

        def process(x: torch.Tensor) -> torch.Tensor:
            kept = next(last)
            kept[0] = kept[0] + x.shape[0]
            return x * kept[0]

        return process

    assert re.search("of a trace that has ended was kept, and is used now", trial(make, X))


@pytest.mark.parametrize(
    "make", [lambda x: torch.empty(2).fill_(1) * 2, lambda x: torch.empty_like(x), torch.zeros_like]
)
def test_memory_that_nothing_was_written_to_is_taken(make: Any) -> None:
    got = tracepack.trace(lambda x: make(x), X)(X)
    assert got.shape == make(X).shape


def test_memory_that_was_written_is_compared() -> None:
    kinds = itertools.repeat(lambda n: {int: 2}.get(type(n), 3))  # what an iterator holds is out of sight

    def process(x: torch.Tensor, n: int) -> torch.Tensor:
        return torch.empty(2).fill_(1) * next(kinds)(n)

    refused(trial(lambda: process, X, 4), "other values of float32", "test_state.py")


def test_a_function_that_differs_by_chance_is_taken() -> None:
    matrix = torch.rand(3, 3) + torch.eye(3)
    mod = None
    for _ in range(10):  # it reads uninitialised memory: on varied data, which is singular, no two answers may agree
        with contextlib.suppress(tracepack.RecordError):
            mod = tracepack.trace(lambda a: torch.linalg.lstsq(a, a).solution, matrix)
            break
    assert mod is not None
    assert torch.allclose(mod(matrix), torch.eye(3), atol=1e-4)


_KEPT: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda x: x.shape[0], X), (lambda x: x.shape[0] / 2, X), (lambda x: x.shape[0] > 2, X), (lambda s: s, 2.5),
]  # fmt: skip


@pytest.mark.parametrize(("make", "example"), _KEPT)
@pytest.mark.parametrize("use", [lambda v: X * v, lambda v: v * X, lambda v: X + v])
def test_torch_computes_nothing_with_a_number_of_an_ended_trace(make: Any, example: Any, use: Any) -> None:
    with pytest.raises(tracepack.RecordError, match="of a trace that has ended was kept, and is used now"):
        use(_kept(make, example))


@pytest.mark.parametrize("use", [lambda v: torch.mul(X, v), lambda v: X.clamp(v), lambda v: torch.full((2,), v)])
def test_torch_takes_no_number_of_an_ended_trace(use: Any) -> None:
    with pytest.raises(TypeError, match="NumberOfEndedTrace"):
        use(_kept(lambda x: x.shape[0], X))


_OTHER_KINDS: list[tuple[Callable[[Any], Any], Any, Callable[[Any], Any]]] = [
    (lambda s: s.upper(), "abc", lambda v: v + "x"), (lambda s: s.encode(), "abc", sum),
    (lambda x: x.numpy(), X, lambda v: v.ndim), (lambda x: x.numpy(), X, lambda v: v.dtype),
    (lambda x: x.shape[0], X, lambda v: tracepack.trace(lambda x: x * v, X)),
]  # fmt: skip


@pytest.mark.parametrize(("make", "example", "use"), _OTHER_KINDS)
def test_what_is_kept_beyond_its_trace_says_so(make: Any, example: Any, use: Any) -> None:
    with pytest.raises(tracepack.RecordError, match="of a trace that has ended was kept, and is used now"):
        use(_kept(make, example))


def test_a_text_that_was_sent_to_a_generator_says_so() -> None:
    sent = _notes()
    next(sent)
    store = itertools.repeat(sent.send)  # what an iterator holds is out of sight

    def process(s: str) -> str:
        next(store)(s)
        return s + "!"

    tracepack.trace(process, "abc")
    with pytest.raises(tracepack.RecordError, match="of a trace that has ended was kept, and is used now"):
        _ = sent.send("now")[0].upper()


def _notes() -> Generator[Any, Any, None]:
    kept: list[Any] = []
    while True:
        kept.append((yield kept[:1]))


def _kept(make: Callable[[Any], Any], example: Any) -> Any:
    """What a function makes of its argument, and keeps where nobody looks."""
    places: list[Any] = []
    store = itertools.repeat(places.append)

    def process(given: Any) -> Any:
        next(store)(make(given))
        return given

    tracepack.trace(process, example)
    return places[0]
