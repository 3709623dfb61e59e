"""The typed IR, in its two forms: a `Definition` with symbolic sizes, and a `Program` for given sizes.

A definition is what the checker makes of syntax. A program is what every emitter reads: tensors in single
assignment (a tensor that is rewritten has versions, `O`, `O#1`, ...), each written by one `Nest` whose loops have
known extents. Nodes are frozen and compare by value without their place; rewriting makes new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from .dtypes import BOOL, INT32, INT64, DType, join
from .errors import Place


@dataclass(frozen=True)
class Expr:
    """A typed expression."""

    dtype: DType
    place: Place | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Const(Expr):
    """A literal."""

    value: int | float | bool


@dataclass(frozen=True)
class Var(Expr):
    """An index variable, an int32."""

    name: str


@dataclass(frozen=True)
class Size(Expr):
    """A size name, an int32; gone in a program."""

    name: str


@dataclass(frozen=True)
class Extent(Expr):
    """The size of a tensor's dimension, an int32; gone in a program."""

    tensor: str
    dim: int


@dataclass(frozen=True)
class Access(Expr):
    """`tensor(indices)`; in a program `guards` says for each index how it is known to be inside."""

    tensor: str
    indices: tuple[Expr, ...]
    guards: tuple[str, ...] = ()
    """Each `"inside"` (always), `"guarded"` (where the enclosing conditions hold) or `"checked"` (at run time)."""


@dataclass(frozen=True)
class Dynamic:
    """One index that has no affine form, or must be tested: `step * index`, with `0 <= index < size` if `checked`."""

    index: Expr
    step: int
    size: int
    checked: bool


@dataclass(frozen=True)
class Load(Expr):
    """A lowered access: `tensor[offset + sum of stride * variable + sum of dynamic]`, as the C++ emitter reads it."""

    tensor: str
    strides: tuple[tuple[str, int], ...]
    offset: int
    dynamic: tuple[Dynamic, ...] = ()
    guarded: bool = False
    """Whether the address is only valid where the enclosing conditions hold."""

    def stride(self, name: str) -> int:
        """The stride of a variable, 0 where it is not used."""
        return dict(self.strides).get(name, 0)


@dataclass(frozen=True)
class Op(Expr):
    """An operator, a built-in function, or `cast`; `name` is the language's own, `neg` and `?:` among them."""

    name: str
    args: tuple[Expr, ...]

    @property
    def operands(self) -> DType:
        """The type in which the arguments meet: of a comparison it is not the result's."""
        if self.name not in COMPARISONS:
            return self.dtype
        return join(self.args[0].dtype, self.args[1].dtype)


COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside."""
    if isinstance(e, Access):
        return e.indices
    if isinstance(e, Load):
        return tuple(d.index for d in e.dynamic)
    return e.args if isinstance(e, Op) else ()


def walk(e: Expr) -> Iterator[Expr]:
    """The expression and all inside, outermost first."""
    yield e
    for child in children(e):
        yield from walk(child)


def rebuild(e: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each direct child changed."""
    if isinstance(e, Access):
        return replace(e, indices=tuple(change(i) for i in e.indices))
    if isinstance(e, Load) and e.dynamic:
        return replace(e, dynamic=tuple(replace(d, index=change(d.index)) for d in e.dynamic))
    if isinstance(e, Op):
        return replace(e, args=tuple(change(a) for a in e.args))
    return e


def substitute(e: Expr, names: dict[str, Expr]) -> Expr:
    """The expression with index variables replaced."""
    if isinstance(e, Var):
        return names.get(e.name, e)
    return rebuild(e, lambda c: substitute(c, names))


def variables(e: Expr) -> list[str]:
    """The index variables used, in order of first appearance."""
    found: dict[str, None] = {}
    for n in walk(e):
        if isinstance(n, Var):
            found[n.name] = None
        elif isinstance(n, Load):
            found.update((name, None) for name, _ in n.strides)
    return list(found)


def accesses(e: Expr) -> list[Access]:
    """The tensor accesses inside, outermost first."""
    return [n for n in walk(e) if isinstance(n, Access)]


def is_tested(e: Expr) -> bool:
    """Whether an index inside is tested when it runs: then it is computed even where nothing depends on its value."""
    return any(
        "checked" in n.guards if isinstance(n, Access) else isinstance(n, Load) and any(d.checked for d in n.dynamic)
        for n in walk(e)
    )


def integer(value: int) -> Const:
    """A literal: an int32, or an int64 where it is none."""
    low, high = INT32.span
    return Const(INT32 if low <= value <= high else INT64, value)


def var(name: str) -> Var:
    """An index variable."""
    return Var(INT32, name)


def op(name: str, *args: Expr, dtype: DType | None = None) -> Op:
    """An operator of the arguments' joined type; comparisons and logic give bool."""
    if dtype is None:
        logic = name in COMPARISONS or name in ("&&", "||", "!")
        dtype = BOOL if logic else args[-1].dtype if len(args) != 2 else join(args[0].dtype, args[1].dtype)
    return Op(dtype, name, tuple(args))


# -- symbolic -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorSpec:
    """A parameter or a result of a definition; `dims` is None for a result whose shape is inferred."""

    name: str
    dtype: DType
    dims: tuple[str | int, ...] | None
    place: Place


@dataclass(frozen=True)
class RangeSpec:
    """`where name in low:high`."""

    name: str
    low: Expr
    high: Expr
    place: Place


@dataclass(frozen=True)
class Statement:
    """One checked statement; `op` is `=`, `+`, `*`, `min` or `max`."""

    target: str
    dtype: DType
    lhs: tuple[str, ...]
    reduced: tuple[str, ...]
    op: str
    init: bool
    value: Expr
    ranges: tuple[RangeSpec, ...]
    exists: tuple[Expr, ...]
    place: Place


@dataclass(frozen=True)
class Definition:
    """One checked `def`."""

    name: str
    params: tuple[TensorSpec, ...]
    returns: tuple[TensorSpec, ...]
    statements: tuple[Statement, ...]
    place: Place


# -- for given sizes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorType:
    """A row-major tensor of known shape."""

    name: str
    dtype: DType
    shape: tuple[int, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements."""
        found, step = [], 1
        for size in reversed(self.shape):
            found.append(step)
            step *= size
        return tuple(reversed(found))

    @property
    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count


def box_of(extents: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """The least and the greatest value of each axis, which all start at 0."""
    return {axis: (0, n - 1) for axis, n in extents.items()}


@dataclass(frozen=True)
class Nest:
    """`target(index) op= value` over all values of the axes, each from 0 to its extent.

    `base` is the version that holds the contents before; elements that the nest does not reach keep them (zero
    without a base). With `init` the reached elements start from the operator's identity, else from the base.
    """

    target: str
    base: str | None
    axes: tuple[tuple[str, int], ...]
    index: tuple[Expr, ...]
    op: str
    init: bool
    value: Expr
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def extents(self) -> dict[str, int]:
        """The extent of each axis."""
        return dict(self.axes)

    @property
    def box(self) -> dict[str, tuple[int, int]]:
        """The least and the greatest value of each axis."""
        return box_of(self.extents)

    @property
    def left(self) -> list[str]:
        """The axes that the target's index uses."""
        used = {v for e in self.index for v in variables(e)}
        return [a for a, _ in self.axes if a in used]

    @property
    def reduced(self) -> list[str]:
        """The axes that only the value uses."""
        left = set(self.left)
        return [a for a, _ in self.axes if a not in left]

    @property
    def is_scatter(self) -> bool:
        """Whether an index is more than one variable plus a constant, or a variable indexes twice."""
        names = [_plain_variable(e) for e in self.index if not isinstance(e, Const)]
        return None in names or len(set(names)) < len(names)


def _plain_variable(e: Expr) -> str | None:
    if isinstance(e, Op) and e.name == "+" and isinstance(e.args[1], Const):
        e = e.args[0]
    return e.name if isinstance(e, Var) else None


@dataclass(frozen=True)
class Program:
    """Nests in order, over tensors by name."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: dict[str, TensorType]
    nests: tuple[Nest, ...]
    contents: tuple[str, ...] = ()
    """Versions of outputs that hold what the caller passed (`O +=` without a statement before it)."""

    @property
    def steps(self) -> int:
        """How many elements all nests compute, one by one."""
        return sum(prod(n for _, n in nest.axes) for nest in self.nests)

    def key(self) -> str:
        """A text that two programs share only when they compute the same."""
        return repr((self.inputs, self.outputs, sorted(self.tensors.items()), self.nests, self.contents))
