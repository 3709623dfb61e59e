"""Makes programs of definitions: sizes become numbers, ranges start at 0, tensors get versions, accesses are proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ..expr.dtypes import INT32, INT64, DType
from ..expr.errors import (
    ComprehensionInputError,
    ContentsError,
    DimensionCountError,
    EmptyRangeError,
    OutOfBoundsError,
    SizeMismatchError,
    TensorAccessError,
)
from ..expr.ir import (
    Access,
    Const,
    Definition,
    Expr,
    Extent,
    Nest,
    Op,
    Program,
    Size,
    Statement,
    TensorType,
    accesses,
    integer,
    op,
    rebuild,
    substitute,
    var,
    walk,
)
from .affine import Affine, affine, bounds, facts, fits, is_nonnegative
from .folding import fold
from .identity import identity
from .prefixes import as_scans
from .ranges import Ranges, infer
from .widths import marked

MOST_STEPS = 1 << 48
"""The most elements that one statement computes: hours of a processor's time."""


def bind_sizes(definition: Definition, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """Binds the size names of a definition to the shapes of its inputs.

    Raises:
        ComprehensionInputError: another number of inputs.
        DimensionCountError: an input has another rank.
        SizeMismatchError: a repeated size disagrees, or a constant dimension has another size.
    """
    if len(shapes) != len(definition.params):
        raise ComprehensionInputError(
            f"'{definition.name}' takes {len(definition.params)} inputs", got=len(shapes), at=definition.place
        )
    sizes: dict[str, int] = {}
    for param, shape in zip(definition.params, shapes, strict=True):
        dims = param.dims or ()
        if len(dims) != len(shape):
            raise DimensionCountError(
                f"input '{param.name}': expected {len(dims)} dimensions but found {len(shape)}",
                at=param.place,
            )
        for at, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            expected = dim if isinstance(dim, int) else sizes.setdefault(dim, size)
            if expected != size:
                name = f"'{dim}' is" if isinstance(dim, str) else "it must be"
                raise SizeMismatchError(
                    f"input '{param.name}': dimension {at} has size {size}, but {name} {expected}",
                    at=param.place,
                )
    return sizes


def specialise(definition: Definition, shapes: Sequence[tuple[int, ...]]) -> Program:
    """Makes the program of a definition for the shapes of its inputs.

    Raises:
        ComprehensionError: sizes that do not match, ranges that are empty or cannot be inferred, accesses that
            cannot be shown to stay inside.
    """
    build = _Builder(definition, bind_sizes(definition, shapes))
    for statement in definition.statements:
        build.statement(statement)
    return as_scans(build.program())


class _Builder:
    """Builds a program statement by statement."""

    def __init__(self, definition: Definition, sizes: dict[str, int]) -> None:
        self._definition, self._sizes = definition, sizes
        self._current: dict[str, str] = {}
        self._tensors: dict[str, TensorType] = {}
        self._nests: list[Nest] = []
        self._contents: list[str] = []
        for p in definition.params:
            shape = tuple(d if isinstance(d, int) else sizes[d] for d in p.dims or ())
            self._add(p.name, p.name, p.dtype, shape)

    def _add(self, name: str, version: str, dtype: DType, shape: tuple[int, ...]) -> None:
        self._current[name] = version
        self._tensors[version] = TensorType(version, dtype, shape)

    def program(self) -> Program:
        """The program."""
        d = self._definition
        outputs = tuple(self._current[r.name] for r in d.returns)
        inputs = tuple(p.name for p in d.params)
        return Program(d.name, inputs, outputs, self._tensors, tuple(self._nests), tuple(self._contents))

    def _shape(self, name: str) -> tuple[int, ...] | None:
        return self._tensors[self._current[name]].shape if name in self._current else None

    def _annotated(self, name: str) -> tuple[int, ...] | None:
        for r in self._definition.returns:
            if r.name == name and r.dims is not None:
                return tuple(d if isinstance(d, int) else self._sizes[d] for d in r.dims)
        return None

    def statement(self, s: Statement) -> None:
        """Appends a statement's nest."""
        s = self._with_sizes(s)
        known = self._shape(s.target)
        shapes = {n: self._tensors[v].shape for n, v in self._current.items()}
        ranges = infer(s, shapes, known or self._annotated(s.target))
        _check_variables(s, ranges)
        shape = known or tuple(ranges.box[v][1] - ranges.box[v][0] + 1 for v in s.lhs)
        self._check_annotation(s, shape)
        base = self._base(s, ranges, known, shape)
        index = tuple(self._left_index(v, ranges, known is not None) for v in s.lhs)
        self._check_left_range(s, ranges, known)
        value = self._value(s, ranges)
        if value.dtype != s.dtype:
            value = Op(s.dtype, "cast", (value,))
        names = [*s.lhs, *s.reduced]
        self._check_steps(s, prod(ranges.box[v][1] - ranges.box[v][0] + 1 for v in names))
        axes = tuple((v, ranges.box[v][1] - ranges.box[v][0] + 1) for v in names)
        version = self._next_version(s.target)
        self._add(s.target, version, s.dtype, shape)
        self._nests.append(Nest(version, base, axes, index, s.op, s.init, value, s.place))

    @staticmethod
    def _check_steps(s: Statement, steps: int) -> None:
        """Refuses what no machine computes: the ranges of a text, and not its tensors, may say how much it is.

        The symbolic sizes of an export are let through: a comparison would bound them, and each run checks its own.
        """
        if isinstance(steps, int) and steps > MOST_STEPS:
            raise OutOfBoundsError(
                f"the statement for '{s.target}' takes {steps} steps, and at most {MOST_STEPS} are taken", at=s.place
            )

    def _next_version(self, name: str) -> str:
        count = sum(v == name or v.startswith(name + "#") for v in self._tensors)
        return f"{name}#{count}" if count else name

    def _with_sizes(self, s: Statement) -> Statement:
        def change(e: Expr) -> Expr:
            if isinstance(e, Size):
                return integer(self._sizes[e.name])
            if isinstance(e, Extent):
                shape = self._shape(e.tensor)
                assert shape is not None
                return integer(shape[e.dim])
            return rebuild(e, change)

        ranges = tuple(replace(r, low=fold(change(r.low)), high=fold(change(r.high))) for r in s.ranges)
        exists = tuple(fold(change(e)) for e in s.exists)
        return replace(s, value=fold(change(s.value)), ranges=ranges, exists=exists)

    def _check_annotation(self, s: Statement, shape: tuple[int, ...]) -> None:
        expected = self._annotated(s.target)
        if expected is not None and expected != shape:
            raise SizeMismatchError(f"'{s.target}' has sizes {shape}, but its annotation says {expected}", at=s.place)

    def _base(self, s: Statement, ranges: Ranges, known: tuple[int, ...] | None, shape: tuple[int, ...]) -> str | None:
        covered = all(ranges.box[v] == (0, n - 1) for v, n in zip(s.lhs, shape, strict=True)) or known is None
        if s.init and covered:
            return None
        if known is not None:
            return self._current[s.target]
        if all(r.name != s.target for r in self._definition.returns):
            raise ContentsError(
                f"'{s.target}' has no contents to accumulate into", at=s.place, fix="Use the form with '!'."
            )
        given = f"{s.target}@given"
        self._tensors[given] = TensorType(given, s.dtype, shape)
        self._contents.append(given)
        return given

    @staticmethod
    def _left_index(name: str, ranges: Ranges, written: bool) -> Expr:
        """A new tensor starts at 0 whatever the range's minimum; a known one is written where the range says."""
        low = ranges.box[name][0]
        return op("+", var(name), integer(low)) if written and low else var(name)

    @staticmethod
    def _check_left_range(s: Statement, ranges: Ranges, known: tuple[int, ...] | None) -> None:
        for name, size in zip(s.lhs, known or (), strict=False):
            low, high = ranges.box[name]
            if low < 0 or high >= size:
                raise OutOfBoundsError(
                    f"'{s.target}' is written at {low}:{high + 1}, but the dimension's size is {size}",
                    at=s.place,
                )

    def _value(self, s: Statement, ranges: Ranges) -> Expr:
        box = ranges.box
        predicate = None if ranges.predicate is None else marked(ranges.predicate, box)
        known = [] if predicate is None else facts(predicate)
        value = self._proved(marked(s.value, box), known, predicate is not None, box)
        if predicate is not None:
            if s.op == "=":
                raise TensorAccessError("a range that depends on variables needs a reduction", at=s.place)
            value = op("?:", predicate, value, identity(s.op, value.dtype))
        shift = {v: op("+", var(v), integer(low)) for v, (low, _) in box.items() if low}
        return fold(substitute(value, dict(shift)))

    def _proved(self, e: Expr, known: list[Affine], guarded: bool, box: dict[str, tuple[int, int]]) -> Expr:
        """Renames accesses to versions, and says of each index how it is known to be inside."""
        if isinstance(e, Op) and e.name == "?:":
            condition, then, other = e.args
            return replace(
                e,
                args=(
                    self._proved(condition, known, guarded, box),
                    self._proved(then, known + facts(condition), True, box),
                    self._proved(other, known + facts(condition, False), True, box),
                ),
            )
        e = rebuild(e, lambda c: self._proved(c, known, guarded, box))
        if not isinstance(e, Access):
            return e
        if e.tensor not in self._current:
            raise ContentsError(f"'{e.tensor}' is read before it is written", at=e.place)
        shape = self._tensors[self._current[e.tensor]].shape
        guards = tuple(_proof(e, d, shape[d], known, guarded, box) for d in range(len(shape)))
        indices = tuple(_as_int64(i) if g == "checked" else i for i, g in zip(e.indices, guards, strict=True))
        return replace(e, tensor=self._current[e.tensor], indices=indices, guards=guards)


def _as_int64(index: Expr) -> Expr:
    """An index as every emitter holds it: of a uint64 what is beyond an int64 is its greatest, not a negative one."""
    if index.dtype.name != "uint64":
        return index
    return op("cast", op("min", index, Const(index.dtype, INT64.span[1])), dtype=INT64)


def _proof(e: Access, dim: int, size: int, known: list[Affine], guarded: bool, box: dict[str, tuple[int, int]]) -> str:
    index = e.indices[dim]
    if any(low > high for low, high in box.values()):
        return "inside"  # the nest has no iterations
    span = bounds(index, box)
    if span is not None and span[0] >= 0 and span[1] < size:
        return "inside"
    if guarded:
        form = affine(index)
        last = Affine((), size - 1).plus(form, -1)
        proven = is_nonnegative(form, known, box) and is_nonnegative(last, known, box)
        return "guarded" if proven else "checked"
    casts = [n for n in walk(index) if isinstance(n, Op) and n.name == "cast"]
    if accesses(index) or span is None or any(n.args[0].dtype.is_float for n in casts):
        return "checked"
    wraps = any(n.args[0].dtype == n.dtype for n in casts)
    raise OutOfBoundsError(
        f"index {dim} of '{e.tensor}' takes the values {span[0]}:{span[1] + 1}, but the dimension's size is {size}",
        at=e.place,
        fix=f"An {index.dtype} may wrap in it; compute it in int64(...)."
        if wraps
        else "Restrict it with a where clause, or guard the access with '?:'.",
    )


def _check_variables(s: Statement, ranges: Ranges) -> None:
    """Index variables are int32."""
    for name, (low, high) in ranges.box.items():
        if not fits((low, high), INT32):
            raise OutOfBoundsError(
                f"'{name}' takes the values {low}:{high + 1}, but an index variable is an int32", at=s.place
            )


def dry_run(definition: Definition) -> None:
    """Finds ranges that can never be inferred, before any sizes are known.

    Which variables a round resolves does not depend on the sizes, so any will do; what depends on them
    (emptiness, bounds) is left to the call.

    Raises:
        RangeInferenceError: no further variable can be resolved.
    """
    names = [d for p in definition.params for d in p.dims or () if isinstance(d, str)]
    sizes = dict.fromkeys(names, 1 << 10)  # products of three are still int32
    build = _Builder(definition, sizes)
    for statement in definition.statements:
        try:
            build.statement(statement)
        except (OutOfBoundsError, SizeMismatchError, EmptyRangeError):
            return
