"""Runs a user's model as inference does, and restores it exactly.

`script` promises that the model's mode, parameters, buffers and attributes do not change; so lowering runs a model only
inside `InferenceForm` and `GuardedState`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container
from typing import Any

import torch

from ...graph.errors import LoweringError
from ...runtime.interrupts.changes import Change, Kept
from ..held_objects import equal_content
from ..patches.modules import Missed
from .held_parts import HeldPart, parts_of


class InferenceForm(Change):
    """While it is entered, a module is in evaluation mode; then the flags of all its parts are restored.

    Args:
        model: the module; anything else has no mode.
        training: whether the module keeps its present mode instead.
    """

    of_process = True

    def __init__(self, model: Any, training: bool = False) -> None:
        self.model = model
        modules = list(model.modules()) if isinstance(model, torch.nn.Module) and not training else []
        self.before = [(module, module.training) for module in modules if hasattr(module, "training")]  # a frozen one

    def make(self) -> None:
        """Clears the flags; a part that overrides `train` decides about its own."""
        if any(type(module).train is not torch.nn.Module.train for module, _ in self.before):
            self.model.eval()
            return
        for module, mode in self.before:
            if mode:
                module.training = False

    def undo(self) -> None:
        """Restores the flags."""
        for module, mode in self.before:
            if module.training is not mode:
                module.training = mode


class KeptModel(Kept):
    """Restores the parameters, buffers and hooks of a module and of its parts, by identity.

    torch.export and functional calls replace them for a while.

    Args:
        model: the module; nothing is kept of any other object.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before: list[tuple[Any, list[tuple[str, Any, Any]]]] = []

    def make(self) -> None:
        """Copies the containers of the module and its parts."""
        model = self.model
        if isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule):
            self.before = [
                (module, [(key, value, _content(value)) for key, value in module.__dict__.items()])
                for module in model.modules()
            ]

    @property
    def changed(self) -> bool:
        """Whether a part has other attributes than before, or other items in one of its lists, sets and dicts."""
        return any(
            {*module.__dict__} != {key for key, _, _ in held}
            or any(module.__dict__[key] is not value or _is_refilled(value, items) for key, value, items in held)
            for module, held in self.before
        )

    def undo(self) -> None:
        """Restores the content of the containers."""
        for module, held in self.before:
            now = module.__dict__
            for name in now.keys() - {key for key, _, _ in held}:
                del now[name]
            for key, value, content in held:
                now[key] = value
                _refill(value, content)

    def has_refilled(self, names: Container[str]) -> bool:
        """Whether one of the containers of these names has other items than before, or is another one."""
        return any(
            key in names and (module.__dict__.get(key) is not value or _is_refilled(value, items))
            for module, held in self.before
            for key, value, items in held
        )

    def let_go(self) -> None:
        """Drops the copies."""
        self.before = []


def _content(value: Any) -> Any:
    """A copy of a container's items; None for anything else."""
    return value.copy() if type(value) in (dict, OrderedDict, list, set) else None


def _is_refilled(value: Any, content: Any) -> bool:
    """Whether a container no longer has the items that it had."""
    if content is None:
        return False
    if isinstance(value, list):
        return len(value) != len(content) or any(a is not b for a, b in zip(value, content, strict=True))
    if isinstance(value, set):
        return bool(value != content)
    return list(value) != list(content) or any(value[key] is not content[key] for key in content)


def _refill(value: Any, content: Any) -> None:
    """Restores the items of a container; one that still has them is not written, since other threads may read it."""
    if not _is_refilled(value, content):
        return
    if isinstance(value, list):
        value[:] = content
        return
    value.clear()
    value.update(content)


Attribute = tuple[int, str]
"""A module's id and the name of one of its attributes."""


def scratch(model: Any, run: Callable[[], Any]) -> frozenset[Attribute]:
    """The plain attributes that a call writes before it reads them, so that they carry no state to the next call.

    They are found by a call on the model without these attributes.

    Args:
        model: the user's model, whose attributes are restored.
        run: calls it.
    """
    before = _attributes(model)
    if not before:
        return frozenset()
    try:
        run()
        changed = [(module, key) for module, key, saved in before if not _same(module, key, saved)]
        changed += _made(model, before)
        if not changed:
            return frozenset()
        for each in before:
            _restore(*each)
        for module, key in changed:
            module.__dict__.pop(key, None)
        with Missed() as missed:
            run()
        found = frozenset((id(module), key) for module, key in changed)
        return frozenset() if found & missed.found else found
    except Exception:  # an error of the model is raised again by the export
        return frozenset()
    finally:
        for each in before:
            _restore(*each)
        for module, key in _made(model, before):
            del module.__dict__[key]


def without_scratch(model: Any, notes: frozenset[Attribute]) -> None:
    """Drops the attributes that a call writes before it reads them, such as what a `cached_property` has kept."""
    for module in model.modules() if notes and isinstance(model, torch.nn.Module) else ():
        for key in [key for key in module.__dict__ if (id(module), key) in notes]:
            del module.__dict__[key]


class KeptAttributes(Change):
    """Restores plain attributes that a call of the model changed or made.

    Args:
        model: the user's model.
    """

    of_process = True

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before: list[Saved] | None = None

    def make(self) -> None:
        """Copies the attributes."""
        self.before = _attributes(self.model)

    @property
    def altered(self) -> list[tuple[Any, str]]:
        """The attributes that are other than before, or new."""
        if self.before is None:
            return []
        changed = [(module, key) for module, key, saved in self.before if not _same(module, key, saved)]
        return changed + _made(self.model, self.before)

    def undo(self) -> None:
        """Restores them."""
        before = self.before or []
        for saved in before:
            if not _same(*saved):
                _restore(*saved)
        for module, key in _made(self.model, before) if before else ():
            del module.__dict__[key]


class GuardedState(KeptAttributes):
    """Restores plain attributes that a call of the model changed or made, and refuses such a model.

    A counter that is a Python int, a list that grows, or a value that the first call keeps for later ones would be
    frozen into the graph.

    Args:
        model: the user's model.
        name: the op's name.
        notes: attributes that may change; see `scratch`.

    Raises:
        LoweringError: at the end, where an attribute was changed or added; the message names it.
    """

    def __init__(self, model: Any, name: str, notes: frozenset[Attribute] = frozenset()) -> None:
        super().__init__(model)
        self.name, self.notes = name, notes

    def __exit__(self, *exc: Any) -> None:
        altered = self.altered
        super().__exit__(*exc)
        state = [(module, key) for module, key in altered if (id(module), key) not in self.notes]
        if state and (exc[0] is None or issubclass(exc[0], Exception)):
            module, key = state[0]
            raise LoweringError(
                f"the model changes its attribute {key!r} while it runs, and a graph cannot hold that",
                where=f"op {self.name!r}, {type(module).__name__}",
                fix="Keep state in a registered buffer and change it in place. What only a first call sets is no state"
                " once it is set: call the model before, model(...).",
            ) from exc[1]


def _restore(module: Any, key: str, saved: tuple[Any, list[HeldPart]]) -> None:
    value, parts = saved
    module.__dict__[key] = value
    for part in parts:
        if not part.same:
            part.restore()


Saved = tuple[Any, str, tuple[Any, list[HeldPart]]]
"""A module, the name of an attribute, and its value with what that holds."""


def _attributes(model: Any) -> list[Saved]:
    found = []
    for module, key in _names(model):
        value = module.__dict__[key]
        found.append((module, key, (value, parts_of(value))))
    return found


def _made(model: Any, before: list[Saved]) -> list[tuple[Any, str]]:
    """The attributes that were added to a model."""
    known = {(id(module), key) for module, key, _ in before}
    return [(module, key) for module, key in _names(model) if (id(module), key) not in known]


def _names(model: Any) -> list[tuple[Any, str]]:
    """Every module with the name of each of its plain attributes."""
    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        return []
    skipped = {"training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"}
    return [
        (module, key)
        for module in model.modules()
        for key in module.__dict__
        if key not in skipped and not (key.startswith("_") and key.endswith("hooks"))
    ]


def _same(module: Any, key: str, saved: tuple[Any, list[HeldPart]]) -> bool:
    value, parts = saved
    return equal_content(module.__dict__.get(key), value) and all(part.same for part in parts)
