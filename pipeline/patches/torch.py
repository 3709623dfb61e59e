"""Functions of torch that no mode sees: those of the grad mode and the default dtype, and custom backwards.

Beside them stand functions of transformers that are Python around a model: a recording would fail deep inside of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from typing import Any

import numpy as np
import torch

from ...ops.lowering.autocast import AUTOCAST_QUESTIONS, is_asked_for_autocast
from ...ops.runtime.user_code import is_called_by_user, is_users
from ..proxies.base import is_traced
from ..recording.recorder import Recorder
from ..rules.advice.plain_models import GENERATES, LOOP_OF_TOKENS, OP_OF_TOKENIZER
from ..rules.gradients import asks_grad_mode, is_asked_by_us
from .hooks import Hooks, active


def _grad_mode(plain: Callable[[], bool]) -> Callable[[], bool]:
    """`torch.is_grad_enabled`: torch's own blocks get the mode that the function set, although it runs without."""

    @wraps(plain)
    def is_grad_enabled() -> bool:
        recorder = active()
        if recorder is None or not torch._C._len_torch_function_stack() or is_asked_by_us():
            return plain()
        if is_called_by_user():
            asks_grad_mode(recorder)
            return plain()
        return recorder.grad_mode

    return is_grad_enabled


def _inference_mode(plain: Callable[[], bool]) -> Callable[[], bool]:
    @wraps(plain)
    def is_inference_mode_enabled() -> bool:
        recorder = active()
        if recorder is not None and is_users(sys._getframe(1).f_code.co_filename):
            recorder.refuse(
                "the function asks whether inference mode is on, which no graph holds", "Pass it as a flag."
            )
        return plain()

    return is_inference_mode_enabled


def _default_dtype(plain: Callable[[], torch.dtype]) -> Callable[[], torch.dtype]:
    @wraps(plain)
    def get_default_dtype() -> torch.dtype:
        recorder = active()
        if recorder is not None and is_users(
            sys._getframe(1).f_code.co_filename
        ):  # the user's code asks, and not tracepack
            recorder.pin_setting("default_dtype")
        return plain()

    return get_default_dtype


def _autocast(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What tells autocast's mode or dtype; a block of autocast asks, too, also one that switches it off."""

    @wraps(plain)
    def asked(*args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None and is_asked_for_autocast(sys._getframe(1)):
            recorder.pin_setting("autocast")
        return plain(*args, **kwargs)

    return asked


def _set_default_dtype(plain: Callable[..., None]) -> Callable[..., None]:
    @wraps(plain)
    def set_default(*args: Any, **kwargs: Any) -> None:
        recorder = active()
        if recorder is not None:
            recorder.refuse(
                "the function sets torch's default dtype, for the whole process",
                "Give tensors their dtypes: torch.zeros(3, dtype=torch.float64).",
            )
        plain(*args, **kwargs)

    return set_default


def _apply(plain: Any) -> Any:
    """`torch.autograd.Function.apply`: its forward is recorded, and its backward is not."""

    @classmethod  # type: ignore[misc]  # it replaces one
    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None:
            recorder.own_backward(cls.__name__)
        return plain.__get__(None, cls)(*args, **kwargs)

    return apply


def _module_hooks(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What a module is asked for only where it, or torch for all modules, has hooks on gradients: none is recorded."""

    @wraps(plain)
    def get_hooks(self: torch.nn.Module) -> Any:
        recorder = active()
        if recorder is not None:
            recorder.own_backward(f"{type(self).__name__}, by its hooks,")
        return plain(self)

    return get_hooks


def _generate(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`generate` of a model of transformers."""

    @wraps(plain)
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None:
            recorder.refuse(GENERATES, LOOP_OF_TOKENS)
        return plain(self, *args, **kwargs)

    return generate


def _tokenize(plain: Callable[..., Any]) -> Callable[..., Any]:
    """A call of a tokenizer of transformers, or of a method of one."""

    @wraps(plain)
    def tokenize(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None and any(_is_recorded(recorder, each) for each in (*args, *kwargs.values())):
            what = "ids" if plain.__name__ in _OF_IDS else "a text"
            recorder.refuse(f"a tokenizer of transformers was given {what} of the recording", OP_OF_TOKENIZER)
        return plain(self, *args, **kwargs)

    return tokenize


def _is_recorded(recorder: Recorder, thing: Any) -> bool:
    if isinstance(thing, torch.Tensor):
        return thing in recorder.values
    return is_traced(thing) or (type(thing) in (list, tuple) and any(_is_recorded(recorder, each) for each in thing))


_OF_IDS = ("decode", "batch_decode", "convert_ids_to_tokens")
_OF_TEXTS = ("__call__", "encode", "tokenize", "convert_tokens_to_ids", "apply_chat_template")
_TOKENIZERS = (
    ("transformers.tokenization_utils_base", "PreTrainedTokenizerBase"),
    ("transformers.tokenization_utils_tokenizers", "TokenizersBackend"),  # since version 5; before it
    ("transformers.tokenization_utils_fast", "PreTrainedTokenizerFast"),
)
_OF_TRANSFORMERS = (
    ("transformers.generation.utils", "GenerationMixin", "generate", _generate),
    *((*place, name, _tokenize) for place in _TOKENIZERS for name in (*_OF_TEXTS, *_OF_IDS)),
)


@cache
def _hooks(*places: tuple[Any, str, Callable[[Any], Any]]) -> Hooks:
    return Hooks(places)


def generation() -> AbstractContextManager[Any]:
    """Shows calls of functions of transformers to the recorders of all threads, where it is imported."""
    known = ((vars(sys.modules.get(module, sys)).get(owner), *rest) for module, owner, *rest in _OF_TRANSFORMERS)
    places = [(owner, name, make) for owner, name, make in known if owner is not None and name in vars(owner)]
    return _hooks(*places)() if places else nullcontext()


_OF_NUMPY = np.broadcast_shapes


def _broadcast_shapes(plain: Callable[..., Any]) -> Callable[..., Any]:
    """`broadcast_shapes`: torch's own branches on each size; that of sizes of a run is what tensors come to."""

    @wraps(plain)
    def broadcast_shapes(*shapes: Any) -> Any:
        each_sizes = [tuple(each) if isinstance(each, tuple | list) else (each,) for each in shapes]
        if active() is None or all(type(size) is int for sizes in each_sizes for size in sizes):
            return plain(*shapes)
        broadcast: Any = torch.broadcast_tensors
        found = broadcast(*(torch.zeros(()).expand(sizes) for sizes in each_sizes))[0].shape
        return tuple(found) if plain is _OF_NUMPY else found

    return broadcast_shapes


questions = Hooks(
    [
        (torch, "broadcast_shapes", _broadcast_shapes),
        (np, "broadcast_shapes", _broadcast_shapes),
        (torch, "is_grad_enabled", _grad_mode),
        (torch, "is_inference_mode_enabled", _inference_mode),
        (torch, "get_default_dtype", _default_dtype),
        (torch, "set_default_dtype", _set_default_dtype),
        (torch, "set_default_tensor_type", _set_default_dtype),
        *((torch, name, _autocast) for name in AUTOCAST_QUESTIONS),
        (torch.autograd.Function, "apply", _apply),
        (torch.nn.Module, "_get_backward_hooks", _module_hooks),
        (torch.nn.Module, "_get_backward_pre_hooks", _module_hooks),
    ]
)
"""Shows calls of these functions to the recorders of all threads."""
