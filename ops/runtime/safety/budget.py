"""A budget for runs of a file that is not trusted: seconds and bytes, looked at before and after every node.

Without one nothing of this is in the generated code. What one operator does inside of itself is not cut short: the
time is looked at between operators, and the memory that an operator will ask for is foreseen from its shapes where
torch can tell.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from ...graph.errors import BudgetError, SignatureError
from ...graph.traverse import leaves, map_leaves

_FORM = "{'seconds': a number, 'bytes': an integer}, one of them or both"


class Budget:
    """What one run may spend.

    Args:
        seconds: of wall-clock time; None for no limit.
        bytes: of all tensors that its operators make, whether they still live or not; None for no limit.
    """

    def __init__(self, seconds: float | None = None, bytes: int | None = None) -> None:
        self.seconds, self.bytes = seconds, bytes
        self._run = threading.local()

    @classmethod
    def of(cls, given: Mapping[str, float] | None) -> Budget | None:
        """The budget that a caller wrote as a dict.

        Raises:
            SignatureError: it is not such a dict.
        """
        if given is None:
            return None
        known = isinstance(given, Mapping) and given and not set(given) - {"seconds", "bytes"}
        if not known or not all(type(n) in (int, float) and n > 0 for n in given.values()):
            raise SignatureError("not a budget", got=repr(given)[:80], expected=_FORM)
        limit = given.get("bytes")
        return cls(given.get("seconds"), None if limit is None else int(limit))

    @contextmanager
    def running(self) -> Iterator[None]:
        """One run of this thread; a run inside of it spends from the same budget."""
        if getattr(self._run, "open", False):
            yield
            return
        self._run.open, self._run.spent = True, 0
        self._run.until = None if self.seconds is None else time.monotonic() + self.seconds
        try:
            yield
        finally:
            self._run.open = False

    def metered(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, which looks at the budget before it runs and after it has run."""

        def call(*args: Any, **kwargs: Any) -> Any:
            self.tick()
            if self.bytes is not None:
                self.foresee(function, args, kwargs)
            result = function(*map(self._ticking, args), **kwargs)
            self.charge(result)
            return result

        return call

    def _ticking(self, arg: Any) -> Any:
        """A branch or a loop's body as one that looks at the time whenever it is entered."""
        if not callable(arg) or isinstance(arg, torch.Tensor | type):
            return arg

        def enter(*args: Any) -> Any:
            self.tick()
            return arg(*args)

        return enter

    def tick(self) -> None:
        """Ends the run when its time is up.

        Raises:
            BudgetError: it is.
        """
        until = getattr(self._run, "until", None)
        if until is not None and time.monotonic() > until:
            raise BudgetError("the run takes longer than its budget", expected=f"{self.seconds} seconds at most")

    def charge(self, result: Any) -> None:
        """Counts the memory of a result.

        Raises:
            BudgetError: the run has spent more than it may.
        """
        if self.bytes is None:
            return
        self._run.spent = getattr(self._run, "spent", 0) + sum(map(_bytes_of, leaves(result)))
        self._within(self._run.spent)

    def foresee(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Asks torch for the shapes of a result before any memory is taken for it.

        Raises:
            BudgetError: it would take more than is left.
        """
        try:
            shadow_args, shadow_kwargs = map_leaves(_shadow, (args, kwargs))
            schema = getattr(function, "_schema", None)  # of an overload, which knows no default device
            if schema is not None and any(argument.name == "device" for argument in schema.arguments):
                shadow_kwargs = {**shadow_kwargs, "device": torch.device("meta")}
            with torch.device("meta"):
                result = function(*shadow_args, **shadow_kwargs)
        except Exception:  # an operator without shapes of its own; what it makes is counted afterwards
            return
        self._within(getattr(self._run, "spent", 0) + sum(map(_bytes_of, leaves(result))))

    def _within(self, count: int) -> None:
        if self.bytes is not None and count > self.bytes:
            raise BudgetError(
                "the run takes more memory than its budget", got=count, expected=f"{self.bytes} bytes at most"
            )


def _bytes_of(leaf: Any) -> int:
    if isinstance(leaf, torch.Tensor):
        return int(leaf.numel() * leaf.element_size()) if leaf.layout is torch.strided else 0
    return int(getattr(leaf, "nbytes", 0)) if hasattr(leaf, "dtype") else 0


def _shadow(leaf: Any) -> Any:
    """What stands for an argument where only shapes count."""
    if isinstance(leaf, torch.Tensor):
        return torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device="meta")
    if isinstance(leaf, torch.device):
        return torch.device("meta")
    if isinstance(leaf, torch.Generator) or (callable(leaf) and not isinstance(leaf, type)):
        raise TypeError("not told by shapes")
    return leaf
