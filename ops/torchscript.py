"""ScriptModules and ScriptFunctions: brought to a graph like any module, or kept as an opaque kernel.

TorchScript can hold what ATen cannot (strings, lists, classes), and can write files while it loads: an op that stays
TorchScript is opaque, and its archive loads with `trust=True` only.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch.utils import _pytree as pytree

from .convert import convert
from .errors import LoweringError, ScriptError, TracepackError
from .kernel import Kernel
from .lower import Call, Lowered, _examples, _separate, prove, returned


def load_file(path: str) -> Any:
    """Loads a TorchScript file onto the CPU.

    Raises:
        ScriptError: there is no such file, or it is not TorchScript.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    except (RuntimeError, ValueError, OSError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ScriptError(
            "cannot read a TorchScript file", where=repr(path), got=reason, expected="a file that torch.jit.save wrote"
        ) from error


def lower_scripted(
    model: Any, call: Call, tensors: Sequence[Any], *, name: str, device: str, contiguous: bool
) -> Lowered:
    """Lowers a ScriptModule or ScriptFunction for one call structure.

    Raises:
        LoweringError: torch's converter cannot take it, or the result differs from the module.
    """
    _, kwargs, _ = call.rebuild(_separate(tensors))
    if kwargs:
        raise LoweringError(
            "a ScriptModule is called with keywords that have no position", where=f"op {name!r}", got=sorted(kwargs)
        )
    error: Exception | None = None
    for example in _examples(_separate(tensors)):
        try:
            program = _converted(model, call.rebuild(example)[0])
            users = list(program.graph_signature.user_inputs)
            if len(users) != len(tensors):
                raise LoweringError("only tensors can be inputs of a converted ScriptModule", where=f"op {name!r}")
            body = convert(program, name, device, call.names, [f"L['{user}']" for user in users], contiguous)
            return Lowered(*prove(body, tensors, lambda *flat: _reference(model, call, flat)))
        except Exception as caught:  # the converter raises errors of many kinds
            error = error or caught
    if isinstance(error, TracepackError):
        raise LoweringError(error.what, where=error.where, got=error.got) from error
    reason = str(error).strip().split("\n")[0]
    raise LoweringError("torch cannot convert the ScriptModule", where=f"op {name!r}", got=reason) from error


def _converted(model: Any, args: tuple[Any, ...]) -> Any:
    from torch._export.converter import TS2EPConverter

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TS2EPConverter(_in_evaluation(model), args).convert()


def _reference(model: Any, call: Call, tensors: Sequence[Any]) -> Any:
    args, _, objects = call.rebuild(tensors)
    with torch.no_grad():
        return returned(_in_evaluation(model)(*args), objects)


def _in_evaluation(model: Any) -> Any:
    """A copy in evaluation mode with state of its own; the user's module keeps its mode and its buffers."""
    if not isinstance(model, torch.jit.ScriptModule):
        return model
    clone = _from_bytes(_to_bytes(model))
    return clone.eval() if hasattr(clone, "training") else clone


def _to_bytes(model: Any) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(model, buffer)
    return buffer.getvalue()


def _from_bytes(data: bytes, device: str = "cpu") -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.load(io.BytesIO(data), map_location=device)  # type: ignore[no-untyped-call]


class TorchScriptKernel(Kernel):
    """A ScriptModule kept as TorchScript.

    Args:
        data: the bytes of `torch.jit.save`.
        name: the op's name.
        reason: why it could not be lowered.
    """

    kind: ClassVar[str] = "torchscript"
    runs_code: ClassVar[bool] = True

    def __init__(self, data: bytes, name: str, reason: str) -> None:
        self.data, self._name, self.reason = data, name, reason
        self._modules: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The op's name."""
        return self._name

    def description(self) -> dict[str, Any]:
        """The op's name, and why it is opaque."""
        return {"name": self._name, "reason": self.reason}

    def assets(self) -> dict[str, bytes]:
        """The TorchScript file."""
        return {"module.pt": self.data}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> TorchScriptKernel:
        """Keeps the bytes; they are loaded at the first call."""
        return cls(assets["module.pt"], str(description["name"]), str(description["reason"]))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module on the device of its first tensor."""
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        device = str(tensors[0].device) if tensors else "cpu"
        if device not in self._modules:
            self._modules[device] = relocated(_from_bytes(self.data, device), device)
        return self._modules[device](*args, **kwargs)


def relocated(module: Any, device: str) -> Any:
    """Rewrites the device constants that tracing baked into a module; works before its first call only."""
    for method in _methods(module):
        _rewrite(method.graph, device)
    return module


def _methods(module: Any) -> list[Any]:
    inner = module._c if hasattr(module, "_c") else None
    if inner is None:
        return [module]
    return [getattr(part, name) for part in module.modules() for name in part._c._method_names()]


def _rewrite(block: Any, device: str) -> None:
    for node in block.nodes():
        if (
            node.kind() == "prim::Constant"
            and node.hasAttribute("value")
            and node.output().type().kind() == "DeviceObjType"
        ):
            node.s_("value", device)
        for inner in node.blocks():
            _rewrite(inner, device)


def opaque(model: Any, name: str, error: LoweringError) -> TorchScriptKernel:
    """Keeps a ScriptModule that cannot be lowered as it is."""
    return TorchScriptKernel(_to_bytes(_in_evaluation(model)), name, str(error)[:500])
