"""ScriptModules and ScriptFunctions: brought to a graph like any module, or kept as an opaque kernel.

TorchScript can hold what ATen cannot (strings, lists, classes), and can write files while it loads: an op that stays
TorchScript is opaque, and its archive loads with `trust=True` only.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar

import torch
from torch.utils import _pytree as pytree

from .aliases import written_past_branch
from .call import Call, returned, separate
from .convert import convert
from .errors import LoweringError, OpaqueOpWarning, ScriptError, TracepackError
from .exporting import examples, quiet
from .kernel import Kernel
from .lower import Lowered
from .prove import prove
from .user_code import user_stacklevel


def load_file(path: str) -> Any:
    """Loads a TorchScript file onto the CPU.

    Raises:
        ScriptError: there is no such file, or it is not TorchScript.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]  # torch leaves it untyped
    except (RuntimeError, ValueError, OSError) as error:
        raise ScriptError(
            "cannot read a TorchScript file",
            where=repr(path),
            got=re.split(r"\n|\.\s", str(error).strip(), maxsplit=1)[0],
            expected="a file that torch.jit.save wrote",
            fix="Load weights and pickled modules with torch.load, and pass the module.",
        ) from error


def lower_scripted(
    model: Any, call: Call, tensors: Sequence[Any], *, name: str, device: str, contiguous: bool
) -> Lowered:
    """Lowers a ScriptModule or ScriptFunction for one call structure.

    Raises:
        LoweringError: torch's converter cannot take it, or the result differs from the module.
    """
    _, kwargs, _ = call.rebuild(separate(tensors))
    if kwargs:
        raise LoweringError(
            "a ScriptModule is called with keywords that have no position", where=f"op {name!r}", got=sorted(kwargs)
        )
    error: Exception | None = None
    for example in examples(separate(tensors)):
        try:
            program = _converted(model, call.rebuild(example)[0])
            users = list(program.graph_signature.user_inputs)
            if len(users) != len(tensors):
                raise LoweringError("only tensors can be inputs of a converted ScriptModule", where=f"op {name!r}")
            if written_past_branch(program.graph):
                raise LoweringError("a tensor that a branch may give back is changed in place", where=f"op {name!r}")
            body = convert(program, name, device, call.names, [f"L['{user}']" for user in users], contiguous)
            return Lowered(*prove(body, tensors, lambda: _Reference(model, call)))
        except Exception as caught:  # the converter raises errors of many kinds
            error = error or caught
    if isinstance(error, TracepackError):
        raise LoweringError(error.what, where=error.where, got=error.got) from error
    reason = str(error).strip().split("\n")[0]
    raise LoweringError("torch cannot convert the ScriptModule", where=f"op {name!r}", got=reason) from error


def _converted(model: Any, args: tuple[Any, ...]) -> Any:
    from torch._export.converter import TS2EPConverter

    from .script_loops import converted_loops

    with torch.no_grad(), quiet(), converted_loops():
        return TS2EPConverter(_branching(_in_evaluation(model)), args).convert()


def _branching(module: Any) -> Any:
    """Makes the branches of a copy give back copies of what they pass on: the converter overlooks such values."""
    for method in _methods(module):
        for node in _nodes(method.graph):
            if node.kind() == "prim::If":
                for block in node.blocks():
                    _copy_passed_on(method.graph, block)
    return module


def _copy_passed_on(graph: Any, block: Any) -> None:
    own = {output.unique() for node in block.nodes() for output in node.outputs()}
    end = block.returnNode()
    for index, value in enumerate(list(end.inputs())):
        if value.unique() in own or value.type().kind() != "TensorType":
            continue
        graph.setInsertPoint(end)
        copy = graph.insertNode(graph.create("aten::clone", [value, graph.insertConstant(None)], 1)).output()
        copy.setType(value.type())
        end.replaceInput(index, copy)


class _Reference:
    """The module as a function from flat tensors to all that it returns; it keeps its state from call to call."""

    def __init__(self, model: Any, call: Call) -> None:
        self.model, self.call = _in_evaluation(model), call
        self.changed = bool(changing(self.model))  # said by its code, whether a call did it or not

    def __call__(self, *tensors: Any) -> Any:
        args, _, objects = self.call.rebuild(tensors)
        with torch.no_grad():
            return returned(self.model(*args), objects)


def _in_evaluation(model: Any) -> Any:
    """A copy in evaluation mode with state of its own; the user's module keeps its mode and its buffers."""
    if not isinstance(model, torch.jit.ScriptModule):
        return model
    clone = _from_bytes(_to_bytes(model))
    return clone.eval() if hasattr(clone, "training") else clone


def own_copy(model: Any, device: str) -> Any:
    """A copy in evaluation mode on a device, for an op to run."""
    clone = relocated(_from_bytes(_to_bytes(model), device), device)
    return clone.eval() if hasattr(clone, "training") else clone


def _to_bytes(model: Any) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(model, buffer)
    return buffer.getvalue()


def _from_bytes(data: bytes, device: str = "cpu") -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Torch leaves it untyped.
        return torch.jit.load(io.BytesIO(data), map_location=device)  # type: ignore[no-untyped-call]


class TorchScriptKernel(Kernel):
    """A ScriptModule kept as TorchScript.

    Args:
        data: the bytes of `torch.jit.save`.
        name: the op's name.
        reason: why it could not be lowered.
        changes: the attributes that calls may change.
    """

    kind: ClassVar[str] = "torchscript"
    runs_code: ClassVar[bool] = True

    def __init__(self, data: bytes, name: str, reason: str, changes: Sequence[str] = ()) -> None:
        self.data, self._name, self.reason, self.changes = data, name, reason, tuple(changes)
        self._modules: dict[str, Any] = {}
        self._latest: Any = None  # the module that was called last; it has the present state

    @property
    def name(self) -> str:
        """The op's name."""
        return self._name

    def description(self) -> dict[str, Any]:
        """The op's name, and why it is opaque."""
        return {"name": self._name, "reason": self.reason, "changes": list(self.changes)}

    def assets(self) -> dict[str, bytes]:
        """The TorchScript file."""
        return {"module.pt": self.data}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> TorchScriptKernel:
        """Keeps the bytes; they are loaded at the first call."""
        changes = [str(path) for path in description.get("changes", ())]
        return cls(assets["module.pt"], str(description["name"]), str(description["reason"]), changes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module on the device of its first tensor."""
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        return self._module(str(tensors[0].device) if tensors else "cpu")(*args, **kwargs)

    def _module(self, device: str) -> Any:
        """The module on a device, with the present state."""
        if device not in self._modules:
            self._modules[device] = relocated(_from_bytes(self.data, device), device)
        module, before = self._modules[device], self._latest
        if before is not None and before is not module:
            _write(module, self.changes, _read(before, self.changes), device)
        self._latest = module
        return module

    @property
    def stateful(self) -> bool:
        """Whether its code changes any of its attributes."""
        return bool(self.changes)

    def session(self) -> TorchScriptKernel:
        """The same module, loaded once more."""
        return TorchScriptKernel(self.data, self._name, self.reason, self.changes)

    def reset(self) -> None:
        """Loads the module anew at the next call."""
        self._modules, self._latest = {}, None

    def attributes(self) -> dict[str, Any]:
        """Copies of the attributes that calls may change: tensors, numbers and strings."""
        return _read(self._latest or self._module("cpu"), self.changes)

    def set_attributes(self, values: Mapping[str, Any]) -> None:
        """Sets attributes of the module that was called last."""
        module = self._latest or self._module("cpu")
        _write(module, self.changes, values, None)


def relocated(module: Any, device: str) -> Any:
    """Rewrites the device constants that tracing baked into a module; works before its first call only."""
    for method in _methods(module):
        _rewrite(method.graph, device)
    return module


def _methods(module: Any) -> list[Any]:
    inner = module._c if hasattr(module, "_c") else None
    if inner is None:
        return [module]
    return [part._c._get_method(name) for part in module.modules() for name in part._c._method_names()]


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
    reason = error.got or error.what
    warnings.warn(
        f"op {name!r} is kept as TorchScript, so that its archive loads with trust=True only: {reason}",
        OpaqueOpWarning,
        stacklevel=user_stacklevel(),
    )
    module = _in_evaluation(model)
    return TorchScriptKernel(_to_bytes(module), name, str(error)[:500], changing(module))


def changing(module: Any) -> list[str]:
    """The attributes that a module's code may change, as dotted paths.

    Those that are assigned to, and the buffers of parts that call an operator which writes.
    """
    if not isinstance(module, torch.jit.ScriptModule):
        return []
    assigned: set[str] = set()
    found: list[str] = []
    parts = list(module.named_modules())
    for _, part in parts:
        for kind, name in _effects(part):
            assigned |= {name} if kind == "assigned" else set()
    for path, part in parts:
        buffers = dict(part.named_buffers(recurse=False))
        written = any(kind == "written" for kind, _ in _effects(part))
        names = sorted({n for n in assigned if part._c.hasattr(n)} | (set(buffers) if written else set()))
        found += [f"{path}.{name}" if path else name for name in names]
    return found


def _effects(part: Any) -> Iterator[tuple[str, str]]:
    """What the methods of one part assign to, and the operators in them that write."""
    for name in part._c._method_names():
        for node in _nodes(part._c._get_method(name).graph):
            kind = node.kind()
            if kind == "prim::SetAttr":
                yield "assigned", node.s("name")
            elif kind.startswith("aten::") and kind.endswith("_") and not kind.endswith("__"):
                yield "written", kind


def _nodes(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _read(module: Any, paths: Sequence[str]) -> dict[str, Any]:
    """Copies of attributes that are tensors, numbers or strings."""
    found: dict[str, Any] = {}
    for path in paths:
        value = attrgetter(path)(module)
        if isinstance(value, torch.Tensor):
            found[path] = value.detach().clone()
        elif value is None or isinstance(value, bool | int | float | str):
            found[path] = value
    return found


def _write(module: Any, paths: Sequence[str], values: Mapping[str, Any], device: str | None) -> None:
    for path in paths:
        if path in values:
            *owner, name = path.split(".")
            value = values[path]
            if isinstance(value, torch.Tensor):
                value = value.detach().clone() if device is None else value.to(device, copy=True)
            setattr(attrgetter(".".join(owner))(module) if owner else module, name, value)
