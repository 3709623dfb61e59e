"""Tensors that a program's outputs do not depend on although they are computed from them, as a softmax's maximum.

`exp(x - t) / sum(exp(x - t))` is the same for every `t`. Seen from one tensor `t` that is indexed by some variables, an
expression may be
* **shifted**: `f + k * t`, where `f` does not depend on `t`; `x - t` is shifted by -1;
* **scaled**: `f * exp(k * t)`; the exponential of what is shifted by `k` is scaled by `k`, and its logarithm shifted.
Sums of equally scaled values are scaled, products add their exponents, quotients subtract them. What is shifted or
scaled by 0 does not depend on `t`. If no output does, the gradient by way of `t` is zero, and need not be computed.
This holds of real numbers, for every program; no function is known by its name beyond `exp`, `log`, `sqrt` and powers.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..expr.ir import Access, Const, Expr, Nest, Op, Program, Var, accesses


@dataclass(frozen=True)
class _Response:
    """How a value depends on the tensor: `shift` of it is added, its exponential is a factor `scale` times."""

    shift: float = 0.0
    scale: float = 0.0


_FREE = _Response()
_Places = tuple[str, ...]
"""The variables at which the tensor is read."""


class _DependsError(Exception):
    """A dependence of another form."""


def independent_of(program: Program, name: str) -> bool:
    """Whether no output depends on the values of a version, which other nests are computed from."""
    start = next((at for at, nest in enumerate(program.nests) if nest.target == name), None)
    if start is None or name in program.outputs:
        return False
    rank = len(program.tensors[name].shape)
    kinds: dict[str, tuple[_Response, tuple[int, ...]]] = {name: (_Response(shift=1.0), tuple(range(rank)))}
    try:
        for nest in program.nests[start + 1 :]:
            kind, dims = _Responses(nest, kinds).target()
            if kind != _FREE:
                kinds[nest.target] = kind, dims
    except _DependsError:
        return False
    return not any(output in kinds for output in program.outputs)


class _Responses:
    """One nest: every tensor that depends on the one in question is read at the same place of it."""

    def __init__(self, nest: Nest, kinds: dict[str, tuple[_Response, tuple[int, ...]]]) -> None:
        self._nest, self._kinds = nest, kinds
        self._places: _Places | None = None
        self._memo: dict[Expr, _Response] = {}

    def target(self) -> tuple[_Response, tuple[int, ...]]:
        """How the nest's target depends on the tensor, and which of its dimensions count the tensor's places."""
        nest = self._nest
        if any(a.tensor in self._kinds for e in nest.index for a in accesses(e)) or nest.base in self._kinds:
            raise _DependsError
        kind = self._kind(nest.value)
        if kind == _FREE:
            return _FREE, ()
        names = [e.name if isinstance(e, Var) else "" for e in nest.index]
        if nest.base is not None or self._places is None or any(names.count(p) != 1 for p in self._places):
            raise _DependsError
        reduces = bool(nest.reduced) and nest.op != "="
        if reduces and not (kind.shift == 0.0 if nest.op == "+" else nest.op in ("max", "min") and kind.scale == 0.0):
            raise _DependsError
        return kind, tuple(names.index(p) for p in self._places)

    def _kind(self, e: Expr) -> _Response:
        if e not in self._memo:
            self._memo[e] = self._computed(e)
        return self._memo[e]

    def _computed(self, e: Expr) -> _Response:
        if isinstance(e, Access):
            return self._access(e)
        if not isinstance(e, Op):
            return _FREE
        kinds = [self._kind(a) for a in e.args]
        if all(k == _FREE for k in kinds):
            return _FREE
        found = _combined(e, kinds)
        if found is None:
            raise _DependsError
        return found

    def _access(self, e: Access) -> _Response:
        if any(self._kind(i) != _FREE for i in e.indices):
            raise _DependsError
        if e.tensor not in self._kinds:
            return _FREE
        kind, dims = self._kinds[e.tensor]
        names = tuple(i.name if isinstance(i := e.indices[d], Var) else "" for d in dims)
        if "" in names or (self._places is not None and names != self._places):
            raise _DependsError
        self._places = names
        return kind


def _combined(e: Op, kinds: list[_Response]) -> _Response | None:
    """The dependence of an operator's result, None where it has another form."""
    shifts, scales = {k.shift for k in kinds}, {k.scale for k in kinds}
    first, second = (*kinds, _FREE)[:2]
    match e.name:
        case "+" | "-":
            sign = 1.0 if e.name == "+" else -1.0
            if scales == {0.0}:
                return _Response(first.shift + sign * second.shift)
            return _Response(scale=first.scale) if shifts == {0.0} and len(scales) == 1 else None
        case "neg":
            return _Response(-first.shift, first.scale) if 0.0 in (first.shift, first.scale) else None
        case "*":
            factors = [a.value for a in e.args if isinstance(a, Const)]
            if scales == {0.0} and factors:
                return _Response(sum(shifts) * float(factors[0]))
            return _Response(scale=first.scale + second.scale) if shifts == {0.0} else None
        case "/":
            if scales == {0.0} and isinstance(e.args[1], Const) and e.args[1].value:
                return _Response(first.shift / float(e.args[1].value))
            return _Response(scale=first.scale - second.scale) if shifts == {0.0} else None
        case "exp":
            return _Response(scale=first.shift) if first.scale == 0.0 else None
        case "log":
            return _Response(first.scale) if first.shift == 0.0 else None
        case "sqrt" | "rsqrt":
            return _Response(scale=first.scale * (0.5 if e.name == "sqrt" else -0.5)) if first.shift == 0.0 else None
        case "max" | "min" | "fmax" | "fmin":
            return first if first == second and first.scale == 0.0 else None
        case "cast" if e.dtype.is_float and e.dtype.bits >= e.args[0].dtype.bits:
            return first
    return None
