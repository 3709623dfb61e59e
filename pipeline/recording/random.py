"""The generators that a recorded function draws from, and which of them a pipeline keeps from run to run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Constant, Node, Operator, Value
from ...ops.graph.types import ANY
from ...ops.runtime.user_code import user_line


@dataclass
class Stretch:
    """The use of a generator between two seedings.

    Attributes:
        node: makes the generator in the graph, of a state, or of a seed that is decided at run time.
        start: the state before the first draw; end: after the last.
    """

    generator: torch.Generator
    node: Node
    start: torch.Tensor
    end: torch.Tensor


_SEEDED = Operator("py.seeded")


_kept: ContextVar[dict[int, tuple[torch.Generator, torch.Tensor]] | None] = ContextVar("kept_states", default=None)


@contextmanager
def with_states_kept() -> Iterator[None]:
    """Whatever is recorded while it is entered, also in vain, leaves generators in the states that they had before."""
    states: dict[int, tuple[torch.Generator, torch.Tensor]] = {}
    token = _kept.set(states)
    try:
        yield
    finally:
        _kept.reset(token)
        for generator, state in states.values():
            generator.set_state(state)


def keep_state(generator: torch.Generator, state: torch.Tensor | None = None) -> None:
    """Takes note of the state that a generator is left in then; without one, of its present state."""
    if (kept := _kept.get()) is not None and id(generator) not in kept:
        kept[id(generator)] = generator, generator.get_state() if state is None else state


class Generators:
    """The generators of one recording.

    Args:
        add: takes the nodes that make generators.
    """

    def __init__(self, add: Callable[[Node], None]) -> None:
        self._add = add
        self.stretches: list[Stretch] = []

    def value(self, generator: torch.Generator, state: torch.Tensor | None = None) -> Value:
        """The value of a generator in the graph; `state` is that before the draw, where the draw is already over."""
        if generator.device.type != "cpu":
            raise RecordError(
                "a generator of an accelerator cannot be recorded", where=str(user_line() or ""), got=generator.device
            )
        before = generator.get_state() if state is None else state
        for stretch in reversed(self.stretches):
            if stretch.generator is generator and torch.equal(stretch.end, before):
                return stretch.node.output  # type: ignore[no-any-return]  # torch leaves it untyped
        constant = Constant(before, f"generator{len(self.stretches)}", mutable=True)
        return self._made(generator, Operator("py.generator"), (constant, True), before)

    def seed(self, generator: torch.Generator, seed: Any, known: Value) -> None:
        """Seeds a generator with a number of the recording, whose value in the graph is known."""
        before = generator.get_state()
        generator.manual_seed(seed)
        self._made(generator, _SEEDED, (known,), before)

    def _made(self, generator: torch.Generator, target: Operator, args: tuple[Any, ...], start: torch.Tensor) -> Value:
        keep_state(generator, start)
        value = Value(ANY)
        node = Node(target, args, {}, value, user_line())
        self._add(node)
        self.stretches.append(Stretch(generator, node, start, generator.get_state() if target is _SEEDED else start))
        return value

    def drew(self, values: Iterable[Any], state: torch.Tensor | None = None) -> None:
        """Keeps the states of the generators among some values, as they are after a call."""
        ids = {id(value) for value in values}
        for stretch in self.stretches:
            if id(stretch.node.output) in ids:
                stretch.end = stretch.generator.get_state() if state is None else state

    def restore(self, ends: bool = False) -> None:
        """Sets all generators to their states before the recording, or at its end."""
        for stretch in self.stretches if ends else reversed(self.stretches):
            stretch.generator.set_state(stretch.end if ends else stretch.start)


def settle(first: Generators, second: Generators) -> None:
    """Decides which generators a pipeline keeps from run to run: not those that the function seeds in each run.

    The second recording began with the states at the end of the first: a generator that began with the same state in
    both was seeded.
    """
    for a, b in zip(first.stretches, second.stretches, strict=False):
        if a.node.target is _SEEDED:  # it has no state that the file holds
            continue
        constant = a.node.args[0]
        if torch.equal(a.start, b.start):
            constant.mutable = False
            a.node.args = (constant, False)
            b.node.args = (constant, False)
        elif torch.equal(b.start, a.end):
            b.node.args = (constant, True)
