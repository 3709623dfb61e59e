"""InferenceOp: a model or kernel packed as one callable, bound to a device; what `script` returns."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from .graph.device import CPU, Device
from .graph.errors import SignatureError
from .graph.graph import KernelCall, Target
from .graph.kernel import Kernel
from .runtime.checks import require_contiguous
from .runtime.interrupts.modes import Outside
from .runtime.interrupts.verbs import undisturbed
from .runtime.placement import runs_on
from .runtime.state import State
from .runtime.user_code import attribute, user_line
from .tracing_hook import current

_FOR_DEVICE = "It stays where it was scripted for: tracepack.script(model, device=…)."
_INFERS = "It runs as model.eval() does: leave the line out."
_INSTEAD = {
    "config": "Keep what is asked of it before the model is an op: id2label = model.config.id2label, then op = "
    "tracepack.script(model).",
    "eval": _INFERS,
    "train": "Give script(model, training=True).",
    **dict.fromkeys(("to", "cpu", "cuda"), _FOR_DEVICE),
    "generate": "Write its loop with tracepack.while_loop, as 'Text generation' in docs/guide.md and "
    "samples/generate.py do.",
    "forward": "Call the op itself.",
    "predict": "Call the op itself: op(x)['label'] of a classifier, op(x) of a regressor.",
    "predict_proba": "Call the op itself: op(x)['probabilities'].",
    "transform": "Call the op itself: op(x).",
    "inverse_transform": "Write it with what the estimator has: y * scaler.scale_ + scaler.mean_ for a StandardScaler.",
}
_unnamed = itertools.count()


class OpAttributeError(SignatureError, AttributeError):
    """What a model has and its op has not."""


class InferenceOp(ABC):
    """One callable on tensors that a pipeline can hold.

    Attributes:
        name: its name in graphs, errors and profiles.
        device: the device that it was scripted for.
        here: the device on which it runs in this process: the CPU where the machine lacks its own.
    """

    def __init__(self, name: str, device: Device) -> None:
        self.name, self.device, self.here = name, device, runs_on(device)

    @undisturbed
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the op, or records the call inside a trace; arrays of numpy are taken as tensors."""
        recorder = current()
        if any(isinstance(argument, np.ndarray) for argument in (*args, *kwargs.values())):
            args = tuple(map(_as_tensor, args))
            kwargs = {name: _as_tensor(argument) for name, argument in kwargs.items()}
        if recorder is None:
            return self.run(args, kwargs)
        with Outside(), recorder.refusing():  # the user's function does not look at the arguments here
            return recorder.call(self.application(args, kwargs))

    @abstractmethod
    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the op on real values."""

    @abstractmethod
    def application(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as a graph records it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python and its libraries ask for these
            raise AttributeError(name)
        where = str(user_line() or "") if name in _INSTEAD else ""
        raise OpAttributeError(f"an op of tracepack has no {name!r}", where=where, fix=_INSTEAD.get(name, ""))

    def __repr__(self) -> str:
        return f"<InferenceOp {self.name!r} on {self.device}>"


def _as_tensor(argument: Any) -> Any:
    """A tensor over the memory of an array, of a copy where it is read-only, as columns of tables are."""
    if not isinstance(argument, np.ndarray):
        return argument
    read_only = type(argument) is np.ndarray and not argument.flags.writeable  # a recorded one has no flags
    return torch.from_numpy(argument.copy() if read_only else argument)


@dataclass
class _KernelApplication:
    target: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    state: State

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        assert isinstance(self.target, KernelCall)
        return _run_kernel(self.target.kernel, self.state, args, kwargs)

    def rebuild(self, result: Any) -> Any:
        return result


def _run_kernel(kernel: Kernel, state: State, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not kernel.strided:
        args, kwargs = pytree.tree_map_only(torch.Tensor, torch.Tensor.contiguous, (args, kwargs))
    result = state.kernel(kernel)(*args, **kwargs)
    if not kernel.own_check:
        require_contiguous(kernel.name, [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)])
    return result


class KernelOp(InferenceOp):
    """An op that is one kernel."""

    def __init__(self, kernel: Kernel, name: str, device: Device) -> None:
        super().__init__(name, device)
        self.kernel, self.state = kernel, State()

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the kernel as a pipeline does."""
        return _run_kernel(self.kernel, self.state, args, kwargs)

    def application(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as one node of a kernel."""
        return _KernelApplication(KernelCall(self.kernel), args, kwargs, self.state)


def model_device(model: Any) -> Device | None:
    """The device of a module's first parameter or buffer; None for a module without any."""
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        device = tensor.device
        return CPU if device.type == "cpu" else Device(device.type, device.index or 0)
    return None


def default_name(model: Any) -> str:
    """A name for an op: its class's or function's."""
    name = attribute(model, "original_name") or attribute(model, "__name__") or type(model).__name__
    return str(name) if str(name).replace("_", "").isalnum() else f"op{next(_unnamed)}"
