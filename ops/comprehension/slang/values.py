"""Expressions as Slang: statements of one thread, each value a local or a literal.

A point is one place in a thread's tile: the offset of each tiled axis. Equal values at a point are computed once.
A choice becomes `if` and `else`, so what is only valid under a condition is only read there. No name of the user's
text is used: axes and tensors are numbered, so that none can clash with a word of Slang's.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping

from ..expr.dtypes import FLOAT32, DType
from ..expr.functions import BUILTINS
from ..expr.ir import COMPARISONS, Const, Dynamic, Expr, Load, Op, Var, walk
from ..loops.ir import ACCUMULATOR
from .prelude import OF_DOUBLES

Point = tuple[tuple[str, int], ...]
"""Offsets of tiled axes."""

_TYPES = {
    "bool": "bool",
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "uint32": "uint",
}
HALVES = {"float16": ("tp_single", "tp_half"), "bfloat16": ("tp_widened", "tp_shortened")}
"""The functions that decode and encode the bits of a type of two bytes."""
_NAMES = {"/": "divide", "%": "modulo", "abs": "fabs"}


def memory_type(dtype: DType) -> str:
    """The Slang type of a tensor's elements; half precision is decoded from its bits, bool is a byte."""
    return "uint8_t" if dtype.is_bool else "uint16_t" if dtype.is_half else compute_type(dtype)


def compute_type(dtype: DType) -> str:
    """The Slang type that values are computed in; half precision is computed in single."""
    return _TYPES.get(dtype.name, f"{dtype.name}_t")


def single_only(e: Expr) -> str:
    """The first function of doubles in an expression that Vulkan has for floats only, or an empty text."""
    for n in walk(e):
        if isinstance(n, Op) and n.name in BUILTINS and n.name not in OF_DOUBLES and n.dtype.name == "float64":
            return n.name
    return ""


class ValueWriter:
    """Writes the expressions of one nest.

    Args:
        pointers: Slang's names of tensors.
        axes: Slang's names of axes.
        extents: the extents of the axes.
        checks: collects the loads whose indices are tested; a test reports its number, from 1.
        clamp: clamp indices instead of testing them.
    """

    def __init__(
        self,
        pointers: Mapping[str, str],
        axes: Mapping[str, str],
        extents: Mapping[str, int],
        checks: list[tuple[Load, int]],
        clamp: bool,
    ) -> None:
        self._pointers, self._axes, self._extents = pointers, axes, extents
        self._checks, self._clamp = checks, clamp
        self._memo: dict[object, str] = {}
        self._count = 0
        self.lines: list[str] = []
        self.accumulators: dict[Point, str] = {}

    def fresh(self) -> None:
        """Clears the known values: a new scope begins."""
        self._memo.clear()

    def take(self) -> list[str]:
        """The lines since the last call."""
        lines, self.lines = self.lines, []
        return lines

    def name(self, kind: str, code: str = "") -> str:
        """A new local, with a value or without."""
        self._count += 1
        self.lines.append(f"{kind} t{self._count} = {code};" if code else f"{kind} t{self._count};")
        return f"t{self._count}"

    def axis(self, name: str, point: Point) -> str:
        """An axis at a point."""
        offset = dict(point).get(name)
        return self._axes[name] if offset is None else f"{self._axes[name]}_{offset}"

    # -- expressions -----------------------------------------------------------------------------------

    def value(self, e: Expr, point: Point) -> str:
        """The expression at a point: a local or a literal, of its `compute_type`."""
        if isinstance(e, Const):
            return literal(e)
        if isinstance(e, Var):
            return self.axis(e.name, point)
        if isinstance(e, Load) and e.tensor == ACCUMULATOR:
            return self.accumulators[point]
        key = (e, self._relevant(e, point))
        if key not in self._memo:
            local = self._select(e, point) if isinstance(e, Op) and e.name == "?:" else ""
            self._memo[key] = local or self.name(compute_type(e.dtype), self._code(e, point))
        return self._memo[key]

    @staticmethod
    def _relevant(e: Expr, point: Point) -> Point:
        """The parts of a point that the value depends on."""
        used: set[str] = set()
        for n in walk(e):
            if isinstance(n, Var):
                used.add(n.name)
            elif isinstance(n, Load):
                if n.tensor == ACCUMULATOR:
                    return point
                used.update(v for v, _ in n.strides)
        return tuple((a, o) for a, o in point if a in used)

    def _code(self, e: Expr, point: Point) -> str:
        if isinstance(e, Load):
            return self._load(e, point)
        assert isinstance(e, Op)
        if e.name == "cast":
            return cast(self.value(e.args[0], point), e.args[0].dtype, e.dtype)
        if e.name in ("&&", "||", "!"):
            args = [self.value(a, point) for a in e.args]
            return f"!{args[0]}" if e.name == "!" else f"({args[0]} {e.name} {args[1]})"
        return self._apply(e, [self._operand(a, e.operands, point) for a in e.args])

    def _operand(self, e: Expr, dtype: DType, point: Point) -> str:
        """An argument in its operator's type; a literal is taken exactly, so that 0.1 is a double's 0.1 there."""
        if isinstance(e, Const) and dtype.is_float:
            return literal(Const(dtype, e.value))
        value = self.value(e, point)
        return value if e.dtype == dtype else self.name(compute_type(dtype), cast(value, e.dtype, dtype))

    def _select(self, e: Op, point: Point) -> str:
        condition = self.value(e.args[0], point)
        local = self.name(compute_type(e.dtype))
        outside = dict(self._memo)
        for head, branch in ((f"if ({condition}) {{", e.args[1]), ("} else {", e.args[2])):
            self._memo = dict(outside)
            self.lines.append(head)
            code = self._operand(branch, e.dtype, point)
            self.lines.append(f"{local} = {code};")
        self._memo = outside
        self.lines.append("}")
        return local

    def _apply(self, e: Op, args: list[str]) -> str:
        name, dtype = e.name, e.operands
        if name in COMPARISONS:
            return f"({args[0]} {name} {args[1]})"
        if dtype.is_integral:
            return _integer(name, args, dtype)
        if name in ("+", "-", "*"):
            return f"({args[0]} {name} {args[1]})"
        if name == "neg":
            return f"(-{args[0]})"
        if name == "fma":
            return f"({args[0]} * {args[1]} + {args[2]})"
        if name == "sigmoid":
            return f"(1 / (1 + tp_exp(-{args[0]})))"
        if name == "rsqrt":
            return f"tp_divide({compute_type(dtype)}(1), tp_sqrt({args[0]}))"
        return f"tp_{_NAMES.get(name, name)}({', '.join(args)})"

    # -- memory ----------------------------------------------------------------------------------------

    def _load(self, e: Load, point: Point) -> str:
        at = self.place(e, [self._index(e, d, point) for d in e.dynamic], point)
        if e.dtype.is_bool:
            return f"({at} != 0)"
        return f"{HALVES[e.dtype.name][0]}({at})" if e.dtype.is_half else at

    def place(self, e: Load, indices: list[str], point: Point) -> str:
        """The element at an address with these values of its dynamic indices."""
        wide = bool(e.dynamic) or self._span(e) >= 1 << 31
        terms = [f"{self.axis(v, point)} * {s}" if s != 1 else self.axis(v, point) for v, s in e.strides]
        if wide:
            terms = [f"int64_t({self.axis(v, point)}) * {s}" for v, s in e.strides]
        terms += [f"{i} * {d.step}" for i, d in zip(indices, e.dynamic, strict=True)]
        return f"{self._pointers[e.tensor]}[{' + '.join([*terms, str(e.offset)] if e.offset or not terms else terms)}]"

    def _span(self, e: Load) -> int:
        return abs(e.offset) + sum(abs(s) * self._extents[v] for v, s in e.strides)

    def _index(self, e: Load, d: Dynamic, point: Point) -> str:
        """One index as an int64, tested or clamped where it has to be."""
        code = self.index(d, point)
        if not d.checked:
            return code
        if self._clamp:
            return self.name("int64_t", f"tp_clamped({code}, {d.size})")
        self._checks.append((e, e.dynamic.index(d)))
        return self.name("int64_t", f"tp_tested({code}, {d.size}, {len(self._checks)}, tp_status)")

    def index(self, d: Dynamic, point: Point) -> str:
        """One index as an int64, as it is."""
        return f"int64_t({self.value(d.index, point)})"


def literal(e: Const) -> str:
    """A constant, exact: floats that are no small whole numbers are written by their bits."""
    kind = compute_type(e.dtype)
    if e.dtype.is_bool:
        return "true" if e.value else "false"
    if not e.dtype.is_float:
        number = int(e.value)
        if number == -(1 << 63):
            return "(-9223372036854775807ll - 1)"
        return f"{kind}({number}{'ull' if e.dtype.kind == 'uint' else 'll'})"
    value = float(e.value)
    if abs(value) < 1 << 20 and value.is_integer() and str(value) != "-0.0":
        return f"{kind}({int(value)})"
    if kind == "double":
        return f"bit_cast<double>({struct.unpack('<Q', struct.pack('<d', value))[0]}ull)"
    return f"asfloat({_float_bits(value)}u)"


def _float_bits(value: float) -> int:
    try:
        found: int = struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return _float_bits(math.copysign(math.inf, value))
    return found


def cast(code: str, source: DType, into: DType) -> str:
    """A value converted, as torch converts; floats wrap into narrow integers through wider ones."""
    kind = compute_type(into)
    if into.is_half:
        single, half = HALVES[into.name]
        return code if source == into else f"{single}({half}({cast(code, source, FLOAT32)}))"
    if kind == "float" and (source.name == "float64" or (source.is_integral and source.bits >= 32)):
        return f"tp_float({code})"
    if compute_type(source) == kind:
        return code
    if into.is_bool:
        return f"({code} != 0)"
    if source.is_float and into.is_integral and into.name not in ("int32", "int64", "uint64"):
        return f"{kind}({'int64_t' if into.bits == 32 else 'int'}({code}))"
    return f"{kind}({code})"


def combined(op: str, a: str, b: str, dtype: DType) -> str:
    """One step of a reduction."""
    if dtype.is_integral:
        return _integer(op, [a, b], dtype)
    return f"{a} {op} {b}" if op in ("+", "*") else f"tp_{op}({a}, {b})"


def stored(code: str, dtype: DType) -> str:
    """A value as memory holds it."""
    if dtype.is_bool:
        return f"uint8_t({code} ? 1 : 0)"
    return f"{HALVES[dtype.name][1]}({code})" if dtype.is_half else code


def _integer(name: str, args: list[str], dtype: DType) -> str:
    """Integers wrap: signed ones are computed as unsigned, where an overflow is defined."""
    kind = compute_type(dtype)
    unsigned = "uint64_t" if dtype.bits == 64 else "uint"
    wide = unsigned if dtype.kind == "uint" else "int64_t" if dtype.bits == 64 else "int"
    if name in ("+", "-", "*"):
        return f"{kind}({unsigned}({args[0]}) {name} {unsigned}({args[1]}))"
    if name == "neg":
        return f"{kind}({unsigned}(0) - {unsigned}({args[0]}))"
    if name == "abs":
        return f"{kind}({args[0]} < 0 ? {unsigned}(0) - {unsigned}({args[0]}) : {unsigned}({args[0]}))"
    if name == "fma":
        return _integer("+", [_integer("*", args[:2], dtype), args[2]], dtype)
    function = {"/": f"tp_quotient_{wide}", "%": f"tp_modulo_{wide}"}.get(name, name)
    return f"{kind}({function}({', '.join(f'{wide}({a})' for a in args)}))"
