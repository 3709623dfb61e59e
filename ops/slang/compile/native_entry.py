"""Runs a compiled entry on the CPU: a shared library, called with one struct of numbers and pointers.

A call releases Python's lock, so a large dispatch is split over threads by giving each a range of elements.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from ...kernels.toolchain import ToolchainError, open_library
from ..language.errors import SlangCompileError, SlangDtypeError, SlangIndexError
from ..language.specialization import Specialization
from .codegen import Variant
from .elements import pointers_after_slots

THREADED_FROM = 1 << 16
"""Elements from which a dispatch is split; waking a thread costs 20-50 us, this many elements at least as much."""
_GRAIN = 1 << 10

_C_TYPES = {
    "bool": ctypes.c_uint8,
    "int8_t": ctypes.c_int8,
    "uint8_t": ctypes.c_uint8,
    "int16_t": ctypes.c_int16,
    "uint16_t": ctypes.c_uint16,
    "int": ctypes.c_int32,
    "uint": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "half": ctypes.c_float,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
_OF_ARRAY = 1
_HOLDERS = {_OF_ARRAY: "an array", 2: "a tensor", 3: "a vector or a matrix"}
"""What an index was outside of, by the kind of the fault."""
_pool: list[ThreadPoolExecutor] = []
os.register_at_fork(after_in_child=_pool.clear)


class NativeEntry:
    """One compiled entry.

    Args:
        library: the shared library.
        words: the C types of its parameters after `begin`, `end` and `dims`.
        parallel: whether ranges of elements may run at the same time.
        where: its name in messages.
        backward: whether it computes a gradient, which keeps what the rounds of a loop computed in arrays.

    Raises:
        SlangCompileError: the system refuses to load the library.
    """

    def __init__(
        self, library: Path, words: Sequence[Any], parallel: bool, where: str = "", *, backward: bool = False
    ) -> None:
        try:
            self._run = open_library(library).tracepack_run
        except ToolchainError as error:
            raise SlangCompileError(error.what, fix=error.fix) from error
        self._run.argtypes, self._run.restype = (ctypes.c_void_p,), ctypes.c_int
        self._where = where
        names = ("begin", "end", "dims", *(f"w{index}" for index in range(len(words))))
        types = (ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, *words)
        fields = list(zip(names, types, strict=True))
        self._struct = type("Parameters", (ctypes.Structure,), {"_fields_": fields})
        self._parallel = parallel
        self._library, self._backward = library, backward

    def __call__(self, total: int, dims: int, words: Sequence[float]) -> None:
        """Runs elements 0 to `total`.

        Args:
            total: the number of elements.
            dims: the address of the table of sizes, or which part of a comprehension to run.
            words: the numbers and addresses of the other parameters.

        Raises:
            SlangIndexError: an index was outside of a tensor, an array, a vector or a matrix.
        """
        if total >= THREADED_FROM and self._parallel and (threads := torch.get_num_threads()) > 1:
            self.split(total, dims, [words] * threads)
        else:
            try:
                parameters = self._struct(0, total, dims, *words)
            except OverflowError as error:
                raise SlangDtypeError("a number does not fit", where=self._where, got=error) from None
            if fault := self._run(ctypes.byref(parameters)):
                raise self._error(fault, parameters)

    def split(self, total: int, dims: int, words: Sequence[Sequence[float]]) -> None:
        """Runs elements 0 to `total` on as many threads as there are lists of words."""
        step = -(-total // len(words))
        step += -step % _GRAIN if step >= _GRAIN else 0
        ranges = [
            self._struct(begin, min(begin + step, total), dims, *own)
            for begin, own in zip(range(0, total, step), words, strict=False)
        ]
        if not _pool or _pool[0]._max_workers < len(words) - 1:
            _pool[:] = [ThreadPoolExecutor(len(words) - 1, thread_name_prefix="tracepack-slang")]
        waiting = [_pool[0].submit(self._run, ctypes.byref(each)) for each in ranges[1:]]
        faults = [self._run(ctypes.byref(ranges[0])), *(each.result() for each in waiting)]
        for fault, parameters in zip(faults, ranges, strict=True):
            if fault:
                raise self._error(fault, parameters)

    def _error(self, fault: int, parameters: Any) -> SlangIndexError:
        index, size = parameters.begin, parameters.end
        if fault == _OF_ARRAY and self._backward:
            error = SlangIndexError(
                "a loop is longer than its [MaxIters], or an index is outside of an array",
                where=self._where,
                got=f"place {ctypes.c_int64(index).value} of {size}",
                fix="Write a larger number in [MaxIters(n)] before the loop: "
                "the gradient keeps what each round computed.",
            )
            error.in_array = True
            return error
        return SlangIndexError(
            f"an index is outside of {_HOLDERS[fault]}",
            where=self._where,
            got=ctypes.c_int64(index).value,
            expected=f"0 to {size - 1}" if size else "no index at all: the tensor is empty",
        )


def word_types(spec: Specialization, variant: Variant) -> list[Any]:
    """The C types of a specialization's slots, then of its outputs or gradients."""
    slots = [_C_TYPES[slot.type.scalar] if slot.is_value else ctypes.c_uint64 for slot in spec.slots]
    return slots + [ctypes.c_uint64] * len(pointers_after_slots(spec, variant.needs))
