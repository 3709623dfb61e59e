"""Expressions as C++: scalar where no lane differs, a vector of lanes where one does.

A point is one place in a tile of registers: an offset for each unrolled axis and the number of the vector. Equal
values at a point are computed once. What is only valid under a condition is loaded under its mask.
"""

from __future__ import annotations

from ..expr.dtypes import BOOL, INT32, INT64, DType
from ..expr.ir import COMPARISONS, Const, Dynamic, Expr, Load, Op, Var, walk
from ..loops.ir import ACCUMULATOR
from .arithmetic import arithmetic, literal
from .types import Names, Point, Value, compute_type, memory_type


class ValueEmitter:
    """Writes expressions as lines of C++.

    Args:
        lanes: lanes of a vector.
        wide: bytes of the widest values that have lanes; masks are as wide.
        axis: the vector axis, or None.
        names: shared with the whole program.
    """

    def __init__(self, lanes: int, wide: int, axis: str | None, names: Names) -> None:
        self.lanes, self.axis, self.mask_type = lanes, axis, f"int{8 * wide}_t"
        self._names = names
        self.lines: list[str] = []
        self._memo: dict[tuple[object, ...], Value] = {}
        self._count = 0
        self.accumulators: dict[Point, Value] = {}

    def fresh(self) -> None:
        """Clears the known values: a new scope begins."""
        self._memo.clear()

    def take(self) -> list[str]:
        """The lines since the last call."""
        lines, self.lines = self.lines, []
        return lines

    def name(self, code: str) -> str:
        """Binds code to a new local."""
        self._count += 1
        local = f"t{self._count}"
        self.lines.append(f"const auto {local} = {code};")
        return local

    # -- conversions -----------------------------------------------------------------------------------

    def vec(self, dtype: DType) -> str:
        """The template arguments of a vector of a type."""
        return f"{self.mask_type if dtype.is_bool else compute_type(dtype)}, {self.lanes}"

    def vector_type(self, dtype: DType) -> str:
        """The vector type of a scalar type."""
        return f"Vec<{self.vec(dtype)}>"

    def spread(self, v: Value) -> Value:
        """The value with lanes."""
        if v.vector:
            return v
        code = (
            f"splat_mask<{self.vec(v.dtype)}>({v.code})" if v.dtype.is_bool else f"splat<{self.vec(v.dtype)}>({v.code})"
        )
        return Value(code, v.dtype, True)

    def cast(self, v: Value, into: DType) -> Value:
        """The value converted, as torch converts."""
        source, target = compute_type(v.dtype), compute_type(into)
        if v.dtype == into or (source == target and not into.is_half):
            return Value(v.code, into, v.vector)
        if not v.vector:
            code = f"({v.code} != 0)" if into.is_bool else f"({target})({v.code})"
            if v.dtype.is_float and into.is_integral:
                code = f"whole<{target}>({v.code})"
            return Value(f"(float)({memory_type(into)})({v.code})" if into.is_half else code, into, False)
        vector = self.vector_type(into)
        if into.is_bool:
            return Value(f"__builtin_convertvector({v.code} != 0, {vector})", into, True)
        if v.dtype.is_bool:
            return Value(f"__builtin_convertvector(-({v.code}), {vector})", into, True)
        if v.dtype.is_float and into.is_integral:
            return Value(f"whole_lanes<{target}, {source}, {self.lanes}>({v.code})", into, True)
        return Value(f"__builtin_convertvector({v.code}, {vector})", into, True)

    def _as_mask_of(self, mask: Value, dtype: DType) -> str:
        """A mask with lanes as wide as a type's, which `?:` on vectors wants."""
        bits = 8 if dtype.is_bool else 32 if dtype.is_half else dtype.bits
        wanted = self.mask_type if dtype.is_bool else f"int{bits}_t"
        if wanted == self.mask_type:
            return mask.code
        return f"__builtin_convertvector({mask.code}, Vec<{wanted}, {self.lanes}>)"

    # -- expressions -----------------------------------------------------------------------------------

    def value(self, e: Expr, point: Point, guard: Value | None = None) -> Value:
        """The expression at a point, as a local or a literal."""
        if isinstance(e, Const):
            return Value(literal(e), e.dtype, False)
        if isinstance(e, Load) and e.tensor == ACCUMULATOR:
            return self.accumulators[point]
        key = (e, self._relevant(e, point), guard.code if guard else None)
        if key not in self._memo:
            v = self._compute(e, point, guard)
            self._memo[key] = Value(self.name(v.code), v.dtype, v.vector)
        return self._memo[key]

    def _relevant(self, e: Expr, point: Point) -> object:
        """The parts of a point that the value depends on."""
        used: set[str] = set()
        for n in walk(e):
            if isinstance(n, Var):
                used.add(n.name)
            elif isinstance(n, Load):
                if n.tensor == ACCUMULATOR:
                    return point
                used.update(v for v, _ in n.strides)
        offsets = tuple((a, o) for a, o in point.offsets if a in used)
        return (offsets, point.vector, point.lanes) if self.axis in used else (offsets,)

    def _compute(self, e: Expr, point: Point, guard: Value | None) -> Value:
        if isinstance(e, Var):
            return self._index_value(e.name, point)
        if isinstance(e, Load):
            return self._load(e, point, guard)
        assert isinstance(e, Op)
        if e.name == "?:":
            return self._select(e, point, guard)
        if e.name == "cast":
            v = self.cast(self.value(e.args[0], point, guard), e.dtype)
            if v.vector and e.dtype.is_half:
                return Value(f"rounded<{memory_type(e.dtype)}, {self.lanes}>({v.code})", e.dtype, True)
            return v
        if e.name in ("&&", "||", "!"):
            return self._logic(e, point, guard)
        args = [self.cast(self.value(self._exact(a, e), point, guard), e.operands) for a in e.args]
        vector = any(a.vector for a in args)
        if e.name == "/" and e.dtype.is_float and args[0].vector and not args[1].vector:
            return Value(f"divided({args[0].code}, {args[1].code})", e.dtype, True)
        return self._apply(e, [self.spread(a) for a in args] if vector else args, vector)

    @staticmethod
    def _exact(a: Expr, e: Op) -> Expr:
        """A literal takes the operation's type directly, so that 0.1 is a double's 0.1 among doubles."""
        return Const(e.operands, a.value) if isinstance(a, Const) and e.operands.is_float else a

    def _index_value(self, name: str, point: Point) -> Value:
        if name == self.axis:
            first = f"(int32_t)(x_{name} + {point.vector * self.lanes})"
            return Value(f"iota<int32_t, {self.lanes}>({first})", INT32, True)
        return Value(f"(int32_t)(x_{name} + {dict(point.offsets).get(name, 0)})", INT32, False)

    def _logic(self, e: Op, point: Point, guard: Value | None) -> Value:
        args = [self.value(a, point, guard) for a in e.args]
        if not any(a.vector for a in args):
            code = f"!{args[0].code}" if e.name == "!" else f"({args[0].code} {e.name} {args[1].code})"
            return Value(code, BOOL, False)
        codes = [self.spread(a).code for a in args]
        return Value(f"~({codes[0]})" if e.name == "!" else f"({codes[0]} {e.name[0]} {codes[1]})", BOOL, True)

    def _both(self, guard: Value | None, condition: Value, holds: bool) -> Value:
        """The enclosing condition and this one, or its opposite."""
        if not holds:
            code = f"~({condition.code})" if condition.vector else f"!({condition.code})"
            condition = Value(self.name(code), BOOL, condition.vector)
        if guard is None:
            return condition
        if guard.vector or condition.vector:
            return Value(self.name(f"({self.spread(guard).code} & {self.spread(condition).code})"), BOOL, True)
        return Value(self.name(f"({guard.code} && {condition.code})"), BOOL, False)

    def _select(self, e: Op, point: Point, guard: Value | None) -> Value:
        condition = self.value(e.args[0], point, guard)
        branches = []
        for arg, holds in ((e.args[1], True), (e.args[2], False)):
            needs = any(isinstance(n, Load) and (n.guarded or any(d.checked for d in n.dynamic)) for n in walk(arg))
            inner = self._both(guard, condition, holds) if needs else guard
            branches.append(self.cast(self.value(self._exact(arg, e), point, inner), e.dtype))
        then, other = branches
        if condition.vector or then.vector or other.vector:
            then, other = self.spread(then), self.spread(other)
            mask = self._as_mask_of(condition, e.dtype) if condition.vector else condition.code
            return Value(f"({mask} ? {then.code} : {other.code})", e.dtype, True)
        return Value(f"({condition.code} ? {then.code} : {other.code})", e.dtype, False)

    def guarded(self, e: Expr, point: Point) -> tuple[str, Value]:
        """The condition of a `?:`, as what `?:` on its values' vectors takes, and the value where it holds."""
        assert isinstance(e, Op)
        condition, guard = self.value(e.args[0], point), None
        if any(isinstance(n, Load) and (n.guarded or any(d.checked for d in n.dynamic)) for n in walk(e.args[1])):
            guard = condition
        v = self.cast(self.value(self._exact(e.args[1], e), point, guard), e.dtype)
        return self._as_mask_of(condition, e.dtype) if condition.vector else condition.code, v

    def _apply(self, e: Op, args: list[Value], vector: bool) -> Value:
        codes = [a.code for a in args]
        dtype, operands = e.dtype, e.operands
        if e.name in COMPARISONS:
            code = f"({codes[0]} {e.name} {codes[1]})"
            return Value(f"__builtin_convertvector({code}, {self.vector_type(BOOL)})" if vector else code, BOOL, vector)
        code = arithmetic(e.name, codes, operands, self.vec(operands) if vector else None)
        if not vector and dtype.is_integral:
            code = f"({compute_type(dtype)})({code})"
        return Value(code, dtype, vector)

    # -- memory ----------------------------------------------------------------------------------------

    def pointer(self, load: Load) -> str:
        """The pointer to the begin of a load's tensor."""
        return self._names.pointers[load.tensor]

    def address(self, load: Load, point: Point) -> str:
        """The affine part of an address: of the first lane, where it has lanes."""
        offsets = dict(point.offsets)
        constant, terms = load.offset, []
        for name, stride in load.strides:
            moved = point.vector * self.lanes if name == self.axis else offsets.get(name, 0)
            constant += stride * moved
            terms.append(f"x_{name} * {stride}" if stride != 1 else f"x_{name}")
        return " + ".join([*terms, str(constant)])

    def _load(self, e: Load, point: Point, guard: Value | None) -> Value:
        guard = guard if e.guarded or any(d.checked for d in e.dynamic) else None
        indices = [(d, self.value(d.index, point, guard if _reads(d.index) else None)) for d in e.dynamic]
        if any(v.vector for _, v in indices):
            return self._lanes_load(e, point, guard, indices)
        address = self.address(e, point)
        for dynamic, index in indices:
            address += f" + {self._index(e, dynamic, index, guard, point)} * {dynamic.step}"
        pointer = f"{self._names.pointers[e.tensor]} + ({address})"
        step = e.stride(self.axis) if self.axis else 0
        if step == 0:
            return self._scalar_load(e, pointer, guard, point)
        return self._vector_load(e, pointer, step, point, guard)

    def _index(self, e: Load, dynamic: Dynamic, index: Value, guard: Value | None, point: Point) -> str:
        """One scalar index, tested or clamped where it has to be."""
        code = f"(int64_t)({index.code})"
        if not dynamic.checked:
            return code
        if self._names.clamp:
            return self.name(f"clamped({code}, {dynamic.size})")
        if guard is not None:
            code = f"({self._anywhere(guard, point)} ? {code} : 0)"
        return self.name(f"tested({code}, {dynamic.size}, {self._check(e, dynamic)}, bad)")

    def _check(self, e: Load, dynamic: Dynamic) -> int:
        self._names.checks.append((e, e.dynamic.index(dynamic)))
        return len(self._names.checks)

    def _scalar_load(self, e: Load, pointer: str, guard: Value | None, point: Point) -> Value:
        code = f"*({pointer})"
        if guard is not None and e.guarded:
            code = f"({self._anywhere(guard, point)} ? {code} : ({memory_type(e.dtype)})0)"
        code = f"({code} != 0)" if e.dtype.is_bool else f"({compute_type(e.dtype)}){code}"
        return Value(code, e.dtype, False)

    def _vector_load(self, e: Load, pointer: str, step: int, point: Point, guard: Value | None) -> Value:
        memory = memory_type(e.dtype)
        template = f"<{memory}, {self.vec(e.dtype)}>"
        part = point.lanes < self.lanes
        guard = guard if e.guarded else None
        if guard is not None and guard.vector:
            mask = self._within(guard.code, point)
            if step == 1:
                code = f"load_where<{memory}, {self.vec(e.dtype)}, {self.mask_type}>({pointer}, {mask})"
            else:
                code = self._gather(e, pointer, f"iota<int64_t, {self.lanes}>(0) * (int64_t){step}", mask)
        elif step == 1:
            code = f"load_first{template}({pointer}, {point.lanes})" if part else f"load{template}({pointer})"
        else:
            code = f"load_strided{template}({pointer}, {step}, {point.lanes})"
        if guard is not None and not guard.vector:
            code = f"({guard.code} ? {code} : {self.vector_type(e.dtype)}{{}})"
        return self._truth(Value(code, e.dtype, True))

    def _truth(self, v: Value) -> Value:
        """A loaded vector of bool bytes as a mask."""
        if not v.dtype.is_bool:
            return v
        return Value(f"__builtin_convertvector({v.code} != 0, {self.vector_type(BOOL)})", BOOL, True)

    def _anywhere(self, guard: Value, point: Point) -> str:
        """Whether a condition holds in a lane that counts: behind the end of an axis it may hold as well."""
        return f"any_of<{self.vec(BOOL)}>({self._within(guard.code, point)})" if guard.vector else guard.code

    def _within(self, mask: str, point: Point) -> str:
        if point.lanes == self.lanes:
            return mask
        lanes = f"iota<{self.mask_type}, {self.lanes}>(0)"
        return self.name(
            f"({mask} & __builtin_convertvector({lanes} < ({self.mask_type}){point.lanes}, {self.vector_type(BOOL)}))"
        )

    def _gather(self, e: Load, pointer: str, at: str, mask: str) -> str:
        return f"gather_where<{memory_type(e.dtype)}, {self.vec(e.dtype)}, {self.mask_type}>({pointer}, {at}, {mask})"

    def _lanes_load(self, e: Load, point: Point, guard: Value | None, indices: list[tuple[Dynamic, Value]]) -> Value:
        """A load whose lanes' addresses are computed one by one."""
        step = e.stride(self.axis) if self.axis else 0
        at = f"(iota<int64_t, {self.lanes}>(0) * (int64_t){step})"
        everywhere = f"splat_mask<{self.vec(BOOL)}>(true)"
        mask = self._within(self.spread(guard).code if guard else everywhere, point)
        for dynamic, index in indices:
            lanes = self.spread(self.cast(index, INT64)).code
            if dynamic.checked and self._names.clamp:
                lanes = self.name(f"clamped_lanes<{self.lanes}>({lanes}, {dynamic.size})")
            elif dynamic.checked:
                number = self._check(e, dynamic)
                lanes = self.name(
                    f"tested_lanes<{self.lanes}, {self.mask_type}>({lanes}, {mask}, {dynamic.size}, {number}, bad)"
                )
            at += f" + {lanes} * (int64_t){dynamic.step}"
        pointer = f"{self._names.pointers[e.tensor]} + ({self.address(e, point)})"
        return self._truth(Value(self._gather(e, pointer, self.name(at), mask), e.dtype, True))


def _reads(e: Expr) -> bool:
    return any(isinstance(n, Load) for n in walk(e))
