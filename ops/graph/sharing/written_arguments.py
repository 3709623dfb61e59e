"""Which arguments an operator writes besides those that the table tells of: results, statistics, options."""

from __future__ import annotations

from typing import Any

from ..graph import Constant, Node, Value
from ..operators.names import OF_ARRAYS, WRITES, effect
from ..traverse import leaves
from ..types import ARRAY, TensorType

COPYING = ("numpy.array", "numpy.meshgrid")
"""Functions that give new memory unless an option asks for a copy only where one is needed."""


def receivers(node: Node, name: str) -> list[Any]:
    """The arguments into which a node writes its result; where that has other sizes, torch gives them these."""
    found = [*leaves(node.kwargs.get("out"))]
    found += leaves(node.args[_RESULT_AT[name] :][:1]) if name in _RESULT_AT else []
    if name.startswith(OF_ARRAYS) and name not in _THREE_ARRAYS:
        first = 3 if name.endswith(".clip") else 2
        found += [leaf for leaf in leaves(node.args[first:]) if isinstance(leaf, Value | Constant)]
    return found


# At which position functions of torch in Python take a tensor for the result; and those of numpy that take none third.
_RESULT_AT = {"torch.nn.functional.normalize": 4, "torch.functional.norm": 4, "torch.functional.tensordot": 3}
_THREE_ARRAYS = frozenset(
    f"numpy.{name}" for name in "where interp insert select gradient average searchsorted histogram".split()
)


def statistics(node: Node, name: str) -> list[Any]:
    """Arguments that layers also write: running statistics of a norm in training, an embedding with `max_norm`."""
    base = _base(name)
    if base in ("embedding", "embedding_bag"):
        longest = node.kwargs.get("max_norm", node.args[3] if len(node.args) > 3 else None)
        return [] if longest is None or name.startswith("aten.") else list(leaves(node.args))
    if not is_norm(name) or name.endswith(".no_stats"):
        return []
    options = ("training", "train", "use_input_stats")
    given = [node.kwargs[key] for key in options if key in node.kwargs] or list(node.args[5:6])
    always = _base(name) == "_batch_norm_with_update"  # has no such option
    if given and given[0] is False and not always:
        return []
    named = [node.kwargs.get(key) for key in ("running_mean", "running_var")]
    first = 1 if name.startswith("torch.nn.functional.") else 3  # elsewhere weight and bias come before them
    return [leaf for leaf in leaves([*node.args[first : first + 2], *named]) if leaf is not None]


def is_norm(name: str) -> bool:
    """Whether an operator normalises, and may update running statistics; it never writes to its weight and bias."""
    return _base(name).endswith(("batch_norm", "instance_norm", "batch_norm_legit", "batch_norm_with_update"))


def _base(name: str) -> str:
    return name.split(".")[1] if name.startswith("aten.") else name.rpartition(".")[2]


INPLACE_AT = {
    **dict.fromkeys(("relu", "relu6", "hardswish", "hardsigmoid", "silu", "mish", "selu"), 1),
    **dict.fromkeys(("elu", "celu", "leaky_relu"), 2),
    **dict.fromkeys(("hardtanh", "threshold", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"), 3),
    **{"feature_alpha_dropout": 3, "rrelu": 4},
}
"""The functions of `torch.nn.functional` that can be asked to work in place, and at which position."""

RESHAPING_BY_OPTION = ("torch.nn.functional.dropout1d", "torch.nn.functional.dropout3d")
"""Functions that give a tensor another dimension until they end: for good where torch refuses the rest of the call."""
_OVERWRITING_AT = {
    f"numpy.{prefix}{name}": place
    for prefix in ("", "nan")
    for name, place in (("median", 3), ("percentile", 4), ("quantile", 4))
}
"""The functions of numpy that can be asked to overwrite their input, and at which position."""


def writes_by_option(node: Node, name: str) -> bool:
    """Whether an option asks to work in place."""
    options = node.kwargs
    if options.get("inplace") not in (None, False) or options.get("overwrite_input") not in (None, False):
        return True
    if name == "numpy.nan_to_num":
        return options.get("copy") not in (None, True) or len(node.args) > 1
    if name in _OVERWRITING_AT:
        place = _OVERWRITING_AT[name]
        return any(option is not False for option in node.args[place : place + 1])
    if name.startswith("torch.nn.functional."):
        place = INPLACE_AT.get(name.rpartition(".")[2], len(node.args))
        return any(option is not False for option in node.args[place : place + 1])
    return False


_INDEXING = ("py.getitem", "torch.Tensor.__getitem__")


def copies(node: Node, name: str) -> bool:
    """Whether a node that may give a view gives new memory: it is asked for a copy, or indexed by lists or tensors."""
    if name in COPYING:
        return node.kwargs.get("copy", True) is True
    if name == "torch.Tensor.to":
        by_place = len(node.args) == 4 and node.args[3] is True and getattr(node.args[1], "kind", "") == "dtype"
        return node.kwargs.get("copy") is True or by_place
    kind = _type(node.args[0]) if name in _INDEXING and len(node.args) == 2 else None
    if not (isinstance(kind, TensorType) or kind == ARRAY):
        return False
    index = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
    return any(isinstance(part, list) or _chooses(_type(part), kind) for part in index)


def _chooses(part: Any, indexed: Any) -> bool:
    """Whether a part of an index chooses rows or elements; one number gives a view, of arrays also one without rank."""
    return (part == ARRAY and indexed == ARRAY) or (isinstance(part, TensorType) and len(part.shape) > 0)


def _type(thing: Any) -> Any:
    return thing.type() if isinstance(thing, Constant) else thing.type if isinstance(thing, Value) else None


def gives_first(node: Node, name: str) -> bool:
    """Whether an operator that writes gives the tensor that it writes, in which nothing of the others is left."""
    kind = _type(node.args[0]) if node.args and name.startswith(("torch.Tensor.", "aten.", "py.i")) else None
    return (isinstance(kind, TensorType) or kind == ARRAY) and effect(name) == WRITES
