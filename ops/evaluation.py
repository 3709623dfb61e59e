"""Running a user's model as inference does, and leaving it exactly as it was.

`script` promises that the model's mode, parameters, buffers and attributes are untouched; a model is only ever
looked at inside `inference_form` and `guarded_state`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .errors import LoweringError


@contextmanager
def inference_form(model: Any) -> Iterator[None]:
    """Puts a module into evaluation mode for a while; the flags of all its parts come back, whatever happens."""
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    training = [module for module in modules if module.training]
    try:
        for module in training:
            module.training = False
        yield
    finally:
        for module in training:
            module.training = True


@contextmanager
def guarded_state(model: Any, name: str) -> Iterator[None]:
    """Restores plain attributes that a call of the model changed, and refuses such a model.

    A counter kept as a Python int, or a list that grows, would be frozen into the graph.

    Raises:
        LoweringError: an attribute changed; the message names it.
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
    if changed:
        module, key, _ = changed[0]
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
    if isinstance(value, list):
        value[:] = content
    elif isinstance(value, dict):
        value.clear()
        value.update(content)


def _attributes(model: Any) -> list[tuple[Any, str, tuple[Any, Any]]]:
    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        return []
    skipped = {"training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"}
    found = []
    for module in model.modules():
        for key, value in module.__dict__.items():
            if key not in skipped and not (key.startswith("_") and key.endswith("hooks")):
                content = list(value) if isinstance(value, list) else dict(value) if type(value) is dict else None
                found.append((module, key, (value, content)))
    return found


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


def call_untouched(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a model in inference form, without gradients, its buffers replaced by copies for the call."""
    with torch.no_grad(), inference_form(model):
        if isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule):
            copies = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
            if copies:
                return torch.func.functional_call(model, copies, args, kwargs)
        return model(*args, **kwargs)
