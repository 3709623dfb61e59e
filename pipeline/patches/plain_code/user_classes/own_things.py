"""What variables are before a block that alone hold a thing: the block begins with a thing of its own, a copy."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch

from ....proxies.base import is_traced
from ..called_models import is_model
from ..plain_literals import literal, name_of
from .classes import is_class
from .outside_objects import is_instance


def own_objects(encoding: Any, values: Mapping[str, Any], own: Collection[str]) -> dict[str, ast.expr]:
    """What makes the objects anew that variables alone hold, by their names: the block may change those.

    Args:
        encoding: of the block.
        values: what its variables are before.
        own: the names of those that alone hold what they do.
    """
    found = dict[str, ast.expr]()
    for name in own:
        thing = values[name]
        if not is_class(type(thing)) or is_model(thing) or any("__slots__" in vars(e) for e in type(thing).__mro__):
            continue
        with encoding.undone_if_unplain() as attempt:
            attempt.found = _object(encoding, thing)
        if attempt.found is not None:
            found[name] = attempt.found
    return found


def _object(encoding: Any, thing: Any) -> ast.expr:
    kind = name_of(encoding.class_name(type(thing)))
    values = [own_thing(encoding, each) for each in vars(thing).values()]
    return ast.Call(name_of("new_object"), [kind, ast.Dict([*map(ast.Constant, vars(thing))], values)], [])


def own_thing(encoding: Any, thing: Any) -> ast.expr:
    """What makes a copy of a thing that nothing else holds."""
    if isinstance(thing, torch.Tensor | np.ndarray):
        method = "clone" if isinstance(thing, torch.Tensor) else "copy"
        return ast.Call(ast.Attribute(encoding.source_of(thing), method, ast.Load()), [], [])

    def leaf(part: Any) -> ast.expr | None:
        """The source of a part of a container that the function has made: None where it is another container."""
        found: ast.expr | None = encoding.source_of(part) if is_traced(part) or is_instance(part) else None
        return found

    if not is_traced(thing):
        return literal(thing, leaf)
    made: ast.expr = encoding.source_of(thing)
    plain = thing.concrete
    return ast.Call(name_of(type(plain).__name__), [made], []) if type(plain) in (list, dict) else made
