"""Holds one processing function against its pipeline: traced, saved, loaded, on the example and on other data.

The one question is whether the pipeline ever answers otherwise than Python. To refuse is allowed, with an error of the
catalogue; to raise anything else, or to answer differently, is a bug.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
        memory[key] = torch.empty(0, dtype=torch.uint8).set_(storage).clone()
    bare = torch.empty(0, dtype=tensor.dtype).set_(
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
    same = repr(wanted) == repr(got) if isinstance(wanted, float) else wanted == got  # tells 0.0 from -0.0
    if near and isinstance(wanted, float):
        same = math.isclose(wanted, got, rel_tol=1e-3)
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
    for name in ("dtype", "shape", "layout"):
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


class Check:
    """One function, its example and other inputs, held against the pipeline.

    Args:
        process: a function of positional leaves.
        example: what it is traced with.
        values: False where results are uninitialised memory, so that only their kinds can be compared.
        eager: what to compare with, where it is not `process` itself.
        catches: whether the function catches errors: where Python would, the pipeline may stop with one.
    """

    def __init__(
        self, process: Callable[..., Any], example: Sequence[Any], *, values: bool = True, catches: bool = False,
        eager: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.process, self.eager, self.example = process, eager or process, list(example)
        self.values, self.catches = values, catches
        self.steady = True

    def run(self, others: Sequence[Sequence[Any]] = (), *, resized: Sequence[Sequence[Any]] = ()) -> Finding:
        """Checks on the example, on others with the same sizes, and on others where guards may refuse.

        Raises:
            Unusable: eager does not take the example.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = Eager.of(self.eager, self.example)
                again = Eager.of(self.eager, self.example)
            except Exception as error:
                raise Unusable(one_line(error)) from error
            self.steady = not difference(wanted.result, again.result)
            return self._pipeline(wanted, [*others, *resized])

    def _pipeline(self, wanted: Eager, others: Sequence[Sequence[Any]]) -> Finding:
        try:
            traced = tracepack.trace(self.process, *copies(self.example))
            file = io.BytesIO()
            traced.save(file)
            loaded = tracepack.load(file.getvalue(), trust=True)
        except tracepack.TracepackError as error:
            return Finding(REFUSED, one_line(error), error.what)
        except Exception as error:
            return Finding(ERROR, one_line(error))
        for title, pipeline in (("traced", traced), ("loaded", loaded)):
            found = self._compare(pipeline, self.example, wanted, title, guarded=False)
            if found.outcome != RIGHT:
                return found
        for other in others:
            try:
                fresh = Eager.of(self.eager, other)
            except Exception:
                continue
            found = self._compare(loaded, other, fresh, "loaded, other data", guarded=True)
            if found.outcome != RIGHT:
                return found
        return GOOD

    def _compare(self, pipeline: Any, leaves: Sequence[Any], wanted: Eager, title: str, guarded: bool) -> Finding:
        """Runs twice: the first run of a signature checks everything, the second takes the fast path."""
        for _ in range(2):
            given = copies(leaves)
            try:
                got = pipeline(*given)
            except (tracepack.GuardError, tracepack.SignatureError) as error:
                return GOOD if guarded else Finding(ERROR, f"{title}: refuses its own example: {one_line(error)}")
            except tracepack.NodeError as error:
                return GOOD if guarded and self.catches else Finding(ERROR, f"{title}: {one_line(error)}")
            except Exception as error:
                return Finding(ERROR, f"{title}: {one_line(error)}")
            found = self._difference(wanted.result, got, leaves)
            found = found or _prefixed("an input afterwards: ", difference(wanted.inputs, given, self.values))
            if found:
                return Finding(WRONG, f"{title}: {found}")
        return GOOD

    def _difference(self, wanted: Any, got: Any, leaves: Sequence[Any]) -> str:
        """What differs, bit for bit; nearly the same is enough where eager itself does not give the same bits twice."""
        found = difference(wanted, got, self.values)
        if found and self.values and (not self.steady or not self._gives_the_same_again(wanted, leaves)):
            return difference(wanted, got, near=True)
        return found

    def _gives_the_same_again(self, wanted: Any, leaves: Sequence[Any]) -> bool:
        """Whether many runs of eager agree: one that reads uninitialised memory, as LAPACK's least squares, may not."""
        kept = []  # so that every run meets other memory
        for number in range(REPEATS):
            for count in (1, 2, 3, 4, 6, 8, 12, 16):  # freed at once: what is allocated next may find it
                torch.full((count,), number % 5 + 1, dtype=torch.int32)
            result = Eager.of(self.eager, leaves).result
            kept.append((result, torch.full((7 * number + 1,), number)))
            if difference(wanted, result):
                return False
        return True


def _prefixed(prefix: str, text: str) -> str:
    return prefix + text if text else ""
