"""Where other runtimes compute with numbers otherwise than torch, which a comparison on examples need not show.

ONNX has no operators for some functions, and what stands for them differs at negative zeros, at multiples, or where an
exponential overflows. An export to ONNX holds the numbers of Python beside float64 in float32, and rounds quotients of
integers in it; runtimes sum, multiply and raise integers in float64. OpenVINO computes int64 in 32 bits, some functions
of it in float32, and float64 too, and lets narrow integers saturate. Which functions an engine may get at all is a
list, in `listed_functions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...graph.graph import Graph, Node, Operator
from ...graph.traverse import constants, every_node, leaves, uses
from ...graph.types import TensorType
from .step_checks import COMPARED, compares_quotients, names_of

LARGEST = 2**24  # that OpenVINO computes exactly: some functions of integers it computes in float32
MOST_SIZE = 2**23  # of an input of OpenVINO's: positions, and what is computed from sizes, it then computes exactly
_LARGEST_OF = {torch.int32: 2**31 - 1, torch.int64: 2**53}  # that float64 and the result hold
_LARGEST_QUOTIENT = 2**23  # of what is divided: no quotient in float32 is rounded to the next integer
_OTHERWISE = {
    **dict.fromkeys(("logsigmoid", "log_sigmoid", "log_sigmoid_forward"), "it takes the logarithm of a sigmoid"),
    **dict.fromkeys(
        ("log1p", "expm1", "xlog1py", "sinh", "cosh", "erfc", "erfcx", "ndtr", "log_ndtr"),
        "it keeps the digits of small numbers",
    ),
    "soft_margin_loss": "it takes the logarithm of an exponential",
    "cosine_embedding_loss": "it keeps norms from zero",
    "binary_cross_entropy_with_logits": "it takes the logarithm of a sigmoid",
    **dict.fromkeys(("logaddexp", "logaddexp2", "logcumsumexp"), "it takes the logarithm of a sum of exponentials"),
    **dict.fromkeys(("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), "it rounds coordinates"),
    "histc": "it rounds numbers at the ends of bins",
    **dict.fromkeys(("signbit", "copysign", "atan2", "arctan2"), "it asks for the sign of zeros"),
}
_NORMS = ("norm", "vector_norm", "matrix_norm", "normalize")
_IN_ITS_OWN = ("softmax", "log_softmax", "softmin", "mean", "nanmean", "nansum", *_NORMS)
_DIVISIONS = ("div", "divide")
_ROUNDED = ("floor_divide", "floordiv", "rfloordiv", "remainder", "fmod", "mod", "rmod", *_DIVISIONS)
_POWERS = ("pow", "rpow")
_GROWS_ONCE = ("prod", *_POWERS)
_IN_FLOAT64 = ("sum", "nansum", "einsum", "trace", "sum_to_size", *_GROWS_ONCE)
_IN_FLOAT32 = ("isinf", "nan_to_num")
_BY_FLOAT32 = (  # with numbers of their own, which an export holds in float32
    "log2", "log10", "celu", "deg2rad", "rad2deg", "sinc", "cosine_similarity", "pairwise_distance",
    "triplet_margin_loss", "native_layer_norm",
)  # fmt: skip
_ROUNDED_IN_16_BITS = {
    "local_response_norm": "squares", "sinc": "multiples of pi", "special_sinc": "multiples of pi", "trapz": "terms",
    "trapezoid": "terms",
}  # fmt: skip
_ADD_AT = ("scatter_add", "index_add")
_GROWING = (
    "add", "radd", "sub", "rsub", "subtract", "mul", "rmul", "multiply", "pow", "rpow", "square", "sum", "cumsum",
    "iadd", "isub", "imul", "negative", "diff", "prod", "cumprod",
    "neg", "abs", "matmul", "rmatmul", "mm", "bmm", "dot", "einsum",
    "addcmul", "mean", "arange", "nansum", "float_power", "sum_to_size", *_ADD_AT,
)  # fmt: skip
_KEEPING = frozenset(
    "clamp clamp_min clamp_max clip relu sign sgn minimum maximum min max amin amax where masked_fill argmax "
    "argmin sort argsort topk kthvalue median mode bitwise_and bitwise_or bitwise_xor bitwise_not and or xor "
    "rand ror rxor invert gather scatter take take_along_dim index unsafe_index index_fill index_copy "
    "masked_scatter one_hot embedding floor_divide floordiv rfloordiv remainder fmod mod rmod div divide "
    "round floor ceil trunc tril triu roll rot90 pad constant_pad_nd unfold tile hstack vstack "
    "dstack concat concatenate column_stack swapdims moveaxis adjoint mT T expand_copy view_as reshape_as "
    "broadcast_to broadcast_tensors broadcast_to_copy fliplr flipud searchsorted bucketize nonzero empty "
    "empty_like zeros_like ones_like full_like new_zeros new_ones new_full new_empty new_tensor tensor "
    "as_tensor scalar_tensor lift_fresh_copy lift_fresh get device repeat_interleave meshgrid "
    "tensor_split hsplit vsplit max_pool1d max_pool2d max_pool3d squeeze_copy numpy item contiguous sym_size "
    "numpy_T matrix_H iand ior ixor copy fill zero slice_scatter "
    "select_scatter masked_select unique_consecutive argwhere tril_indices triu_indices nan_to_num resolve_conj "
    "resolve_neg reshape_alias unsafe_view view_copy unsqueeze_copy alias_copy clone_copy positive pos absolute "
    "size stride result_type promote_types unique cartesian_prod count_nonzero ravel".split()
)  # give no integer that is further from zero than what they are given, or than the size of a tensor
SHIFTS = (
    "lshift", "rlshift", "ilshift", "bitwise_left_shift", "rshift", "rrshift", "irshift", "bitwise_right_shift",
)  # fmt: skip
"""OpenVINO shifts negative integers as if they had no sign."""
_CONVERSIONS = ("to", "long", "int", "short", "char", "byte", "type", "_to_copy", "to_copy", "type_as")
_WHOLE = frozenset(("floor", "ceil", "round", "trunc", "fix", "frac"))
_STEPS = frozenset((*_WHOLE, "sign", "sgn", "heaviside"))
_WIDE = (torch.int32, torch.int64)
_NARROW = ("int8", "uint8", "int16", "uint16")
_MOVING = (
    "permute transpose t reshape view flatten unflatten unsqueeze squeeze expand expand_as contiguous clone select "
    "slice narrow index_select cat stack flip to long int float movedim swapaxes getitem __getitem__ repeat detach "
    "alias _to_copy unbind split split_with_sizes chunk zeros ones full type "
    "atleast_1d atleast_2d atleast_3d"
).split()
OF_INTEGERS = frozenset((*_GROWING, *_IN_FLOAT64, *SHIFTS, *_CONVERSIONS, *_MOVING, *_KEEPING))
"""The functions that may give integers."""


def computed_otherwise(name: str, args: Sequence[Any], given: Any) -> str:
    """Why a function must stay with torch; empty where ONNX has one that answers as it does."""
    makes = any(each is torch.float64 for each in given.values())
    if makes or any(torch.is_tensor(arg) and arg.dtype == torch.float64 for arg in args):
        if name in _IN_FLOAT32:
            return "it asks float64 for infinities in float32"
        if name.removeprefix("special_") in _BY_FLOAT32:
            return "it computes float64 with numbers of float32"
        if not name.endswith("norm") and any(map(_is_rounded, (*args, *given.values()))):
            return "it computes float64 with a number that is no float32"
    if name.removeprefix("linalg_").removeprefix("special_") in _IN_ITS_OWN and _converts(args, given):
        return "it converts what a function gives, not what it takes"
    if name.startswith("avg_pool") and (any(args[6:]) or given.get("divisor_override")):
        return "it takes the size of a window for the divisor"
    if name in SHIFTS and any(torch.is_tensor(arg) and arg.dtype not in _WIDE for arg in args):
        return "it shifts bytes as if they had a sign"
    if any(torch.is_tensor(arg) and arg.dtype == torch.float16 for arg in args):
        if name in _ROUNDED_IN_16_BITS:
            return f"it rounds {_ROUNDED_IN_16_BITS[name]} to 16 bits"
        numbers = (float(value) for value in (*args, *given.values()) if type(value) in (int, float))
        if name in COMPARED and any(_is_rounded(number, torch.float16) for number in numbers):
            return "it compares float16 with a number that is no float16"
    if name in _ROUNDED and _rounds(name, args, given):
        floating = any((torch.is_tensor(arg) and arg.is_floating_point()) or type(arg) is float for arg in args)
        return "it rounds quotients of floating numbers" if floating else ""
    orders = _orders(args, given) if name.removeprefix("linalg_") in _NORMS else ()
    if any(type(each) in (int, float) and 2 < each < math.inf for each in orders):
        return "it takes powers of numbers, which overflow"
    return _OTHERWISE.get(name.removeprefix("special_"), "")


def _converts(args: Sequence[Any], given: Any) -> bool:
    """Whether a function is to compute in another dtype than that of its tensor."""
    values = (*args, *given.values())
    own = next((value.dtype for value in values if isinstance(value, torch.Tensor)), None)
    return any(isinstance(value, torch.dtype) and value != own for value in values)


def _orders(args: Sequence[Any], given: Any) -> list[Any]:
    return [*args[1:2], *(given[name] for name in ("ord", "p") if name in given)]


def _rounds(name: str, args: Sequence[Any], given: Any) -> bool:
    """Whether a division gives whole quotients, or what these leave."""
    return name not in _DIVISIONS or bool(given.get("rounding_mode")) or any(type(arg) is str for arg in args)


def _is_rounded(value: Any, dtype: torch.dtype = torch.float32) -> bool:
    """Whether a number of Python's is another one in a dtype."""
    return type(value) is float and value == value and torch.tensor(value, dtype=dtype).item() != value


def is_watched(name: str) -> bool:
    """Whether an export to ONNX may compute integers of a function in floating numbers."""
    return name in (*_DIVISIONS, *_IN_FLOAT64, *_CONVERSIONS)


def keeps_range(name: str) -> bool:
    """Whether a function gives no number that is further from zero than those that it is given."""
    return name in _KEEPING or (name in _MOVING and name not in _CONVERSIONS)


def is_large(value: Any) -> bool:
    """Whether an integer of Python's is larger than what OpenVINO computes exactly."""
    return type(value) is int and not -LARGEST <= value <= LARGEST


def within_floats(
    func: Callable[..., Any], name: str, args: Sequence[Any], given: Any, found: Any
) -> Iterator[torch.Tensor]:
    """Whether integers that an export computes in floating numbers are exact there, as tensors."""
    if not isinstance(found, torch.Tensor):
        return
    if name in _CONVERSIONS and torch.is_tensor(args[0]) and args[0].is_floating_point():
        if str(found.dtype).removeprefix("torch.") in (*_NARROW, "int32", "int64"):
            bounds = torch.iinfo(found.dtype)  # C leaves open what becomes of other numbers
            yield ((args[0] >= bounds.min) & (args[0] <= bounds.max)).all()
        return
    if found.dtype not in _WIDE:
        return
    if name in _DIVISIONS and _rounds(name, args, given):
        bound = _LARGEST_QUOTIENT
        yield from (((arg >= -bound) & (arg <= bound)).all() for arg in args if torch.is_tensor(arg))
    elif name in _IN_FLOAT64 and not _sums_few(name, args):
        sums = name not in _GROWS_ONCE  # of terms that may cancel
        floats = _in_floats(name, args, given, lambda value: _absolute(value) if sums else value.double())
        yield (func(*floats[0], **floats[1]).abs() <= _LARGEST_OF[found.dtype]).all()
        if name in _POWERS:  # of -1, float64 cannot tell whether a larger exponent is odd
            yield from (_absolute(arg).le(_LARGEST_OF[torch.int64]).all() for arg in args if torch.is_tensor(arg))


def _absolute(value: torch.Tensor) -> torch.Tensor:
    return value.double().abs()  # in this order: the least integer is its own opposite


def _sums_few(name: str, args: Sequence[Any]) -> bool:
    """Whether a function sums integers of so few bits that no memory holds enough of them."""
    return name not in _GROWS_ONCE and all(
        arg.dtype not in _WIDE for arg in pytree.tree_leaves(list(args)) if isinstance(arg, torch.Tensor)
    )


def within_float32(
    func: Callable[..., Any], name: str, args: Sequence[Any], given: Any, found: Any
) -> Iterator[torch.Tensor]:
    """Whether float32 holds integers that a function computed, or read from other numbers, as tensors."""
    if name in _CONVERSIONS and torch.is_tensor(found) and str(found.dtype).removeprefix("torch.") in _NARROW:
        least, most = torch.iinfo(found.dtype).min, torch.iinfo(found.dtype).max
        yield ((args[0] >= least) & (args[0] <= most)).all()
    if not isinstance(found, torch.Tensor) or found.dtype not in _WIDE:
        return
    if name in _CONVERSIONS and torch.is_tensor(args[0]) and args[0].is_floating_point():
        yield (args[0].abs() <= LARGEST).all()
    elif name in _GROWING:
        floats = _in_floats(name, args, given, lambda value: value.to(torch.float32, copy=True))  # it may write to them
        yield (func(*floats[0], **floats[1]).abs() <= LARGEST).all()


def _in_floats(
    name: str, args: Sequence[Any], given: Any, convert: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a function with copies of their tensors in floating numbers, but for an index."""
    index = args[2] if name in _ADD_AT and len(args) > 2 else given.get("index")
    other = {key: value for key, value in given.items() if key not in ("dtype", "out")}

    def converted(value: Any) -> Any:
        return convert(value) if isinstance(value, torch.Tensor) and value is not index else value

    return [pytree.tree_map(converted, arg) for arg in args], {
        key: pytree.tree_map(converted, value) for key, value in other.items()
    }


def refused_in_32_bits(graph: Graph) -> str:
    """Why a runtime that computes in 32 bits must not run a region; empty where it may."""
    for constant in constants(graph):
        tensor = constant.tensor
        counts = not (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel()
        if counts and max(int(tensor.max()), -int(tensor.min())) > LARGEST:
            return "it holds integers beyond 2**24"
    kinds = {_dtype(value) for value in (*graph.inputs, *_made(every_node(graph)))}
    if "float64" in kinds:
        return "it computes float64 in float32"
    if kinds & {"float16", "bfloat16"}:  # it also ends the process on some exponentials of float16
        return "it computes float16 and bfloat16 in float32, without rounding"
    given = {id(value) for value in graph.inputs}  # and what only moves these
    for node in every_node(graph):
        if any(_dtype(value) in _NARROW for value in _made([node])) and not _moves(node):
            return "it computes narrow integers, which saturate"
        if isinstance(node.target, Operator) and _moves(node) and all(id(leaf) in given for leaf in _floats(node)):
            given |= {id(value) for value in _made([node])}
        if _rounds_computed(node, given):
            return "it rounds computed numbers, and quotients are products with a rounded reciprocal there"
    if compares_quotients(graph):
        return "it compares quotients, which are products with a rounded reciprocal there"
    return ""


def _floats(node: Node) -> Iterator[Any]:
    return (leaf for leaf in uses(node) if _dtype(leaf) == "float32")


def _rounds_computed(node: Node, given: set[int]) -> bool:
    """Whether a node makes whole numbers of floating ones that the region computed."""
    if not isinstance(node.target, Operator) or all(id(leaf) in given for leaf in _floats(node)):
        return False
    names = names_of(node)
    integers = any(_dtype(value) in ("int32", "int64") for value in _made([node]))
    return bool(names & _WHOLE) or (integers and bool(names & {each.strip("_") for each in _CONVERSIONS}))


LEFT_OUT = "it rounds numbers to 16 bits, which runtimes leave out"


def rounds_to_half(graph: Graph) -> bool:
    """Whether a region rounds to 16 bits and gives the outcome to functions of other numbers.

    Runtimes and compilers compute in 32 bits and leave the rounding out, which integers and comparisons show, and whole
    numbers in 16 bits.
    """
    made = {kind for value in _made(every_node(graph)) if (kind := _dtype(value))}
    halves = made & {"float16", "bfloat16"}
    if made != halves or any(_dtype(value) == "float32" for value in graph.inputs):
        return bool(halves)
    given = {id(value) for value in graph.inputs}
    steps = (node for node in every_node(graph) if names_of(node) & _STEPS)
    return any(id(leaf) not in given for node in steps for leaf in uses(node))


def computes_float16(graph: Graph) -> bool:
    """Whether a region computes float16, of which compilers sum in 32 bits what torch rounds on the way."""
    return any(_dtype(value) == "float16" for value in (*graph.inputs, *_made(every_node(graph))))


def takes_integers(graph: Graph) -> bool:
    """Whether a region computes integers that a runtime may cut."""
    return any(_dtype(value) in ("int32", "int64", *_NARROW) for value in (*graph.inputs, *_made(every_node(graph))))


def _made(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        yield from leaves(node.output)


def _dtype(value: Any) -> str:
    kind = getattr(value, "type", None)
    return kind.dtype if isinstance(kind, TensorType) else ""


def _moves(node: Node) -> bool:
    parts = str(node.target.name).split(".") if isinstance(node.target, Operator) else []
    return not isinstance(node.target, Operator) or any(part in _MOVING for part in parts)
