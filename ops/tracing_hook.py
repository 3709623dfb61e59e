"""The recorder of each thread, so that an op that is called finds it.

The recorder belongs to the pipeline layer, which ops may not import; it registers itself here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from .graph.graph import Target
from .graph.program import Program
from .runtime.interrupts.changes import Change
from .runtime.state import State


class Application(Protocol):
    """One call of an op, as a graph records it."""

    target: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    state: State

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Applies the target to real values."""
        ...

    def rebuild(self, result: Any) -> Any:
        """The result of the op, built from the result of `run`."""
        ...


class Recording(Protocol):
    """The methods of a recorder that ops and pipelines call.

    Attributes:
        settled: whether ops may only use the bodies that they have.
    """

    settled: bool

    def call(self, application: Application) -> Any:
        """Records one call and returns its result."""
        ...

    def splice(self, program: Program, inputs: Sequence[Any], state: State, run: Callable[[Sequence[Any]], Any]) -> Any:
        """Records the call of a pipeline by its nodes and returns its result."""
        ...

    def refusing(self) -> AbstractContextManager[None]:
        """A context that keeps an error of ours, which the function may catch."""
        ...

    def concrete(self, tree: Any) -> Any:
        """Arguments with traced scalars replaced by plain ones, unguarded: no result may depend on them."""
        ...

    def plain(self, tree: Any) -> Any:
        """Arguments with traced scalars replaced by plain ones, guarded."""
        ...


Outer = TypeVar("Outer")
_state = threading.local()


def current() -> Recording | None:
    """The recorder of this thread, or None."""
    return getattr(_state, "recording", None)


def innermost(outer: Outer) -> Outer:
    """The recorder of the branch of a recording that runs now; the given one outside of its branches."""
    running: Any = current()
    found = running
    while found is not None and found is not outer:
        found = getattr(found, "parent", None)
    return outer if found is None else running


def recording(recorder: Recording | None) -> Change:
    """Makes a recorder the current one while this is entered; None suspends recording."""
    return _Current(recorder)


class _Current(Change):
    def __init__(self, recorder: Recording | None) -> None:
        self.recorder, self.before = recorder, current()

    def make(self) -> None:
        _state.recording = self.recorder

    def undo(self) -> None:
        _state.recording = self.before


def plainly() -> Change:
    """While it is entered, ops of this thread run their original models, and not the lowered graphs."""
    return _Plainly()


class _Plainly(Change):
    def __init__(self) -> None:
        self.before = runs_plainly()

    def make(self) -> None:
        _state.plainly = True

    def undo(self) -> None:
        _state.plainly = self.before


def runs_plainly() -> bool:
    """Whether ops of this thread run their original models."""
    return bool(getattr(_state, "plainly", False))


def as_scripted() -> Change:
    """While it is entered, ops of this thread begin in the state of their models, as a trace does."""
    return _AsScripted()


class _AsScripted(Change):
    def __init__(self) -> None:
        self.before = runs_as_scripted()

    def make(self) -> None:
        _state.as_scripted = True

    def undo(self) -> None:
        _state.as_scripted = self.before


def runs_as_scripted() -> bool:
    """Whether ops of this thread leave out what earlier calls by hand left in them."""
    return bool(getattr(_state, "as_scripted", False))


def note_model() -> None:
    """Notes that an op of this thread ran its original model since nothing was lowered for the call."""
    _state.models = models_run() + 1


def models_run() -> int:
    """How often ops of this thread ran their original models since nothing was lowered for the call."""
    return int(getattr(_state, "models", 0))
