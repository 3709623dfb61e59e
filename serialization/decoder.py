"""Reads graphs, types and trees from the plain data of msgpack; `encoder` writes the same form. No torch.

In a tree, numbers, strings, None and lists stand for themselves. Anything else is a map with one key, which names its
kind:

    {"v": n}  the n-th value of the graph        {"c": n}  the n-th constant of the archive
    {"t": [...]}  a tuple                         {"d": [[key, tree], ...]}  a dict
    {"s": [start, stop, step]}  a slice           {"e": 0}  an ellipsis
    {"x": [re, im]}  a complex number             {"i": "123"}  an integer beyond 64 bits
    {"k": [kind, name]}  a literal                {"r": [name, fields, items]}  a record
    {"z": [...]}  a torch.Size
    {"g": graph}  a subgraph                      {"p": n}  a place in the flat inputs of a pipeline

Reading raises `ArchiveError` with a path such as ``$.nodes[3].args[0]``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..ops.graph.errors import ArchiveError
from ..ops.graph.graph import (
    Body,
    BodyCall,
    Constant,
    Facts,
    Graph,
    Guard,
    KernelCall,
    Literal,
    Node,
    Operator,
    Record,
    SizeTuple,
    SourceLine,
    Value,
)
from ..ops.graph.guards import FUNCTIONS, Expression, is_plain_name
from ..ops.graph.kernel import Kernel
from ..ops.graph.operators.names import check_name
from ..ops.graph.types import DTYPES, ListType, ScalarType, TensorType, Type
from .container.schema import DEEPEST, LEVELS_OF_SUBGRAPH, MOST_DIGITS, MOST_NODES, MOST_SYMBOLS

_INTEGER = rf"-?[0-9]{{1,{MOST_DIGITS}}}"
_PLAIN = frozenset((str, int, float, bool))  # what a list that a guard expects may hold
LONGEST_PATH = 100  # characters of a member's name in messages: a file chooses the name, and every path begins with it


class SharedParts:
    """What the graphs of a file share while they are read.

    Attributes:
        nodes: how many were read.
        lines: the lines of the user, by their parts: most come with many nodes.
        tensors: the types of tensors, by the text of their dtypes and shapes: a file can choose numbers whose tuples
            have one hash, and texts it cannot.
        operators: by their names.
    """

    def __init__(self) -> None:
        self.nodes = 0
        self.lines: dict[tuple[Any, ...], SourceLine] = {}
        self.tensors: dict[str, Type] = {}
        self.operators: dict[str, Operator] = {}

    def line(self, data: Any, path: str) -> SourceLine | None:
        """A line of the user."""
        if data is None:
            return None
        if type(data) is not list or tuple(map(type, data)) != _OF_LINE:
            raise malformed(f"{path}.line", data, "a file, a line, a function and its code")
        key = tuple(data)
        return self.lines.get(key) or self.lines.setdefault(key, SourceLine(*data))

    def operator(self, name: str) -> Operator:
        """An operator that may be called."""
        if name not in self.operators:
            check_name(name)
            self.operators[name] = Operator(name)
        return self.operators[name]

    def type(self, data: Any, path: str) -> Type:
        """The type of a value."""
        match data:
            case [str(dtype), list(shape)] if _OF_SHAPE.issuperset(map(type, shape)):
                key = f"{dtype} {shape}"
                return self.tensors.get(key) or self.tensors.setdefault(key, decode_type(data, path))
        return decode_type(data, path)


_OF_LINE, _OF_SHAPE = (str, int, str, str), frozenset((int, str))


class Decoder:
    """Reads one graph.

    Args:
        constants: the archive's constants.
        kernels: its kernels.
        bodies: the op bodies read so far.
        path: the place of the graph in the archive, for messages.
        depth: in how many graphs it is.
        shared: what it shares with the other graphs of the file.
    """

    def __init__(
        self,
        constants: Sequence[Constant],
        kernels: Sequence[Kernel],
        bodies: Sequence[Body],
        path: str,
        depth: int = 0,
        shared: SharedParts | None = None,
    ) -> None:
        self.constants, self.kernels, self.bodies = constants, kernels, bodies
        self.path, self.depth = path[:LONGEST_PATH], depth
        self.shared = SharedParts() if shared is None else shared
        self.values: list[Value] = []

    def graph(self, data: Any) -> Graph:
        """A graph from plain data.

        Raises:
            ArchiveError: it is malformed; UnknownOperatorError: an operator is not allowed.
        """
        path = self.path
        data = expect(data, dict, path)
        kinds = expect(data.get("inputs"), list, f"{path}.inputs")
        inputs = tuple(self.define(kind, f"{path}.inputs[{i}]") for i, kind in enumerate(kinds))
        nodes = expect(data.get("nodes"), list, f"{path}.nodes")
        self.count(len(nodes))
        read = tuple(self.node(node, f"{path}.nodes[{i}]") for i, node in enumerate(nodes))
        return Graph(inputs, read, self.tree(data.get("output"), f"{path}.output"))

    def define(self, kind: Any, path: str) -> Value:
        """A new value."""
        value = Value(self.shared.type(kind, path))
        self.values.append(value)
        return value

    def node(self, data: Any, path: str) -> Node:
        """A node."""
        data = expect(data, dict, path)
        target = self.target(expect(data.get("target"), list, f"{path}.target"), f"{path}.target")
        arguments = expect(data.get("args"), list, f"{path}.args")
        args = tuple([self.tree(arg, f"{path}.args[{i}]") for i, arg in enumerate(arguments)])
        kwargs = self.keywords(data["kwargs"], f"{path}.kwargs") if "kwargs" in data else {}
        output = self.output(data.get("output"), f"{path}.output", 0)
        return Node(
            target, args, kwargs, output, self.shared.line(data.get("line"), path), bool(data.get("varying", False))
        )

    def keywords(self, data: Any, path: str) -> dict[str, Any]:
        """The keyword arguments of a node."""
        given = expect(data, dict, path)
        return {expect(key, str, path): self.tree(item, f"{path}[{key[:40]!r}]") for key, item in given.items()}

    def target(self, data: list[Any], path: str) -> Any:
        """The target of a node."""
        match data:
            case ["operator", str(name)]:
                return self.shared.operator(name)
            case ["kernel", int(number)]:
                return KernelCall(pick(self.kernels, number, path))
            case ["body", int(number)]:
                return BodyCall(pick(self.bodies, number, path))
            case ["guard", None | bool() | int() | float() | str() as expected, str(reason)]:
                return Guard(expected, reason)
            case ["guard", {"x": _} | {"i": _} as expected, str(reason)]:  # a complex number, or a long integer
                return Guard(self.tree(expected, path), reason)
            case ["guard", list() as expected, str(reason)] if all(
                type(item) in (str, int, float, bool) for item in expected
            ):
                return Guard(expected, reason)
        raise malformed(path, data, "an operator, a kernel, a body or a guard")

    def output(self, data: Any, path: str, depth: int) -> Any:
        """The values that a node produces."""
        self.limit(depth, path)
        if data is None:
            return None
        if type(data) is dict and len(data) == 1 and "o" in data:
            return self.define(data["o"], path)
        match data:
            case {"t": list(items), **rest} if not rest:
                return tuple(self.output(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(items))
            case {"d": list(pairs), **rest} if not rest:
                return {_key(pair, path): self.output(pair[1], path, depth + 1) for pair in pairs}
        raise malformed(path, data, "a value, a tuple or a dict")

    def tree(self, data: Any, path: str, depth: int = 0) -> Any:
        """A tree of arguments."""
        self.limit(depth, path)
        if type(data) is dict and len(data) == 1:
            ((kind, content),) = data.items()
            if kind == "v" and isinstance(content, int):
                return pick(self.values, content, path)
            if kind == "c" and isinstance(content, int):
                return pick(self.constants, content, path)
            if kind == "g":
                inner = Decoder(self.constants, self.kernels, self.bodies, path, self.depth + 1, self.shared)
                return inner.graph(content)
        return decode_tree(data, path, lambda item, where: self.tree(item, where, depth + 1))

    def count(self, nodes: int) -> None:
        """Counts a node; refuses a file with too many."""
        self.shared.nodes += nodes
        if self.shared.nodes > MOST_NODES:
            raise malformed(self.path, f"{self.shared.nodes} nodes in the graphs of the file", f"{MOST_NODES} at most")

    def limit(self, depth: int, path: str) -> None:
        """Refuses trees and subgraphs that are nested too deeply."""
        if depth + LEVELS_OF_SUBGRAPH * self.depth > DEEPEST:
            raise malformed(path, f"more than {DEEPEST} levels", "less nesting")


def decode_tree(data: Any, path: str, leaf: Callable[[Any, str], Any]) -> Any:
    """Containers and plain values; `leaf` decodes what is inside containers."""
    match data:
        case list():
            return [leaf(item, f"{path}[{i}]") for i, item in enumerate(data)]
        case {"t": list(items), **rest} if not rest:
            return tuple(leaf(item, f"{path}[{i}]") for i, item in enumerate(items))
        case {"z": list(items), **rest} if not rest:
            return SizeTuple(leaf(item, f"{path}[{i}]") for i, item in enumerate(items))
        case {"d": list(pairs), **rest} if not rest:
            return {_key(pair, path): leaf(pair[1], f"{path}[{pair[0]!r}"[: len(path) + 40] + "]") for pair in pairs}
        case {"s": [start, stop, step], **rest} if not rest:
            return slice(leaf(start, path), leaf(stop, path), leaf(step, path))
        case {"k": [str(kind), str(name)], **rest} if not rest:
            return Literal(kind, name)
        case {"r": [str(name), list(fields), list(items)], **rest} if not rest and len(fields) == len(items):
            names = tuple(expect(f, str, path) for f in fields)
            return Record(name, names, tuple(leaf(item, f"{path}[{i}]") for i, item in enumerate(items)))
        case {"x": [float(real), float(imag)], **rest} if not rest:
            return complex(real, imag)
        case {"i": str(digits), **rest} if not rest and re.fullmatch(_INTEGER, digits):
            return int(digits)
        case {"e": 0, **rest} if not rest:
            return Ellipsis
        case float() if data != data and math.copysign(1.0, data) > 0:
            return math.nan  # one object: containers of Python find what has none equal to it by its identity
        case int() | None | bool() | float() | str() | bytes():
            return data
    if type(data) is dict and type(data.get("i")) is str and len(data["i"]) > MOST_DIGITS:
        raise malformed(path, f"an int of {len(data['i'])} digits", f"{MOST_DIGITS} at most")
    raise malformed(path, data, "a value, a constant, a container or a plain value")


def decode_type(data: Any, path: str, depth: int = 0) -> Type:
    """A type."""
    if depth > DEEPEST:
        raise malformed(path, f"more than {DEEPEST} levels", "less nesting")
    match data:
        case ["list", item]:
            return ListType(_decode_item(item, f"{path}[1]", depth + 1))
        case str(kind) if kind in ("int", "float", "bool", "complex", "str", "strings", "array", "any"):
            return ScalarType(kind)
        case [str(dtype), list(shape)] if dtype in DTYPES and all(type(size) in (int, str) for size in shape):
            return TensorType(dtype, tuple(shape))
    raise malformed(path, data, "a type")


def _decode_item(data: Any, path: str, depth: int) -> Any:
    """The type of a list's items: a type, or a tuple or dict of such."""
    match data:
        case {"t": list(), **rest} | {"d": list(), **rest} if not rest and depth <= DEEPEST:
            return decode_tree(data, path, lambda item, where: _decode_item(item, where, depth + 1))
    return decode_type(data, path, depth)


def decode_facts(data: Any, inputs: Sequence[Type], path: str) -> Facts:
    """Facts about sizes; every guard is compiled once, which checks its grammar."""
    data = expect(data, dict, path)
    symbols: dict[str, tuple[int, int]] = {}
    if len(expect(data.get("symbols"), dict, f"{path}.symbols")) > MOST_SYMBOLS:
        raise malformed(f"{path}.symbols", len(data["symbols"]), f"{MOST_SYMBOLS} at most")
    for name, place in expect(data.get("symbols"), dict, f"{path}.symbols").items():
        match place:
            case [int(index), int(dim)] if isinstance(name, str) and _is_symbol(name) and _has(inputs, index, dim):
                symbols[name] = (index, dim)
            case _:
                raise malformed(f"{path}.symbols[{name!r}]", place, "an input and one of its dimensions")
    texts = [expect(text, str, f"{path}.guards") for text in expect(data.get("guards"), list, f"{path}.guards")]
    guards = tuple(map(Expression.parse, texts))
    for guard in guards:
        guard.compile(symbols)
    return Facts(symbols, guards)


def _is_symbol(name: str) -> bool:
    return is_plain_name(name) and name not in FUNCTIONS


def _has(inputs: Sequence[Type], index: int, dim: int) -> bool:
    if bool in (type(index), type(dim)) or not 0 <= index < len(inputs):  # torch takes no truth value for a dimension
        return False
    kind = inputs[index]
    return 0 <= dim < (len(kind.shape) if isinstance(kind, TensorType) else int(kind.kind == "int"))


def _key(pair: Any, path: str) -> Any:
    match pair:
        case [None | bool() | int() | float() | str() as key, _]:
            return key
    raise malformed(path, pair, "a pair of a plain key and a tree")


def pick(table: Sequence[Any], number: int, path: str) -> Any:
    """An entry of a table by its number."""
    if isinstance(number, bool) or not 0 <= number < len(table):
        raise malformed(path, number, f"a number below {len(table)}")
    return table[number]


def expect(data: Any, kind: type | tuple[type, ...], path: str) -> Any:
    """The data, if it is of a type."""
    if not isinstance(data, kind):
        names = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise malformed(path, type(data).__name__, names)
    return data


def tolerance_in(value: Any, path: str) -> float | None:
    """A tolerance in a manifest.

    Raises:
        ArchiveError: it is neither nil nor a float of at least 0.
    """
    if value is None or (type(value) is float and math.isfinite(value) and value >= 0):
        return value
    raise malformed(path, value, "nil, or a float of at least 0")


def malformed(path: str, got: Any, expected: str) -> ArchiveError:
    """The error for data that does not follow `docs/format.md`."""
    return ArchiveError("malformed", where=path, got=repr(got)[:80], expected=expected)
