"""Inspects and copies ScriptModules: the writes of their graphs, and the devices that they name."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import torch

from ..graph.errors import ScriptError
from ..runtime.interrupts.unheard import Unheard


def load_file(path: str) -> Any:
    """Loads a TorchScript file onto the CPU.

    Raises:
        ScriptError: there is no such file, or it is not TorchScript.
    """
    try:
        with Unheard():
            return torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]  # torch leaves it untyped
    except (RuntimeError, ValueError, OSError) as error:
        raise ScriptError(
            "cannot read a TorchScript file",
            where=repr(path),
            got=re.split(r"\n|\.\s", str(error).strip(), maxsplit=1)[0],
            expected="a file that torch.jit.save wrote",
            fix="Load weights and pickled modules with torch.load, and pass the module.",
        ) from error


def own_copy(model: Any, device: str) -> Any:
    """A copy in evaluation mode on a device, for an op.

    Raises:
        ScriptError: torch cannot save it and load it again.
    """
    try:
        clone = relocated(from_bytes(to_bytes(model), device), device)
    except RuntimeError as error:
        raise ScriptError(
            "torch cannot save a ScriptModule and load it again", got=str(error).strip().split("\n")[0],
            fix="Script it before torch.jit.optimize_for_inference; mod.optimize(...) finds the fastest engine.",
        ) from error  # fmt: skip
    return clone.eval() if hasattr(clone, "training") else clone


def to_bytes(model: Any) -> bytes:
    """A module as the bytes that `torch.jit.save` writes."""
    buffer = io.BytesIO()
    torch.jit.save(model, buffer)
    return buffer.getvalue()


def from_bytes(data: bytes, device: str = "cpu") -> Any:
    """The module of such bytes."""
    with Unheard(), torch.inference_mode(False):  # its tensors are kept
        # Torch leaves it untyped.
        return torch.jit.load(io.BytesIO(data), map_location=device)  # type: ignore[no-untyped-call]


def relocated(module: Any, device: str) -> Any:
    """Rewrites the device constants in the graphs of a traced module; this works before its first call only."""
    for method in methods(module):
        rewrite(method.graph, device)
    return module


def methods(module: Any) -> list[Any]:
    """Every compiled method of a module and of its parts."""
    inner = module._c if hasattr(module, "_c") else None
    if inner is None:
        return [module]
    return [part._c._get_method(name) for part in module.modules() for name in part._c._method_names()]


def rewrite(block: Any, device: str) -> None:
    """Replaces the devices that the constants of a graph name."""
    for node in block.nodes():
        if (
            node.kind() == "prim::Constant"
            and node.hasAttribute("value")
            and node.output().type().kind() == "DeviceObjType"
        ):
            node.s_("value", device)
        for inner in node.blocks():
            rewrite(inner, device)


def changing(module: Any) -> list[str]:
    """The attributes that a module's code may change, as dotted paths.

    These are the attributes that are assigned to, and the buffers of parts that call an operator that writes.
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


def kept_value(module: Any) -> str:
    """The first attribute that a call of a module assigns and that is no tensor, as a counter; else nothing.

    A graph would fix it.
    """
    found = nodes(module.inlined_graph) if isinstance(module, torch.jit.ScriptModule) else ()
    for node in found:
        if node.kind() == "prim::SetAttr" and list(node.inputs())[1].type().kind() != "TensorType":
            return str(node.s("name"))
    return ""


_FILLS = frozenset(
    f"aten::{name}"
    for name in ("append", "insert", "extend", "pop", "popitem", "clear", "remove", "reverse", "sort", "add_", "Delete",
                 "update", "setdefault", "_set_item")
)  # fmt: skip


def filled(module: Any) -> str:
    """The first attribute that is a list, a dict or an object which a call of a module changes; else nothing."""
    if not isinstance(module, torch.jit.ScriptModule):
        return ""
    inner: list[Any] = [part._c for part in module.modules()]
    parts = {str(part._type()) for part in inner}
    for node in nodes(module.inlined_graph):
        held: Any = next(node.inputs(), None)
        fills = node.kind() in _FILLS and held.type().kind() in ("ListType", "DictType")
        if (fills or (node.kind() == "prim::SetAttr" and str(held.type()) not in parts)) and (name := _attribute(held)):
            return name
    return ""


def _attribute(value: Any) -> str:
    """The attribute from which a value comes, or of whose items it is one; else nothing."""
    node = value.node()
    while node.kind() in ("aten::__getitem__", "prim::unchecked_cast"):
        node = next(node.inputs()).node()
    return str(node.s("name")) if node.kind() == "prim::GetAttr" else ""


def writes_tensors(module: Any) -> bool:
    """Whether some operator in a module's code, or a function that it calls, may write into a tensor."""
    found = [node for method in methods(module) for node in nodes(method.graph)]
    return any(node.kind() == "prim::CallFunction" or re.search(r"Tensor\([a-z]+!", node.schema()) for node in found)


def _effects(part: Any) -> Iterator[tuple[str, str]]:
    """The attributes that the methods of one part assign to, and their operators that write."""
    for name in part._c._method_names():
        for node in nodes(part._c._get_method(name).graph):
            kind = node.kind()
            if kind == "prim::SetAttr":
                yield "assigned", node.s("name")
            elif kind.startswith("aten::") and kind.endswith("_") and not kind.endswith("__"):
                yield "written", kind


def nodes(block: Any) -> Iterator[Any]:
    """Every node of a block, those of inner blocks too."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes(inner)


def in_evaluation(model: Any) -> Any:
    """A copy on the CPU in evaluation mode, with its own state; the user's module keeps its mode and its buffers."""
    if not isinstance(model, torch.jit.ScriptModule):
        return model
    return own_copy(model, "cpu")
