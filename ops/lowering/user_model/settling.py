"""What only the first call of a model does: it installs hooks, warns once, and notes in a flag that it has done so.

Transformers hang the hooks that collect hidden states and attentions into a model when these are first asked for. Such
a flag is no state of the model: all later calls leave it. So the model is lowered as its first call leaves it. A value
that a first call keeps for later ones is state, since it may hang on that call's inputs; only flags are taken, and only
where calls with other inputs set the same ones and answer the same before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...runtime.interrupts.changes import Change
from .isolate import KeptAttributes, KeptModel

Answer = tuple[Sequence[Any], bool]
"""The flat results of a call, and whether it wrote to a buffer."""


class FirstCall(KeptAttributes):
    """Keeps a model's attributes around its first call, and its hooks, too, where that call sets a flag.

    Args:
        model: the user's model.

    Attributes:
        sets_flags: whether the call changed attributes, and all of them to True or False; known afterwards.
    """

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.sets_flags = False
        self._whole = KeptModel(model)

    def make(self) -> None:
        """Copies attributes and containers."""
        super().make()
        self._whole.make()

    def undo(self) -> None:
        """Restores them."""
        self.sets_flags = self.sets_flags or bool(_flags(self))
        super().undo()
        if self.sets_flags:
            self._whole.undo()


class Settled(Change):
    """While it is entered, a model is as its first call leaves it, if that call only sets flags and installs hooks.

    Args:
        model: the user's model.
        calls: each calls it, with other inputs; the first one with the example.
        same: whether two flat results are the same.

    Attributes:
        holds: whether it is.
    """

    of_process = True

    def __init__(self, model: Any, calls: Sequence[Callable[[], Answer]], same: Callable[[Any, Any], bool]) -> None:
        self.model, self.calls, self.same = model, calls, same
        self.holds = False
        self._whole = KeptModel(model)

    def make(self) -> None:
        """Tries the calls, and then makes the first one."""
        self._whole.make()
        found = [self._tried(call) for call in self.calls]
        known = [flags for flags in found if flags is not None]
        self.holds = found[0] is not None and all(flags and flags == found[0] for flags in known)
        if self.holds:
            self.calls[0]()

    def undo(self) -> None:
        """Restores the model."""
        self._whole.undo()

    def _tried(self, call: Callable[[], Answer]) -> dict[Any, bool] | None:
        """The flags that a first call sets; none where it does more. None where it fails, as for inputs that misfit."""
        before = KeptAttributes(self.model)
        before.make()
        try:
            first = call()
            flags = _flags(before)
            settled, later = KeptModel(self.model), KeptAttributes(self.model)
            settled.make()
            later.make()
            again = call()
            stays = not settled.changed and not later.altered and not (first[1] or again[1])
            return flags if stays and not self._has_other_parts() and self.same(first[0], again[0]) else {}
        except Exception:  # of the model
            return None
        finally:
            before.undo()
            self._whole.undo()

    def _has_other_parts(self) -> bool:
        """Whether the model got other parts, parameters or buffers than it had."""
        return self._whole.has_refilled(("_modules", "_parameters", "_buffers"))


def other_inputs(tensors: Sequence[Any]) -> list[list[Any]]:
    """The inputs of a model, then some with other values or other sizes, which need not fit it."""
    changes: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
        torch.zeros_like,
        lambda t: t.repeat(2, *[1] * (t.dim() - 1)) if t.dim() else t,
        lambda t: t[:1] if t.dim() else t,
    )
    return [
        list(tensors),
        *([change(t) if isinstance(t, torch.Tensor) else t for t in tensors] for change in changes),
    ]


def _flags(kept: KeptAttributes) -> dict[Any, bool]:
    """The attributes that a call changed; none where one of them is no flag now."""
    now = {(id(module), key): module.__dict__.get(key) for module, key in kept.altered}
    return now if all(isinstance(value, bool) for value in now.values()) else {}
