"""Calls that are nearly right: what torch's own samples give the operators, forward and backward, with a few changes.

Hostile arguments made from a schema rarely fit together, so that torch refuses most of them before a kernel sees them.
Here sizes and dtypes fit, and one or two things do not: an index beyond the end, half of a pair of pivots, a tensor
with one row less than another one promises. What is looked for is what `operators` looks for.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from tests.campaigns.samples import Entry, entries
from tests.fuzz.children import Loss, survive
from tests.fuzz.operators import POISON, bytes_of, journaled, poisoned, watched
from tracepack.ops.graph.device import CPU
from tracepack.ops.graph.errors import TracepackError
from tracepack.ops.graph.graph import Literal, Node, Operator, Value
from tracepack.ops.graph.operators.names import TRUSTED, allowed, grade
from tracepack.ops.graph.traverse import map_leaves
from tracepack.ops.graph.types import TensorType
from tracepack.ops.runtime.primitives.callables import resolve
from tracepack.ops.runtime.safety.arguments import check_arguments
from tracepack.ops.runtime.source import torch_object

DTYPES = (torch.float32, torch.complex64, torch.int64)
SAMPLES = 12  # of each entry and dtype
FORMS = 8  # calls of an operator that are kept, of different sizes and dtypes
_INTS = (0, 1, -1, -2, 2, 3, 5, 7, 64, 1000, 2**31 - 1, 2**31, -(2**31), 2**40, 2**63 - 1, -(2**63))

Call = tuple[tuple[Any, ...], dict[str, Any]]


class Seen(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """While it is entered, the calls of operators that a file may name are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, dict[str, Call]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        name, kwargs = str(func), kwargs or {}
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        dense = all(tensor.layout is torch.strided for tensor in tensors)  # a file holds no others
        if dense and name in allowed() and grade(name) != TRUSTED:
            forms = self.calls.setdefault(name, {})
            form = repr(pytree.tree_map(_form, (args, kwargs)))
            if form not in forms and len(forms) < FORMS:
                forms[form] = pytree.tree_map(_kept, (args, kwargs))
        return func(*args, **kwargs)


def _form(leaf: Any) -> Any:
    return (leaf.dtype, leaf.dim()) if isinstance(leaf, torch.Tensor) else type(leaf).__name__


def _kept(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def seen(share: int = 0, parts: int = 1) -> dict[str, list[Call]]:
    """The calls that the samples of torch's database make, by the operator's name."""
    warnings.simplefilter("ignore")
    mode = Seen()
    for entry in entries()[share::parts]:
        for dtype in DTYPES:
            for sample in _samples(entry, dtype):
                with mode:
                    _run(entry, sample)
    return {name: list(forms.values()) for name, forms in sorted(mode.calls.items())}


def _samples(entry: Entry, dtype: torch.dtype) -> Iterator[Any]:
    if dtype not in entry.info.supported_dtypes("cpu"):
        return
    torch.manual_seed(0)
    try:
        grad = dtype != torch.int64 and entry.info.supports_autograd
        for number, sample in enumerate(entry.info.sample_inputs("cpu", dtype, requires_grad=grad)):
            if number == SAMPLES:
                return
            yield sample
    except Exception:  # some samples cannot be made on a CPU
        return


def _run(entry: Entry, sample: Any) -> None:
    try:
        result = entry.function(sample.input, *sample.args, **sample.kwargs)
        outputs = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
        if outputs:
            torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])
    except Exception:  # an entry may be none for this dtype
        return


def run(share: int, parts: int, count: int, journal: Path, first: int = 0) -> list[dict[str, Any]]:
    """Tries the operators that a part of the samples calls; `tests.fuzz.operators.run` says more."""
    torch.set_num_threads(1)
    calls = seen(share, parts)
    known = journaled(calls, count, journal, lambda name: try_calls(name, calls[name], count, first), "changed")
    return [row for name, row in known.items() if name in calls]


# -- changes ---------------------------------------------------------------------------------------------------


def changed(call: Call, chance: random.Random) -> Call:
    """The call with one or two of its leaves changed."""
    leaves, spec = pytree.tree_flatten(call)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor | int | float) or leaf is None]
    for place in chance.sample(places, min(len(places), chance.choice((1, 1, 1, 2)))):
        leaves[place] = _changed(leaves[place], chance)
    return pytree.tree_unflatten(leaves, spec)  # type: ignore[no-any-return]  # torch leaves it untyped


def _changed(leaf: Any, chance: random.Random) -> Any:
    if isinstance(leaf, torch.Tensor):
        ways: list[Callable[[torch.Tensor, random.Random], torch.Tensor]] = [_resized, _values, _values, _dtype, _laid]
        if not leaf.is_floating_point() and not leaf.is_complex():
            ways += [_values] * 6
        return chance.choice(ways)(leaf, chance)
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return chance.choice((leaf + 1, leaf - 1, -leaf, leaf * 2, *_INTS))
    if isinstance(leaf, float):
        return chance.choice((-leaf, 0.0, 1e30, float("nan"), float("inf"), leaf + 1))
    return chance.choice((0, 1, True, 2.0))


def _resized(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """One size smaller, larger or gone, or a dimension more or less."""
    sizes = list(tensor.shape)
    way = chance.randrange(5)
    if sizes and way < 3:
        place = chance.randrange(len(sizes))
        sizes[place] = (max(sizes[place] - 1, 0), sizes[place] + chance.choice((1, 3)), chance.choice((0, 1)))[way]
    elif sizes and way == 3:
        sizes.pop(chance.randrange(len(sizes)))
    else:
        sizes.insert(chance.randrange(len(sizes) + 1), chance.choice((1, 2)))
    found = torch.zeros(sizes, dtype=tensor.dtype)
    flat = tensor.reshape(-1)
    count = min(found.numel(), flat.numel())
    found.reshape(-1)[:count] = flat[:count]
    return found


def _values(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """Some, or all, of the elements replaced."""
    found = tensor.clone()
    flat = found.reshape(-1) if found.is_contiguous() else found.contiguous().reshape(-1)
    if not flat.numel():
        return found
    for _ in range(chance.choice((1, 1, 2, flat.numel()))):
        place = chance.randrange(flat.numel())
        old = flat[place].item()
        if isinstance(old, bool):
            value: Any = not old
        elif isinstance(old, int):
            value = chance.choice((old + 1, old - 1, -old, -1, 0, *tensor.shape, *_INTS))
            limits = torch.iinfo(tensor.dtype)
            value = min(max(value, limits.min), limits.max)
        else:
            value = chance.choice((0.0, -1.0, float("nan"), float("inf"), 1e30, 1e-40))
        flat[place] = value
    return flat.reshape(tensor.shape)


def _dtype(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    names = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.int32,
             torch.uint8, torch.bool)  # fmt: skip
    return tensor.to(chance.choice(names))


def _laid(tensor: torch.Tensor, chance: random.Random) -> torch.Tensor:
    """The same values with other strides, or fewer of them, shown many times."""
    if tensor.dim() == 0:
        return tensor.clone()
    if chance.random() < 0.5:
        return tensor.transpose(0, -1).contiguous().transpose(0, -1)
    return tensor[:1].expand(tensor.shape) if tensor.size(0) else tensor.clone()


# -- calls -----------------------------------------------------------------------------------------------------


def try_calls(name: str, calls: list[Call], count: int, first: int = 0) -> list[Loss]:
    """Makes changed calls of an operator in children; returns those that went wrong, five at most."""

    def attempt(index: int) -> str:
        chance = random.Random(f"{name}/{first + index}")
        args, kwargs = changed(chance.choice(calls), chance)
        results = []
        for byte in POISON if poisoned() is not None else POISON[:1]:
            said, found = _called(name, args, kwargs, byte)
            if said or found is None:
                return said
            results.append(found)
        return "uninitialised" if len(results) == 2 and results[0] != results[1] else ""

    return [Loss(loss.index + first, loss.outcome) for loss in survive(count, attempt)]


def _called(name: str, args: Any, kwargs: Any, byte: int) -> tuple[str, list[bytes] | None]:
    """Calls it as a file would; returns what it broke, and its results, None where it was refused."""
    given: dict[int, torch.Tensor] = {}

    def stand_in(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            made = Value(TensorType(str(leaf.dtype)[6:], tuple(leaf.shape)))
            given[id(made)] = leaf
            return made
        kinds = {torch.dtype: "dtype", torch.layout: "layout", torch.memory_format: "memory_format"}
        kind = next((word for kind, word in kinds.items() if isinstance(leaf, kind)), None)
        return leaf if kind is None else Literal(kind, str(leaf).removeprefix("torch."))

    def live(leaf: Any) -> Any:
        if isinstance(leaf, Value):
            tensor = given[id(leaf)]
            return tensor.clone(memory_format=torch.preserve_format)
        return torch_object(leaf, CPU) if isinstance(leaf, Literal) else leaf

    node = Node(Operator(name), *pytree.tree_map(stand_in, (tuple(args), kwargs)))
    torch.manual_seed(0)
    try:
        check_arguments(node)
        function = resolve(name)
    except (TracepackError, AttributeError):
        return "", None
    with watched(byte) as broken:
        try:
            args, kwargs = map_leaves(live, (node.args, node.kwargs))
            result = function(*args, **kwargs)
            found = [bytes_of(leaf) for leaf in pytree.tree_leaves((result, args, kwargs))]
        except Exception:
            found = None
    return ("written past the end" if broken() else ""), found
