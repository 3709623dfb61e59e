"""The samples of torch's operator database as processing functions: tensors are inputs, all else is closed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils import _pytree as pytree

import tracepack

DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128,
    torch.int64, torch.int32, torch.uint8, torch.bool,
)  # fmt: skip

UNINITIALISED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")


@dataclass(frozen=True)
class Entry:
    """One operator to try: a function with samples.

    Attributes:
        name: as in torch's database, with the variant: ``"linalg.det.singular"``.
        function: what is called.
        info: torch's description, which makes the samples.
    """

    name: str
    function: Callable[..., Any]
    info: Any


@dataclass(frozen=True)
class Sample:
    """One call: `process(*leaves)`."""

    process: Callable[..., Any]
    leaves: list[torch.Tensor]
    label: str


@cache
def entries() -> list[Entry]:
    """Every entry of the database, and what only the database of Python references knows."""
    from torch.testing._internal.common_methods_invocations import op_db, python_ref_db

    found = [Entry(info.full_name, info.op, info) for info in op_db]
    known = {info.name for info in op_db}
    for info in python_ref_db:
        name = info.name.removeprefix("_refs.")
        if name not in known:
            short = name.removeprefix("_conversions.")
            found.append(Entry(short, _public(short), info))
    return found


def _public(name: str) -> Callable[..., Any]:
    """The function of torch that a Python reference stands for."""
    found: Any = torch
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if callable(found) and not isinstance(found, torch.dtype) else getattr(torch.Tensor, name)


def dtypes(entry: Entry, device: str = "cpu") -> list[torch.dtype]:
    """Those of DTYPES that the operator takes on a device."""
    supported = entry.info.supported_dtypes(device)
    return [dtype for dtype in DTYPES if dtype in supported]


def samples(entry: Entry, dtype: torch.dtype, device: str = "cpu") -> Iterator[Sample]:
    """The database's samples for a dtype, in its order, with tensors on a device."""
    torch.manual_seed(0)
    for index, given in enumerate(entry.info.sample_inputs(device, dtype, requires_grad=False)):
        call = (given.input, given.args, given.kwargs)
        yield from _sample(entry.function, call, f"{dtype}, sample {index}".replace("torch.", ""))


def variants(entry: Entry, dtype: torch.dtype) -> Iterator[Sample]:
    """The method, the in-place method and the Python operator on the first sample that has a tensor."""
    info = entry.info
    kinds = {
        "method": info.method_variant, "in place": info.inplace_variant, "operator": info.operator_variant,
        "in-place operator": info.inplace_operator_variant,
    }  # fmt: skip
    torch.manual_seed(0)
    first = next((s for s in info.sample_inputs("cpu", dtype, requires_grad=False)), None)
    if first is None or not isinstance(first.input, torch.Tensor):
        return
    for kind, function in kinds.items():
        if function is not None:
            yield from _sample(function, (first.input, first.args, first.kwargs), f"{dtype}, {kind}")


def _sample(function: Callable[..., Any], call: Any, label: str) -> Iterator[Sample]:
    leaves, spec = pytree.tree_flatten(call)
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if any(t.layout is not torch.strided for t in tensors):
        return
    fixed = [None if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def process(*tensors: torch.Tensor) -> Any:
        filled = list(fixed)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(filled, spec)
        return function(first, *args, **kwargs)

    yield Sample(process, [t.detach() for t in tensors], label)


def other_data(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors of the same kinds with the same values in another order, so that indices and masks stay valid."""
    return [leaf.detach().flip(list(range(leaf.dim()))).contiguous() if leaf.dim() else _moved(leaf) for leaf in leaves]


def _moved(scalar: torch.Tensor) -> torch.Tensor:
    return scalar.detach().clone() if scalar.dtype is torch.bool or not scalar.is_floating_point() else scalar * 0.75


def drawn(process: Callable[..., Any]) -> Callable[..., Any]:
    """A function of random numbers, which come from a generator that each run seeds alike."""

    def seeded(*tensors: torch.Tensor) -> Any:
        with tracepack.drawing(torch.Generator().manual_seed(7)):
            return process(*tensors)

    return seeded
