"""Running a user's model as inference does, and leaving it exactly as it was.

`script` promises that the model's mode, parameters, buffers and attributes are untouched; a model is only ever
looked at inside `inference_form` and `guarded_state`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ..graph.errors import LoweringError


@contextmanager
def inference_form(model: Any, training: bool = False) -> Iterator[None]:
    """Puts a module into evaluation mode for a while; the flags of all its parts come back, whatever happens.

    Args:
        model: the module; anything else has no mode.
        training: whether the module stays in the mode that it is in instead.
    """
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) and not training else []
    before = [(module, module.training) for module in modules]
    try:
        if any(type(module).train is not torch.nn.Module.train for module in modules):
            model.eval()  # a part that decides its mode itself keeps that decision
        else:
            for module, mode in before:
                if mode:
                    module.training = False
        yield
    finally:
        for module, mode in before:
            if module.training is not mode:
                module.training = mode


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
        with _missed() as missed:
            run()
        found = frozenset((id(module), key) for module, key in changed)
        return frozenset() if found & missed else found
    except Exception:  # what the model refuses comes up where it is exported
        return frozenset()
    finally:
        torch.set_rng_state(random)
        for each in before:
            _restore(*each)
        for module, key in _made(model, before):
            del module.__dict__[key]


@contextmanager
def _missed() -> Iterator[set[Attribute]]:
    """Collects the attributes that modules are asked for and do not have; `hasattr` asks too."""
    found: set[Attribute] = set()
    original = torch.nn.Module.__getattr__

    def noted(self: torch.nn.Module, name: str) -> Any:
        found.add((id(self), name))
        return original(self, name)

    torch.nn.Module.__getattr__ = noted  # type: ignore[method-assign]  # put back below
    try:
        yield found
    finally:
        # The method is put back as it was.
        torch.nn.Module.__getattr__ = original  # type: ignore[method-assign]


@contextmanager
def guarded_state(model: Any, name: str, notes: frozenset[Attribute] = frozenset()) -> Iterator[None]:
    """Restores plain attributes that a call of the model changed or made, and refuses such a model.

    A counter kept as a Python int, a list that grows, or what the first call keeps for later ones would be frozen
    into the graph.

    Args:
        model: the user's model.
        name: the op's name.
        notes: attributes that may change; see `scratch`.

    Raises:
        LoweringError: an attribute changed or came to be; the message names it.
    """
    before = _attributes(model)
    failed: Exception | None = None
    changed: list[tuple[Any, str, Any]] = []
    try:
        yield
    except Exception as error:
        failed = error
    finally:
        changed += [(module, key, saved) for module, key, saved in before if not _same(module, key, saved)]
        for change in changed:
            _restore(*change)
        made = _made(model, before)
        for module, key in made:
            del module.__dict__[key]
    altered = [(module, key) for module, key, _ in changed] + made
    state = [(module, key) for module, key in altered if (id(module), key) not in notes]
    if state:
        module, key = state[0]
        raise LoweringError(
            f"the model changes its attribute {key!r} while it runs, and a graph cannot hold that",
            where=f"op {name!r}, {type(module).__name__}",
            fix="Keep state in a registered buffer and change it in place.",
        ) from failed
    if failed is not None:
        raise failed


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


def equal_content(a: Any, b: Any) -> bool:
    """Whether two things are one, or plain values and containers with equal content."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal_content, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal_content(a[key], b[key]) for key in a)
    return isinstance(a, int | float | complex | str | bytes | set | frozenset) and bool(a == b)


@contextmanager
def idle_moves() -> Iterator[None]:
    """Makes `module.to(...)` that changes nothing do nothing: torch.export cannot swap parameters for themselves."""
    original = torch.nn.Module.to

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
        held = [*self.parameters(), *self.buffers()]
        moved = any(device is not None and tensor.device != device for tensor in held)
        cast = any(dtype is not None and tensor.is_floating_point() and tensor.dtype != dtype for tensor in held)
        return original(self, *args, **kwargs) if moved or cast else self

    torch.nn.Module.to = to  # type: ignore[method-assign]  # put back below
    try:
        yield
    finally:
        # The method is put back as it was.
        torch.nn.Module.to = original  # type: ignore[method-assign]


class Live:
    """A model as inference runs it, on copies of its buffers that it keeps from call to call.

    Args:
        model: the user's model.
        training: whether it keeps its own mode.
    """

    def __init__(self, model: Any, training: bool = False) -> None:
        self.model, self.training = model, training
        named = model.named_buffers() if isinstance(model, torch.nn.Module) else ()
        self.initial = {name: buffer.detach().clone() for name, buffer in named}
        self.buffers = dict(self.initial)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the model without gradients; the user's own buffers stay as they are."""
        with torch.no_grad(), inference_form(self.model, self.training):
            if self.buffers:
                return torch.func.functional_call(self.model, self.buffers, args, kwargs)
            return self.model(*args, **kwargs)

    @property
    def changed(self) -> bool:
        """Whether calls wrote to a buffer or replaced one."""
        return any(now is not self.initial[name] or now._version for name, now in self.buffers.items())


def buffers_of(model: Any) -> list[tuple[Any, str, torch.Tensor, torch.Tensor, int]]:
    """Every buffer of a module: its holder, name, tensor, a copy of its values, and its version."""
    if not isinstance(model, torch.nn.Module):
        return []
    pairs = [(m, n, b) for m in model.modules() for n, b in m._buffers.items() if b is not None]
    return [(module, name, buffer, buffer.detach().clone(), buffer._version) for module, name, buffer in pairs]


def set_back(buffers: list[tuple[Any, str, torch.Tensor, torch.Tensor, int]]) -> None:
    """Gives buffers the values that `buffers_of` saw."""
    with torch.no_grad():
        for module, name, buffer, values, _ in buffers:
            buffer.copy_(values)
            module._buffers[name] = buffer


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
