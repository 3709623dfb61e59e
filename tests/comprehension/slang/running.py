"""Comprehensions run by the Slang emitter: schedules, programs from text, and the comparison with torch."""

from __future__ import annotations

import pytest
import torch

from tests.comprehension.operator_cases import Case, Maker

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
from tracepack.ops.comprehension import define
from tracepack.ops.comprehension.expr.ir import Program
from tracepack.ops.comprehension.loops.description import ProgramSchedule, Schedule
from tracepack.ops.comprehension.slang.emitter import SlangEmitter
from tracepack.ops.comprehension.slang.program import lowered

TYPES = {"float": torch.float32, "double": torch.float64, "float16": torch.float16}


# What another order of sums may change, against values of size one.
TOLERANCE = {"float": 2e-5, "double": 1e-11, "float16": 1e-2}


def simple(program: Program) -> ProgramSchedule:
    return ProgramSchedule((Schedule(),) * len(lowered(program)), False)


def tiled(program: Program) -> ProgramSchedule:
    """Tiles that leave a rest on most axes: three values of the last axis, two of the one before."""
    found = []
    for nest in lowered(program):
        names = [a for a, _ in nest.left if a not in nest.scatter]
        found.append(Schedule(names[-1], 3, tuple((a, 2) for a in names[-2:-1])) if names else Schedule())
    return ProgramSchedule(tuple(found), False)


def program_of(text: str, *inputs: torch.Tensor) -> Program:
    return define(text).plan(inputs).program


def run(text: str, *inputs: torch.Tensor, device: str, clamp: bool = False) -> list[torch.Tensor]:
    p = program_of(text, *inputs)
    return SlangEmitter(p, simple(p), clamp, device)(inputs)


def compare(found, wanted, tolerance):
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        assert a.is_contiguous()
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def of_case(case: Case, dtype: str, k: int):
    layer = define(case.text, constants={"t": dtype, **case.constants})
    return layer, case.inputs(Maker(TYPES[dtype], k))


MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
