"""What an interrupt could leave behind in this process, looked up without asking tracepack what it changes.

All variables of all modules of torch, numpy, logging and Python's own builtins and warnings are compared by identity,
and so are the attributes of the classes that a patch could sit in, the kernels of every operator, and torch's modes.
Variables that a call which nobody interrupts changes as well (counters, caches) are left out.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from types import FunctionType
from typing import Any

import numpy as np
import torch
from torch._export.converter import TS2FXGraphConverter
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

_FAMILIES = ("torch", "numpy", "logging", "warnings", "builtins", "contextlib", "tests", "models")
_PLAIN = (int, float, str, bool, type(None), torch.dtype, torch.device)
_COMPILED = ("__compiled_fn_", "__builtins_dict_", "___unnamed_scope_")  # torch's compiler adds them for each function
_C: Any = torch._C


class ProcessState:
    """A snapshot.

    Attributes:
        things: for each module, class, operator and thread what its names stand for; plain values count by value.
    """

    def __init__(self) -> None:
        self.things: dict[str, dict[Any, Any]] = {**_variables(), **_attributes(), **_kernels(), "thread": _modes()}

    def differences(self, other: ProcessState) -> list[str]:
        """The names of what is not the same; what came to be since is named too, unless it is a new module."""
        missing, changed = object(), []
        for owner, before in self.things.items():
            after = other.things.get(owner, {})
            changed += [
                f"{owner}:{name}"
                for name, thing in before.items()
                if (now := after.get(name, missing)) is not thing and not _same(thing, now)
            ]
            changed += [f"{owner}:{name}" for name in after.keys() - before.keys()]
        return [name for name in changed if not name.rpartition(":")[2].startswith(_COMPILED)]


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and torch.equal(a, b)
    return type(a) is type(b) and (isinstance(a, (*_PLAIN, tuple)) or "DispatchKeySet" in str(type(a))) and a == b


def _variables() -> dict[str, dict[Any, Any]]:
    """Variables of modules, and the code of the functions among them: a recording runs changed copies of it."""
    found: dict[str, dict[Any, Any]] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _FAMILIES and module is not None:
            things = dict(vars(module))
            codes = {f"{key}.__code__": thing.__code__ for key, thing in things.items() if type(thing) is FunctionType}
            found[name] = things | codes
    return found


def _classes() -> list[type]:
    base = torch._C.TensorBase
    return [
        torch.nn.Module, torch.nn.Parameter, torch.Tensor, base, torch.SymInt, torch.SymFloat, torch.SymBool,
        torch.Generator, torch.fx.Tracer, torch.fx.GraphModule, torch.fx.Graph, torch.jit.ScriptModule,
        torch._ops.OpOverload, torch._ops.OpOverloadPacket, TS2FXGraphConverter, FakeTensor, FakeTensorMode,
        ProxyTorchDispatchMode, logging.Logger, logging.Manager, logging.Handler, np.ndarray, np.ufunc,
        threading.Thread, warnings.catch_warnings,
    ]  # fmt: skip


def _attributes() -> dict[str, dict[Any, Any]]:
    return {f"class {kind.__module__}.{kind.__qualname__}": dict(vars(kind)) for kind in _classes()}


def _kernels() -> dict[str, dict[Any, Any]]:
    found: dict[str, dict[Any, Any]] = {}
    for name, packet in list(vars(torch.ops.aten).items()):
        if isinstance(packet, torch._ops.OpOverloadPacket):
            for overload, operator in list(vars(packet).items()):
                if isinstance(operator, torch._ops.OpOverload):
                    found[f"aten.{name}.{overload}"] = dict(operator.py_kernels)
    return found


def _modes() -> dict[Any, Any]:
    """Torch's modes in this thread, and what Python says about warnings and logs."""
    functions = [_C._get_function_stack_at(i) for i in range(_C._len_torch_function_stack())]
    return {
        "function modes": functions,
        "dispatch modes": _get_current_dispatch_mode_stack(),
        "modes before dispatch": torch._ops._len_torch_dispatch_stack_pre_dispatch(),
        "torch functions": int(_C._get_torch_function_state()),
        "included keys": _C._dispatch_tls_local_include_set(),
        "excluded keys": _C._dispatch_tls_local_exclude_set(),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
        ),
        "functorch": _C._functorch.peek_interpreter_stack() is None,
        "TorchScript's trace": _C._get_tracing_state() is None,
        "random numbers": torch.get_rng_state(),
        "default dtype": torch.get_default_dtype(),
        "logging": logging.root.manager.disable,
        "filters of warnings": list(warnings.filters),
        "tracing context": torch._guards.TracingContext.try_get() is None,
        "compile context": torch._guards.CompileContext.try_get() is None,
        "fx metadata": torch.fx.traceback.has_preserved_node_meta(),
        "modes": (
            torch._C._is_torch_function_mode_enabled(),
            torch.compiler.is_compiling(),
            torch.compiler.is_exporting(),
        ),
    }


def model_state(model: torch.nn.Module) -> list[Any]:
    """All that a model holds: what its parts are, their attributes by identity, and the values of its tensors."""
    found: list[Any] = []
    for name, module in model.named_modules():
        for key, value in module.__dict__.items():
            found += [f"{name}.{key}", value]
            if isinstance(value, dict):
                found += [item for pair in value.items() for item in pair]
            elif isinstance(value, list | set | tuple):
                found += list(value)
    found += [tensor.detach().clone() for tensor in (*model.parameters(), *model.buffers())]
    return found


def same_state(a: list[Any], b: list[Any]) -> bool:
    """Whether two states of a model are the same."""
    return _same(a, b)
