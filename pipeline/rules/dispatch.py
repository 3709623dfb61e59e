"""Chooses the rule for a torch function that the recorder sees: metadata, sizes, a refusal, or an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.distributions import constraints

from ...ops.graph.errors import OutsideError, RecordError
from ...ops.graph.graph import Operator
from ...ops.runtime.primitives.callables import recorded_names
from ...ops.runtime.primitives.views import CHECKED
from ...ops.runtime.user_code import asked_by, asking_frame, following_instruction, is_users, user_line
from ..proxies.tracer import NodeWriter, Tracer
from ..proxies.trees import title
from .assertions import all_true
from .callbacks import opened, takes_objects
from .custom_operators import custom_operator
from .metadata import guard_results, pin_pieces, pin_results, pin_rows, read_metadata
from .torch_functions import CONVERTED, DEVICE, IGNORED, METADATA, SIZES, TEXTS, TRANSFORMS, refusal

_MODULES = str(torch.nn.modules.module.__file__)
_CONSTRAINTS = str(constraints.__file__)
"""Where `torch.distributions` checks parameters and values."""


def dispatch(recorder: Tracer, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Records a torch function, reads metadata or a size for it, or refuses it."""
    if torch._C._functorch.peek_interpreter_stack() is not None:
        recorder.refuse(TRANSFORMS.what, TRANSFORMS.fix)
    if func in IGNORED or (recorder.printing and func in TEXTS):
        with recorder.within():
            return func(*args, **kwargs)
    if func in METADATA:
        if asked_by(
            "<tracepack entry>"
        ):  # the fast entry of a called pipeline: None fits no signature, so the slow run follows, which is recorded
            return None
        return read_metadata(recorder, func, args, kwargs)
    if func in SIZES:
        return SIZES[func](recorder, func, *args, **kwargs)
    if func is torch.Tensor.__bool__ and (taken := _branched(recorder, args[0])) is not None:
        return taken
    if func is torch.Tensor.__bool__ and asked_by(_CONSTRAINTS):  # whether a matrix is symmetric
        return all_true(recorder, args[0])
    if getattr(func, "__module__", "") == _INIT and _makes_model():
        recorder.refuse(
            "a model is made inside of the function",
            "Make it before tracepack.trace, and an op of it: op = tracepack.script(model).",
        )
    if func is torch.Tensor.requires_grad_ and _leaves_without(recorder, *args, **kwargs):
        return args[0]
    why = refusal(func)
    if why is not None:
        why = CONVERTED if why is DEVICE and asked_by(_MODULES) else why  # `model.cuda()` moves its weights one by one
        recorder.refuse(why.what.format(function=title(func)), why.fix_for(user_line()))
    return record(recorder, func, args, kwargs)


def _leaves_without(recorder: Tracer, tensor: torch.Tensor, requires_grad: Any = True) -> bool:
    """Whether a tensor needs no gradients and is to need none, which is guarded."""
    getter: Any = torch.Tensor.requires_grad
    return requires_grad is False and not read_metadata(recorder, getter.__get__, (tensor,), {})


_INIT = torch.nn.init.__name__


def _makes_model() -> bool:
    """Whether a module of torch, and not the function itself, fills weights."""
    frame = asking_frame()
    while frame is not None and frame.f_globals.get("__name__") in (_INIT, torch.overrides.__name__):
        frame = frame.f_back
    return frame is not None and not is_users(frame.f_code.co_filename)


def _branched(recorder: Tracer, tensor: torch.Tensor) -> bool | None:
    """The side that a loop over a list of any length takes where it branches on a tensor of one number."""
    with torch._C.DisableTorchFunction():
        single = tensor.dim() == 0
    recorder.rounds.asking()
    if not recorder.rounds.open or not single or tensor not in recorder.values or recorder.rank(tensor):
        return None
    taken: bool | None = recorder.rounds.decided(recorder.scalar("bool", recorder.scalar("item", tensor)))
    return taken


def record(recorder: Tracer, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Records a torch function by its name."""
    name = recorded_names().get(func)
    if name is None:
        return _unknown(recorder, func, args, kwargs)
    if name.endswith(".unbind"):
        pin_rows(recorder, args, kwargs)
    if name.endswith((".split", ".split_with_sizes")):
        pin_pieces(recorder, next(iter([*args[1:], *kwargs.values()]), None))
    if name.endswith((".split", ".chunk")) and following_instruction() != "UNPACK_SEQUENCE":
        recorder.plainly_used = recorder.plainly_used or "the function goes through the pieces of a tensor"
    if takes_objects(func, (args, kwargs)):
        with recorder:
            return opened(func)(*args, **kwargs)
    found = _operator(recorder, name, func, args, kwargs)
    pin_results(recorder, args, kwargs, found)
    return found


def _operator(
    recorder: NodeWriter, name: str, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Records an operator; one whose arguments torch does not check enough runs as a checked form, as it will later."""
    try:
        return recorder.apply(Operator(name), CHECKED.get(name, func), args, kwargs)
    except OutsideError as error:
        where = str(user_line() or "")
        raise RecordError(error.what, where=where, got=error.got, expected=error.expected, fix=error.fix) from None


def _unknown(recorder: Tracer, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Records an operator of torch.library."""
    target, overload = custom_operator(func, args, kwargs)
    if isinstance(target, Operator):
        if (
            target.name == "aten.lift_fresh.default"
        ):  # the tensor of an array that the function made: each run needs a new one
            return _operator(recorder, "torch.clone", torch.clone, args, kwargs)
        return _operator(recorder, target.name, overload, args, kwargs)
    found = recorder.apply(target, overload, args, kwargs)
    guard_results(found)
    return found
