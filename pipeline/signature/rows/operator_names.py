"""What operators do with rows and sizes, whichever library they are of.

A name stands for aten.view.default, torch.Tensor.view and numpy.reshape alike, so that one table holds for all.
"""

from __future__ import annotations

from ....ops.graph.graph import Node, Operator

FILLED = frozenset(("full", "new_full", "full_like"))
MADE_OF_SIZES = FILLED | set("zeros ones empty new_zeros new_ones new_empty zeros_like ones_like empty_like".split())
PLACES = frozenset(("arange", "range"))
SAME_PLACES = frozenset(
    """tolist rows list tuple array asarray tensor to long contiguous __getitem__ getitem slice unsqueeze expand_dims
    view reshape expand clone numpy from_numpy""".split()
)
HANDED_ON = frozenset("getitem int index max".split())
SHAPES = frozenset(
    """view reshape unsafe_view expand broadcast_to tile repeat unflatten split split_with_sizes chunk tensor_split
    """.split()
)
INDICES = frozenset(
    """__getitem__ __setitem__ getitem setitem select slice narrow index index_put index_select gather take
    select_scatter slice_scatter take_along_dim take_along_axis""".split()
)
WRITES = frozenset("__setitem__ setitem index_put copy fill zero append extend insert masked_fill index_fill".split())
PLACE_BY_PLACE = frozenset(
    """add sub mul div truediv floordiv true_divide rsub neg pow iadd isub imul itruediv eq ne lt le gt ge and or xor
    not invert bitwise_and bitwise_or bitwise_not logical_and logical_or logical_not where masked_fill fill clamp
    abs exp log sigmoid tanh relu gelu silu cos sin sqrt rsqrt reciprocal square round floor ceil to type float long int
    bool half double type_as to_copy astype clone detach contiguous copy lift_fresh_copy alias numpy from_numpy asarray
    softmax log_softmax maximum minimum nan_to_num isnan isfinite zero dropout cpu cuda layer_norm normalize
    cumsum zeros_like ones_like empty_like full_like multiply divide subtract""".split()
)
EACH_ALIKE = (
    PLACE_BY_PLACE - {"softmax", "log_softmax", "layer_norm", "normalize", "cumsum"}
    | SHAPES
    | INDICES
    | set(
        """unsqueeze squeeze transpose permute t T mT flatten movedim swapaxes cat concat concatenate stack hstack
        vstack unbind tensor as_tensor linear embedding list tuple tolist tril triu pad expand_dims device dtype
        broadcast_tensors""".split()
    )
)
ALONG = frozenset("sum mean prod cumsum cumprod softmax log_softmax amax amin max min any all argmax argmin".split())
VIEWS = SHAPES | set(
    "__getitem__ getitem select slice unsqueeze squeeze transpose permute t T mT flatten unbind".split()
)


def operator_name(node: Node) -> str:
    """What the operator of a node does; empty where it is none.

    Example:
        >>> [
        ...     operator_name(Node(Operator(name), (), {}, ()))
        ...     for name in ("aten.add_.Tensor", "torch.Tensor.T.__get__", "aten.__and__.Tensor")
        ... ]
        ['add', 'T', 'and']
    """
    if not isinstance(node.target, Operator):
        return ""
    parts = node.target.name.split(".")
    found = parts[1] if parts[0] == "aten" and len(parts) > 1 else parts[-2] if parts[-1] == "__get__" else parts[-1]
    return found if found in INDICES else found.strip("_")
