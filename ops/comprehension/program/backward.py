"""Derives the backward program of a forward program.

Walks the nests in reverse. Each access of a nest's value receives a nest that adds the gradient where the access
read: its target index is the access's own, so a gather becomes a scatter-add and a convolution its transpose;
emitters choose how to run that. Max and min give their gradient to the first place that attains them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from ..expr.dtypes import INT32, DType
from ..expr.ir import Access, Const, Expr, Nest, Op, Program, TensorType, accesses, integer, op, substitute, var, walk
from .affine import bounds
from .folding import fold
from .invariance import independent_of
from .vjp import MOST_PARTS, mul, number, parts_of, position, pullback

_EXACT = frozenset({"?:", "neg", "abs", "fabs", "min", "max", "fmin", "fmax", "cast"})
"""Operators without rounding; a cast may round, but always to the same value."""


@dataclass(frozen=True)
class Backward:
    """A backward program and the tensors that it needs.

    Attributes:
        program: its inputs are the saved tensors, then the gradients of the forward's outputs; its outputs the
            gradients of the wanted inputs that have one.
        saved: versions of the forward's tensors, inputs among them, in the order of the program's inputs.
        seeds: the forward's outputs whose gradient is an input, in order.
        gradients: the forward's inputs whose gradient is an output, in order.
    """

    program: Program
    saved: tuple[str, ...]
    seeds: tuple[str, ...]
    gradients: tuple[str, ...]


def derive(program: Program, wanted: frozenset[str], clamp: bool = False, again: bool = False) -> Backward:
    """Derives the gradients of the wanted inputs.

    Args:
        program: the forward.
        wanted: names of inputs.
        clamp: whether checked indices are clamped; then their gradients go to the clamped places.
        again: whether the gradients will be differentiated in turn.

    Raises:
        DerivativeError: a function without a derivative is on the way.
    """
    walk = _Walk(program, wanted, clamp, again)
    for nest in reversed(program.nests):
        walk.nest(nest)
    return walk.result()


class _Walk:
    """The adjoint of each version so far, and the nests that compute them."""

    def __init__(self, program: Program, wanted: frozenset[str], clamp: bool, again: bool) -> None:
        self._program, self._wanted, self._clamp, self._again = program, wanted, clamp, again
        self._active = _active(program, wanted)
        self._left = MOST_PARTS
        self._tensors: dict[str, TensorType] = {}
        self._nests: list[Nest] = []
        self._adjoint: dict[str, str] = {}
        outputs = dict.fromkeys(o for o in program.outputs if o in self._active)
        self._seeds = {name: self._tensor(f"d_{name}", name) for name in outputs}
        self._adjoint.update(self._seeds)

    def _tensor(self, name: str, like: str, dtype: DType | None = None) -> str:
        """A new tensor of the shape of one of the program's; its name is none of theirs."""
        base, count = name, 0
        while name in self._tensors or name in self._program.tensors:
            count += 1
            name = f"{base}#{count}"
        kind = self._program.tensors[like]
        self._tensors[name] = replace(kind, name=name, dtype=dtype or kind.dtype)
        return name

    def _add(self, name: str, nest: Nest) -> Access:
        """Appends a nest of an auxiliary tensor over the left axes; returns the access that reads it there."""
        self._nests.append(nest)
        return Access(self._tensors[name].dtype, name, nest.index, tuple("inside" for _ in nest.index))

    def nest(self, nest: Nest) -> None:
        """Adds the gradients of what a nest read to the adjoints."""
        name = self._adjoint.pop(nest.target, None)
        if name is None or nest.target not in self._active:
            return
        guards = _guards(nest, self._tensors[name].shape)
        gradient = Access(self._tensors[name].dtype, name, nest.index, guards)
        own = Access(gradient.dtype, nest.target, nest.index, guards)
        seed, kept = self._seed(nest, gradient, own)
        if nest.base is not None and nest.base in self._active:
            self._base(nest, name, kept)
        known: dict[Expr, Expr] = {nest.value: own} if nest.op == "=" else {}
        for access, grad in pullback(nest.value, seed, known):
            if access.tensor in self._active:
                self._left -= parts_of(grad, access, self._left)
                self._scatter(nest, access, grad)

    def _scatter(self, nest: Nest, access: Access, grad: Expr) -> None:
        before = self._adjoint.get(access.tensor)
        name = self._tensor(f"d_{access.tensor}", access.tensor)
        value = fold(grad if grad.dtype == access.dtype else op("cast", grad, dtype=access.dtype))
        index = self._read_at(access) if self._clamp else access.indices
        self._nests.append(Nest(name, before, nest.axes, index, "+", False, value, nest.place))
        self._adjoint[access.tensor] = name

    def _read_at(self, access: Access) -> tuple[Expr, ...]:
        """The indices, with the clamping written out, so that no pass solves such an index for its variables."""
        dims = zip(access.indices, access.guards, self._program.tensors[access.tensor].shape, strict=True)
        return tuple(
            op("min", op("max", i, integer(0)), integer(size - 1)) if guard == "checked" else i
            for i, guard, size in dims
        )

    def _base(self, nest: Nest, gradient: str, kept: Expr | None) -> None:
        """The base gets the gradient outside of the region, and `kept` inside; None is the gradient itself."""
        assert nest.base is not None
        if kept is not None:
            name = self._tensor(f"d_{nest.base}", nest.base)
            left = tuple((a, n) for a, n in nest.axes if a in nest.left)
            self._nests.append(Nest(name, gradient, left, nest.index, "=", True, fold(kept), nest.place))
            gradient = name
        before = self._adjoint.get(nest.base)
        self._adjoint[nest.base] = gradient if before is None else self._sum(nest.base, before, gradient)

    def _sum(self, like: str, a: str, b: str) -> str:
        name, kind = self._tensor(f"d_{like}", like), self._program.tensors[like]
        axes = tuple((f"i{d}", n) for d, n in enumerate(kind.shape))
        index = tuple(var(v) for v, _ in axes)
        guards = tuple("inside" for _ in index)
        value = Access(kind.dtype, b, index, guards)
        self._nests.append(Nest(name, a, axes, index, "+", False, value))
        return name

    # -- the gradient of a value from the gradient of its reduction ----------------------------------------

    def _seed(self, nest: Nest, gradient: Access, own: Access) -> tuple[Expr, Expr | None]:
        """The gradient of the value at each iteration, and what of the gradient the base keeps."""
        zero = number(0.0, gradient)
        if nest.op in ("=", "+"):
            return gradient, zero if nest.init else None
        base = None if nest.init or nest.base is None else Access(own.dtype, nest.base, own.indices, own.guards)
        if nest.op == "*":
            return (self._pairs_seed if self._again else self._product_seed)(nest, gradient, base)
        return self._extreme_seed(nest, gradient, own, base)

    def _extreme_seed(self, nest: Nest, gradient: Access, own: Access, base: Access | None) -> tuple[Expr, Expr]:
        zero = number(0.0, gradient)
        kept: Expr
        if base is not None:
            kept = op("?:", op("==", base, own), gradient, zero)
            passed: Expr = op("?:", op("==", base, own), zero, gradient)
        else:
            kept, passed = zero, gradient
        value, best = self._compared(nest, own)
        axes = [(a, n) for a, n in nest.axes if a in nest.reduced]
        place = position(axes)
        count = 1
        for _, n in axes:
            count *= n
        name = self._tensor(f"at_{nest.target}", nest.target, place.dtype)
        attains = op("?:", op("==", value, best), fold(place), Const(place.dtype, count))
        first = self._add(name, Nest(name, None, nest.axes, nest.index, "min", True, attains, nest.place))
        return op("?:", op("==", fold(place), first), passed, zero), kept

    def _compared(self, nest: Nest, own: Access) -> tuple[Expr, Access]:
        """The value and its extreme, as two that are equal where it is attained.

        Arithmetic may be rounded differently when it is compiled again, so its values are first written to a tensor.
        """
        if not any(isinstance(n, Op) and n.name not in _EXACT and n.dtype.is_float for n in walk(nest.value)):
            return nest.value, own
        name, best = (
            self._tensor(f"values_{nest.target}", nest.target),
            self._tensor(f"best_{nest.target}", nest.target),
        )
        self._tensors[name] = TensorType(name, nest.value.dtype, tuple(n for _, n in nest.axes))
        index = tuple(var(a) for a, _ in nest.axes)
        self._nests.append(Nest(name, None, nest.axes, index, "=", True, nest.value, nest.place))
        value = Access(nest.value.dtype, name, index, tuple("inside" for _ in index))
        return value, self._add(best, Nest(best, None, nest.axes, nest.index, nest.op, True, value, nest.place))

    def _product_seed(self, nest: Nest, gradient: Access, base: Access | None) -> tuple[Expr, Expr]:
        """The product of all other values, exact also where one or several are zero."""
        zeros = self._tensor(f"zeros_{nest.target}", nest.target, INT32)
        rest = self._tensor(f"rest_{nest.target}", nest.target)
        value, zero, one = nest.value, number(0.0, nest.value), number(1.0, nest.value)
        is_zero = op("==", value, zero)
        counted = op("?:", is_zero, Const(INT32, 1), Const(INT32, 0))
        count = self._add(zeros, Nest(zeros, None, nest.axes, nest.index, "+", True, counted, nest.place))
        factor = op("?:", is_zero, one, value)
        other = self._add(rest, Nest(rest, None, nest.axes, nest.index, "*", True, factor, nest.place))
        alone = op("?:", op("==", count, Const(INT32, 1)), other, zero)
        nonzero = op("?:", op("==", count, Const(INT32, 0)), op("/", other, op("?:", is_zero, one, value)), zero)
        seed = mul(gradient, op("?:", is_zero, alone, nonzero))
        kept = mul(gradient, op("?:", op("==", count, Const(INT32, 0)), other, zero))
        return (mul(seed, base) if base is not None else seed), kept if base is not None else number(0.0, gradient)

    def _pairs_seed(self, nest: Nest, gradient: Access, base: Access | None) -> tuple[Expr, Expr]:
        """The same, each product written out: what counts zeros and divides has no derivative where there are some."""
        one, axes = number(1.0, nest.value), [(a, n) for a, n in nest.axes if a in nest.reduced]
        seed: Expr = gradient if base is None else mul(gradient, base)
        if axes:
            # No index variable of a text begins with a digit.
            names: dict[str, Expr] = {a: var(f"{i}other") for i, (a, _) in enumerate(axes)}
            same = [op("==", var(a), other) for a, other in names.items()]
            itself = reduce(lambda a, b: op("&&", a, b), same)
            value = op("?:", itself, one, substitute(nest.value, names))
            index = tuple(var(a) for a, _ in nest.axes)
            others = self._tensor(f"others_{nest.target}", nest.target)
            self._tensors[others] = TensorType(others, nest.value.dtype, tuple(n for _, n in nest.axes))
            loops = (*nest.axes, *((f"{i}other", n) for i, (_, n) in enumerate(axes)))
            seed = mul(seed, self._add(others, Nest(others, None, loops, index, "*", True, value, nest.place)))
        if base is None:
            return seed, number(0.0, gradient)
        rest = self._tensor(f"rest_{nest.target}", nest.target)
        return seed, mul(
            gradient, self._add(rest, Nest(rest, None, nest.axes, nest.index, "*", True, nest.value, nest.place))
        )

    # -- the result ----------------------------------------------------------------------------------------

    def result(self) -> Backward:
        """The program, with what it reads of the forward's tensors as its first inputs."""
        p = self._program
        gradients = tuple(i for i in p.inputs if i in self._wanted and i in self._adjoint)
        outputs = tuple(self._adjoint[g] for g in gradients)
        nests = needed_nests(self._nests, outputs)
        read = dict.fromkeys(a.tensor for n in nests for e in (n.value, *n.index) for a in accesses(e))
        saved = tuple(t for t in read if t not in self._tensors)
        seeds = tuple(self._seeds.values())
        tensors = {**{s: p.tensors[s] for s in saved}, **self._tensors}
        name = f"{p.name}_backward"
        return Backward(Program(name, (*saved, *seeds), outputs, tensors, nests), saved, tuple(self._seeds), gradients)


def _guards(nest: Nest, shape: tuple[int, ...]) -> tuple[str, ...]:
    """How the places that a nest writes may be read: of a gradient's nest, some may lie outside of its condition."""
    box = nest.box
    found = []
    for index, size in zip(nest.index, shape, strict=True):
        span = bounds(index, box)
        inside = span is not None and span[0] >= 0 and span[1] < size
        found.append("inside" if inside else "checked" if accesses(index) else "guarded")
    return tuple(found)


def _active(program: Program, wanted: frozenset[str]) -> set[str]:
    """The float versions that depend on a wanted input, but for extremes that no output depends on in the end."""
    active = {i for i in wanted if program.tensors[i].dtype.is_float}
    for nest in program.nests:
        reads = {a.tensor for a in accesses(nest.value)} | ({nest.base} if nest.base else set())
        if reads & active and program.tensors[nest.target].dtype.is_float:
            if nest.op in ("max", "min") and nest.reduced and independent_of(program, nest.target):
                continue
            active.add(nest.target)
    return active


def needed_nests(nests: list[Nest], outputs: tuple[str, ...]) -> tuple[Nest, ...]:
    """The nests that the outputs depend on."""
    needed, kept = set(outputs), []
    for nest in reversed(nests):
        if nest.target in needed:
            kept.append(nest)
            needed |= {a.tensor for e in (nest.value, *nest.index) for a in accesses(e)}
            needed |= {nest.base} if nest.base else set()
    return tuple(reversed(kept))
