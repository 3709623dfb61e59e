"""Checks names, dimensions, types and reductions of syntax, and makes typed definitions. Sizes are not known here.

Names resolve in this order: a `where` let, a size, a tensor of rank 0, else an index variable of the statement.
Lets are substituted, so nothing behind this file knows of them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from ..expr.dtypes import BOOL, FLOAT32, INT32, SCALARS, DType, join, narrows
from ..expr.errors import (
    AlreadyDefinedError,
    ArityError,
    ComprehensionSyntaxError,
    DimensionCountError,
    ImmutableInputError,
    NarrowingError,
    OperandTypeError,
    Place,
    ReductionError,
    TensorAccessError,
    UndefinedNameError,
)
from ..expr.functions import BUILTINS, POLYMORPHIC
from ..expr.ir import (
    COMPARISONS,
    Access,
    Const,
    Definition,
    Expr,
    Extent,
    Op,
    RangeSpec,
    Size,
    Statement,
    TensorSpec,
    Var,
    accesses,
    integer,
    variables,
    walk,
)
from .literals import in_context
from .syntax import (
    Apply,
    DefSyntax,
    ExistsClause,
    LetClause,
    Name,
    Node,
    Number,
    Operator,
    RangeClause,
    SizeOf,
    StatementSyntax,
    TensorDecl,
)

MOST_STATEMENTS = 256
"""The most statements of one definition: a compiler's time grows with their square."""

LARGEST, MOST_PARTS = 4096, 8192
"""The most parts of one expression, and of all, after lets are substituted: every pass walks them."""


def check(definition: DefSyntax) -> Definition:
    """Checks one definition and gives every expression its type.

    Raises:
        ComprehensionError: one of its subclasses, with the place in the text.
    """
    if len(definition.body) > MOST_STATEMENTS:
        message = f"the definition has {len(definition.body)} statements, and at most {MOST_STATEMENTS} are taken"
        raise ComprehensionSyntaxError(message, at=definition.place)
    scope = _Scope(definition)
    statements = tuple(map(scope.statement, definition.body))
    return Definition(definition.name, tuple(scope.params), scope.check_returns(), statements, definition.place)


class _Scope:
    """The names that a statement of a definition can use; each statement adds its target."""

    def __init__(self, definition: DefSyntax) -> None:
        self.params = [self._param(p) for p in definition.params]
        self.inputs, self.parts = {p.name for p in self.params}, 0
        self.returns = {r.name: r for r in definition.returns}
        self.place = definition.place
        self.sizes = {d for p in self.params for d in p.dims or () if isinstance(d, str)}
        self.ranks: dict[str, int] = {}
        self.types: dict[str, DType] = {}
        self._declare_all(definition)

    @staticmethod
    def _param(decl: TensorDecl) -> TensorSpec:
        return TensorSpec(decl.name, SCALARS[decl.scalar or ""], decl.dims, decl.place)

    def _declare_all(self, definition: DefSyntax) -> None:
        for param in self.params:
            if param.name in self.ranks or param.name in self.sizes:
                raise AlreadyDefinedError(f"'{param.name}' is already defined", at=param.place)
            self.ranks[param.name], self.types[param.name] = len(param.dims or ()), param.dtype
        seen: set[str] = set()
        for result in definition.returns:
            if result.name in seen or result.name in self.inputs or result.name in self.sizes:
                raise AlreadyDefinedError(f"'{result.name}' is already defined", at=result.place)
            for dim in result.dims or ():
                if isinstance(dim, str) and dim not in self.sizes:
                    raise UndefinedNameError(f"undefined size '{dim}'", at=result.place)
            seen.add(result.name)

    def check_returns(self) -> tuple[TensorSpec, ...]:
        """The results with their types, once every statement was seen."""
        found = []
        if not self.returns:
            raise UndefinedNameError("the definition returns nothing", at=self.place, fix="Name a result after '->'.")
        for decl in self.returns.values():
            if decl.name not in self.types:
                raise UndefinedNameError(f"undefined variable '{decl.name}': no statement writes it", at=decl.place)
            if decl.dims is not None and len(decl.dims) != self.ranks[decl.name]:
                raise _dimensions(decl.name, self.ranks[decl.name], len(decl.dims), decl.place)
            found.append(TensorSpec(decl.name, self.types[decl.name], decl.dims, decl.place))
        return tuple(found)

    # -- statements ------------------------------------------------------------------------------------

    def statement(self, s: StatementSyntax) -> Statement:
        """Checks a statement, and declares its target when it is the first to write it."""
        self._check_left(s)
        lets: dict[str, Expr] = {}
        ranges, exists = self._clauses(s, lets)
        value = self._sized(_Expressions(self, lets).value(s.value), s.place)
        lhs = tuple(i.name for i in s.indices)
        operator = s.op.rstrip("!")[:-1] or "="
        ranged = [r.name for r in ranges]
        reduced = tuple(v for v in dict.fromkeys([*variables(value), *ranged]) if v not in lhs)
        if operator == "=" and reduced:
            raise ReductionError(
                f"'{reduced[0]}' is only on the right side, and '{s.op}' does not reduce",
                at=s.place,
                fix="Use '+=!', '*=!', 'min=!' or 'max=!', or put it on the left side.",
            )
        dtype = self._target_type(s, value, operator)
        self._check_self_read(s, value, lhs, operator)
        self.types[s.target], self.ranks[s.target] = dtype, len(lhs)
        init = s.op.endswith("!") or operator == "="
        value = in_context(value, dtype)
        return Statement(s.target, dtype, lhs, reduced, operator, init, value, ranges, exists, s.place)

    def _check_left(self, s: StatementSyntax) -> None:
        if s.target in self.inputs:
            raise ImmutableInputError(f"'{s.target}' is an input, and inputs are immutable", at=s.place)
        if s.target in self.sizes or s.target in BUILTINS or s.target in POLYMORPHIC:
            raise AlreadyDefinedError(f"'{s.target}' is already defined", at=s.place)
        if s.target in self.ranks and self.ranks[s.target] != len(s.indices):
            raise _dimensions(s.target, self.ranks[s.target], len(s.indices), s.place)
        seen: set[str] = set()
        for index in s.indices:
            if index.name in seen or index.name in self.sizes or index.name in self.ranks:
                raise AlreadyDefinedError(f"'{index.name}' is already defined", at=index.place)
            seen.add(index.name)

    def _clauses(self, s: StatementSyntax, lets: dict[str, Expr]) -> tuple[tuple[RangeSpec, ...], tuple[Expr, ...]]:
        ranges: dict[str, RangeSpec] = {}
        exists = []
        for clause in s.clauses:
            checker = _Expressions(self, lets)
            if isinstance(clause, ExistsClause):
                exists.append(self._sized(checker.value(clause.value), clause.place))
            elif isinstance(clause, LetClause):
                self._check_new(clause.name, clause.place, lets, ranges)
                lets[clause.name] = self._sized(checker.value(clause.value), clause.place)
            elif isinstance(clause, RangeClause):
                self._check_new(clause.name, clause.place, lets, ranges)
                ranges[clause.name] = self._range(clause, checker, s)
        return tuple(ranges.values()), tuple(exists)

    def _sized(self, e: Expr, place: Place) -> Expr:
        """An expression with its lets in place, which is no larger than passes over it can bear."""
        parts = sum(1 for _ in islice(walk(e), LARGEST + 1))
        self.parts += parts
        if parts > LARGEST:
            raise ComprehensionSyntaxError(f"the expression has more than {LARGEST} parts", at=place)
        if self.parts > MOST_PARTS:
            raise ComprehensionSyntaxError(f"all expressions have more than {MOST_PARTS} parts", at=place)
        return e

    def _check_new(
        self, name: str, place: Place, *scopes: dict[str, object] | dict[str, Expr] | dict[str, RangeSpec]
    ) -> None:
        if name in self.sizes or name in self.ranks or any(name in scope for scope in scopes):
            raise AlreadyDefinedError(f"'{name}' is already defined", at=place)

    def _range(self, clause: RangeClause, checker: _Expressions, s: StatementSyntax) -> RangeSpec:
        bounds, known = [], _names_of(s)
        for side in (clause.low, clause.high):
            bound = checker.integral(side)
            if accesses(bound):
                raise TensorAccessError("tensor accesses may not be in the bounds of a range", at=side.place)
            for name in variables(bound):
                if name not in known or name == clause.name:
                    raise UndefinedNameError(f"undefined variable '{name}'", at=side.place)
            bounds.append(bound)
        return RangeSpec(clause.name, bounds[0], bounds[1], clause.place)

    def _target_type(self, s: StatementSyntax, value: Expr, operator: str) -> DType:
        declared = self.types.get(s.target)
        note = self.returns.get(s.target)
        if declared is None and note is not None and note.scalar is not None:
            declared = SCALARS[note.scalar]
        dtype = declared or value.dtype
        if narrows(value.dtype, dtype):
            raise NarrowingError(
                f"cannot assign {value.dtype} to '{s.target}' of {dtype} without a cast",
                at=s.value.place,
                fix=f"Write {_scalar_name(dtype)}(...) around the value.",
            )
        if operator != "=" and dtype.is_bool:
            raise OperandTypeError("a reduction expected a number but found bool", at=s.value.place)
        return dtype

    @staticmethod
    def _check_self_read(s: StatementSyntax, value: Expr, lhs: tuple[str, ...], operator: str) -> None:
        for access in accesses(value):
            same = tuple(i.name if isinstance(i, Var) else None for i in access.indices) == lhs
            if access.tensor == s.target and not (same and operator == "="):
                raise TensorAccessError(
                    f"'{s.target}' is read at other places than the one being written",
                    at=access.place,
                    fix="Write to a temporary first.",
                )


def _names_of(s: StatementSyntax) -> set[str]:
    """The index variables that a bound may use: the left side's and those with a range."""
    return {i.name for i in s.indices} | {c.name for c in s.clauses if isinstance(c, RangeClause)}


def _dimensions(name: str, expected: int, found: int, place: Place | None) -> DimensionCountError:
    return DimensionCountError(f"'{name}': expected {expected} dimensions but found {found}", at=place)


def _scalar_name(dtype: DType) -> str:
    return next(k for k, v in SCALARS.items() if v == dtype)


class _Expressions:
    """Checks the expressions of one statement."""

    def __init__(self, scope: _Scope, lets: dict[str, Expr]) -> None:
        self._scope, self._lets = scope, lets

    def value(self, node: Node) -> Expr:
        """Any expression."""
        match node:
            case Number(value=number):
                return replace(integer(number) if isinstance(number, int) else Const(FLOAT32, number), place=node.place)
            case Name(name=name):
                return self._name(name, node.place)
            case SizeOf(tensor=tensor, dim=dim):
                return self._size_of(tensor, dim, node.place)
            case Apply(name=name) if name in SCALARS:
                return self._cast(node)
            case Apply(name=name) if name in self._scope.ranks:
                return self._access(node)
            case Apply(name=name) if name in BUILTINS or name in POLYMORPHIC:
                return self._call(node)
            case Apply(name=name):
                raise UndefinedNameError(f"undefined variable '{name}'", at=node.place)
            case Operator():
                return self._operator(node)
        raise AssertionError(node)

    def integral(self, node: Node) -> Expr:
        """An index or a bound."""
        return self._require(self.value(node), "integral", node.place)

    @staticmethod
    def _require(e: Expr, what: str, place: Place) -> Expr:
        fits = {"integral": e.dtype.is_integral, "boolean": e.dtype.is_bool, "a number": not e.dtype.is_bool}
        if not fits[what]:
            raise OperandTypeError(f"expected {what} but found {e.dtype}", at=place)
        return e

    def _name(self, name: str, place: Place) -> Expr:
        if name in self._lets:
            return replace(self._lets[name], place=place)
        if name in self._scope.sizes:
            return Size(INT32, name, place=place)
        if name in self._scope.ranks:
            if self._scope.ranks[name]:
                raise _dimensions(name, self._scope.ranks[name], 0, place)
            return Access(self._scope.types[name], name, (), place=place)
        return Var(INT32, name, place=place)

    def _size_of(self, tensor: str, dim: int, place: Place) -> Expr:
        if tensor not in self._scope.ranks:
            raise UndefinedNameError(f"undefined variable '{tensor}'", at=place)
        if dim >= self._scope.ranks[tensor]:
            raise _dimensions(tensor, self._scope.ranks[tensor], dim + 1, place)
        return Extent(INT32, tensor, dim, place=place)

    def _access(self, node: Apply) -> Expr:
        rank = self._scope.ranks[node.name]
        if len(node.args) != rank:
            raise _dimensions(node.name, rank, len(node.args), node.place)
        indices = tuple(self.integral(a) for a in node.args)
        return Access(self._scope.types[node.name], node.name, indices, place=node.place)

    def _arguments(self, node: Apply, arity: int) -> list[Expr]:
        if len(node.args) != arity:
            raise ArityError(f"'{node.name}': expected {arity} arguments but found {len(node.args)}", at=node.place)
        return [self.value(a) for a in node.args]

    def _cast(self, node: Apply) -> Expr:
        (inner,) = self._arguments(node, 1)
        dtype = SCALARS[node.name]
        return Op(dtype, "cast", (in_context(inner, dtype),), place=node.place)

    def _call(self, node: Apply) -> Expr:
        arity = POLYMORPHIC[node.name] if node.name in POLYMORPHIC else BUILTINS[node.name].arity
        args = self._arguments(node, arity)
        for arg, written in zip(args, node.args, strict=True):
            self._require(arg, "a number", written.place)
        dtype = args[0].dtype
        for arg in args[1:]:
            dtype = join(dtype, arg.dtype)
        if node.name not in POLYMORPHIC and not dtype.is_float:
            dtype = FLOAT32
        return Op(dtype, node.name, tuple(in_context(a, dtype) for a in args), place=node.place)

    def _operator(self, node: Operator) -> Expr:
        args = tuple(self.value(a) for a in node.args)
        if node.op == "?:":
            self._require(args[0], "boolean", node.args[0].place)
            if args[1].dtype.is_bool != args[2].dtype.is_bool:
                self._require(args[2], "boolean" if args[1].dtype.is_bool else "a number", node.args[2].place)
            dtype = join(args[1].dtype, args[2].dtype)
            return Op(dtype, "?:", (args[0], *(in_context(a, dtype) for a in args[1:])), place=node.place)
        if node.op in ("&&", "||", "!"):
            for arg, written in zip(args, node.args, strict=True):
                self._require(arg, "boolean", written.place)
            return Op(BOOL, node.op, args, place=node.place)
        both_bool = node.op in ("==", "!=") and all(a.dtype.is_bool for a in args)
        for arg, written in zip(args, node.args, strict=True):
            self._require(arg, "boolean" if both_bool else "a number", written.place)
        dtype = args[0].dtype if len(args) == 1 else join(args[0].dtype, args[1].dtype)
        args = tuple(in_context(a, dtype) for a in args)
        return Op(BOOL if node.op in COMPARISONS else dtype, node.op, args, place=node.place)
