"""The states of the ops that a recording meets: every recording starts from the initial ones, and leaves no trace."""

from __future__ import annotations

from typing import Any

from ..ops.runtime.state import State


class States:
    """Remembers what the states of ops were before a recording."""

    def __init__(self) -> None:
        self._saved: dict[int, tuple[State, Any]] = {}

    def enter(self, state: State) -> None:
        """Takes a state to its initial values when the recording first meets it."""
        if id(state) not in self._saved:
            self._saved[id(state)] = (state, state.snapshot())
            state.reset()

    def met(self) -> list[State]:
        """The states that the recording has met."""
        return [state for state, _ in self._saved.values()]

    def __enter__(self) -> States:
        return self

    def __exit__(self, *exc: object) -> None:
        """Gives every op the state that it had before."""
        for state, saved in self._saved.values():
            state.restore(saved)
