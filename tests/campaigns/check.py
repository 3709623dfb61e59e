"""Holds one processing function against its pipeline: traced, saved, loaded, on the example and on other data.

The one question is whether the pipeline ever answers otherwise than Python. To refuse is allowed, with an error of the
catalogue; to raise anything else, or to answer differently, is a bug.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import tracepack
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, WRONG


@dataclass(frozen=True)
class Finding:
    """The outcome of one check; the reason is empty where it is right, and `what` is its part without the place."""

    outcome: str
    reason: str = ""
    what: str = ""


GOOD = Finding(RIGHT)
REPEATS = 200  # one run in twenty of LAPACK's least squares differs


class Unusable(Exception):
    """Eager itself refuses the example: there is nothing to compare with."""


def copies(leaves: Sequence[Any]) -> list[Any]:
    """Copies of tensors with the strides that the originals have, sharing memory where the originals do."""
    memory: dict[int, torch.Tensor] = {}
    return [_copy(leaf, memory) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def _copy(tensor: torch.Tensor, memory: dict[int, torch.Tensor]) -> torch.Tensor:
    tensor = tensor.detach()
    storage = tensor.untyped_storage()
    key = storage.data_ptr() or id(storage)
    if key not in memory:
        memory[key] = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage).clone()
    bare = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(
        memory[key].untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride()
    )
    bare = bare.conj() if tensor.is_conj() else bare
    return bare._neg_view() if tensor.is_neg() else bare


def difference(wanted: Any, got: Any, values: bool = True, near: bool = False) -> str:
    """What differs between two results, containers, dtypes, shapes and strides included; empty if nothing does.

    Args:
        wanted: what eager gives.
        got: what the pipeline gives.
        values: whether values count, and not their kinds alone.
        near: whether floating-point values may differ as rounding does.
    """
    if isinstance(wanted, torch.Tensor):
        return _tensor_difference(wanted, got, values, near)
    if isinstance(wanted, np.ndarray | np.generic):
        return _array_difference(wanted, got, values)
    if isinstance(wanted, tuple) and hasattr(wanted, "_fields"):
        if not isinstance(got, tuple) or getattr(got, "_fields", None) != wanted._fields:
            return f"{type(got).__name__} instead of {type(wanted).__name__}"
    elif type(wanted) is not type(got) and not (isinstance(wanted, torch.Size) and type(got) is tuple):
        return f"{type(got).__name__} instead of {type(wanted).__name__}"
    if isinstance(wanted, tuple | list):
        if len(wanted) != len(got):
            return f"{len(got)} items instead of {len(wanted)}"
        return next((d for a, b in zip(wanted, got, strict=True) if (d := difference(a, b, values, near))), "")
    if isinstance(wanted, dict):
        if list(wanted) != list(got):
            return f"keys {list(got)} instead of {list(wanted)}"
        return next((d for key in wanted if (d := difference(wanted[key], got[key], values, near))), "")
    same = repr(wanted) == repr(got) if isinstance(wanted, float | complex) else wanted == got  # tells 0.0 from -0.0
    if near and isinstance(wanted, float):
        same = same or math.isclose(wanted, got, rel_tol=1e-3)
    return "" if not values or same else f"{got!r} instead of {wanted!r}"


def _array_difference(wanted: Any, got: Any, values: bool) -> str:
    if type(got) is not type(wanted):
        return f"{type(got).__name__} instead of {type(wanted).__name__}"
    for name in ("dtype", "shape", "strides"):
        if getattr(wanted, name) != getattr(got, name) and (name != "strides" or wanted.size):
            return f"{name} {getattr(got, name)} instead of {getattr(wanted, name)}"
    return "" if not values or wanted.tobytes() == got.tobytes() else f"{got} instead of {wanted}"


def _tensor_difference(wanted: torch.Tensor, got: Any, values: bool, near: bool) -> str:
    if not isinstance(got, torch.Tensor):
        return f"{type(got).__name__} instead of a tensor"
    for name in ("dtype", "shape", "layout", "device"):
        if getattr(wanted, name) != getattr(got, name):
            return f"{name} {getattr(got, name)} instead of {getattr(wanted, name)}"
    if wanted.layout is not torch.strided:
        return "" if not values or torch.equal(wanted.to_dense(), got.to_dense()) else "other values"
    if wanted.stride() != got.stride() and wanted.numel():
        return f"strides {got.stride()} instead of {wanted.stride()}"
    if not values or wanted.numel() == 0:
        return ""
    same = _near(wanted, got) if near else _same_bits(wanted, got)
    if bool(same.all()):
        return ""
    return f"{int((~same).sum())} of {same.numel()} values differ in {wanted.dtype} {list(wanted.shape)}"


def _same_bits(wanted: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """Where the bits are the same, but for those inside of a NaN."""
    if not wanted.is_complex() and not wanted.is_floating_point():
        return _bytes(wanted).eq(_bytes(got))
    a, b = _real(wanted), _real(got)
    return ((a == b) & (a.signbit() == b.signbit())) | (a.isnan() & b.isnan())


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1).clone(memory_format=torch.contiguous_format).view(torch.uint8)


def _near(wanted: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    return _real(wanted).isclose(_real(got), rtol=1e-3, atol=1e-5, equal_nan=True)


def _real(tensor: torch.Tensor) -> torch.Tensor:
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.to(torch.complex64) if tensor.dtype == torch.complex32 else tensor)
    return tensor.double()


def one_line(error: BaseException) -> str:
    """An error as one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, tracepack.TracepackError) else f"{type(error).__name__}: {text}"


@dataclass
class Eager:
    """What Python answers for one set of inputs: the result, and the inputs as they are afterwards."""

    result: Any
    inputs: list[Any]

    @staticmethod
    def of(process: Callable[..., Any], leaves: Sequence[Any]) -> Eager:
        """Runs the function on copies."""
        given = copies(leaves)
        with torch.no_grad():
            return Eager(process(*given), given)


@dataclass(frozen=True)
class Call:
    """One call: the leaves, and torch's default dtype, under which Python's answer must not become another one."""

    leaves: Sequence[Any]
    default: torch.dtype = torch.float32


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Another default dtype of torch for a while."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Check:
    """One function, its example and other inputs, held against the pipeline.

    Args:
        process: a function of positional leaves.
        example: what it is traced with.
        values: False where results are uninitialised memory, so that only their kinds can be compared.
        eager: what to compare with, where it is not `process` itself.
        catches: whether the function catches errors: where Python would, the pipeline may stop with one.
        make: makes what to compare with anew for each pipeline, with whatever state it keeps.
        stateful: whether one call may leave something to the next.
        default: torch's default dtype while it is traced.
    """

    def __init__(
        self, process: Callable[..., Any], example: Sequence[Any], *, values: bool = True, catches: bool = False,
        eager: Callable[..., Any] | None = None, make: Callable[[], Callable[..., Any]] | None = None,
        stateful: bool = False, default: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        self.process, self.example = process, Call(list(example), default)
        self.make = make or (lambda: eager or process)
        self.values, self.catches, self.stateful = values, catches, stateful
        self.steady = True

    def run(self, others: Sequence[Sequence[Any] | Call] = (), *, resized: Sequence[Sequence[Any]] = ()) -> Finding:
        """Checks on the example, on others with the same sizes, and on others where guards may refuse.

        Raises:
            Unusable: eager does not take the example.
        """
        calls = [other if isinstance(other, Call) else Call(other) for other in [*others, *resized]]
        with warnings.catch_warnings(), default_dtype(self.example.default):
            warnings.simplefilter("ignore")
            try:
                wanted = Eager.of(self.make(), self.example.leaves)
                again = Eager.of(self.make(), self.example.leaves)
            except Exception as error:
                raise Unusable(one_line(error)) from error
            self.steady = not difference(wanted.result, again.result)
            return self._pipeline(wanted, calls)

    def _pipeline(self, wanted: Eager, others: Sequence[Call]) -> Finding:
        try:
            traced = tracepack.trace(self.process, *copies(self.example.leaves))
            file = io.BytesIO()
            traced.save(file)
            loaded = tracepack.load(file.getvalue(), trust=True)
        except tracepack.TracepackError as error:
            return Finding(REFUSED, one_line(error), error.what)
        except Exception as error:
            return Finding(ERROR, one_line(error))
        found = self._in_order("traced", traced, wanted, [self.example])
        return found or self._in_order("loaded", loaded, wanted, [self.example, *others]) or GOOD

    def _in_order(self, title: str, pipeline: Any, first: Eager, calls: Sequence[Call]) -> Finding | None:
        """Calls both in a row; what is not right, or None.

        Each call is made twice: the first run of a signature checks everything, the second takes the fast path.
        """
        process = self.make()
        kept: Eager | None = None
        for number, call in enumerate(calls):
            for again in (False, True):
                if self.stateful or not again:
                    kept = first if number == 0 and not self.stateful else None
                found, kept = self._call(pipeline, process, call, kept, guarded=number > 0)
                if found is not None:
                    return replace(found, reason=f"{title}, call {number}: {found.reason}")
                if kept is None:  # one of the two refuses the inputs
                    if self.stateful:  # a call that was stopped may have left a part of its work
                        pipeline.reset()
                        process = self.make()
                    break
        return None

    def _call(
        self, pipeline: Any, process: Callable[..., Any], call: Call, wanted: Eager | None, guarded: bool
    ) -> tuple[Finding | None, Eager | None]:
        """One call of both; what is not right, and what Python gave, or None where one of them refuses."""
        leaves, given = call.leaves, copies(call.leaves)
        stopped = got = None
        try:
            with default_dtype(call.default):
                got = pipeline(*given)
        except (tracepack.GuardError, tracepack.SignatureError) as error:
            if guarded:
                return None, None
            stopped = Finding(ERROR, f"refuses its own example: {one_line(error)}")
        except tracepack.NodeError as error:
            if guarded and self.catches:
                return None, None
            stopped = Finding(ERROR, one_line(error))
        except Exception as error:
            stopped = Finding(ERROR, one_line(error))
        try:
            wanted = wanted or Eager.of(process, leaves)
        except Exception:
            return None, None
        if stopped is not None:
            return stopped, wanted
        found = self._difference(wanted.result, got, leaves)
        found = found or _prefixed("an input afterwards: ", difference(wanted.inputs, given, self.values))
        return Finding(WRONG, found) if found else None, wanted

    def _difference(self, wanted: Any, got: Any, leaves: Sequence[Any]) -> str:
        """What differs, bit for bit; nearly the same is enough where eager itself does not give the same bits twice."""
        found = difference(wanted, got, self.values)
        if found and self.values and (not self.steady or not self._gives_the_same_again(wanted, leaves)):
            return difference(wanted, got, near=True)
        return found

    def _gives_the_same_again(self, wanted: Any, leaves: Sequence[Any]) -> bool:
        """Whether many runs of eager agree: one that reads uninitialised memory, as LAPACK's least squares, may not."""
        if self.stateful:
            return True
        process, kept = self.make(), []  # so that every run meets other memory
        for number in range(REPEATS):
            for count in (1, 2, 3, 4, 6, 8, 12, 16):  # freed at once: what is allocated next may find it
                torch.full((count,), number % 5 + 1, dtype=torch.int32)
            result = Eager.of(process, leaves).result
            kept.append((result, torch.full((7 * number + 1,), number)))
            if difference(wanted, result):
                return False
        return True


def _prefixed(prefix: str, text: str) -> str:
    return prefix + text if text else ""
