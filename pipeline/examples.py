"""Takes example arguments apart into parameters and flat leaves, and builds arguments from other leaves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..ops.graph.errors import RecordError, SignatureError
from ..ops.graph.program import Parameter, Slot
from ..ops.graph.traverse import map_leaves
from ..ops.graph.types import SCALARS
from ..ops.lowering.held_objects import is_held
from ..ops.runtime.primitives.named_tuples import is_record, record_factory, to_record
from .recheck.vary import clones
from .running.binding import as_tensor

MOST_LEVELS = 200  # of containers in one argument


def given_arguments(
    process: Callable[..., Any], examples: tuple[Any, ...], named: dict[str, Any]
) -> tuple[list[tuple[str, str, Any]], list[str]]:
    """The name, kind and value of every given argument, and the names of those that are passed by keyword."""
    try:
        # nn.Module.__call__ takes any arguments; the signature is that of its forward.
        signature = inspect.signature(process.forward if isinstance(process, torch.nn.Module) else process)
        bound = signature.bind(*examples, **named)
    except TypeError as error:
        raise RecordError(f"the examples do not fit the function: {error}") from None
    except ValueError:
        raise RecordError("the function has no signature", fix="Wrap it in a lambda.") from None
    given: list[tuple[str, str, Any]] = []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD and bound.arguments.keys() & value.keys():
            twice = sorted(bound.arguments.keys() & value.keys())[0]
            raise RecordError(f"two arguments are called {twice!r}, which the keys of run() cannot tell apart")
        if kind is inspect.Parameter.VAR_KEYWORD:
            given += [(key, "keyword", item) for key, item in value.items()]
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            given.append((name, "variadic", value))
        else:
            keyword = kind is inspect.Parameter.KEYWORD_ONLY or _skips(signature, bound.arguments, name)
            given.append((name, "keyword" if keyword else "positional", value))
    return given, [n for n, k, _ in given if k == "keyword"]


def _skips(signature: inspect.Signature, given: dict[str, Any], name: str) -> bool:
    """Whether a parameter before this one was left to its default, so that this one must be passed by keyword."""
    for other in signature.parameters:
        if other == name:
            return False
        if other not in given:
            return True
    return False


def describe(
    given: Sequence[tuple[str, str, Any]],
) -> tuple[tuple[Parameter, ...], list[str], list[Any], frozenset[int], dict[int, torch.Tensor]]:
    """Takes example arguments apart: parameters, a name for each leaf, the leaves, which of these are arrays.

    And those tensors that are more than a signature can say: parameters, with gradients, with attributes.

    Args:
        given: name, kind and value of each argument.

    Raises:
        SignatureError: a value that no pipeline can take.
    """
    names: list[str] = []
    leaves: list[Any] = []
    arrays: set[int] = set()
    special: dict[int, torch.Tensor] = {}

    def tree(value: Any, where: str) -> Any:
        if where.count("[") > MOST_LEVELS:
            raise SignatureError(
                "an example is nested too deeply", where=f"input {where[:60]!r}", expected=f"{MOST_LEVELS} levels"
            )
        if value is None:
            return None
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return slot(value, where)
        if is_record(value):
            return to_record(
                value, tuple(tree(v, f"{where}.{k}") for k, v in zip(type(value)._fields, value, strict=True))
            )
        if isinstance(value, tuple | list):
            items = [tree(item, f"{where}[{index}]") for index, item in enumerate(value)]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            for key in value:
                if key is not None and type(key) not in (str, int, float, bool):
                    raise SignatureError(
                        "a dict has a key that an archive cannot hold",
                        where=f"input {where!r}", got=repr(key), expected="str or a number",
                    )  # fmt: skip
            return {key: tree(item, f"{where}[{key!r}]") for key, item in value.items()}
        return slot(value, where)

    def slot(value: Any, where: str) -> Slot:
        leaf = as_tensor(value) if not isinstance(value, np.generic) else value.item()
        leaf = value if leaf is None else leaf
        if not isinstance(leaf, torch.Tensor | list) and type(leaf) not in SCALARS:
            raise SignatureError(
                "a value that a pipeline cannot take",
                where=f"input {where!r}",
                got=f"{type(value).__module__}.{type(value).__qualname__}",
                expected="tensors, arrays, numbers, strings, and tuples, lists and dicts of them",
                fix="Pass what it holds, and make it of that in the function." if is_held(value) else "",
            )
        if isinstance(value, np.ndarray):
            arrays.add(len(leaves))
        if isinstance(value, torch.Tensor):
            _require_memory(value, where)
            if type(value) is not torch.Tensor or value.requires_grad or vars(value):
                special[len(leaves)] = value
        names.append(where)
        leaves.append(leaf)
        return Slot(len(leaves) - 1)

    items = tuple(Parameter(name, kind, tree(value, name)) for name, kind, value in given)
    return items, names, leaves, frozenset(arrays), special


def _require_memory(tensor: torch.Tensor, where: str) -> None:
    """Refuses nested, meta and sparse tensors."""
    kind = "nested" if tensor.is_nested else "meta" if tensor.is_meta else ""
    kind = kind or str(tensor.layout).removeprefix("torch.") * (tensor.layout is not torch.strided)
    if kind:
        raise SignatureError("not a plain tensor", where=f"input {where!r}", got=f"a {kind} tensor")


def alike(special: dict[int, torch.Tensor], copies: list[Any]) -> list[Any]:
    """Copies of leaves that keep what else the originals are: parameters, with gradients, with attributes."""
    for index, original in special.items():
        copy = copies[index]
        if isinstance(original, torch.nn.Parameter):
            copy = torch.nn.Parameter(copy, original.requires_grad)
        elif type(original) is not torch.Tensor:
            copy = copy.as_subclass(type(original))
        copy.__dict__.update(vars(original))
        copies[index] = copy.requires_grad_(original.requires_grad)
    return copies


def rebuild(tree: Any, leaves: Sequence[Any]) -> Any:
    """A parameter's value from flat leaves."""
    return map_leaves(
        lambda leaf: leaves[leaf.index] if isinstance(leaf, Slot) else leaf,
        tree,
        lambda record, items: record_factory(record)(*items),
    )


@dataclass(frozen=True)
class Examples:
    """The arguments to record with.

    Attributes:
        items: the function's parameters.
        leaves: their leaves, arrays as tensors over the same memory.
        arrays: the positions of the leaves that the function gets as numpy arrays.
        keywords: names of the parameters passed by keyword.
        special: position -> a tensor with more than a signature tells: a parameter, one with gradients or attributes.
    """

    items: tuple[Parameter, ...]
    leaves: Sequence[Any]
    arrays: frozenset[int]
    keywords: Sequence[str]
    special: dict[int, torch.Tensor]

    def alike(self, leaves: Sequence[Any]) -> list[Any]:
        """Copies of leaves that are parameters, have gradients or attributes where the examples do."""
        return alike(self.special, clones(leaves))

    def call(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments built from leaves; inside a recording the conversion to numpy arrays is recorded, too."""
        handed = [leaf.numpy() if index in self.arrays else leaf for index, leaf in enumerate(leaves)]
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for item in self.items:
            value = rebuild(item.tree, handed)
            if item.name in self.keywords:
                kwargs[item.name] = value
            elif item.kind == "variadic":
                args += value
            else:
                args.append(value)
        return args, kwargs
