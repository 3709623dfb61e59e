"""The one lock around lowering, and the patches of torch and Python that lowering needs.

torch.export and the converter of TorchScript keep their state in variables of the process, and the patches are
variables of the process, too: so one thread lowers at a time. In another thread that runs a model meanwhile, a
replacement does what the original does, since it asks whether its thread needs it.

A patch knows all of its users, and restores the original after the last one. Users are in the journal of their thread
(see `runtime.interrupts`), so that an interrupt leaves none.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from ...runtime.interrupts.changes import Change, Kept, Lock


class LoweringLock(Lock):
    """The lock around lowering, and before it the one that torch's compiler holds while it compiles.

    Both trace, and what they set to do so are variables of the process: together they fail, and what one restores is
    what the other had set. A compilation that scripts takes the two in the same order.
    """

    def __call__(self) -> Change:
        """A context that holds both."""
        torchs = None if self.held else _of_torch()  # in this order only
        own = super().__call__()
        return own if torchs is None else _InOrder(torchs(), own)


class _InOrder(Change):
    def __init__(self, *held: Change) -> None:
        self._held = held

    def make(self) -> None:
        for each in self._held:
            each.make()

    def undo(self) -> None:
        for each in reversed(self._held):
            each.undo()


@cache
def _interruptible(lock: Any) -> Lock:
    return Lock(lock)


def _of_torch() -> Lock | None:
    """The lock of torch's compiler, if that is imported, which takes a second."""
    lock = getattr(sys.modules.get("torch._dynamo.convert_frame"), "compile_lock", None)
    return None if lock is None else _interruptible(lock)


lowering = LoweringLock()
"""Held while a model is lowered, and while a user's module is in its inference form."""

_patching = Lock()  # held for a few instructions

_ABSENT = object()


class Patch:
    """An attribute that is replaced while any thread needs it.

    Args:
        owner: a class, a module, or a function, whose `__code__` is replaced.
        name: the name of the attribute.
        replace: makes the replacement from the original, which is None where there is none, and from this patch, whose
            `needed` tells whether the calling thread is one that needs it.
    """

    def __init__(self, owner: Any, name: str, replace: Callable[[Any, Patch], Any]) -> None:
        self.owner, self.name, self._replace = owner, name, replace
        self._users: list[Patched] = []
        self._original: Any = _ABSENT
        self._replacement: Any = None

    @property
    def needed(self) -> bool:
        """Whether the calling thread needs the replacement."""
        return threading.get_ident() in [user.thread for user in tuple(self._users)]

    @property
    def used(self) -> bool:
        """Whether any thread needs it."""
        return bool(self._users)

    def add(self, user: Patched) -> None:
        """Puts the replacement in place for one more user."""
        with _patching():
            self._users.append(user)
            if self._replacement is None:
                self._original = self._present()
                self._replacement = self._replace(None if self._original is _ABSENT else self._original, self)
            if self._present() is not self._replacement:
                setattr(self.owner, self.name, self._replacement)

    def remove(self, user: Patched) -> None:
        """Restores the original after the last user."""
        with _patching():
            if user in self._users:
                self._users.remove(user)
            if self._users or self._replacement is None:
                return
            if self._present() is self._replacement:  # an attribute that was set meanwhile stays
                if self._original is _ABSENT:
                    delattr(self.owner, self.name)
                else:
                    setattr(self.owner, self.name, self._original)
            self._replacement = None

    def _present(self) -> Any:
        if isinstance(self.owner, FunctionType):
            return getattr(self.owner, self.name)
        return vars(self.owner).get(self.name, _ABSENT)  # not what a class inherits


class Patched(Change):
    """While it is entered, its thread needs some patches."""

    of_process = True

    def __init__(self, *patches: Patch) -> None:
        self.patches, self.thread = patches, threading.get_ident()

    def make(self) -> None:
        """Adds this user to the patches."""
        for patch in self.patches:
            patch.add(self)

    def undo(self) -> None:
        """Removes this user."""
        for patch in reversed(self.patches):
            patch.remove(self)


_VARIABLES = (
    ("torch.compiler", "_is_compiling_flag"),
    ("torch.compiler", "_is_exporting_flag"),
    ("torch.compiler", "_is_non_strict_tracing_flag"),
)
"""Variables of torch's modules that torch sets while it exports, and restores in a `finally`."""


class KeptProcess(Kept):
    """Restores variables of torch after a lowering that failed."""

    def __init__(self) -> None:
        self.before: list[tuple[Any, str, Any]] = []

    def make(self) -> None:
        """Copies them."""
        modules = [(sys.modules.get(module), name) for module, name in _VARIABLES]
        self.before = [(module, name, getattr(module, name)) for module, name in modules if hasattr(module, name)]

    def undo(self) -> None:
        """Restores them."""
        for module, name, value in self.before:
            setattr(module, name, value)

    def let_go(self) -> None:
        """Drops the copies."""
        self.before = []
