"""The numbers of numpy in what is given for some arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...ops.graph.program import Parameters, Slot
from ...ops.graph.types import ListType


def numpy_numbers(form: Any, value: Any, parameters: Parameters) -> Iterator[tuple[str, Any]]:
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
                yield from numpy_numbers(inner, part, parameters)
        case dict() if isinstance(value, Mapping):
            for key in form.keys() & value.keys():
                yield from numpy_numbers(form[key], value[key], parameters)


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
