"""Schedules for GPUs: every element a thread of its own, or small tiles where threads would load the same twice."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from ..expr.ir import Access, Expr, Nest, Op, Program
from ..loops.description import ProgramSchedule, Schedule
from ..loops.ir import Loops
from ..program.prefixes import in_blocks
from ..slang.program import lowered
from .options import Options

BUSY = 1 << 20
"""Threads of which a quarter still fills a large card: 132 processors of 2048 threads."""
ALONE = 1 << 12
"""Steps that a thread may take one after the other where there are few threads."""


def gpu_schedule(program: Program, options: Options, cuda: bool) -> ProgramSchedule | None:
    """The schedule of a program by options; None is torch's operators.

    Args:
        program: the program to run.
        options: its options; a schedule for other nests is replaced by the default.
        cuda: whether torch's operators would run on the same device, so that they may be preferred.

    Raises:
        OptionsError: an axis that the program does not have.
    """
    if options.preset == "torch":
        return None
    program = in_blocks(program)  # as `lowered` has it, and the emitter
    nests = lowered(program)
    if options.schedule is not None and not options.schedule.fuse and options.schedule.suits(nests):
        return options.schedule
    chosen = options.preset == "default" and not options.is_explicit and options.schedule is None
    if cuda and chosen and (_prefers_torch(program) or any(_is_narrow(n) for n in nests)):
        return None
    naive = options.preset == "naive"
    start = ProgramSchedule(tuple(Schedule() if naive else default_tile(n) for n in nests), False)
    return options.adjusted(program, start)


def threads_of(nest: Loops) -> int:
    """The number of elements that threads can compute independently."""
    return prod(n for a, n in nest.left if a not in nest.scatter)


def _is_narrow(nest: Loops) -> bool:
    """Whether few threads would each run long, where torch's operators reduce in parallel."""
    threads = threads_of(nest)
    return threads < ALONE and nest.iterations // threads > ALONE


def default_tile(nest: Loops) -> Schedule:
    """Four values of an axis that an operand does not depend on, so that a thread loads that operand once for them."""
    if not nest.reduced or threads_of(nest) < BUSY:
        return Schedule()
    for axis in reversed([a for a, _ in nest.left[:-1] if a not in nest.scatter]):
        if nest.extents[axis] >= 4 and any(not load.stride(axis) and load.strides for load in nest.loads()):
            return replace(Schedule(), unroll=((axis, 4),))
    return Schedule()


def _prefers_torch(program: Program) -> bool:
    """Whether torch's libraries are the better bet: one or more large products, and nothing much around them.

    NVIDIA's libraries stage a deep product through shared memory and tensor cores, which one thread a tile does not.
    """
    deep = other = 0
    for nest in program.nests:
        work = prod(n for _, n in nest.axes)
        if _is_deep_product(nest):
            deep += work
        else:
            other += work
    return deep >= 1 << 20 and deep >= 64 * other


def _is_deep_product(nest: Nest) -> bool:
    factors = _split_operands(nest.value)
    depth = prod(nest.extents[a] for a in nest.reduced)
    floats = all(f.dtype.is_float and all(g == "inside" for g in f.guards) for f in factors)
    return nest.op == "+" and len(factors) == 2 and floats and depth >= 64


def _split_operands(value: Expr) -> list[Access]:
    """The two accesses of a plain product, else nothing."""
    if isinstance(value, Op) and value.name == "*" and all(isinstance(a, Access) for a in value.args):
        return [a for a in value.args if isinstance(a, Access)]
    return []
