"""A budget for runs of a file that is not trusted: seconds and bytes, checked before and after every node.

The plan that the first run makes is part of that run: an op is written out wherever it is called, so that a small file
can ask for a large plan. Without a budget the generated code has no checks. An operator that runs is not interrupted:
time is checked between operators, and the memory of a result is computed beforehand from shapes where torch can do so.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from ...graph.errors import BudgetError, SignatureError
from ...graph.kernel import Kernel
from ...graph.operators.names import CODE
from ...graph.traverse import leaves, map_leaves

STEPS = 1 << 32
"""The steps of a kernel that a second is reckoned to be enough for, by more than one thread with vectors."""

_NO_LIMIT = 1 << 62
_FORM = "{'seconds': a number, 'bytes': an integer}, one of them or both"


class Budget:
    """The limits of one run.

    Args:
        seconds: of wall-clock time; None for no limit.
        bytes: of all tensors, arrays, texts and lists that its operators make, whether they still live or not; None
            for no limit.
    """

    def __init__(self, seconds: float | None = None, bytes: int | None = None) -> None:
        self.seconds, self.bytes = seconds, bytes
        self._run = threading.local()

    @classmethod
    def of(cls, given: Mapping[str, float] | None) -> Budget | None:
        """The budget for a dict of the caller.

        Raises:
            SignatureError: the dict has other keys or values.
        """
        if given is None:
            return None
        known = isinstance(given, Mapping) and given and not set(given) - {"seconds", "bytes"}
        if not known or not all(type(n) in (int, float) and n > 0 for n in given.values()):
            raise SignatureError("budget has a wrong form", got=repr(given)[:80], expected=_FORM)
        seconds, limit = (None if n is None else min(n, _NO_LIMIT) for n in map(given.get, ("seconds", "bytes")))
        return cls(seconds, None if limit is None else int(limit))

    @contextmanager
    def running(self) -> Iterator[None]:
        """A context for one run of this thread; runs inside of it count towards the same budget."""
        if getattr(self._run, "open", False):
            yield
            return
        self._run.open, self._run.spent = True, 0
        self._run.until = None if self.seconds is None else time.monotonic() + self.seconds
        try:
            yield
        finally:
            self._run.open, self._run.spent, self._run.until = False, 0, None

    def foresee_plan(self, added: int) -> None:
        """Checks the memory of a plan.

        Args:
            added: the nodes that it has more than the file, whose own nodes are as large as the file foretells.

        Raises:
            BudgetError: it takes more than is left.
        """
        self._within(getattr(self._run, "spent", 0) + _NODE * added)

    def ticking(self, check: Callable[..., Any]) -> Callable[..., Any]:
        """A check of an op's inputs that looks at the time first."""

        def timed(*args: Any) -> Any:
            self.tick()
            return check(*args)

        return timed

    def metered(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """A function that checks the budget before and after the given one.

        Args:
            function: an operator.
            name: of it. Only operators of torch are tried on tensors without contents: others would run.
        """
        foresees = name.startswith(("aten.", "torch."))
        if name == CODE:
            from ..primitives.plain_code.one_run.metering import Meter, under  # few files have one

            function = under(Meter(self.tick, self.spend), function)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.tick()
            if self.bytes is not None and foresees:
                self.foresee(function, args, kwargs)
            result = function(*map(self._ticking, args), **kwargs)
            self.charge(result)
            return result

        return call

    def metered_kernel(self, kernel: Kernel, run: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel's function that checks the budget before and after it: a kernel is not interrupted.

        Args:
            kernel: tells what a call costs.
            run: calls it, or a session of it.
        """

        def call(*args: Any) -> Any:
            self.tick()
            steps, size = kernel.cost(*args)
            self._within(getattr(self._run, "spent", 0) + size)
            if self.seconds is not None and steps > self.seconds * STEPS:
                got, most = f"{steps} steps", f"{self.seconds} seconds at most"
                raise BudgetError(f"the kernel {kernel.name} takes longer than the budget", got=got, expected=most)
            result = run(*args)
            self.charge(result)
            self.tick()
            return result

        return call

    def _ticking(self, arg: Any) -> Any:
        """A branch or a loop's body that checks the time whenever it is called."""
        if not callable(arg) or isinstance(arg, torch.Tensor | type):
            return arg

        def enter(*args: Any) -> Any:
            self.tick()
            return arg(*args)

        known = getattr(arg, "__dict__", {})
        enter.__dict__.update({name: known[name] for name in ("graph", "homes", "home") if name in known})
        return enter

    def tick(self) -> None:
        """Checks the time.

        Raises:
            BudgetError: the time of the run is over.
        """
        until = getattr(self._run, "until", None)
        if until is not None and time.monotonic() > until:
            raise BudgetError("the run takes longer than its budget", expected=f"{self.seconds} seconds at most")

    def charge(self, result: Any) -> None:
        """Counts the memory of a result.

        Raises:
            BudgetError: the run has spent more than it may.
        """
        if self.bytes is not None:
            self.spend(_bytes_in(result))

    def spend(self, count: int) -> None:
        """Counts bytes.

        Raises:
            BudgetError: the run has spent more than it may.
        """
        self._run.spent = getattr(self._run, "spent", 0) + count
        self._within(self._run.spent)

    def foresee(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Computes the memory of a result from shapes, before torch allocates it.

        Raises:
            BudgetError: it would take more than is left.
        """
        try:
            shadow_args, shadow_kwargs = map_leaves(_shadow, (args, kwargs))
            schema = getattr(function, "_schema", None)  # an overload takes no default device
            if schema is not None and any(argument.name == "device" for argument in schema.arguments):
                shadow_kwargs = {**shadow_kwargs, "device": torch.device("meta")}
            with torch.device("meta"):
                result = function(*shadow_args, **shadow_kwargs)
        except Exception:  # torch has no shape function for the operator; `charge` counts its result afterwards
            return
        self._within(getattr(self._run, "spent", 0) + sum(map(_bytes_of, leaves(result))))

    def _within(self, count: int) -> None:
        if self.bytes is not None and count > self.bytes:
            raise BudgetError(
                "the run takes more memory than its budget", got=count, expected=f"{self.bytes} bytes at most"
            )


_NODE = 4096
"""The bytes that Python's compiler takes for a node of a plan, as measured."""
_POINTER, _TEXT = 8, 48
"""The bytes of a place in a list, and of a text without its characters."""
_NUMBERS = frozenset((int, float, bool, type(None)))


def _bytes_in(result: Any) -> int:
    """The bytes of a result; what a list holds twice counts twice."""
    waiting, found = [result], 0
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple | dict):
            found += _POINTER * len(item)
            held = item.values() if isinstance(item, dict) else item
            waiting += [each for each in held if type(each) not in _NUMBERS]
        elif isinstance(item, str | bytes):
            found += _TEXT + len(item)
        else:
            found += _bytes_of(item)
    return found


def _bytes_of(leaf: Any) -> int:
    if isinstance(leaf, torch.Tensor):  # a size of 0 counts as 1: LAPACK's kernels go through a batch of empty matrices
        count = leaf.numel() or math.prod(size or 1 for size in leaf.shape)
        return int(count * leaf.element_size()) if leaf.layout is torch.strided else 0
    return int(getattr(leaf, "nbytes", 0)) if hasattr(leaf, "dtype") else 0


def _shadow(leaf: Any) -> Any:
    """A meta tensor in place of a tensor argument."""
    if isinstance(leaf, torch.Tensor):
        return torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device="meta")
    if isinstance(leaf, torch.device):
        return torch.device("meta")
    plain = isinstance(leaf, int | float | complex | str | bytes | type | None | torch.dtype | torch.layout)
    if not plain and not isinstance(leaf, torch.memory_format | slice | type(Ellipsis)):
        raise TypeError("not told by shapes")  # an array, a generator, a function: the operator could change it
    return leaf
