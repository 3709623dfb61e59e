"""Random numbers in a graph: generators whose state is data, and draws from them.

The state of a torch.Generator is a byte tensor, so a generator is a Constant: a mutable one where the function keeps
the generator from run to run, a fixed one where it seeds it anew in each. The live generator belongs to the tensor,
one for each plan, and takes a new state when the tensor is written to, which seeds a pipeline.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...graph.errors import SignatureError
from ..interrupts.changes import Change, Lock
from ..interrupts.modes import makes_graph
from ..interrupts.verbs import journaled

_borrowing = Lock()  # held while torch's global generator draws for functions that take no generator
_LIVE: dict[int, tuple[weakref.ref[torch.Tensor], torch.Generator, int]] = {}


def seeded_state(seed: int) -> torch.Tensor:
    """The state of a new generator with a seed."""
    return torch.Generator().manual_seed(seed).get_state()


def seeded(seed: int) -> torch.Generator:
    """A new generator with a seed that is decided at run time."""
    return torch.Generator().manual_seed(seed)


def generator(state: torch.Tensor, kept: bool) -> torch.Generator:
    """The generator behind a state tensor: the same one in every run if it is kept, else a new one."""
    if not kept:
        return torch.Generator().set_state(state.cpu())
    known = _known(state)
    if known is not None:
        return known
    return _made(state)


def present(state: torch.Tensor) -> torch.Tensor:
    """What a tensor of a State holds now: the state of its live generator where there is one, which draws changed."""
    known = _known(state)
    return state if known is None else known.get_state().to(state.device)


@journaled
def _made(state: torch.Tensor) -> torch.Generator:
    with _borrowing():
        return _known(state) or _live(state)  # another thread may have made it


def _known(state: torch.Tensor) -> torch.Generator | None:
    known = _LIVE.get(id(state))
    return known[1] if known is not None and known[0]() is state and known[2] == state._version else None


def _live(state: torch.Tensor) -> torch.Generator:
    live, key = torch.Generator().set_state(state.cpu()), id(state)
    _LIVE[key] = (weakref.ref(state, lambda _: _LIVE.pop(key, None)), live, state._version)
    return live


@journaled
def drawing_from(
    source: torch.Generator, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Calls a function that draws from torch's global generator, with the state of `source` in that generator.

    Raises:
        SignatureError: torch makes a graph of the run, which would draw from the global generator in whatever state.
    """
    if makes_graph():
        raise SignatureError(
            "torch cannot make a graph of random numbers that are drawn within tracepack.drawing",
            fix="Trace the function anew with the generator as an argument of what draws, as in "
            "torch.rand(3, generator=g), or take the random numbers as an input.",
        )
    with _borrowing(), Borrowed(source):
        return function(*args, **kwargs)


class Borrowed(Change):
    """While it is entered, torch's global generator has the state of another one, which gets the new state back."""

    of_process = True

    def __init__(self, source: torch.Generator) -> None:
        self.source = source
        self._outer: torch.Tensor | None = None
        self._lent = False

    def make(self) -> None:
        """Sets the state of the global generator."""
        self._outer = torch.get_rng_state()
        torch.set_rng_state(self.source.get_state())
        self._lent = True

    def undo(self) -> None:
        """Sets the new state of the other generator, and restores the global one."""
        if self._lent:
            self.source.set_state(torch.get_rng_state())
            self._lent = False
        if self._outer is not None:
            torch.set_rng_state(self._outer)
            self._outer = None


class Draws(TorchDispatchMode):
    """Watches for operators that draw random numbers in the calling thread.

    Attributes:
        found: whether one ran.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        self.found = self.found or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


@contextmanager
def draws_undone(run: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Restores torch's global generator if what is called inside drew from it.

    Other threads draw from the same generator, and must not get the same numbers again. So where its state changed,
    the function is called once more and watched.

    Args:
        run: does again what is done inside.

    Yields:
        A function that tells whether random numbers were drawn so far, by this thread.
    """
    before = torch.get_rng_state()

    def drew() -> bool:
        if torch.equal(before, torch.get_rng_state()):
            return False
        with suppress(Exception), Draws() as draws:
            run()
        return bool(draws.found)

    try:
        yield drew
    except Exception:
        if drew():
            torch.set_rng_state(before)
        raise
    if drew():
        torch.set_rng_state(before)
