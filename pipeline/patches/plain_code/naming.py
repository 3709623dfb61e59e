"""What the names of others mean in the statements of a block, and which of their values one may be given."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import symtable
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from ....ops.runtime.primitives.plain_code.arrays import block_arrays
from ....ops.runtime.primitives.plain_code.block_tensors import FUNCTIONS, is_of_block
from ....ops.runtime.primitives.plain_code.language import BUILTINS, LIBRARY, MODULES
from ....ops.runtime.primitives.plain_code.library_values import is_usual, is_value
from ....ops.runtime.user_code import attribute
from ...proxies.arrays import TracedArray
from ...proxies.base import is_traced
from ...proxies.dicts import TracedDict
from ...proxies.lists import TracedList
from ...proxies.make import TracedOptional
from ...proxies.scalars import TracedBool, TracedComplex, TracedFloat, TracedInt
from ...proxies.strings import TracedStr
from .call_forms import form_of, with_bound
from .called_models import is_model
from .models.opened_modules import forward_of
from .plain_literals import UnplainError, is_plain, literal, name_of
from .statements.plain_forms import WITHOUT_GRADIENTS
from .user_classes.classes import is_of_user

MISSING: Any = object()
_VALUES = (TracedInt, TracedFloat, TracedBool, TracedComplex, TracedStr, TracedList, TracedDict, TracedOptional)
_NO_OBJECTS = ("collections", "builtins", "torch", "numpy", "tracepack", "datetime", "decimal")
"""Packages whose objects are values, of which more than an attribute may be asked."""

_GOING = (
    "enumerate", "zip", "range", "reversed", "list", "max", "min", "sorted", "sum", "abs", "round", "any", "all", "map",
    "filter", "divmod",
)  # fmt: skip
"""Builtins that go through things, or choose among them, with numbers of numpy as they are."""


def is_object(thing: Any) -> bool:
    """Whether a thing is an object of the user's, of which a block asks for attributes and methods."""
    kinds = (dict, list, tuple, set, frozenset, FunctionType, MethodType, ModuleType, re.Pattern)
    if is_traced(thing) or is_plain(thing) or isinstance(thing, kinds):
        return False
    if is_model(thing):
        return True
    return type(thing).__module__.partition(".")[0] not in _NO_OBJECTS


def is_meant(thing: Any) -> bool:
    """Whether a variable is written down as what it means: an object, or a module that the function imports itself."""
    return is_object(thing) or isinstance(thing, ModuleType)


def stays(function: ast.expr, known: Mapping[str, Any]) -> bool:
    """Whether a call belongs to the block, also with arrays: of such a builtin, or of a class of numbers of numpy."""
    match function:
        case ast.Name(name):
            return name in _GOING
        case ast.Attribute(ast.Name(name), attribute) if known.get(name) is np:
            return isinstance(getattr(np, attribute, None), type)
    return False


def is_computed(owner: Any, name: str) -> bool:
    """Whether an attribute of an object is what a function of its class gives, which may be another thing each time."""
    if isinstance(owner, type | ModuleType | torch.nn.Module):
        return False
    found = inspect.getattr_static(owner, name, MISSING)
    return found is MISSING or isinstance(found, property)


class Placing(ast.NodeTransformer):
    """Puts expressions in the places of names."""

    def __init__(self, parts: Mapping[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name."""
        found: ast.AST = self.parts.get(node.id, node)
        return found


class Naming(ast.NodeTransformer):
    """Puts what global names mean in their place.

    Args:
        encoding: gives the source of what they mean.
        meant: what they mean.
    """

    def __init__(self, encoding: Any, meant: Mapping[str, Any]) -> None:
        self.encoding, self.meant = encoding, meant

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name."""
        if node.id not in self.meant:
            return node
        thing = self.meant[node.id]
        if thing is NotImplemented:
            return name_of("not_implemented")
        if thing is MISSING:
            raise UnplainError(f"{node.id!r} is not defined")
        source: ast.AST = self.encoding.source_of(thing)
        return source

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call, which may ask for a class, or be one of a model."""
        if type(kind := self._held(node.func)) is partial:
            node.args, node.keywords = [self.visit(e) for e in node.args], [self.visit(e) for e in node.keywords]
            return with_bound(node, kind, self.encoding.source_of)
        if is_model(kind):
            if (opened := self._opened(node.func, kind)) is not None:
                node.func = opened
                self.generic_visit(node)
                return node
            form, given = form_of(node)
            args = [self.visit(each) for each in given]
            return ast.copy_location(ast.Call(self.encoding.model(kind, form), args, []), node)
        match node:
            case ast.Call(ast.Name("isinstance"), [_, kinds], []):
                for each in kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]:
                    self._require_known(each)
            case ast.Call(ast.Name("is_exactly"), [_, kind], []) if not is_of_user(self._held(kind)):
                raise UnplainError(f"it asks whether something is a {ast.unparse(kind)}")
        self.generic_visit(node)
        return node

    def _opened(self, function: ast.expr, model: Any) -> ast.expr | None:
        """What calls the `forward` of a model in the block; None where it is called as a graph."""
        forward = forward_of(model, ast.unparse(function).rpartition(".")[2], self.encoding.opened)
        if forward is None:
            return None
        with self.encoding.undone_if_unplain() as attempt:
            attempt.found = self.encoding.source_of(forward)
        found: ast.expr | None = attempt.found
        return found

    def _require_known(self, part: ast.expr) -> None:
        """Refuses classes of which a block knows no name, as in ``isinstance(x, Decimal)``."""
        kind = self.meant.get(part.id) if isinstance(part, ast.Name) else self._held(part)
        if isinstance(kind, type) and BUILTINS.get(kind.__name__) is not kind and not is_of_user(kind):
            raise UnplainError(f"it asks whether something is a {ast.unparse(part)}")

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """``with torch.no_grad():``, in whose place its statements stand: a block computes no gradients."""
        match node.value:
            case ast.Call(ast.Name(name), [asked], []) if name == WITHOUT_GRADIENTS:
                if self._held(asked) not in (torch.no_grad, torch.inference_mode):
                    raise UnplainError(f"it has with {ast.unparse(asked)}()")
                self.encoding.without_gradients = True
                return ast.copy_location(ast.Expr(ast.Call(name_of(WITHOUT_GRADIENTS), [], [])), node)
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A function of a module, or what an object or a class of the user's holds."""
        found = self._held(node if isinstance(node.ctx, ast.Load) else node.value)
        if found is not MISSING and not isinstance(node.ctx, ast.Load):
            raise UnplainError(f"it sets {ast.unparse(node)}")
        if found is MISSING:
            self.generic_visit(node)
            return node
        source: ast.AST = self.encoding.source_of(found)
        return source

    def _held(self, node: ast.expr) -> Any:
        """What a chain of attributes means, where it begins at a module, a class or an object."""
        if isinstance(node, ast.Name):
            found = self.meant.get(node.id, MISSING)
            if isinstance(found, type) and of_library(found) is not None:
                return MISSING  # str.lower
            opaque = isinstance(found, ModuleType | type) or (found is not MISSING and is_object(found))
            return found if opaque else MISSING
        if not isinstance(node, ast.Attribute):
            return MISSING
        owner = self._held(node.value)
        if owner is MISSING or is_traced(owner) or is_plain(owner) or (isinstance(owner, type) and of_library(owner)):
            return MISSING
        if isinstance(owner, Enum) and node.attr in ("name", "value"):
            return getattr(owner, node.attr)
        found = attribute(owner, node.attr, MISSING)
        if found is MISSING:
            raise UnplainError(f"there is no {ast.unparse(node)}")
        if is_computed(owner, node.attr):
            raise UnplainError(f"{ast.unparse(node)} is computed by each that asks for it")
        return found


def of_library(thing: Any) -> ast.expr | None:
    """The name of a builtin or a function of a module that a block may use; None for another thing."""
    try:
        name = getattr(thing, "__name__", "")
    except Exception:  # its own `__getattr__` raises
        return None
    if not isinstance(thing, type | FunctionType | BuiltinFunctionType) or not isinstance(name, str):
        return None
    if thing is Decimal and not is_usual():
        return None
    name = name.removeprefix("openssl_")  # hashlib.md5
    if BUILTINS.get(name) is thing:
        return name_of(name)
    for module, names in LIBRARY.items():
        if name in names and getattr(importlib.import_module(module), name) is thing:
            return ast.Attribute(name_of(module), name, ast.Load())
    return None


def of_torch(thing: Any) -> ast.expr | None:
    """The name of a function of torch, or of a dtype, that a block may use; None for another thing."""
    if isinstance(thing, torch.dtype):
        return ast.Attribute(name_of("torch"), str(thing).removeprefix("torch."), ast.Load())
    name = getattr(thing, "__name__", "") if isinstance(thing, FunctionType | BuiltinFunctionType) else ""
    for module, names in FUNCTIONS.items():
        if name in names and getattr(importlib.import_module(MODULES[module]), name) is thing:
            return ast.Attribute(name_of(module), name, ast.Load())
    return None


def _of_class(kind: type) -> ast.expr:
    name = block_arrays.CLASSES[kind]
    return ast.Attribute(name_of("numpy"), "bool_" if name == "bool" else name, ast.Load())


def of_numpy(thing: Any) -> ast.expr | None:
    """The name of a function or class of numpy that a block may use, or what makes a number; None for others."""
    if block_arrays.is_number(thing):
        return ast.Call(_of_class(type(thing)), [literal(thing.item())], [])
    if isinstance(thing, np.dtype):
        return _of_class(thing.type) if thing.isnative and thing.type in block_arrays.CLASSES else None
    if isinstance(thing, type):
        return _of_class(thing) if thing in block_arrays.CLASSES else None
    name = getattr(thing, "__name__", "") if callable(thing) else ""
    for module, names in block_arrays.FUNCTIONS.items():
        if name in names and getattr(importlib.import_module(MODULES[module]), name) is thing:
            return ast.Attribute(name_of(module), name, ast.Load())
    return None


def refuse_unplain(thing: Any, tensors: bool = False) -> None:
    """Refuses what a block cannot be given.

    Args:
        thing: what it is to be given.
        tensors: whether that may be, or hold, tensors.

    Raises:
        UnplainError: it is no plain data.
    """
    if is_traced(thing):
        if type(thing) is TracedArray and tensors and block_arrays.is_of_block(thing.concrete):
            return
        special = any(vars(thing).get(each) for each in ("objects", "missing", "ends", "view", "loop"))
        if type(thing) not in _VALUES or special or not _is_given(thing.concrete, tensors):
            raise UnplainError(f"it is given a {type(thing.concrete).__name__}")
        return
    if isinstance(thing, list | tuple | dict):
        if type(thing) not in (list, tuple, dict):
            raise UnplainError(f"it is given a {type(thing).__name__}")
        for each in thing.values() if isinstance(thing, dict) else thing:
            refuse_unplain(each, tensors)
    elif (not is_plain(thing) or is_value(thing)) and not (tensors and _is_data(thing)):
        raise UnplainError(f"it is given a {type(thing).__name__}")


def _is_given(concrete: Any, tensors: bool) -> bool:
    """Whether the example of a value is what a block may be given."""
    if not tensors or is_plain(concrete):
        return is_plain(concrete)
    if type(concrete) in (list, tuple):
        return all(_is_given(each, tensors) for each in concrete)
    if type(concrete) is dict:
        return all(is_plain(key) and _is_given(each, tensors) for key, each in concrete.items())
    return _is_data(concrete)


def _is_data(thing: Any) -> bool:
    """Whether it is a tensor, an array, or a number of numpy, of which blocks may have one."""
    return is_of_block(thing) or block_arrays.is_of_block(thing)


def scopes(table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """The names that are global in some scope of a text, and those that are local in one."""
    outer, local = set[str](), set[str]()
    for inner in table.get_children():
        found = scopes(inner)
        outer, local = outer | found[0], local | found[1]
    if table.get_type() == "function":
        for symbol in table.get_symbols():
            (outer if symbol.is_global() else local).add(symbol.get_name())
    return outer, local - {".0"}


def set_in(tree: ast.AST) -> set[str]:
    """The names that a tree sets."""
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
