"""Choices and loops: the functions behind the operators `cond`, `while_loop` and `map`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import torch

from ...graph.errors import GuardError
from ..interrupts.changes import Change
from ..torch_compiler import takes_control_flow
from .nesting import check_nesting

_others: ContextVar[Mapping[str, Callable[..., Any]]] = ContextVar("others", default=MappingProxyType({}))


class Otherwise(Change):
    """While it is entered, other functions stand in this thread for choices and loops, by the names of the operators.

    So a run without data takes both sides of a choice, which no run with data does.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.functions, self.before = functions, _others.get()

    def make(self) -> None:
        """Puts the functions in place."""
        _others.set(self.functions)

    def undo(self) -> None:
        """Puts those in place that were there."""
        _others.set(self.before)


def _other(name: str) -> Callable[..., Any] | None:
    """What stands for an operator in this thread; torch's compiler cannot ask that, and never has to."""
    return None if torch.compiler.is_dynamo_compiling() else _others.get().get(name)


def choose(pred: Any, on_true: Callable[..., Any], on_false: Callable[..., Any], operands: Any) -> Any:
    """What one of two functions gives, by a condition."""
    if (other := _other("cond")) is not None:
        return other(pred, on_true, on_false, operands)
    if isinstance(pred, torch.Tensor) and takes_control_flow():
        return _exported_cond(pred, on_true, on_false, tuple(operands))
    return on_true(*operands) if pred else on_false(*operands)


def _exported_cond(
    pred: Any, on_true: Callable[..., Any], on_false: Callable[..., Any], operands: tuple[Any, ...]
) -> Any:
    """The choice as torch.export takes it: tensors are operands, and numbers belong to the branches."""
    tensors = tuple(operand for operand in operands if isinstance(operand, torch.Tensor))

    def taking(branch: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> tuple[Any, ...]:
            rest = iter(given)
            return tuple(branch(*[next(rest) if isinstance(each, torch.Tensor) else each for each in operands]))

        return run

    return torch.cond(pred, taking(on_true), taking(on_false), tensors)


_rounds: ContextVar[int | None] = ContextVar("rounds", default=None)


class EndlessError(Exception):
    """A loop went on for longer than `LimitedRounds` allows."""


class LimitedRounds(Change):
    """While it is entered, a loop on data may run a limited number of rounds, since on some data it may never end.

    Raises:
        EndlessError: a loop ran for more rounds.
    """

    def __init__(self, most: int) -> None:
        self.most, self.before = most, _rounds.get()

    def make(self) -> None:
        """Sets the limit."""
        _rounds.set(self.most)

    def undo(self) -> None:
        """Sets the limit that was there."""
        _rounds.set(self.before)


def round_counter() -> Callable[[], None]:
    """What counts the rounds of loops that begin now, and ends those that go on for longer than allowed."""
    left = _rounds.get()
    if left is None:
        return uncounted
    rest = iter(range(left))

    def count() -> None:
        if next(rest, None) is None:
            raise EndlessError

    return count


def uncounted() -> None:
    """Lets a loop go on for as long as it does."""


def _while(test: Callable[..., Any], body: Callable[..., Any], carried: Any, constant: Any = ()) -> Any:
    if (other := _other("while_loop")) is not None:
        return other(test, body, carried, constant)
    if takes_control_flow():
        loop: Any = torch.while_loop
        return loop(lambda *now: test(*now, *constant)[0], lambda *now: tuple(body(*now, *constant)), tuple(carried))
    return rounds(test, body, tuple(carried), constant, check_nesting)


def rounds(
    test: Callable[..., Any], body: Callable[..., Any], state: Any, constant: Any, check: Callable[[Any], Any] = len
) -> Any:
    """What a loop carries after its last round; the state of each round goes through a check."""
    left = _rounds.get()
    while test(*state, *constant)[0]:
        if left is not None and (left := left - 1) < 0:
            raise EndlessError
        state = tuple(body(*state, *constant))
        check(state)
    return state


def _map(body: Callable[..., Any], lists: Any, constant: Any = (), *tests: Callable[..., Any]) -> list[Any]:
    """The results for the items of some lists of one length, of those items for which all tests hold, one by one."""
    if tests and (other := _other("filter")) is not None:
        return other(body, lists, constant, *tests)  # type: ignore[no-any-return]  # a list
    if len({len(items) for items in lists}) > 1:
        raise GuardError("the lists of a loop have different lengths", got=[len(items) for items in lists])
    rounds = zip(*lists, strict=True)
    if not tests:
        return [body(*items, *constant) for items in rounds]
    return [body(*items, *constant) for items in rounds if all(test(*items, *constant) for test in tests)]


FUNCTIONS: dict[str, Callable[..., Any]] = {"cond": choose, "while_loop": _while, "map": _map}
"""The operators of control flow, which take subgraphs as functions."""
