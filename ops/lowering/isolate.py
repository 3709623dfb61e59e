"""Running a user's model as inference does, and leaving it exactly as it was.

`script` promises that the model's mode, parameters, buffers and attributes are untouched; a model is only ever
looked at inside `InferenceForm` and `GuardedState`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..graph.errors import LoweringError
from ..runtime.interrupts.changes import Change, Kept
from .held_objects import equal_content
from .patches.modules import Missed


class InferenceForm(Change):
    """Puts a module into evaluation mode for a while; the flags of all its parts come back, whatever happens.

    Args:
        model: the module; anything else has no mode.
        training: whether the module stays in the mode that it is in instead.
    """

    def __init__(self, model: Any, training: bool = False) -> None:
        self.model = model
        modules = list(model.modules()) if isinstance(model, torch.nn.Module) and not training else []
        self.before = [(module, module.training) for module in modules]

    def make(self) -> None:
        """Clears the flags; a part that decides its mode itself keeps that decision."""
        if any(type(module).train is not torch.nn.Module.train for module, _ in self.before):
            self.model.eval()
            return
        for module, mode in self.before:
            if mode:
                module.training = False

    def undo(self) -> None:
        """Sets the flags as they were."""
        for module, mode in self.before:
            if module.training is not mode:
                module.training = mode


class KeptModel(Kept):
    """All that a module and its parts hold: parameters, buffers and hooks by identity.

    torch.export and functional calls exchange them for a while.

    Args:
        model: the module; anything else holds nothing that is known.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before: list[tuple[Any, list[tuple[str, Any, Any]]]] = []

    def make(self) -> None:
        """Notes what they hold."""
        model = self.model
        if isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule):
            self.before = [
                (module, [(key, value, _content(value)) for key, value in module.__dict__.items()])
                for module in model.modules()
            ]

    def undo(self) -> None:
        """Gives it back to them."""
        for module, held in self.before:
            now = module.__dict__
            for name in now.keys() - {key for key, _, _ in held}:
                del now[name]
            for key, value, content in held:
                now[key] = value
                _refill(value, content)

    def let_go(self) -> None:
        """Forgets it."""
        self.before = []


def _content(value: Any) -> Any:
    """A copy of a container's items; None for anything else."""
    return value.copy() if type(value) in (dict, OrderedDict, list, set) else None


def _refill(value: Any, content: Any) -> None:
    """Gives a container the items that it had; one that has them is not touched, since other threads may read it."""
    if content is None:
        return
    if isinstance(value, list):
        if len(value) != len(content) or any(a is not b for a, b in zip(value, content, strict=True)):
            value[:] = content
    elif isinstance(value, set):
        if value != content:
            value.clear()
            value |= content
    elif list(value) != list(content) or any(value[key] is not content[key] for key in content):
        value.clear()
        value.update(content)


Attribute = tuple[int, str]
"""A module's id and the name of one of its attributes."""


def scratch(model: Any, run: Callable[[], Any]) -> frozenset[Attribute]:
    """The plain attributes that a call changes or makes, if it never reads what they were: notes, and no state.

    That is tried by a call without them.

    Args:
        model: the user's model; its attributes are as before afterwards.
        run: calls it.
    """
    before = _attributes(model)
    if not before:
        return frozenset()
    random = torch.get_rng_state()
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
    except Exception:  # what the model refuses comes up where it is exported
        return frozenset()
    finally:
        torch.set_rng_state(random)
        for each in before:
            _restore(*each)
        for module, key in _made(model, before):
            del module.__dict__[key]


class KeptAttributes(Change):
    """Restores plain attributes that a call of the model changed or made.

    Args:
        model: the user's model.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before: list[Saved] | None = None

    def make(self) -> None:
        """Notes the attributes."""
        self.before = _attributes(self.model)

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

    A counter kept as a Python int, a list that grows, or what the first call keeps for later ones would be frozen
    into the graph.

    Args:
        model: the user's model.
        name: the op's name.
        notes: attributes that may change; see `scratch`.

    Raises:
        LoweringError: on leaving, where an attribute changed or came to be; the message names it.
    """

    def __init__(self, model: Any, name: str, notes: frozenset[Attribute] = frozenset()) -> None:
        super().__init__(model)
        self.name, self.notes = name, notes

    def __exit__(self, *exc: Any) -> None:
        before = self.before or []
        altered = [(module, key) for module, key, saved in before if not _same(module, key, saved)]
        altered += _made(self.model, before)
        super().__exit__(*exc)
        state = [(module, key) for module, key in altered if (id(module), key) not in self.notes]
        if state and (exc[0] is None or issubclass(exc[0], Exception)):
            module, key = state[0]
            raise LoweringError(
                f"the model changes its attribute {key!r} while it runs, and a graph cannot hold that",
                where=f"op {self.name!r}, {type(module).__name__}",
                fix="Keep state in a registered buffer and change it in place.",
            ) from exc[1]


def _restore(module: Any, key: str, saved: tuple[Any, Any]) -> None:
    value, content = saved
    module.__dict__[key] = value
    if content is None:
        return
    if isinstance(value, list):
        value[:] = content
    elif isinstance(value, dict):
        value.clear()
        value.update(content)


Saved = tuple[Any, str, tuple[Any, Any]]
"""A module, the name of an attribute, and its value with the content of a container."""


def _attributes(model: Any) -> list[Saved]:
    found = []
    for module, key in _names(model):
        value = module.__dict__[key]
        content = list(value) if isinstance(value, list) else dict(value) if type(value) is dict else None
        found.append((module, key, (value, content)))
    return found


def _made(model: Any, before: list[Saved]) -> list[tuple[Any, str]]:
    """The attributes that a model has now and did not have before."""
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


def _same(module: Any, key: str, saved: tuple[Any, Any]) -> bool:
    value, content = saved
    now = module.__dict__.get(key)
    return equal_content(now, value) and (content is None or equal_content(now, content))


class Live:
    """A model as inference runs it, on copies of its buffers that it keeps from call to call.

    Args:
        model: the user's model.
        training: whether it keeps its own mode.
        grad: whether it runs with gradients.
    """

    def __init__(self, model: Any, training: bool = False, grad: bool = False) -> None:
        self.model, self.training, self.grad = model, training, grad
        named = model.named_buffers() if isinstance(model, torch.nn.Module) else ()
        self.initial = {name: buffer.detach().clone() for name, buffer in named}
        self.buffers = dict(self.initial)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the model; the user's own buffers stay as they are."""
        with torch.enable_grad() if self.grad else torch.no_grad(), InferenceForm(self.model, self.training):
            if self.buffers:
                return torch.func.functional_call(self.model, self.buffers, args, kwargs)
            return self.model(*args, **kwargs)

    @property
    def changed(self) -> bool:
        """Whether calls wrote to a buffer or replaced one."""
        return any(now is not self.initial[name] or now._version for name, now in self.buffers.items())


class KeptBuffers(Kept):
    """The buffers of a module, and their values.

    Args:
        model: the module; anything else has none.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.before: list[tuple[Any, str, torch.Tensor, torch.Tensor, int]] = []

    def make(self) -> None:
        """Notes them."""
        if isinstance(self.model, torch.nn.Module):
            pairs = [(m, n, b) for m in self.model.modules() for n, b in m._buffers.items() if b is not None]
            self.before = [(module, name, b, b.detach().clone(), b._version) for module, name, b in pairs]

    @property
    def changed(self) -> bool:
        """Whether one was written to or replaced."""
        return any(m._buffers.get(name) is not b or b._version != version for m, name, b, _, version in self.before)

    def undo(self) -> None:
        """Gives them the values that they had."""
        with torch.no_grad():
            for module, name, buffer, values, version in self.before:
                if buffer._version != version:
                    buffer.copy_(values)
                module._buffers[name] = buffer

    def let_go(self) -> None:
        """Forgets them."""
        self.before = []


@contextmanager
def buffers_in_place(model: Any) -> Iterator[None]:
    """Turns the replacing of a buffer into a write: torch.export loses `self.h = ...` below the outermost module.

    Raises:
        LoweringError: a buffer was replaced by a tensor of another dtype or shape.
    """
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    before = [(module, name, buffer) for module in modules for name, buffer in module._buffers.items()]
    yield
    for module, name, buffer in before:
        now = module._buffers.get(name)
        if now is buffer or not isinstance(buffer, torch.Tensor) or not isinstance(now, torch.Tensor):
            continue
        if now.dtype != buffer.dtype or now.shape != buffer.shape:
            raise LoweringError(
                f"the model replaces its buffer {name!r} by another kind of tensor",
                where=type(module).__name__,
                got=f"{now.dtype} {tuple(now.shape)}",
                expected=f"{buffer.dtype} {tuple(buffer.shape)}",
                fix="Give it its greatest size and count what is used of it, or pass it in and return it.",
            )
        buffer.copy_(now)
        module._buffers[name] = buffer
