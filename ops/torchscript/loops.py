"""Converts loops of TorchScript whose number of rounds data decides to torch's `while_loop`.

torch's converter unrolls loops with a fixed number of rounds, and refuses others. While `converted_loops` is entered,
each of these becomes one `while_loop`, whose body the converter makes.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch._export import converter
from torch._higher_order_ops import while_loop

from ..lowering.patches.lock import Patch, Patched


def _with_data(original: Any, patch: Patch) -> Any:
    """Converts a loop by the converter's own methods; a value has its name in TorchScript."""

    def convert_prim_Loop(self: Any, node: Any) -> None:
        if not patch.needed:
            original(self, node)
            return
        try:
            self._check_prim_loop_support(node)
        except RuntimeError:
            _convert_on_data(self, node)
        else:
            original(self, node)

    return convert_prim_Loop


_loops = Patch(converter.TS2FXGraphConverter, "convert_prim_Loop", _with_data)


def converted_loops() -> Patched:
    """Lets torch's converter take loops on data."""
    return Patched(_loops)


def _convert_on_data(self: Any, node: Any) -> None:
    rounds, going, *carried = node.inputs()
    used = self._identify_inputs_as_arguments(node)
    for block in node.blocks():
        used = used.union(self.blocks_to_lifted_attrs[block])
    names = [value.debugName() for value in carried]
    outer = sorted(used)
    (body,), (inner,) = self._convert_block_to_subgraph(node, outer)
    _in_python(self.subgraphs[body.target])
    if inner.name_update_from_subblock_to_parent:
        raise RuntimeError("a loop on data writes in place to a tensor from outside of the loop")
    arguments = [self.get_fx_value_by_fqn(name) for name in names + outer]
    first = (self.get_fx_value_by_ir_value(rounds), self.get_fx_value_by_ir_value(going), len(names))
    found = self.fx_graph.call_function(_loop, (body, *first, *arguments), {})
    for index, output in enumerate(node.outputs()):
        self.name_to_node[output.debugName()] = self.fx_graph.call_function(operator.getitem, (found, index))


_ON_INTEGERS = ("add", "sub", "mul", "lt", "le", "gt", "ge", "eq", "ne", "floordiv")


def _in_python(module: torch.fx.GraphModule) -> None:
    """Replaces torch's arithmetic on integers by Python's, which also takes integers that data decides."""
    for node in module.graph.nodes:
        for name in _ON_INTEGERS:
            if node.target is getattr(getattr(torch.ops.aten, name), "int", None):
                node.target = getattr(operator, name)
    module.recompile()
    for inner in module.children():
        if isinstance(inner, torch.fx.GraphModule):
            _in_python(inner)


def _loop(body: Any, rounds: Any, going: Any, count: int, *arguments: Any) -> tuple[Any, ...]:
    """Runs the body of a loop with the number of the round until it returns False; it carries tensors and integers."""
    carried, outer = arguments[:count], arguments[count:]
    integers = [not isinstance(value, torch.Tensor) for value in carried]
    limit = torch.full((), rounds, dtype=torch.int64)

    def goes_on(number: torch.Tensor, going: torch.Tensor, *state: Any) -> torch.Tensor:
        return torch.logical_and(number < limit, going)

    def once(number: torch.Tensor, going: torch.Tensor, *state: Any) -> tuple[Any, ...]:
        given = [value.item() if integer else value for value, integer in zip(state, integers, strict=True)]
        later, *new = body(*outer, number.item(), *given)
        return (number + 1, _flag(later), *map(_own, new))

    start = torch.zeros((), dtype=torch.int64)
    state = (start, _flag(going), *map(_own, carried))
    found = while_loop(goes_on, once, state)[2:]  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return tuple(value.item() if integer else value for value, integer in zip(found, integers, strict=True))


def _flag(value: Any) -> torch.Tensor:
    return value.clone() if isinstance(value, torch.Tensor) else torch.full((), bool(value))


def _own(value: Any) -> torch.Tensor:
    """A new tensor, since a loop must not return its inputs; an integer becomes a tensor."""
    return value.clone() if isinstance(value, torch.Tensor) else torch.full((), value, dtype=torch.int64)
