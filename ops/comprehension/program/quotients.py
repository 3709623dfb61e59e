"""Gradients of quotients by the quotients themselves, so that what was divided need not be kept.

With `O = e / s`, a gradient such as `(g / s + t / s) * e` is `(g + t) * O`. A forward keeps `e` for the first form and
has `O` for the second; on tensors that fill no near cache, writing and fetching `e` takes longer than the arithmetic.
So where all that a backward reads `e` for is a product of it with something that is divided by `s`, term by term and
also inside of sums that `s` does not depend on, the division and `e` become `O`. This only reorders products.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..expr.ir import Access, Expr, Nest, Op, Program, TensorType, Var, accesses, op, rebuild, substitute, variables
from .backward import Backward, needed_nests


def by_quotients(program: Program, backward: Backward) -> Backward:
    """The backward without the temporaries that quotients among the forward's outputs replace.

    Args:
        program: the forward.
        backward: its backward, whose saved tensors have the forward's names.
    """
    for output, divided in _quotients(program):
        temporary = divided.args[0]
        assert isinstance(temporary, Access)
        if temporary.tensor in backward.saved:
            backward = _Rewriting(backward.program, program, output, divided).of(backward) or backward
    return backward


def _quotients(program: Program) -> Iterator[tuple[Nest, Op]]:
    """The outputs that are an element of a temporary over one of another tensor."""
    for nest in program.nests:
        e = nest.value
        plain = nest.op == "=" and nest.base is None and not nest.reduced and nest.target in program.outputs
        if not plain or not isinstance(e, Op) or e.name != "/" or not _is_whole(nest, program.tensors[nest.target]):
            continue
        if all(isinstance(a, Access) and _is_plain(a) and a.dtype == e.dtype for a in e.args):
            top = e.args[0]
            assert isinstance(top, Access)
            if top.indices == nest.index and top.tensor not in (*program.inputs, *program.outputs):
                yield nest, e


def _is_plain(a: Access) -> bool:
    return all(isinstance(i, Var) for i in a.indices) and all(g == "inside" for g in a.guards)


def _is_whole(nest: Nest, target: TensorType) -> bool:
    """Whether each element is written at the place of its own variables."""
    return tuple(nest.extents[i.name] if isinstance(i, Var) else 0 for i in nest.index) == target.shape


class _NoFactorError(Exception):
    """Raised for a term that is not divided by the divisor."""


class _Rewriting:
    """One temporary's."""

    def __init__(self, backward: Program, forward: Program, output: Nest, divided: Op) -> None:
        self._program, self._forward, self._output = backward, forward, output
        top, self._divisor = divided.args
        assert isinstance(top, Access)
        self._top = top
        self._nests = {n.target: n for n in backward.nests}
        self._tensors = dict(backward.tensors)
        self._sums: dict[tuple[str, Expr], str] = {}
        self._new: dict[str, list[Nest]] = {}
        """New sums, by the nest that they are computed before."""

    def of(self, backward: Backward) -> Backward | None:
        """The backward that does not read the temporary; None where it has to."""
        try:
            nests = [n for nest in self._program.nests for n in self._rewritten(nest)]
        except _NoFactorError:
            return None
        p = self._program
        kept = needed_nests(nests, p.outputs)
        read = {a.tensor for n in kept for e in (n.value, *n.index) for a in accesses(e)}
        saved = tuple(s for s in (*backward.saved, self._output.target) if s in read)
        saved = tuple(dict.fromkeys(saved))
        seeds = p.inputs[len(backward.saved) :]
        tensors = {**self._tensors, self._output.target: self._forward.tensors[self._output.target]}
        program = replace(p, inputs=(*saved, *seeds), tensors=tensors, nests=kept)
        return replace(backward, program=program, saved=saved)

    def _rewritten(self, nest: Nest) -> list[Nest]:
        """The nest by the quotient, after the sums that it needs."""
        if any(self._reads(i) for i in nest.index):
            raise _NoFactorError
        if not self._reads(nest.value):
            return [nest]
        value = self._without_top(nest.value, nest)
        return [*self._new.pop(nest.target, []), replace(nest, value=value)]

    def _reads(self, e: Expr) -> bool:
        return any(a.tensor == self._top.tensor for a in accesses(e))

    def _without_top(self, e: Expr, nest: Nest) -> Expr:
        """The expression with each product of the temporary as one of the quotient."""
        if isinstance(e, Op) and e.name == "*":
            for own, other in (e.args, e.args[::-1]):
                if isinstance(own, Access) and own.tensor == self._top.tensor and _is_plain(own):
                    names = {
                        i.name: j for i, j in zip(self._top.indices, own.indices, strict=True) if isinstance(i, Var)
                    }
                    divisor = substitute(self._divisor, names)
                    quotient = replace(own, tensor=self._output.target)
                    return op("*", self._times(other, divisor, nest.target), quotient)
        if isinstance(e, Access) and self._reads(e):
            raise _NoFactorError
        return rebuild(e, lambda c: self._without_top(c, nest))

    def _times(self, e: Expr, divisor: Expr, reader: str) -> Expr:
        """The expression times the divisor, which each of its terms is divided by.

        Raises:
            _NoFactorError: one is not.
        """
        if isinstance(e, Access) and e.tensor in self._nests:
            return self._times_tensor(e, divisor, reader)
        if not isinstance(e, Op) or self._reads(e):
            raise _NoFactorError
        match e.name, e.args:
            case "/", (over, by) if by == divisor:
                return over
            case "+" | "-", (first, second):
                return op(e.name, self._times(first, divisor, reader), self._times(second, divisor, reader))
            case "neg", (only,):
                return op("neg", self._times(only, divisor, reader))
            case "*" | "/", (first, second):
                return op(e.name, self._times(first, divisor, reader), second)
        raise _NoFactorError

    def _times_tensor(self, e: Access, divisor: Expr, reader: str) -> Expr:
        """The tensor of a nest of the backward, times the divisor."""
        nest = self._nests[e.tensor]
        names = {i.name: j for i, j in zip(nest.index, e.indices, strict=True) if isinstance(i, Var)}
        back = {j.name: Var(i.dtype, i.name) for i, j in zip(nest.index, e.indices, strict=True)
                if isinstance(i, Var) and isinstance(j, Var)}  # fmt: skip
        whole = _is_whole(nest, self._tensors[nest.target]) and _is_plain(e) and nest.op in ("=", "+")
        if not whole or len(back) < len(e.indices) or not set(variables(divisor)) <= back.keys():
            raise _NoFactorError
        inner: dict[str, Expr] = dict(back)
        own = substitute(divisor, inner)
        if nest.reduced:
            if nest.base is not None:
                raise _NoFactorError
            return replace(e, tensor=self._sum(nest, own, reader))
        value = self._times(nest.value, own, reader)
        if nest.base is not None and nest.op == "+" and not nest.init:
            before = Access(nest.value.dtype, nest.base, nest.index, tuple("inside" for _ in nest.index))
            value = op("+", self._times(before, own, reader), value)
        elif nest.base is not None:
            raise _NoFactorError
        outer: dict[str, Expr] = dict(names)
        return substitute(value, outer)

    def _sum(self, nest: Nest, divisor: Expr, reader: str) -> str:
        """A reduction's values times what they are divided by, as a tensor of its own."""
        key = (nest.target, divisor)
        if key not in self._sums:
            name = f"{nest.target}@times"
            if name in self._tensors:
                raise _NoFactorError
            value = self._times(nest.value, divisor, reader)
            self._tensors[name] = replace(self._tensors[nest.target], name=name)
            self._sums[key] = name
            self._new.setdefault(reader, []).append(replace(nest, target=name, value=value))
        return self._sums[key]
