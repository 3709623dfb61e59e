"""Expressions as torch tensors: one dimension for each axis, broadcast where an axis is not used.

An access whose indices are affine and known to be inside is a view (`as_strided`); others are `index_select` one
dimension at a time where no two dimensions share a variable, else advanced indexing. Nothing is evaluated lazily:
under a condition an index is clamped, and `torch.where` drops what it read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch

from ..expr.dtypes import DType, stored
from ..expr.errors import index_outside
from ..expr.functions import BUILTINS
from ..expr.ir import COMPARISONS, Access, Const, Expr, Op, Var, variables
from ..program.affine import affine
from .unsigned import FUNCTIONS, as_signed, as_unsigned, from_float, is_wide, to_float

Env = Mapping[str, torch.Tensor]
"""The tensors by version."""
Window = Mapping[str, tuple[int, int]]
"""First value and one past the last of each axis."""
Values = torch.Tensor | int | float | bool

# torch computes little in these types, so they are held as int64 and cut to their width after each operation.
_WIDENED = {"uint16": 0xFFFF, "uint32": 0xFFFFFFFF, "uint64": -1}
# Nor does it select or flip them; the signed type of the same width has the same bits.
_SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def held(dtype: DType) -> torch.dtype:
    """The torch type that values of a scalar type are computed in."""
    return torch.int64 if dtype.name in _WIDENED else stored(dtype)


class Evaluator:
    """Evaluates expressions over an order of axes.

    Args:
        env: the tensors by version; all contiguous.
        axes: the order of the result's dimensions.
        window: the values that each axis takes.
        clamp: clamp indices that are not known to be inside, instead of checking them.
    """

    def __init__(self, env: Mapping[str, torch.Tensor], axes: Sequence[str], window: Window, clamp: bool) -> None:
        self._env, self._axes, self._window, self._clamp = env, list(axes), window, clamp
        self._memo: dict[Expr, Values] = {}

    def over(self, axes: Sequence[str]) -> Evaluator:
        """An evaluator over other axes."""
        return Evaluator(self._env, axes, self._window, self._clamp)

    @property
    def shape(self) -> tuple[int, ...]:
        """The full shape over the axes."""
        return tuple(self._window[a][1] - self._window[a][0] for a in self._axes)

    def tensor(self, e: Expr, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The expression's values with one dimension for each axis, 1 where it is not used.

        Args:
            e: the expression.
            mask: where an index counts that is outside of its tensor; None for everywhere.
        """
        value = self._value(e, mask)
        if isinstance(value, torch.Tensor):
            return value.reshape([1] * len(self._axes)) if value.dim() == 0 else value
        if e.dtype.is_float:
            value = _bounded(value, e.dtype)
        return torch.full([1] * len(self._axes), value, dtype=held(e.dtype), device=self._device())

    def _device(self) -> torch.device:
        return next((t.device for t in self._env.values()), torch.device("cpu"))

    def _value(self, e: Expr, mask: torch.Tensor | None) -> Values:
        if mask is None and e in self._memo:
            return self._memo[e]
        value = self._compute(e, mask)
        if mask is None:
            self._memo[e] = value
        return value

    def _compute(self, e: Expr, mask: torch.Tensor | None) -> Values:
        if isinstance(e, Const):
            return float(e.value) if e.dtype.is_float else as_signed(e.value, e.dtype)
        if isinstance(e, Var):
            return self._line(e.name)
        if isinstance(e, Access):
            return self._access(e, mask)
        assert isinstance(e, Op)
        if e.name == "?:":
            return self._select(e, mask)
        if e.name == "cast":
            return self._as(self._value(e.args[0], mask), e.args[0].dtype, e.dtype)
        args = [self._as(self._value(a, mask), a.dtype, _operand_type(e)) for a in e.args]
        if not any(isinstance(a, torch.Tensor) for a in args):
            args[0] = torch.tensor(args[0], dtype=held(_operand_type(e)), device=self._device())
        if is_wide(_operand_type(e)) and e.name in FUNCTIONS:
            return _tensors(FUNCTIONS[e.name])(*args)
        return _cut(_FUNCTIONS[e.name](*args), e.dtype)

    def _line(self, name: str) -> torch.Tensor:
        start, stop = self._window[name]
        line = torch.arange(start, stop, dtype=torch.int32, device=self._device())
        return line.reshape([-1 if a == name else 1 for a in self._axes])

    @staticmethod
    def _as(value: Values, source: DType, into: DType) -> Values:
        if isinstance(value, torch.Tensor):
            return value if source == into else _cast(value, source, into)
        value = as_unsigned(value, source)
        if into.is_float:
            return _bounded(float(value), into)
        if into.is_bool:
            return bool(value)
        if source.is_float:  # torch decides what NaN and too large numbers become
            return int(_cast(torch.tensor(value, dtype=stored(source)), source, into))
        return as_signed(into.wrapped(int(value)), into)

    def _select(self, e: Op, mask: torch.Tensor | None) -> Values:
        condition = self._value(e.args[0], mask)
        if not isinstance(condition, torch.Tensor):
            condition = torch.tensor(condition, device=self._device())
        inside = condition if mask is None else condition & mask
        outside = ~condition if mask is None else ~condition & mask
        then = self._as(self._value(e.args[1], inside), e.args[1].dtype, e.dtype)
        other = self._as(self._value(e.args[2], outside), e.args[2].dtype, e.dtype)
        if not isinstance(then, torch.Tensor):
            then = torch.tensor(then, dtype=held(e.dtype), device=self._device())
        return torch.where(condition, then, other)

    # -- accesses --------------------------------------------------------------------------------------

    def _access(self, e: Access, mask: torch.Tensor | None) -> torch.Tensor:
        t = self._env[e.tensor]
        t = t.view(_SIGNED[t.dtype]) if t.dtype in _SIGNED else t
        if mask is not None and 0 in t.shape and "checked" not in e.guards:  # a choice guards it from every access
            return t.new_zeros([1] * len(self._axes))
        view = self._strided(e, t) if all(g == "inside" for g in e.guards) else None
        if view is None:
            view = self._by_dimension(e, t, mask)
        if view is None:
            index = [self._index(e, d, mask, self).expand(self.shape) for d in range(len(e.indices))]
            view = t[tuple(index)]
        return _cut(view.to(torch.int64), e.dtype) if e.dtype.name in _WIDENED else view

    def _strided(self, e: Access, t: torch.Tensor) -> torch.Tensor | None:
        """A view of the tensor, when every index is affine."""
        strides, offset = dict.fromkeys(self._axes, 0), t.storage_offset()
        for index, step in zip(e.indices, t.stride(), strict=True):
            form = affine(index)
            if not form.is_plain:
                return None
            offset += form.const * step
            for name, c in form.coefficients.items():
                strides[name] += c * step
        used = set(variables(e))
        sizes = [n if a in used else 1 for a, n in zip(self._axes, self.shape, strict=True)]
        flips = []
        for at, name in enumerate(self._axes):
            start, stop = self._window[name]
            if name in used and strides[name] < 0:
                offset += strides[name] * (stop - 1)
                flips.append(at)
            elif name in used:
                offset += strides[name] * start
        view = t.as_strided(sizes, [abs(strides[a]) for a in self._axes], offset)
        return view.flip(flips) if flips else view

    def _by_dimension(self, e: Access, t: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor | None:
        """Selects along one dimension after the other, when no two of them share a variable."""
        used = [sorted(variables(i), key=self._axes.index) for i in e.indices]
        flat = [v for names in used for v in names]
        if len(set(flat)) < len(flat) or (mask is not None and _is_checked(e)):
            return None
        for d, names in enumerate(used):
            if e.indices[d] == Var(e.indices[d].dtype, names[0] if names else "") and e.guards[d] == "inside":
                start, stop = self._window[names[0]]
                t = t.narrow(d, start, stop - start)
            else:
                inner = self.over(names)
                t = t.index_select(d, self._index(e, d, None, inner).expand(inner.shape).reshape(-1))
        t = t.reshape([self._window[v][1] - self._window[v][0] for v in flat])
        order = sorted(range(len(flat)), key=lambda d: self._axes.index(flat[d]))
        t = t.permute(order)
        sizes = iter(t.shape)
        return t.reshape([next(sizes) if a in flat else 1 for a in self._axes])

    def _index(self, e: Access, dim: int, mask: torch.Tensor | None, inner: Evaluator) -> torch.Tensor:
        """One index's values as int64, inside the dimension; checked where it has to be."""
        values, size = inner.tensor(e.indices[dim], mask).to(torch.int64), self._env[e.tensor].shape[dim]
        if e.guards[dim] == "inside":
            return values
        if e.guards[dim] == "checked" and not self._clamp:
            wrong = (values < 0) | (values >= size)
            if mask is not None:
                wrong = wrong & mask
            if bool(wrong.any()):
                raise index_outside(e.tensor, size, e.place, dim)
        if size == 0 and values.numel():
            raise index_outside(e.tensor, size, e.place, dim)
        return values.clamp(0, size - 1)


def _is_checked(e: Expr) -> bool:
    """Whether an index in an expression is checked in a run, also one inside of another."""
    if isinstance(e, Access):
        return "checked" in e.guards or any(map(_is_checked, e.indices))
    return isinstance(e, Op) and any(map(_is_checked, e.args))


def _operand_type(e: Op) -> DType:
    """The type that arguments are brought to before the operator is applied."""
    if e.name in ("!", "&&", "||"):
        return e.args[0].dtype
    return e.operands


def _cast(value: torch.Tensor, source: DType, into: DType) -> torch.Tensor:
    if into.is_bool:
        return value != 0
    if is_wide(source) and into.is_float:
        return to_float(value, held(into))
    if is_wide(into) and value.is_floating_point():
        return from_float(value)
    if value.is_floating_point() and into.name == "uint16":  # as torch brings floats to the narrower ones
        value = value.to(torch.int32)
    return _cut(value.to(held(into)), into)


def _cut(value: torch.Tensor, dtype: DType) -> torch.Tensor:
    """Wraps a widened unsigned value to its width."""
    mask = _WIDENED.get(dtype.name, -1)
    return value if mask == -1 else value & mask


def _is_float(a: Values) -> bool:
    return isinstance(a, torch.Tensor) and a.is_floating_point()


def _divide(a: Values, b: Values) -> torch.Tensor:
    if _is_float(a) or _is_float(b):
        return torch.true_divide(a, b)
    return _without_traps(partial(torch.div, rounding_mode="floor"), torch.neg, a, b)


def _modulo(a: Values, b: Values) -> torch.Tensor:
    if _is_float(a) or _is_float(b):
        return torch.remainder(a, b)  # type: ignore[arg-type]  # numbers and tensors both fit
    return _without_traps(torch.remainder, torch.zeros_like, a, b)


def _without_traps(
    function: Callable[..., torch.Tensor], by_minus_one: Callable[[torch.Tensor], torch.Tensor], a: Values, b: Values
) -> torch.Tensor:
    """Integers divided by zero give zero, and the least one by -1 wraps, in every emitter; a processor would stop."""
    if not isinstance(b, torch.Tensor):
        assert isinstance(a, torch.Tensor)
        return by_minus_one(a) if b == -1 else function(a, b) if b else torch.zeros_like(a)
    if not isinstance(a, torch.Tensor):
        a = torch.full_like(b, a)
    zero, minus_one = b == 0, (b == -1 if b.dtype.is_signed else torch.zeros_like(b, dtype=torch.bool))
    found = torch.where(zero, 0, function(a, torch.where(zero | minus_one, 1, b)))
    return torch.where(minus_one, by_minus_one(a), found)


def _bounded(value: float, dtype: DType) -> float:
    """A number for tensors of a type, infinite where it is too large for the type: torch's functions refuse that."""
    rounded = float(torch.tensor(value, dtype=stored(dtype)))
    return rounded if math.isinf(rounded) else value


def _tensors(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The arguments as tensors, for functions of torch that take only these."""

    def call(*args: Values) -> torch.Tensor:
        like = next(a for a in args if isinstance(a, torch.Tensor))
        return function(*(a if isinstance(a, torch.Tensor) else torch.full_like(like, a) for a in args))

    return call


def _round_half_away(a: torch.Tensor) -> torch.Tensor:
    return torch.copysign(torch.floor(a.abs() + 0.5), a)


_FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "+": torch.add,
    "-": lambda a, b: torch.sub(a, b) if isinstance(a, torch.Tensor) else torch.rsub(b, a),
    "*": torch.mul,
    "/": _divide,
    "%": _modulo,
    "neg": torch.neg,
    "!": torch.logical_not,
    "&&": _tensors(torch.logical_and),
    "||": _tensors(torch.logical_or),
    "min": _tensors(torch.minimum),
    "max": _tensors(torch.maximum),
    "abs": torch.abs,
    "fma": lambda a, b, c: torch.add(torch.mul(a, b), c),
    "exp10": lambda a: torch.pow(10.0, a),
    "cbrt": lambda a: torch.copysign(a.abs().pow(1 / 3), a),
    "fdim": _tensors(lambda a, b: torch.where(a <= b, torch.zeros_like(a), a - b)),  # 0 for equal infinities, as in C
    "round": _round_half_away,
    "pow": torch.pow,
    **{
        name: _tensors(function)
        for name, function in zip(
            sorted(COMPARISONS), (torch.ne, torch.lt, torch.le, torch.eq, torch.gt, torch.ge), strict=True
        )
    },
}
for _name, _builtin in BUILTINS.items():
    if _name not in _FUNCTIONS:
        _function = getattr(torch, _builtin.torch)
        _FUNCTIONS[_name] = _function if _builtin.arity == 1 else _tensors(_function)
