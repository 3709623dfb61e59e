"""Converts `int` and `float` of TorchScript so that what data decides stays so, in full precision.

torch's converter makes a tensor of int32 or float32 of what they are given: that cuts large integers and doubles, and
of a number that was read from a tensor it makes a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._export import converter

from ..lowering.patches.lock import Patch, Patched


def _whole_number(value: torch.Tensor) -> Any:
    """The element of a tensor as an integer; NaN, and what int64 does not hold, are an error as in TorchScript."""
    whole = value.to(torch.int64)
    if value.dtype.is_floating_point:
        held = (value.double() - whole).abs() < 1
        torch._assert_async(held.all(), "a number that is made an integer does not fit into int64")
    return whole.item()


def _double(value: torch.Tensor) -> Any:
    return value.double().item()


def _converting(read: Callable[[torch.Tensor], Any], of_number: Callable[[Any], Any]) -> Callable[[Any, Patch], Any]:
    """What replaces a method of the converter: a tensor is read, a number is converted as Python does."""

    def replace(original: Any, patch: Patch) -> Any:
        def convert(self: Any, node: Any) -> None:
            kinds = [value.type().kind() for value in node.inputs()]
            if not patch.needed or kinds not in (["TensorType"], ["NumberType"], ["FloatType"], ["IntType"]):
                original(self, node)
                return
            function = read if kinds == ["TensorType"] else of_number
            arguments = tuple(self.get_fx_value_by_ir_value(value) for value in node.inputs())
            self.name_to_node[node.output().debugName()] = self.fx_graph.call_function(function, arguments)

        return convert

    return replace


_converter: Any = converter.TS2FXGraphConverter
_patches = (
    Patch(_converter, "convert_aten_Int", _converting(_whole_number, torch.sym_int)),
    Patch(_converter, "convert_aten_Float", _converting(_double, torch.sym_float)),
)


def converted_numbers() -> Patched:
    """Lets torch's converter take numbers that data decides."""
    return Patched(*_patches)
