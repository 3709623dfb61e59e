"""What to do about a model that a function calls as it is, and in which the recording fails: an op of it is no code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import torch
from torch.utils.data import DataLoader, RandomSampler

from ....ops.graph.errors import RecordError
from ....ops.runtime.user_code import attribute, is_own

DRAWS = "draws random numbers from torch's global generator"
CHANGES = "the function changes a tensor that is not one of its inputs"
"""What refusals say that are often of a model in train mode: of its dropout, of what its batch norm counts."""
OF_LOADER = "a DataLoader draws a number for its workers whenever it is gone through, whether it shuffles or not"
GENERATES = "model.generate(...) is Python around the model, which no recording holds"
UNDER_AUTOCAST = "autocast cannot be recorded"
MODEL = "model"
"""How a form names a model whose name is not known."""
LOOP_OF_TOKENS = (
    "Write its loop with tracepack.while_loop, as 'Text generation' in docs/guide.md and samples/generate.py do."
)
OP_OF_TOKENIZER = (
    "Make an op of it before, and call that: tokenizer = tracepack.script(tokenizer). It has decode, batch_decode and "
    "convert_ids_to_tokens, too."
)

_TRAINED = (
    "{0} is in train mode: write {0}.eval() before the trace, or make an op of it before and call that: "
    "{0} = tracepack.script({0})."
)
OF_PACKAGE = "Make an op of the model before the function, and call that: {0} = tracepack.script({0})."
_DROPOUT = (
    "An inference drops nothing out: pass training=False, as F.dropout(x, p, training=False) does. To draw all the "
    "same, do it inside `with tracepack.drawing(generator):`."
)

_GENERATION = "transformers.generation.utils"
_CALLS = ("_call_impl", "_wrapped_call_impl", "__call__", "forward")


@dataclass(frozen=True)
class _PlainCall:
    """A call of a model by the function.

    Attributes:
        name: how the function names the model.
        innermost: the module in which the recording failed.
        in_package: whether the code of that module is a package's.
    """

    name: str
    innermost: torch.nn.Module
    in_package: bool


def form_for_model(
    error: RecordError, trace: TracebackType | None, models: Sequence[tuple[str, torch.nn.Module]]
) -> str:
    """The form for a refusal inside a model that the function calls; empty where it is another refusal.

    Args:
        error: the refusal.
        trace: the frames that it came through.
        models: those that the function names, for what is seen when it has returned: a batch norm counts its batches.
    """
    if error.what == GENERATES:  # neither is an op of a model that calls it
        return ""
    call = _called(trace)
    if error.what == UNDER_AUTOCAST:
        return "" if call is None else error.fix.replace(f"({MODEL})", f"({call.name})")
    if call is None and error.what == CHANGES:
        return next((_TRAINED.format(name) for name, each in models if getattr(each, "training", False)), "")
    if call is None:
        return _DROPOUT if DRAWS in error.what and "dropout" in error.what else ""
    if getattr(call.innermost, "training", False) and (DRAWS in error.what or error.what == CHANGES):
        return _TRAINED.format(call.name)
    return OF_PACKAGE.format(call.name) if call.in_package else ""


def form_for_loader() -> str:
    """What a function does in place of a DataLoader, where that is what runs; empty elsewhere."""
    frame: FrameType | None = sys._getframe(1)
    loader: Any = None
    while frame is not None and not is_own(frame.f_code.co_filename):
        given = frame.f_locals.get("loader", frame.f_locals.get("self"))
        loader = given if isinstance(given, DataLoader) else loader
        frame = frame.f_back
    if loader is None or frame is None:
        return ""
    parts: Sequence[Any] = getattr(loader.dataset, "tensors", (loader.dataset,))
    named = (next((name for name, value in frame.f_locals.items() if value is each), "") for each in parts)
    names = [name or f"x{number}" * (len(parts) > 1) or "x" for number, name in enumerate(named)]
    count = loader.batch_size or 1
    pieces = ", ".join(f"{name}[i : i + {count}]" for name in names)
    end = f"len({names[0]}){f' - {count - 1}' if loader.drop_last and count > 1 else ''}"
    form = f"Go through the items themselves: {pieces} for i in range(0, {end}, {count})"
    if isinstance(loader.sampler, RandomSampler):
        order = f"order = torch.randperm(len({names[0]}), generator=generator)"
        mixed = ", ".join(f"{name}[order]" for name in names)
        return f"{form}, of {mixed}, with {order} and generator = torch.Generator() before the function."
    return f"{form}."


def is_within_generate(trace: TracebackType | None) -> bool:
    """Whether an error came through `generate` of a model of transformers.

    A method that was bound before the trace, `partial(model.generate, …)`, is not the one that refuses by itself.
    """
    codes = (frame.f_code.co_name for frame in _frames(trace) if frame.f_globals.get("__name__") == _GENERATION)
    return "generate" in codes


def _called(trace: TracebackType | None) -> _PlainCall | None:
    """The call of a model that an error came through, from the innermost function that is no method of one.

    Its other methods, such as `generate`, have advice of their own.
    """
    caller: FrameType | None = None
    modules: list[FrameType] = []
    for frame in _frames(trace):
        if isinstance(frame.f_locals.get("self"), torch.nn.Module):
            modules.append(frame)
        elif not modules:
            caller = frame if is_own(frame.f_code.co_filename) else caller
    if not any(frame.f_code.co_name in _CALLS for frame in modules):
        return None
    model, inner = modules[0].f_locals["self"], modules[-1]
    name = "" if caller is None else _name_of(model, caller)
    return _PlainCall(name or MODEL, inner.f_locals["self"], not is_own(inner.f_code.co_filename))


def _frames(trace: TracebackType | None) -> Iterator[FrameType]:
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _name_of(model: Any, frame: FrameType) -> str:
    """How the code of a frame names a model, alone or as what an object of its holds."""
    code = frame.f_code
    known = {**{name: frame.f_globals.get(name) for name in code.co_names}, **frame.f_locals}
    if name := next((name for name, value in known.items() if value is model), ""):
        return name
    held = ((name, each) for name in known for each in code.co_names if attribute(known[name], each, None) is model)
    return next((f"{name}.{each}" for name, each in held), "")
