"""What operators do to the memory of their arguments, seen in calls: share it with their results, write it, reshape it.

The table of `ops.graph.operators` says so for each operator, so that a file's nodes can be followed to the caller's
tensors. What a schema declares counts as well; an operator that hardly any call of ours reached counts as a view.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import signal
from collections.abc import Iterator
from typing import Any

import numpy
import torch

from tests.fuzz.hostile import Hostile
from tests.fuzz.operators import _live, arguments
from tracepack.ops.graph.graph import Node, Operator
from tracepack.ops.graph.operators.names import FRESH, OF_ARRAYS, RESHAPES, VIEW, WRITES, WRITES_ANY
from tracepack.ops.graph.sharing.written_arguments import INPLACE_AT
from tracepack.ops.graph.traverse import leaves, map_leaves
from tracepack.ops.graph.types import ARRAY, DTYPES
from tracepack.ops.runtime.primitives.callables import resolve
from tracepack.ops.runtime.primitives.numpy import ufunc_of
from tracepack.ops.runtime.safety.arguments import check_arguments

SECONDS = 15  # for the calls of one operator; what was seen until then counts
MEMORY = 6 << 30
REACHED = 5  # calls that must have gone through for an operator to count as fresh


def observed(name: str, calls: int, unseen: str = VIEW) -> str:
    """The strongest effect of an operator seen in a child.

    Args:
        name: of the operator.
        calls: how many hostile ones; those that change nothing are made besides.
        unseen: what it is where too few calls went through.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        found: dict[str, int] = {}
        for source, args, kwargs in _calls(name, calls):
            seen = _seen(name, source, args, kwargs)
            found[seen] = found.get(seen, 0) + 1
            os.write(write, (json.dumps(found) + "\n").encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        lines = file.read().splitlines()
    os.waitpid(pid, 0)
    found = json.loads(lines[-1]) if lines else {}
    if found.get(RESHAPES):
        return RESHAPES
    if found.get(WRITES):
        return WRITES if name.endswith("_") else WRITES_ANY
    if found.get(VIEW):
        return VIEW
    return FRESH if found.get(FRESH, 0) >= REACHED else unseen


def effect_of(name: str, calls: int) -> str:
    """The effect of an operator: what schemas declare, and what calls show where they cannot say it."""
    named = _named(name)
    if named:
        return named
    found = [_declared(schema) for schema in schemas_of(name)]
    if not found or "" in found:
        return max([observed(name, calls), *filter(None, found)], key=_ORDER.index)
    if max(found, key=_ORDER.index) == FRESH:  # a kernel may hand on an argument that is what was asked for
        return observed(name, calls, FRESH)
    return max(found, key=_ORDER.index)


def _named(name: str) -> str:
    """What the name of an operator says: those in place end in an underscore, or are Python's own for it."""
    last = name.removeprefix("aten.").split(".")[0 if name.startswith("aten.") else -1]
    if last in _RESHAPING:
        return RESHAPES
    in_place = last.endswith("_") and not last.startswith("__")
    if in_place or last == "__setitem__" or re.fullmatch(r"__i(?!nvert)\w+__", last) or name in _WRITING_METHODS:
        return WRITES
    if name.startswith("torch.nn.functional.") and last in _COMPOSED_FRESH:
        return FRESH
    if name.startswith("torch.nn.functional.") and last in INPLACE_AT:  # what the option asks for is seen in the node
        return VIEW
    return FRESH if name.startswith(OF_ARRAYS) and _is_ufunc(name) else ""


def _is_ufunc(name: str) -> bool:
    base = re.sub(r"\.(reduce|accumulate|outer|reduceat)$", "", name)
    return ufunc_of(base) is not None


def schemas_of(name: str) -> list[Any]:
    """The schemas that speak for a name: its own, or those of the ATen operators that a function of torch binds."""
    if name.startswith("aten."):
        base, which = name.removeprefix("aten.").rsplit(".", 1)
        return [torch._C._get_schema(f"aten::{base}", "" if which == "default" else which)]
    if name.startswith("torch.nn.") or not name.startswith("torch."):
        return []
    found = torch._C._jit_get_schemas_for_operator(f"aten::{name.rsplit('.', maxsplit=1)[-1]}")
    dispatched = set(torch._C._dispatch_get_all_op_names())  # the others work on numbers and texts of TorchScript
    return [s for s in found if _full_name(s) in dispatched and not any(argument.is_out for argument in s.arguments)]


def _full_name(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _declared(schema: Any) -> str:
    """What a schema declares; "" where it is composed of others, which may hand an argument through."""
    base = schema.name.removeprefix("aten::")
    if base in _RESHAPING:
        return RESHAPES
    written = [i for i, argument in enumerate(schema.arguments) if argument.alias_info and argument.alias_info.is_write]
    if written:
        return WRITES if written == [0] else WRITES_ANY
    if any(result.alias_info for result in schema.returns):
        return VIEW
    if base in _COMPOSED_FRESH:
        return FRESH
    composed = torch._C._dispatch_has_kernel_for_dispatch_key(_full_name(schema), "CompositeImplicitAutograd")
    return "" if composed else FRESH


_ORDER = (FRESH, VIEW, WRITES, WRITES_ANY, RESHAPES)
_RESHAPING = frozenset(
    "as_strided_ unsqueeze_ squeeze_ t_ transpose_ swapaxes_ swapdims_ detach_ rename_ resize_ set_ addbmm_ "
    "slow_conv_transpose2d slow_conv_transpose3d".split()
)
# Composed operators that end in a kernel of their own, though few hostile calls reach it.
_COMPOSED_FRESH = frozenset(
    """linear matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d layer_norm group_norm
    instance_norm batch_norm embedding_bag lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    scaled_dot_product_attention cross_entropy_loss cosine_similarity bilinear
    embedding cross_entropy nll_loss max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices
    max_pool3d_with_indices avg_pool1d avg_pool2d avg_pool3d adaptive_max_pool1d adaptive_max_pool2d one_hot rms_norm
    adaptive_avg_pool1d adaptive_avg_pool3d prelu grid_sample binary_cross_entropy ctc_loss logsigmoid
    normalize""".split()
)
_WRITING_METHODS = ("numpy.ndarray.sort", "numpy.ndarray.fill", "numpy.ndarray.partition", "numpy.ndarray.put")


def _calls(name: str, count: int) -> Iterator[tuple[Hostile, list[Any], dict[str, Any]]]:
    """Plain calls and then so many hostile ones, each with the source of its tensors."""
    source = Hostile(f"effect/{name}")
    for args, kwargs in _plain_calls(name, source):
        yield source, args, kwargs
    for index in range(count):
        source = Hostile(f"effect/{name}/{index}")
        args, kwargs = arguments(name, source)
        if name.startswith(OF_ARRAYS):  # an array that takes the result is known by its place
            args, kwargs = args[:2], {key: item for key, item in kwargs.items() if key != "out"}
        yield source, args, kwargs


def _seen(name: str, source: Hostile, args: list[Any], kwargs: dict[str, Any]) -> str:
    kwargs.pop("inplace", None)  # known by its name, too
    node = Node(Operator(name), tuple(args), kwargs)
    try:
        check_arguments(node)
        live = map_leaves(lambda leaf: _live(leaf, source), (node.args, node.kwargs))
        given = [leaf for leaf in leaves(live) if isinstance(leaf, torch.Tensor | numpy.ndarray)]
        if any(_size(leaf) > 1 << 16 for leaf in given):
            return ""
        before = [(_places(leaf), _content(leaf)) for leaf in given]
        results = [
            leaf
            for leaf in leaves(resolve(name)(*live[0], **live[1]))
            if isinstance(leaf, torch.Tensor | numpy.ndarray)
        ]
    except Exception:
        return ""
    if any(_places(leaf) != places for leaf, (places, _) in zip(given, before, strict=True)):
        return RESHAPES
    if any(_content(leaf) != content for leaf, (_, content) in zip(given, before, strict=True)):
        return WRITES
    shared = any(_overlap(result, leaf) for result in results for leaf in given)
    return VIEW if shared else FRESH


_TAILS: tuple[tuple[Any, ...], ...] = ((), (0,), (1,), (2,), (-1,), ([2],), ([2, 2],), (0, 0), (1, 1), (0, 1))
_OPTIONS: tuple[dict[str, Any], ...] = ({}, {"axes": ()}, {"copy": None}, {"copy": False}, {"copy": True})


def _plain_calls(name: str, source: Hostile) -> list[tuple[list[Any], dict[str, Any]]]:
    """Calls that change nothing, for which an operator may hand its argument on: of every dtype, with small numbers.

    A cast to what a tensor is, a split in one part, a rounding of integers, a copy only where one is needed.
    """
    found: list[tuple[list[Any], dict[str, Any]]] = []
    arrays = name.startswith(OF_ARRAYS)
    for dtype in DTYPES:
        made = torch.arange(4).to(getattr(torch, dtype)).reshape(2, 2)
        if arrays and (dtype in ("bfloat16", "complex32") or "float8" in dtype):
            continue
        for tail in _TAILS:
            for options in _OPTIONS if arrays and len(tail) < 2 else _OPTIONS[:1]:
                for first in (made, made[0]):
                    thing = source.value(first.numpy() if arrays else first)
                    if arrays:
                        thing.type = ARRAY
                    found.append(([thing, *tail], dict(options)))
                    if not tail:
                        found += [([thing, thing], dict(options)), ([[thing]], dict(options))]
                        found += [([thing, thing, thing], {})]
    return found


def _size(leaf: Any) -> int:
    return int(leaf.numel() if isinstance(leaf, torch.Tensor) else leaf.size)


def _places(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return tuple(leaf.shape), leaf.stride(), leaf.storage_offset(), leaf.dtype, leaf.is_conj(), leaf.is_neg()
    return leaf.shape, leaf.strides, leaf.dtype


def _content(leaf: Any) -> bytes:
    if isinstance(leaf, torch.Tensor):
        storage = leaf.untyped_storage()
        return ctypes.string_at(storage.data_ptr(), storage.nbytes()) if storage.nbytes() else b""
    return leaf.tobytes()


def _overlap(result: Any, leaf: Any) -> bool:
    """Whether two things may lie in the same memory."""
    ends = [_span(thing) for thing in (result, leaf)]
    return ends[0][0] < ends[1][1] and ends[1][0] < ends[0][1]


def _span(thing: Any) -> tuple[int, int]:
    if isinstance(thing, torch.Tensor):
        if thing.layout is not torch.strided:
            return 0, 0
        storage = thing.untyped_storage()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    first, last = numpy.lib.array_utils.byte_bounds(thing) if thing.size else (0, 0)
    return int(first), int(last)
