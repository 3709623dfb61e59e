"""What runs a call: the runner of the way that leaves out the arguments which are None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from ...ops.graph.errors import SignatureError
from ...ops.graph.program import Program
from .ways_without import ways_of

R = TypeVar("R")


class WayRunners(Generic[R]):
    """The runners of a program's ways.

    Args:
        program: whose graph holds them.
        make: the runner of one.

    Raises:
        ArchiveError: a way is malformed.
    """

    def __init__(self, program: Program, make: Callable[[Program], R]) -> None:
        self.name = program.name
        self.runners = {way.names: make(way.program) for way in ways_of(program)}
        self.names = frozenset[str]().union(*self.runners)
        self.known = {item.name for item in program.parameters.items}
        self.required = {item.name for item in program.parameters.items if item.required}

    def of(self, feed: Mapping[str, Any]) -> R | None:
        """The runner for a feed; None where it gives every argument, or has one too many or too few.

        Raises:
            SignatureError: the function has no answer without all those that are left out.
        """
        if not self.names or not isinstance(feed, Mapping) or not self.required <= feed.keys() <= self.known:
            return None
        left = frozenset(name for name in self.names if feed.get(name) is None)
        if left and left not in self.runners:
            raise SignatureError(
                "the function was not recorded without these inputs together",
                where=f"pipeline {self.name!r}", got=sorted(left), fix="Give one of them.",
            )  # fmt: skip
        return self.runners[left] if left else None

    def given(self, feed: Mapping[str, Any]) -> dict[str, Any]:
        """A feed without what is None, so that a runner may know its form again."""
        return {name: value for name, value in feed.items() if value is not None or name not in self.names}
