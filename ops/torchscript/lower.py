"""Lowers ScriptModules and ScriptFunctions to a graph, or keeps them as opaque kernels.

TorchScript can hold values that ATen cannot (strings, lists, classes), and can write files while it loads. So an op
that stays TorchScript is opaque, and its archive loads with `trust=True` only.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from ..graph.errors import LoweringError, TracepackError
from ..graph.graph import Body, Graph, Operator
from ..graph.traverse import constants, map_leaves, subgraphs, walk
from ..lowering.autocast import with_autocast_guard
from ..lowering.call import Call, dense, returned, separate
from ..lowering.convert.body import convert
from ..lowering.export import examples
from ..lowering.lower import Lowered
from ..lowering.mutation import written_past_branch
from ..lowering.patches.silence import Silence
from ..lowering.validate import prove
from .inspect import changing, filled, in_evaluation, kept_value, methods, nodes


def lower_scripted(
    model: Any, call: Call, tensors: Sequence[Any], *, name: str, device: str, contiguous: bool
) -> Lowered:
    """Lowers a ScriptModule or ScriptFunction for one call structure.

    Raises:
        LoweringError: torch's converter refuses it, or the body gives other results than the module.
    """
    _, kwargs, _ = call.rebuild(separate(tensors))
    if kwargs:
        raise LoweringError(
            "a ScriptModule is called with keywords that have no position", where=f"op {name!r}", got=sorted(kwargs)
        )
    if kept := kept_value(model) or filled(model):
        raise LoweringError(
            f"the ScriptModule changes its attribute {kept!r}, which is no tensor", where=f"op {name!r}"
        )
    error: Exception | None = None
    for example in examples(dense(tensors)):
        try:
            program = _converted(model, call.rebuild(example)[0])
            users = list(program.graph_signature.user_inputs)
            if len(users) != len(tensors):
                raise LoweringError("only tensors can be inputs of a converted ScriptModule", where=f"op {name!r}")
            if written_past_branch(program.graph):
                raise LoweringError(
                    "the ScriptModule changes a tensor in place that a branch may return", where=f"op {name!r}"
                )
            _refuse_unused_reads(program.graph)
            body = convert(program, name, device, call.names, [f"L['{user}']" for user in users], contiguous)
            _hand_on_inputs(body.graph)
            lowered = Lowered(*prove(body, tensors, lambda: _Reference(model, call)))
            lowered.body.graph = with_autocast_guard(lowered.body.graph)  # of its operators autocast casts only some
            _share(lowered.body, model)
            return lowered
        except Exception as caught:  # the converter raises errors of many kinds
            error = error or caught
    if isinstance(error, TracepackError):
        raise LoweringError(error.what, where=error.where, got=error.got) from error
    reason = str(error).strip().split("\n")[0]
    raise LoweringError("torch cannot convert the ScriptModule", where=f"op {name!r}", got=reason) from error


def _share(body: Body, model: Any) -> None:
    """Makes the constants of a body the module's own weights, as those of an nn.Module are, so that both see writes."""
    if not isinstance(model, torch.nn.Module):
        return
    own = dict(itertools.chain(model.named_parameters(), model.named_buffers(), _plain_tensors(model).items()))
    for constant in constants(body.graph):
        tensor = own.get(constant.name)
        if tensor is not None and not constant.mutable and _is_same(constant.tensor, tensor):
            constant.tensor = tensor


_PLAIN = "lifted_tensor_self."  # how the converter names a tensor that is neither parameter nor buffer


def _plain_tensors(model: Any) -> dict[str, torch.Tensor]:
    """The tensors of a module that are neither parameters nor buffers, by the converter's names.

    Those that hold the same numbers are left out: the converter makes one constant of them.
    """
    found: dict[str, torch.Tensor] = {}
    for path, part in model.named_modules() if isinstance(model, torch.jit.ScriptModule) else ():
        read = [node for method in part._c._method_names() for node in nodes(part._c._get_method(method).graph)]
        names = {node.s("name") for node in read if node.kind() == "prim::GetAttr"}
        for name in sorted(name for name in names if part._c.hasattr(name)):
            tensor = part._c.getattr(name)
            if isinstance(tensor, torch.Tensor):
                found[f"{_PLAIN}{path}.{name}" if path else f"{_PLAIN}{name}"] = tensor
    return {
        name: tensor for name, tensor in found.items()
        if not any(other is not tensor and _is_same(tensor, other) for other in found.values())
    }  # fmt: skip


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    kind = (a.dtype, a.shape, a.stride(), a.device)
    return kind == (b.dtype, b.shape, b.stride(), b.device) and bool(((a == b) | ((a != a) & (b != b))).all())


def _converted(model: Any, args: tuple[Any, ...]) -> Any:
    from torch._export.converter import TS2EPConverter

    from .conversions import converted_numbers
    from .loops import converted_loops

    with torch.no_grad(), Silence(), converted_loops(), converted_numbers():
        return TS2EPConverter(_branching(in_evaluation(model)), args).convert()


def _refuse_unused_reads(graph: torch.fx.Graph) -> None:
    """Refuses a graph that reads a number from a tensor and does not use it: torch took it for a constant.

    Raises:
        LoweringError: it does.
    """
    for node in graph.nodes:
        if node.target in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.item.default) and not node.users:
            raise LoweringError("torch's converter takes a number that data decides for a constant")


def _branching(module: Any) -> Any:
    """Makes the branches of a copy return copies of their inputs: the converter overlooks inputs that are returned.

    `_hand_on_inputs` knows these copies by their memory format, which hardly anybody writes.
    """
    for method in methods(module):
        own = [list(node.inputs())[1].toIValue() for node in nodes(method.graph) if node.kind() == "aten::clone"]
        for node in nodes(method.graph):
            if node.kind() == "prim::If":
                for block in node.blocks():
                    _copy_passed_on(method.graph, block, None if _PRESERVED in own else _PRESERVED)
    return module


_PRESERVED = 1  # what `torch.preserve_format` is in TorchScript


def _hand_on_inputs(graph: Graph) -> None:
    """Has branches return their inputs themselves again, as they lie, since the caller may write into them."""
    for node in walk(graph):
        for branch in subgraphs(node) if node.target == Operator("cond") else ():
            inputs = set(map(id, branch.inputs))
            made = [each for each in branch.nodes if each.target == _CLONE and "memory_format" in each.kwargs]
            copies = {id(each.output): each.args[0] for each in made if id(each.args[0]) in inputs}
            branch.nodes = tuple(each for each in branch.nodes if id(each.output) not in copies)
            branch.output = map_leaves(partial(_itself_or, copies), branch.output)


def _itself_or(others: dict[int, Any], leaf: Any) -> Any:
    return others.get(id(leaf), leaf)


_CLONE = Operator("aten.clone.default")


def _copy_passed_on(graph: Any, block: Any, memory_format: int | None) -> None:
    own = {output.unique() for node in block.nodes() for output in node.outputs()}
    end = block.returnNode()
    for index, value in enumerate(list(end.inputs())):
        if value.unique() in own or value.type().kind() != "TensorType":
            continue
        graph.setInsertPoint(end)
        copy = graph.insertNode(graph.create("aten::clone", [value, graph.insertConstant(memory_format)], 1)).output()
        copy.setType(value.type())
        end.replaceInput(index, copy)


class _Reference:
    """The module as a function from flat tensors to flat results; it keeps its state from call to call."""

    def __init__(self, model: Any, call: Call) -> None:
        self.model, self.call = in_evaluation(model), call
        self.changed = bool(changing(self.model))  # by its code, whether a call changed them or not

    def __call__(self, *tensors: Any) -> Any:
        args, _, objects = self.call.rebuild(tensors)
        with torch.no_grad():
            return returned(self.model(*args), objects)
