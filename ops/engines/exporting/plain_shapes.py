"""Takes out of an exported model what computes nothing: shapes worked out in every run, and NaN that cannot be.

Torch writes a reshape with the shape worked out by operators of its own, a dozen for each layer of a transformer. On a
short text they take a twentieth of a run. ONNX has a number for "as it was" and one for "what is left".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

_AS_IT_WAS, _WHAT_IS_LEFT = 0, -1
_LOOKING_FOR_NAN = ("isnan", "nan_to_num", "_safe_softmax")


def simplify(model: Any, program: torch.export.ExportedProgram, *, masks_checked: bool) -> None:
    """Simplifies a model in place; it is given no empty tensors.

    Args:
        model: of onnx_ir, with the sizes of its values.
        program: what it was made from.
        masks_checked: whether a call whose attention masks hide everything from a row does not count.
    """
    from onnx_ir.passes.common import RemoveUnusedNodesPass

    for number, node in enumerate(list(model.graph)):
        if node.op_type == "Reshape":
            _write_shape(model, node, f"plain_shape_{number}")
    for node in list(model.graph):
        _turn_at_once(node)
    if masks_checked and not any(map(_looks_for_nan, program.graph.nodes)):
        for node in list(model.graph):
            _take_out_nan(node)
    RemoveUnusedNodesPass()(model)


def _write_shape(model: Any, node: Any, name: str) -> None:
    """Gives a reshape a constant shape, where sizes stay at their places but for one."""
    import onnx_ir

    before, after = node.inputs[0].shape, node.outputs[0].shape
    if node.inputs[1].const_value is not None:
        return
    known = before is not None and after is not None
    shape = _plain_shape([*map(_named, before)], [*map(_named, after)]) if known else None
    if shape is None:  # as behind an LSTM, where not all sizes are known
        shape = _shape_of_pieces(node.inputs[1], node.inputs[0])
    if shape is None:
        return
    value = onnx_ir.Value(name=name)
    value.const_value = onnx_ir.tensor(torch.tensor(shape, dtype=torch.int64).numpy(), name=name)
    value.shape, value.type = onnx_ir.Shape([len(shape)]), onnx_ir.TensorType(onnx_ir.DataType.INT64)
    model.graph.initializers[name] = value
    node.replace_input_with(1, value)
    node.attributes.pop("allowzero", None)


def _named(size: Any) -> int | str | None:
    """A size, or the name of a free one."""
    found: int | str | None = size if isinstance(size, int) else getattr(size, "value", None)
    return found


def _plain_shape(before: Sequence[int | str | None], after: Sequence[int | str | None]) -> list[int] | None:
    """The shape without names; None where one is not known, or more than one is neither fixed nor at its place."""
    found: list[int] = []
    for place, size in enumerate(after):
        if isinstance(size, int):
            found.append(size)
        elif size is not None and place < len(before) and before[place] == size:
            found.append(_AS_IT_WAS)
        else:
            found.append(_WHAT_IS_LEFT)
    return found if found.count(_WHAT_IS_LEFT) <= 1 and 0 not in after else None


def _shape_of_pieces(shape: Any, whole: Any) -> list[int] | None:
    """The shape without names that is joined from all sizes of the value itself, in order, some of them multiplied."""
    joined, rank = shape.producer(), _rank(whole)
    found: list[int] = []
    at = 0  # the size of the value that is next
    for value in joined.inputs if joined is not None and joined.op_type == "Concat" else ():
        factors = _factors(value, whole, rank)
        if factors != list(range(at, at + len(factors))):
            return None
        found.append(_AS_IT_WAS if factors == [len(found)] else _WHAT_IS_LEFT)
        at += len(factors)
    return found if 0 < at == rank and found.count(_WHAT_IS_LEFT) <= 1 else None


def _factors(value: Any, whole: Any, rank: int) -> list[int]:
    """The sizes of another value, by their numbers, whose product one is; -1 for what is none of them."""
    made = value.producer()
    if made is not None and made.op_type == "Mul":
        return [factor for each in made.inputs for factor in _factors(each, whole, rank)]
    if made is not None and made.op_type == "Reshape":  # a product is a number, which is written as a list of one
        return _factors(made.inputs[0], whole, rank)
    piece = _piece(value, whole, rank)
    return [piece[0]] if isinstance(piece, tuple) and piece[1] == piece[0] + 1 else [-1]


def _rank(value: Any) -> int:
    """The number of dimensions of a value; 0 where nothing says it."""
    if value.shape is not None:
        return len(value.shape)
    made = value.producer()
    order = made.attributes.get("perm") if made is not None and made.op_type == "Transpose" else None
    return 0 if order is None else len(order.value)


def _turn_at_once(node: Any) -> None:
    """Writes the keys of an attention, turned, as that, and not as rows of all heads that are turned and cut again."""
    turned = node.inputs[0].producer() if node.op_type == "Reshape" else None
    if turned is None or turned.op_type != "Transpose" or node.outputs[0].is_graph_output():
        return
    joined = turned.inputs[0].producer()
    if joined is None or joined.op_type != "Reshape":
        return
    whole, order = joined.inputs[0], turned.attributes.get("perm")
    if whole.shape is None or len(whole.shape) != _HEADS or order is None or list(order.value) != [0, 2, 1]:
        return
    if _pieces(joined.inputs[1], whole, _HEADS) != [-1, (2, 3), (3, 4)]:
        return
    if _pieces(node.inputs[1], whole, _HEADS) != [(0, 2), (3, 4), (2, 3)]:
        return
    import onnx_ir

    made = onnx_ir.node("Transpose", [whole], {"perm": [0, 1, 3, 2]})
    shape = list(whole.shape)
    made.outputs[0].shape = onnx_ir.Shape([*shape[:2], shape[3], shape[2]])
    made.outputs[0].type, made.outputs[0].name = node.outputs[0].type, f"{node.outputs[0].name} turned"
    node.graph.insert_before(node, made)
    onnx_ir.convenience.replace_all_uses_with(node.outputs[0], made.outputs[0])


_HEADS = 4  # dimensions: of the batch, the heads, the words, and a head


def _pieces(shape: Any, whole: Any, rank: int) -> list[Any]:
    """What a shape is joined from: -1, or from where to where in the shape of a value; else None."""
    joined = shape.producer()
    if joined is None or joined.op_type != "Concat":
        return []
    return [_piece(each, whole, rank) for each in joined.inputs]


def _piece(value: Any, whole: Any, rank: int) -> int | tuple[int, int] | None:
    if value.const_value is not None:
        numbers = value.const_value.numpy().tolist()
        return -1 if numbers == [-1] else None
    cut = value.producer()
    if cut is None or cut.op_type != "Slice" or len(cut.inputs) not in (3, 4):
        return None
    shape = cut.inputs[0].producer()
    if shape is None or shape.op_type != "Shape" or shape.inputs[0] is not whole:
        return None
    if "end" in shape.attributes or shape.attributes.get_int("start", 0) != 0:  # it is a part itself
        return None
    ends = [each.const_value for each in cut.inputs[1:]]
    if any(each is None or each.size != 1 for each in ends) or (len(ends) > 2 and int(ends[2].numpy()[0]) != 0):
        return None
    first, last, _ = slice(*(int(each.numpy()[0]) for each in ends[:2])).indices(rank)
    return first, last


def _looks_for_nan(node: Any) -> bool:
    return str(getattr(node.target, "__name__", "")).split(".")[0] in _LOOKING_FOR_NAN


def _take_out_nan(node: Any) -> None:
    """Takes out what turns a NaN of a softmax in an attention into 0: rows without any that is not hidden have one."""
    if node.op_type != "Where":
        return
    is_nan, zero, usual = node.inputs
    asks, made = is_nan.producer(), usual.producer()
    if asks is None or made is None or (asks.op_type, made.op_type) != ("IsNaN", "Softmax"):
        return
    number = zero.const_value if zero is not None else None
    if asks.inputs[0] is not usual or number is None or number.numpy().any() or node.outputs[0].is_graph_output():
        return
    import onnx_ir

    onnx_ir.convenience.replace_all_uses_with(node.outputs[0], usual)
