"""What lists and dicts that a run makes hold, as the nodes tell: the kinds of items, of keys and of entries. No torch.

A type in a graph says "any" of what data decides. Here the graph is gone through with kinds in place of values: those
of tensors and arguments are known, and each node gives one by what it is given. Where it may give another kind for
other data, or nothing is known of it, there is none. An int may stand for a float, as in Python's annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...ops.graph.graph import Graph, Node, Operator, Record, Value
from ...ops.graph.traverse import leaves
from ...ops.graph.types import ANY, BOOL, FLOAT, INT, STR, STRINGS, ListType, ScalarType, TensorType, Type
from .arrays.tensors_of_lists import MAKERS, UnsureTensor, after, tensor_of_list
from .text_results import gives_text

MOST_TURNS, DEEPEST = 4, 20
_NUMBERS = (INT, FLOAT)
_ARITHMETIC = ("add", "sub", "mul", "floordiv", "mod", "neg", "pos", "abs", "round", "min", "max")
_SAME = ("list", "sorted", "sorted_by", "foremost", "reversed", "filter")
_WHOLE = (
    "torch.", "aten.", "py.len", "py.int", "py.size", "py.numel", "py.index", "py.count", "py.ord", "py.str_", "py.re_",
    "py.floor", "py.ceil", "py.trunc", "py.start", "py.end", "py.isqrt", "py.gcd", "py.lcm", "py.factorial", "py.comb",
    "py.perm",
)  # fmt: skip
"""How the names begin of what gives an int for all data where it gave one for the example."""
_UNSURE = ("pow", "best_by", "sum", "total", "divmod")


@dataclass(frozen=True)
class DictType:
    """A dict with keys of run time.

    Attributes:
        key: the kind of all keys; item: that of all entries.
    """

    key: Any
    item: Any

    kind = "dict"

    def __str__(self) -> str:
        return f"dict[{self.key}, {_written(self.item)}]"


@dataclass(frozen=True)
class OptionalType:
    """None, or a thing of some kind.

    Attributes:
        item: the kind.
    """

    item: Any

    kind = "optional"

    def __str__(self) -> str:
        return f"None | {_written(self.item)}"


class _Nothing:
    """The kind of the items of an empty container, which may become any."""

    def __str__(self) -> str:
        return "any"


NOTHING = _Nothing()


Known = ListType | DictType | OptionalType | ScalarType | UnsureTensor


def containers(graph: Graph) -> Mapping[int, Known]:
    """The ids of results of unknown kinds -> what lists and dicts hold, what is not None is, a text or a tensor."""
    asked = {id(leaf) for leaf in leaves(graph.output) if isinstance(leaf, Value) and leaf.type == ANY}
    if not asked:
        return {}
    found = _Kinds(graph, [value.type for value in graph.inputs], 0).found
    kinds = {key: found.get(key) for key in asked}
    return {
        key: kind
        for key, kind in kinds.items()
        if (isinstance(kind, ListType | DictType | OptionalType | UnsureTensor) and _is_known(kind)) or kind == STR
    }


class _Mixed(tuple[Any, ...]):
    """The kinds of the items of a list that has as many as the code says, of several kinds."""

    __slots__ = ()


def _written(item: Any) -> str:
    match item:
        case _Mixed():
            return f"[{', '.join(map(_written, item))}]"
        case dict():
            return "{" + ", ".join(f"{key!r}: {_written(part)}" for key, part in item.items()) + "}"
        case tuple():
            return f"({', '.join(map(_written, item))})"
    return str(item)


def _is_known(kind: Any) -> bool:
    match kind:
        case ListType(item) | OptionalType(item):
            return _is_known(item)
        case DictType(key, item):
            return isinstance(key, ScalarType) and _is_known(key) and _is_known(item)
        case dict() | tuple():
            return all(map(_is_known, kind.values() if isinstance(kind, dict) else kind))
    return kind is not None and kind is not NOTHING and kind != ANY


def _list_of(item: Any) -> Any:
    return STRINGS if item == STR else None if item is None else ListType(_free(item))


def _free(item: Any) -> Any:
    """The kind of an item, whose sizes may be others in the next one."""
    match item:
        case TensorType(dtype, shape):
            return TensorType(dtype, ("?",) * len(shape))
        case tuple():
            return type(item)(map(_free, item))
        case dict():
            return {key: _free(part) for key, part in item.items()}
    return item


def _item(kind: Any) -> Any:
    """The kind of the items of a list, of the keys of a dict."""
    if kind is NOTHING:
        return NOTHING
    match kind:
        case ListType(item):
            return item
        case DictType(key, _):
            return key
    return STR if kind in (STRINGS, STR) else None


def _joined(one: Any, other: Any) -> Any:
    """The kind of what is of one of two kinds: None where nothing can be said."""
    if one is NOTHING or other is NOTHING or one == other:
        return other if one is NOTHING else one
    match one, other:
        case (ListType(), ListType()) | (ListType(), ScalarType()) | (ScalarType(), ListType()):
            items = _item(one), _item(other)
            return None if None in items or STR in (one, other) else _list_of(_joined(*items))
        case TensorType(), TensorType() if one.dtype == other.dtype and len(one.shape) == len(other.shape):
            return _free(one)
        case DictType(), DictType():
            return DictType(_joined(one.key, other.key), _joined(one.item, other.item))
        case tuple(), tuple() if len(one) == len(other):
            return type(one)(map(_joined, one, other))
        case dict(), dict() if list(one) == list(other):
            return {key: _joined(one[key], other[key]) for key in one}
    return FLOAT if one in _NUMBERS and other in _NUMBERS else None


class _Kinds:
    """The kinds of the values of a graph.

    Attributes:
        found: the ids of values -> their kinds; output: those of the result, in its containers.
    """

    def __init__(self, graph: Graph, inputs: Sequence[Any], depth: int) -> None:
        self.depth = depth
        self.found: dict[int, Any] = {id(value): kind for value, kind in zip(graph.inputs, inputs, strict=True)}
        for node in graph.nodes:
            name = node.target.name if isinstance(node.target, Operator) else ""
            self._add(node.output, self._of(node), name.startswith(_WHOLE))
        self.output = self.kind(graph.output)

    def _add(self, output: Any, kind: Any, whole: bool) -> None:
        match output:
            case Value():
                by_type = FLOAT if output.type == INT and not whole else _known(output.type)  # the example's number
                self.found[id(output)] = by_type if kind is _BY_TYPE else kind
            case tuple() | list():
                parts = kind if isinstance(kind, tuple) and len(kind) == len(output) else [_BY_TYPE] * len(output)
                for each, part in zip(output, parts, strict=True):
                    self._add(each, part, whole)

    def kind(self, thing: Any) -> Any:
        """The kind of an argument: a value, a plain one, or a container of them."""
        match thing:
            case Value():
                return self.found.get(id(thing))
            case bool() | int() | float() | str():
                return {bool: BOOL, int: INT, float: FLOAT, str: STR}[type(thing)]
            case list():
                kinds = list(map(self.kind, thing))
                return _Mixed(kinds) if (item := reduce(_joined, kinds, NOTHING)) is None else _list_of(item)
            case tuple():
                return tuple(map(self.kind, thing))
            case dict() if not thing:
                return DictType(NOTHING, NOTHING)
            case dict() if all(type(key) is str for key in thing):
                return {key: self.kind(item) for key, item in thing.items()}
            case Record():
                return tuple(map(self.kind, thing.items))
        return None

    def _of(self, node: Node) -> Any:
        name = node.target.name.removeprefix("py.") if isinstance(node.target, Operator) else ""
        if name in ("map", "cond", "while_loop"):
            return self._of_graphs(name, node.args) if self.depth < DEEPEST else None
        args = [self.kind(arg) for arg in node.args if not isinstance(arg, slice)]
        if name.startswith("torch."):
            return self._of_tensors(name, args, node)
        if any(each is NOTHING for each in args) and (name in _ARITHMETIC or args[0] is NOTHING):
            return NOTHING  # of an entry that no round has put in yet
        if name == "round" and len(args) == 1:
            return INT
        if name in _ARITHMETIC:
            if BOOL in args and name in ("min", "max"):
                return BOOL if all(each == BOOL for each in args) and not node.kwargs else None
            numbers = [INT if each == BOOL else each for each in args[: 1 if name == "round" else None]]
            known = all(each in _NUMBERS for each in numbers)
            return (FLOAT if FLOAT in numbers else INT) if known and not node.kwargs else _of_texts(args)
        if name in _UNSURE:
            return None
        return _OF[name](args, node.args) if name in _OF and not node.kwargs else _BY_TYPE

    def _of_tensors(self, name: str, args: list[Any], node: Node) -> Any:
        named = list(map(self.kind, node.kwargs.values()))
        made = tensor_of_list(args[0], node) if name in MAKERS and len(args) == 1 else after(name, [*args, *named])
        return _BY_TYPE if made is None else made

    def _of_graphs(self, name: str, args: Sequence[Any]) -> Any:
        if name == "map":
            inputs = [_item(self.kind(each)) for each in args[1]] + [self.kind(each) for each in args[2]]
            return _list_of(self._output(args[0], inputs))
        if name == "cond":
            operands = [self.kind(each) for each in args[3]]
            one, other = (self._output(graph, operands) for graph in args[1:3])
            return _joined(one, other)
        carried, outer = ([self.kind(each) for each in some] for some in args[2:4])
        for _ in range(MOST_TURNS):
            after = self._output(args[1], [*carried, *outer])
            joined = [_joined(a, b) for a, b in zip(carried, after or (), strict=False)]
            if joined == carried:
                return tuple(carried)
            carried = joined if len(joined) == len(carried) else [None] * len(carried)
        return (None,) * len(carried)

    def _output(self, graph: Graph, inputs: Sequence[Any]) -> Any:
        given = [_known(v.type) if k is None else k for v, k in zip(graph.inputs, inputs, strict=True)]
        return _Kinds(graph, given, self.depth + 1).output


_BY_TYPE = object()
"""Stands for the type that the graph has for a value."""


def _known(kind: Type) -> Any:
    return None if kind == ANY else kind


def _of_texts(args: Sequence[Any]) -> Any:
    """The kind of what ``+``, ``max`` and the like give of anything but numbers: only that of texts is known."""
    return STR if args and all(each == STR for each in args) else None


def _of_tensor(args: Sequence[Any], _: Any) -> Any:
    of = args[0].types[0] if args and isinstance(args[0], UnsureTensor) else args[0] if args else None
    if not isinstance(of, TensorType):
        return None
    name = of.dtype
    kind: Any = BOOL if name == "bool" else FLOAT if name.startswith(("float", "bfloat")) else INT
    return None if name.startswith("complex") else reduce(lambda item, _: ListType(item), of.shape, kind)


def _entry(args: Sequence[Any], given: Sequence[Any]) -> Any:
    """The kind of a part of something."""
    whole, key = args[0], given[1]
    if isinstance(given[0], list) and given[0][1:] == [None]:  # what is None or a thing
        return OptionalType(_free(whole[0])) if isinstance(whole, _Mixed) and whole[0] is not None else None
    if isinstance(key, slice) or isinstance(whole, TensorType):
        return whole if isinstance(whole, ListType) or whole in (STR, STRINGS) else _BY_TYPE
    match whole:
        case DictType(_, item):
            return item
        case tuple() if type(key) is int and -len(whole) <= key < len(whole):
            return whole[key]
        case dict() if type(key) is str:
            return whole.get(key)
    return _item(whole) if args[1:] and args[1] in (INT, BOOL) else None


def _found(args: Sequence[Any], given: Sequence[Any]) -> Any:
    """The kind of an entry of a table, or of the default."""
    whole = args[0]
    if isinstance(whole, dict | tuple):
        entries = list(whole.values() if isinstance(whole, dict) else whole)
    else:
        entries = [whole.item if isinstance(whole, DictType) else _item(whole)]
    return reduce(_joined, [*entries, *args[2:]], NOTHING)


def _with_entry(args: Sequence[Any], given: Sequence[Any]) -> Any:
    whole, key, item = args
    if isinstance(whole, DictType):
        return DictType(_joined(whole.key, key), _joined(whole.item, item))
    if isinstance(whole, dict) and type(given[1]) is str:
        return {**whole, given[1]: item}
    return None


def _of_block(args: Sequence[Any], given: Sequence[Any]) -> Any:
    """The kind of what a block of plain Python gives, where it is a text in any case."""
    return STR if gives_text(given[0], args[2:]) else None


def _of_dict(part: Callable[[DictType], Any]) -> Callable[[Sequence[Any], Any], Any]:
    return lambda args, _: _list_of(part(args[0])) if args and isinstance(args[0], DictType) else None


_OF: dict[str, Callable[[Sequence[Any], Sequence[Any]], Any]] = {
    "tolist": _of_tensor,
    "getitem": _entry,
    "lookup": _found,
    "with_entry": _with_entry,
    "dict": lambda args, _: DictType(_item(args[0]), _item(args[1])) if len(args) == 2 else None,
    "counts": lambda args, _: DictType(_item(args[0]), INT),
    "most_common": _of_dict(lambda table: (table.key, table.item)),
    "keys": _of_dict(lambda table: table.key),
    "values": _of_dict(lambda table: table.item),
    "items": _of_dict(lambda table: (table.key, table.item)),
    "zip": lambda args, _: ListType(tuple(map(_item, args))),
    "zip_strict": lambda args, _: ListType(tuple(map(_item, args))),
    "enumerate": lambda args, _: ListType((INT, _item(args[0]))),
    "runs": lambda *_: ListType((INT, INT)),
    "plain_code": lambda args, given: _of_block(args, given) if given[1:2] == ("any",) else _BY_TYPE,
    "cat_strings": lambda args, _: reduce(_joined, args, NOTHING),
    **{name: lambda args, _: _list_of(_item(args[0])) for name in _SAME},
}
"""Operators of Python -> what they give, by the kinds of their arguments and by these."""
