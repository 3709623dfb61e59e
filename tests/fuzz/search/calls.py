"""One call that was searched for: from its recipe to what it did.

It goes the way of a file's: its node is admitted as `load` does, and what `resolve` gives is called. Looked for are, as
for other hostile calls, the end of the process, a hang, and memory that nobody wrote; and besides what the call does to
its arguments, which `memory.touched` must have foretold of the node.
"""

from __future__ import annotations

import ctypes
import inspect
import pickle
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy
import torch

from tests.fuzz.effects import _content, _overlap, _places, _size
from tests.fuzz.operators import POISON, _schemas, bytes_of, poisoned, watched
from tests.fuzz.search.fitting import Fitting
from tracepack.ops.graph.device import CPU
from tracepack.ops.graph.graph import Graph, Literal, Node, Operator, Value, target_name
from tracepack.ops.graph.operators.names import OF_ARRAYS
from tracepack.ops.graph.sharing.memory import touched
from tracepack.ops.graph.sharing.written_arguments import receivers
from tracepack.ops.graph.traverse import leaves, map_leaves
from tracepack.ops.graph.types import ANY
from tracepack.ops.runtime.primitives.callables import resolve
from tracepack.ops.runtime.safety.admission import admit
from tracepack.ops.runtime.source import torch_object

LARGEST = 1 << 16  # elements of an argument whose content is compared
_PERTURB = -6  # mallopt: what malloc gives is filled with the complement of a byte


@dataclass(frozen=True)
class Recipe:
    """A call: which form of the operator, a theme, and a seed for each argument."""

    form: int
    theme: int
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        return ":".join(map(str, (self.form, self.theme, *self.seeds)))

    @classmethod
    def of(cls, text: str) -> Recipe:
        """The call that a text stands for."""
        form, theme, *seeds = map(int, text.split(":"))
        return cls(form, theme, tuple(seeds))


Form = tuple[tuple[str, str, bool, bool], ...]
"""The arguments of a form of an operator: kind, name, whether by name alone, whether it may be left out."""


@cache
def forms(name: str) -> list[Form]:
    """The ways to call an operator: its schemas, its signature, and guesses where it has neither."""
    if name.startswith("py."):
        kind = "text" if name.startswith(("py.str_", "py.re_")) else "plain"
        rest = [[each] * count for each in ("plain", "text", "int") for count in (0, 1, 1, 2, 3)]
        return [tuple((each, "", False, False) for each in (first, *others))
                for first in (kind, "int") for others in rest]  # fmt: skip
    found: list[Form] = [] if name.startswith(OF_ARRAYS) else [tuple(form) for form in _schemas(name)]
    if name.startswith("aten."):
        return found
    if found and not name.startswith("torch.Tensor."):
        found.append((*found[0], ("Tensor", "out", True, False)))
    signature = _signature(name)
    if signature is not None:
        found += [signature] * (3 if name.startswith("torch.nn.") else 1)
    if not signature:
        rest = ("any", "int", "List[int]", "Tensor")
        found += [(("Tensor", "", False, False), *[(kind, "", False, False)] * n) for kind in rest for n in range(3)]
    return found


def _signature(name: str) -> Form | None:
    try:
        function = resolve(name)
        if name.startswith("numpy."):
            function = _of_numpy(name)
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError, AttributeError):
        return None
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    made = [(_kind(p, name), p.name, p.kind is p.KEYWORD_ONLY, p.default is not p.empty)
            for p in parameters if p.kind not in variadic]  # fmt: skip
    return tuple(made) or None


def _of_numpy(name: str) -> Any:
    found: Any = numpy
    for part in name.removeprefix("numpy.").split("."):
        found = getattr(found, part)
    return found


def _kind(parameter: inspect.Parameter, operator: str) -> str:
    name, default, words = parameter.name, parameter.default, str(parameter.annotation).lower()
    if type(default) in (bool, float, str):
        return type(default).__name__
    if name in ("dtype",):
        return "Optional[ScalarType]"
    if name in (
        "self",
        "a",
        "x",
        "x1",
        "x2",
        "arr",
        "ary",
        "array",
        "m",
        "v",
        "b",
        "y",
        "xp",
        "fp",
        "input",
        "condition",
    ):
        return "Tensor"
    if name in ("arrays", "tup", "seq", "tensors", "xi"):
        return "List[Tensor]"
    if name in ("axis", "dim") and default in (None, -1):
        return "Optional[int]"
    if name in ("shape", "newshape", "axes", "reps", "shift") or "size" in name or "broadcastinglist" in words:
        return "List[int]" if "int" not in words or "list" in words else "int"
    if "tensor" in words:
        kind = "List[Tensor]" if "list" in words or "sequence" in words else "Tensor"
        return f"Optional[{kind}]" if default is None or "optional" in words else kind
    for word in ("int", "float", "bool", "str"):
        if word in words:
            return f"Optional[{word}]" if default is None else word
    if name in ("out", "where", "mean"):
        return "Optional[Tensor]"
    return "int" if type(default) is int else "Optional[any]" if default is None else "any"


def made(name: str, recipe: Recipe) -> tuple[Node, Fitting]:
    """The node of a call and the source of what it is called with."""
    form = forms(name)[recipe.form]
    source = Fitting(recipe.theme, arrays=name.startswith(OF_ARRAYS))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for (kind, argument, keyword, optional), seed in zip(form, recipe.seeds, strict=True):
        if optional and seed % 2:
            continue
        given = source.argument(kind, argument, seed)
        if keyword or kwargs or len(args) < _place(form, argument, args):
            kwargs[argument] = given
        else:
            args.append(given)
    return Node(Operator(name), tuple(args), kwargs, Value(ANY)), source


def _place(form: Form, argument: str, args: Sequence[Any]) -> int:
    """The number of arguments in front of one that must be given by position for it to be, too."""
    names = [name for _, name, _, _ in form]
    return names.index(argument) if argument else len(args)


def outcome(name: str, recipe: Recipe) -> tuple[str, str]:
    """Makes a call, twice where memory is poisoned: what is new about it, and what is wrong with it."""
    results = []
    for byte in POISON if poisoned() is not None else POISON[:1]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            new, wrong, found = _called(name, recipe, byte)
        if wrong or found is None:
            return new, wrong
        results.append(found)
    return new, "uninitialised" if len(results) == 2 and results[0] != results[1] else ""


def _called(name: str, recipe: Recipe, byte: int) -> tuple[str, str, list[bytes] | None]:
    torch.default_generator.manual_seed(0)
    node, source = made(name, recipe)
    graph = Graph(tuple(source.inputs), (node,), node.output)
    try:
        admit(graph, trust=False, label="")
        function = resolve(name)
        args, kwargs = map_leaves(lambda leaf: _live(leaf, source), (node.args, node.kwargs))
    except Exception as error:
        return f"load {_kind_of(error)}", "", None
    given = [source.things[id(value)] for value in source.inputs]
    before = [_state(thing) for thing in given]
    ctypes.CDLL(None).mallopt(_PERTURB, byte)
    try:
        with watched(byte) as broken:
            result = function(*args, **kwargs)
            found = [bytes_of(leaf) for leaf in leaves((result, list(given)))]
    except Exception as error:
        found, result = None, error
    finally:
        ctypes.CDLL(None).mallopt(_PERTURB, 0)
    after = [_state(thing) for thing in given]
    if broken():
        return "", "written past the end", None
    wrong = _effects(graph, node, given, before, after, () if found is None else [*leaves(result)])
    if found is None:
        return f"run {_kind_of(result)}", wrong, None
    return f"ran {[_shape(leaf) for leaf in leaves(result)][:3]}", wrong, found


def _shape(leaf: Any) -> str:
    return f"{leaf.dtype}{len(leaf.shape)}" if hasattr(leaf, "dtype") else type(leaf).__name__


def _kind_of(error: Exception) -> str:
    """An error without the numbers in it: another one means that the call came to another place."""
    return re.sub(r"-?\d+|\[[\d, -]*\]", "", f"{type(error).__name__} {error}")[:160]


def _live(leaf: Any, source: Fitting) -> Any:
    if isinstance(leaf, Value):
        return source.things[id(leaf)]
    return torch_object(leaf, CPU) if isinstance(leaf, Literal) else leaf


# -- effects ---------------------------------------------------------------------------------------------------


def _state(thing: Any) -> Any:
    if not isinstance(thing, torch.Tensor | numpy.ndarray):
        return pickle.dumps(thing)
    return _places(thing), b"" if _size(thing) > LARGEST else _content(thing)


def _effects(
    graph: Graph, node: Node, given: list[Any], before: list[Any], after: list[Any], results: Sequence[Any]
) -> str:
    """What a call did to its arguments that the graph does not say; results are what it gave."""
    arrays = [isinstance(thing, torch.Tensor | numpy.ndarray) for thing in given]
    if any(was != now for was, now, known in zip(before, after, arrays, strict=True) if not known):
        return "a list of another node is changed"
    said, for_result = touched(graph), {id(leaf) for leaf in receivers(node, target_name(node.target))}
    for at, (was, now) in enumerate(zip(before, after, strict=True)):
        if not arrays[at] or was == now:
            continue
        if was[0] != now[0] and at not in said.reshaped and id(graph.inputs[at]) not in for_result:
            return "an argument is reshaped"
        if was[1] != now[1] and not _in_memory_of(at, said.written, given):
            return "an argument is written"
    live = [leaf for leaf in results if isinstance(leaf, torch.Tensor | numpy.ndarray) and _size(leaf)]
    shared = {at for at, thing in enumerate(given) if arrays[at] and any(_overlap(leaf, thing) for leaf in live)}
    if shared:
        write = Node(Operator("torch.Tensor.zero_"), (node.output,), {}, Value(ANY))
        told = touched(Graph(graph.inputs, (node, write), None)).written
        if any(not _in_memory_of(at, told, given) for at in shared):
            return "an argument is handed on"
    return ""


def _in_memory_of(at: int, places: Any, given: list[Any]) -> bool:
    return at in places or any(
        isinstance(place, int)
        and isinstance(given[place], torch.Tensor | numpy.ndarray)
        and _overlap(given[at], given[place])
        for place in places
    )
