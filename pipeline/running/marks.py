"""What a graph says of its inputs beyond their types, where an answer hangs on more: an order, or a class.

Most functions take these as they come, so a mark is written only where a replay shows that they decide the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import torch

from ...ops.graph.errors import SignatureError
from ...ops.graph.frozen_class import frozen_object
from ...ops.graph.graph import Graph, Operator, Record
from ...ops.graph.operators.names import (
    DICT_ONLY,
    FLOAT_ONLY,
    ITEM_FIELDS,
    KEY_ORDER,
    KEYWORD_ORDER,
    LEFT_OUT,
    LIST_ONLY,
    MARKS,
    NO_SUBCLASS,
    NOT_OF_NUMPY,
    PLAIN_ONLY,
    SOME_FLOAT,
    TENSOR_ONLY,
    is_mark,
)
from ...ops.graph.program import Parameters, Slot
from ...ops.graph.types import ListType, ScalarType
from .handed import KeptClasses

_OF_CALLS = f"py.{LEFT_OUT}"  # `ways_of` reads it


@frozen_object
class Marks:
    """What a graph says of its inputs beyond their types.

    Attributes:
        ordered: the parameters whose dicts must have their keys in the order that is stored.
        keywords: the arguments that must be given in this order.
        floats: the inputs that must not be, or hold, an int for a float.
        lists: the inputs that must be no tuple, and have none where their type has lists.
        tensors: the inputs that must not be a Parameter or of another subclass of tensors.
        some: the inputs that must not have ints for all their floats at once.
        fields: the inputs that are lists with named tuples: the names of the fields of these by the path to them.
        plain: the parameters whose tuples and dicts must be plain ones, or OrderedDicts.
        dicts: the parameters whose dicts must be of no subclass.
        numbers: the inputs that must not have numbers of numpy of some dtypes for those of Python.
        exact: the parameters whose containers must be of no subclass, and whose named tuples of the class that the
            signature names.
        classes: the names of the classes of the named tuples in inputs that are lists, by the input and the path.
    """

    ordered: frozenset[str] = frozenset()
    keywords: tuple[str, ...] = ()
    floats: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    tensors: frozenset[str] = frozenset()
    some: frozenset[str] = frozenset()
    fields: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    plain: frozenset[str] = frozenset()
    dicts: frozenset[str] = frozenset()
    numbers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    exact: frozenset[str] = frozenset()
    classes: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @staticmethod
    def of(graph: Graph) -> Marks:
        """The marks among the nodes of a graph."""
        found: dict[str, list[str]] = {name: [] for name in MARKS}
        fields: dict[str, dict[str, tuple[str, ...]]] = {}
        numbers: dict[str, frozenset[str]] = {}
        exact, classes = set[str](), dict[tuple[str, str], str]()
        for node in graph.nodes:
            if node.target == Operator(f"py.{ITEM_FIELDS}"):
                about, path = [*map(str, node.args[:2]), "", ""][:2]  # a file may leave them out
                fields.setdefault(about, {})[path] = tuple(map(str, node.args[2:]))
            elif node.target == Operator(f"py.{NOT_OF_NUMPY}"):
                numbers |= {str(name): frozenset(map(str, node.args[1:])) for name in node.args[:1]}
            elif node.target == Operator(f"py.{NO_SUBCLASS}"):
                texts = [*map(str, node.args)]
                exact.update(texts[:1] if len(texts) == 1 else ())
                classes |= {(texts[0], texts[1]): texts[2]} if len(texts) == 3 else {}
            elif isinstance(node.target, Operator) and is_mark(node.target.name) and node.target.name != _OF_CALLS:
                found[node.target.name.removeprefix("py.")] += map(str, node.args)
        floats, lists, tensors, some, plain, dicts = (
            frozenset(found[name]) for name in (FLOAT_ONLY, LIST_ONLY, TENSOR_ONLY, SOME_FLOAT, PLAIN_ONLY, DICT_ONLY)
        )
        ordered, keywords = frozenset(found[KEY_ORDER]), tuple(found[KEYWORD_ORDER])
        held = plain, dicts, numbers, frozenset(exact), classes
        return Marks(ordered, keywords, floats, lists, tensors, some, fields, *held)

    @property
    def ask_for_more(self) -> bool:
        """Whether `check` has anything to do."""
        return bool(self.keywords or self.floats or self.some or self.plain or self.dicts or self.numbers or self.exact)

    def check_class(self, name: str, value: Any, kind: Any) -> None:
        """Refuses a value whose class the function would see, and the pipeline does not."""
        wanted = list if name in self.lists else torch.Tensor if name in self.tensors else None
        if wanted is list and type(value) is list and isinstance(kind, ListType):
            value = next(_tuples(kind, value), value)
        if wanted is torch.Tensor and isinstance(kind, ListType):
            value = next((each for each in _tensors(value) if type(each) is not torch.Tensor), None)
        if wanted is not None and type(value) is not wanted and isinstance(value, tuple | torch.Tensor):
            fix = "Pass a list." if wanted is list else "Pass x.data, which is a plain tensor."
            raise _of_class(value, name, wanted.__name__, fix)

    def named_tuples(
        self, name: str, value: Any, kind: Any, convert: bool
    ) -> Iterator[tuple[Any, tuple[str, ...], str]]:
        """The tuples in a list that must be named ones, which are taken by position: with fields and place.

        Args:
            name: of the input.
            value: what is given for it.
            kind: its type.
            convert: whether inputs are converted, so that a plain tuple stands for a named one.
        """
        fields = self.fields.get(name, {})
        for where, path, part in _all_tuples(kind, value, name, "") if fields else ():
            if (names := fields.get(path)) is not None and not (convert and type(part) is tuple):
                yield part, names, where

    def check(self, feed: Mapping[str, Any], parameters: Parameters, flat: Sequence[Any], convert: bool) -> None:
        """Refuses arguments in another order, an int for a float, and what is of a class that the function sees.

        Args:
            feed: what is given.
            parameters: those of the pipeline.
            flat: the inputs made of it.
            convert: whether inputs are converted, so that a number of numpy stands for its value.
        """
        if self.keywords and (given := tuple(name for name in feed if name in self.keywords)) != self.keywords:
            raise SignatureError(
                "the arguments are in another order, on which the answer depends", got=given, expected=self.keywords
            )
        for parameter in parameters.items if self.plain or self.dicts or self.exact else ():
            if parameter.name in self.plain | self.dicts | self.exact and parameter.name in feed:
                strict = KeptClasses(
                    parameter.name in self.dicts, parameter.name in self.plain, parameter.name in self.exact, convert
                )
                for value, wanted in self._unlike(strict, parameter.tree, feed[parameter.name], parameters):
                    fix = f"Pass {wanted}({'*' * isinstance(value, tuple)}value)." if wanted not in _PLAIN else ""
                    raise _of_class(value, parameter.name, wanted, fix or f"Pass {wanted}(value).")
        for parameter in parameters.items if self.numbers and not convert else ():
            for name, value in _numpy_numbers(parameter.tree, feed.get(parameter.name), parameters):
                self._refuse_number(name, value)
        inputs = list(zip(parameters.names, parameters.types, flat, strict=True))
        for name, kind, value in inputs if self.floats else ():
            if name in self.floats:
                _refuse_ints([each for each in _floats(kind, value) if type(each) is int], name)
        held = [each for name, kind, value in inputs if name in self.some for each in _floats(kind, value)]
        if all(type(each) is int for each in held):
            _refuse_ints(held, min(self.some, default=""))

    def _refuse_number(self, name: str, value: Any) -> None:
        if value.dtype.name in self.numbers.get(name, ()):
            kind = type(value.item()).__name__
            raise SignatureError(
                "the function computes otherwise with a number of numpy than with one of Python",
                where=f"input {name!r}", got=f"numpy.{type(value).__name__}", expected=kind,
                fix=f"Pass {kind}(value), or value.item().",
            )  # fmt: skip

    def _unlike(
        self, strict: KeptClasses, form: Any, value: Any, parameters: Parameters, name: str = "", path: str = ""
    ) -> Iterator[tuple[Any, str]]:
        """What is given for a container and is of a class that shows, with the name of the class that it should have.

        Args:
            strict: how near it must be.
            form: a tree of a parameter, or a type in it.
            value: what is given for it.
            parameters: those of the pipeline.
            name: of the input; empty outside of lists of any length.
            path: the place in its type.
        """
        parts: list[tuple[Any, Any, str]] = []
        match form:
            case Slot(index):
                name, parts = parameters.names[index], [(parameters.types[index], value, "")]
            case ListType(item) if isinstance(value, list | tuple):
                yield from strict.unlike_list(value)
                parts = [(item, each, f"{path}[]") for each in value]
            case Record():
                yield from strict.unlike_record(value, form.name)
                parts = [(*pair, path) for pair in zip(form.items, value, strict=False)]
            case tuple():
                if path in self.fields.get(name, {}):
                    yield from strict.unlike_record(value, self.classes.get((name, path), ""))
                else:
                    yield from strict.unlike_tuple(value)
                pairs = enumerate(zip(form, value, strict=False))
                parts = [(inner, part, f"{path}[{number}]") for number, (inner, part) in pairs]
            case list():
                yield from strict.unlike_list(value)
                parts = [(*pair, f"{path}[{number}]") for number, pair in enumerate(zip(form, value, strict=False))]
            case dict():
                yield from strict.unlike_dict(value)
                parts = [(inner, value[key], f"{path}[{key!r}]") for key, inner in form.items()]
        for inner, part, place in parts:
            yield from self._unlike(strict, inner, part, parameters, name, place)


_PLAIN = ("tuple", "list", "dict")


def _of_class(value: Any, name: str, wanted: str, fix: str) -> SignatureError:
    given = type(value).__name__
    article = "an" if given[0] in "AEIOU" else "a"
    what = f"the function asks for the class of this input, and {article} {given} gives another answer"
    return SignatureError(what, where=f"input {name!r}", expected=wanted, fix=fix)


def _refuse_ints(found: Sequence[int], name: str) -> None:
    if found:
        raise SignatureError(
            "an int gives another answer than a float",
            where=f"input {name!r}", got=found[0], expected="float", fix="Pass a float.",
        )  # fmt: skip


def _tuples(kind: Any, value: Any) -> Iterator[tuple[Any, ...]]:
    """The tuples that stand where a type has lists."""
    if isinstance(value, tuple) and (isinstance(kind, ListType) or kind == ScalarType("strings")):
        yield value
    match kind:
        case ListType(ListType() | ScalarType("strings") | dict() | tuple() | list() as item):
            yield from (each for part in value for each in _tuples(item, part))
        case dict():
            yield from (each for key, inner in kind.items() for each in _tuples(inner, value.get(key)))
        case tuple() | list():
            yield from (each for inner, part in zip(kind, value, strict=True) for each in _tuples(inner, part))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Those in a value, at any depth."""
    if isinstance(value, torch.Tensor):
        yield value
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for part in parts:
        yield from _tensors(part)


def _all_tuples(kind: Any, value: Any, where: str, path: str) -> Iterator[tuple[str, str, Any]]:
    """The tuples that stand where a type has some, each with its place and the path to it in the type."""
    match kind:
        case ListType(item) if isinstance(value, list | tuple):
            for number, part in enumerate(value):
                yield from _all_tuples(item, part, f"{where}[{number}]", f"{path}[]")
        case dict() if isinstance(value, Mapping):
            for key in kind.keys() & value.keys():
                yield from _all_tuples(kind[key], value[key], f"{where}[{key!r}]", f"{path}[{key!r}]")
        case tuple() if isinstance(value, tuple):
            yield where, path, value
            for number, (inner, part) in enumerate(zip(kind, value, strict=False)):
                yield from _all_tuples(inner, part, f"{where}[{number}]", f"{path}[{number}]")


def _floats(kind: Any, value: Any) -> Iterator[Any]:
    """What stands where a type has floats."""
    match kind:
        case ScalarType("float"):
            yield value
        case ListType(item):
            yield from (each for part in value for each in _floats(item, part))
        case dict():
            yield from (each for key, inner in kind.items() for each in _floats(inner, value[key]))
        case tuple() | list():
            yield from (each for inner, part in zip(kind, value, strict=True) for each in _floats(inner, part))


def _numpy_numbers(form: Any, value: Any, parameters: Parameters) -> Iterator[tuple[str, Any]]:
    """Those in a value that stand where a type has numbers or flags of Python, each with the name of its input.

    Args:
        form: the tree of a parameter, or a part of it.
        value: what is given for it.
        parameters: those of the pipeline.
    """
    match form:
        case Slot(index):
            yield from ((parameters.names[index], each) for each in _in_type(parameters.types[index], value))
        case tuple() | list() if isinstance(value, tuple | list):
            for inner, part in zip(form, value, strict=False):
                yield from _numpy_numbers(inner, part, parameters)
        case dict() if isinstance(value, Mapping):
            for key in form.keys() & value.keys():
                yield from _numpy_numbers(form[key], value[key], parameters)


def _in_type(kind: Any, value: Any) -> Iterator[Any]:
    if isinstance(value, np.generic):
        yield value
    elif isinstance(kind, ListType) and isinstance(value, list | tuple):
        for item in value:
            yield from _in_type(kind.item, item)
    elif isinstance(kind, dict) and isinstance(value, Mapping):
        for key in kind.keys() & value.keys():
            yield from _in_type(kind[key], value[key])
    elif isinstance(kind, tuple) and isinstance(value, tuple):
        for inner, part in zip(kind, value, strict=False):
            yield from _in_type(inner, part)
