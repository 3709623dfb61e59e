"""The text of a block: statements of the user's, with what they mean by the names of others.

What a name outside of the statements means when the function is recorded is written down: a constant as a literal, a
function of the user's as a function of the block, a function of Python's library by its own name.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch

from ....ops.runtime.primitives.plain_code.allowed import refused
from ....ops.runtime.primitives.plain_code.arrays import block_arrays
from ....ops.runtime.primitives.plain_code.block_tensors import tensors_in
from ....ops.runtime.primitives.plain_code.language import BUILTINS, LIBRARY, MODULES
from ....ops.runtime.primitives.plain_code.objects.model_call import OF_MODELS
from ....ops.runtime.primitives.plain_code.objects.user_names import TABLE
from ....ops.runtime.primitives.plain_code.running import OF_TENSORS
from ....ops.runtime.user_code import is_users
from ...proxies.base import is_traced
from ...proxies.byte_strings import TracedBytes
from ...proxies.trees import concrete
from ..source.scoping import names_read, names_set
from .call_forms import CallForm
from .called_models import CalledModel, is_model
from .models.token_batches import TokenBatches, tokenizes
from .naming import (
    MISSING,
    Naming,
    Placing,
    is_meant,
    of_library,
    of_numpy,
    of_torch,
    refuse_unplain,
    scopes,
    set_in,
    stays,
)
from .plain_literals import UnplainError, is_member, is_plain, literal, name_of, of_letters
from .statements.hoisting import OF_COPY, Part, evaluated
from .statements.own_imports import without_imports
from .statements.plain_forms import ASKED
from .tensor_items import TensorItems
from .user_classes.base_methods import BaseMethods, content
from .user_classes.classes import is_of_user, source_of_class
from .user_classes.made_once import apart
from .user_classes.outside_objects import OutsideObjects, is_outside_object
from .user_classes.own_things import own_objects, own_thing
from .user_functions import assigned, defined, definition_under, without_first
from .user_lines import parsed, placed, written

NAME = "block"
MOST_FUNCTIONS = 40


class EncodingAttempt:
    """What an attempt gives: None where it fails."""

    found: ast.expr | None = None


class Encoding:
    """The text of one block, and what it is given.

    Args:
        body: the statements.
        values: what its variables are before, by their names.
        own: the names of lists and dicts that no other variable has.
        known: what global names mean.
        code: that of their function.
        parts: names that stand for expressions: the source of each, and what gives its value.
        tensors: whether it may have tensors, and call functions of torch.
        opened: the names of modules whose `forward` is a function of the block.

    Attributes:
        uses_torch: whether it does.
    """

    def __init__(
        self,
        body: str,
        values: Mapping[str, Any],
        own: Sequence[str],
        known: Mapping[str, Any],
        code: CodeType,
        parts: Mapping[str, Part],
        tensors: bool = False,
        opened: Collection[str] = (),
    ) -> None:
        self.tensors, self.uses_torch, self.code, self.opened = tensors, False, code, opened
        self.without_gradients = False  # whether some of its statements are to have none
        self.constants = dict[int, tuple[str, Any, ast.expr]]()
        self.functions = dict[tuple[int, int], tuple[str, Any, ast.stmt | None]]()
        self.given = dict[int, tuple[str, Any]]()
        self.models = dict[Any, tuple[str, CalledModel]]()
        self.outside = OutsideObjects(self)
        self.parts = dict(parts)
        changed = names_set(parsed(body))
        objects = own_objects(self, values, {*own} - changed)
        meant = {name: each for name, each in values.items() if is_meant(each)}
        self.objects = {name: each for name, each in meant.items() if name not in (*changed, *objects)}
        tree = self._with_plain_parts(ast.Module(placed(parsed(body), code), []), values, known)
        batches = TokenBatches(values, self.parts, tree)
        tree, values, self.parts = batches.replaced(tree), batches.values, batches.parts
        items = TensorItems(values, names_set(tree.body))
        tree, listed = items.replaced(tree)
        lines = tree.body
        asked = names_read(lines)
        sizes = {name: values[tensor].shape[place] for name, (tensor, place) in items.sizes.items()}
        values = {**values, **{name: thing.tolist() for name, thing in listed.items() if name in asked}, **sizes}
        begun = list[ast.stmt]()
        for name in (name for name in values if name in asked - {*self.objects}):
            source_of = partial(own_thing, self) if name in own else self.source_of
            begun.append(assigned(name, objects[name] if name in objects else source_of(values[name])))
        begun += [assigned(name, self.source_of(give())) for name, (_, give) in self.parts.items()]
        self.lines = [*begun, *self._function(lines, [*values, *self.parts], known, self.objects)]

    def _with_plain_parts(self, tree: ast.Module, values: Mapping[str, Any], known: Mapping[str, Any]) -> ast.Module:
        """The statements with those parts in their places that are plain Python; the others stay names."""
        plain, early = dict[str, ast.expr](), dict[str, Part]()
        for name, (source, give) in self.parts.items():
            items = TensorItems(values, ())
            made, tensors = items.replaced(ast.parse(source))
            assert isinstance(made.body[0], ast.Expr)
            found = {**values, **dict.fromkeys(tensors, ()), **dict.fromkeys(items.sizes, 0)}
            is_plain = self._is_plain(made.body[0].value, found, known) or OF_COPY in name
            whole = tokenizes(made.body[0].value, {**known, **found})
            if (whole or not is_plain) and (part := evaluated(source, give, self.tensors)) is not None:
                early[name] = part
                if whole and source.startswith(("list(", "sorted(")):  # which the block may write to
                    plain[name] = ast.Call(name_of("list"), [name_of(name)], [])
            else:
                plain[name] = ast.parse(source, mode="eval").body
        self.parts = early
        return Placing(plain).visit(tree)  # type: ignore[no-any-return]  # a module

    def _is_plain(self, part: ast.expr, values: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
        """Whether an expression can stand in the block; of tensors it asks no more there than to go through them."""
        kept = dict(self.constants), dict(self.functions), dict(self.given), dict(self.models), dict(self.outside.made)
        of_tensors = self.tensors, self.uses_torch
        self.tensors = self.tensors and isinstance(part, ast.Call) and stays(part.func, known)
        try:
            for name in names_read([part]) & {*values} - {*self.objects}:
                self.source_of(values[name])
            self._function([ast.Expr(part)], [*values], known, self.objects)
        except UnplainError:
            return False
        finally:
            self.constants, self.functions, self.given, self.models, self.outside.made = kept
            self.tensors, self.uses_torch = of_tensors
        return True

    def text(self) -> str:
        """The source of the block.

        Raises:
            UnplainError: it switches gradients off, and calls no models: a recording follows them.
        """
        if self.without_gradients and not self.models:
            raise UnplainError("it has with torch.no_grad()")
        arguments = [ast.arg(name) for name, _ in (*self.given.values(), *self.models.values())]
        constants = {name: assigned(name, value) for name, _, value in self.constants.values()}
        made = {name: each for name, _, each in self.functions.values() if each is not None}
        outer, inner = apart({**constants, **made}, {each.arg for each in arguments} | self.outside.names())
        lines = [*inner, *self.outside.statements(), *self.lines]
        function = defined(NAME, ast.arguments([], arguments, None, [], [], None, []), lines)
        return written([*self._names_in_errors([*outer, *lines]), *outer, function])

    def _names_in_errors(self, lines: list[ast.stmt]) -> list[ast.stmt]:
        """What names the functions as the user's are named, where the text of an error may be asked for."""
        if not any(isinstance(part, ast.ExceptHandler) and part.name for line in lines for part in ast.walk(line)):
            return []
        names = {NAME: getattr(self.code, "co_qualname", self.code.co_name)}
        for name, thing, _ in self.functions.values():
            names |= {name: thing[0].__qualname__} if isinstance(thing, tuple) else {}
        return [ast.Assign([ast.Name(TABLE, ast.Store())], literal(names))]

    def arguments(self) -> list[Any]:
        """What the block is given, in the order of its parameters."""
        return [thing for _, thing in (*self.given.values(), *self.models.values())]

    # -- values ----------------------------------------------------------------------------------------------------

    def source_of(self, thing: Any) -> ast.expr:
        """The source of what a variable or a name means.

        Raises:
            UnplainError: a block cannot have it.
        """
        if is_model(thing):
            return self.model(thing, None)
        if self.tensors and isinstance(thing, torch.Tensor):
            self.uses_torch = True
            return self._argument(thing)
        if type(thing) is TracedBytes:
            return of_letters(self._argument(thing.letters()))
        if is_outside_object(thing):
            return self.outside.source_of(thing)
        if type(thing) is torch.Size and not is_plain(thing):
            return ast.Call(name_of("tensor_sizes"), [self.source_of(size) for size in thing], [])
        held = (list, tuple, dict, np.ndarray) if self.tensors else (list, tuple, dict)
        if is_traced(thing) or (isinstance(thing, held) and not is_plain(thing)):
            return self._argument(thing)
        if found := of_library(thing):
            return found
        if self.tensors and (found := of_torch(thing)):
            self.uses_torch = True
            return found
        if self.tensors and (found := of_numpy(thing)):
            return found
        if is_of_user(thing):
            return name_of(self.class_name(thing))
        if isinstance(thing, FunctionType):
            return name_of(self._helper(thing, None))
        if isinstance(thing, MethodType) and isinstance(thing.__func__, FunctionType):
            return name_of(self._helper(thing.__func__, thing.__self__))
        if not is_plain(thing):
            raise UnplainError(f"it uses a {type(thing).__module__}.{type(thing).__qualname__}")
        if is_member(thing):
            return self._member(thing)
        if isinstance(thing, bool | int | float | str | type(None)) and len(str(thing)) < 80 and thing == thing:
            return literal(thing)
        if id(thing) not in self.constants:
            source = literal(thing, lambda part: None if part is thing else self._own_constant(part))
            self.constants[id(thing)] = (f"K{len(self.constants)}", thing, source)
        return name_of(self.constants[id(thing)][0])

    def _own_constant(self, part: Any) -> ast.expr | None:
        """The name of a constant that a part of another one is; None for what has a literal."""
        if isinstance(part, re.Pattern):
            return self.source_of(part)
        return self._member(part) if is_member(part) else None

    def _member(self, thing: Any) -> ast.expr:
        """The name of a member of an Enum."""
        if id(thing) not in self.constants:
            made = ast.Call(name_of("member"), [name_of(self.class_name(type(thing))), ast.Constant(thing.name)], [])
            self.constants[id(thing)] = (f"K{len(self.constants)}", thing, made)
        return name_of(self.constants[id(thing)][0])

    def _argument(self, thing: Any) -> ast.expr:
        refuse_unplain(thing, self.tensors)
        if id(thing) not in self.given:
            held = concrete(thing) if self.tensors else ()
            has_tensors = any(True for _ in tensors_in(held))
            self.uses_torch = self.uses_torch or has_tensors
            marked = has_tensors or any(True for _ in block_arrays.arrays_in([held])) or isinstance(held, np.generic)
            self.given[id(thing)] = (f"{OF_TENSORS if marked else 'G'}{len(self.given)}", thing)
        return name_of(self.given[id(thing)][0])

    def model(self, thing: Any, form: CallForm | None) -> ast.expr:
        """The name of a model that is called in some form.

        Raises:
            UnplainError: the block has no tensors.
        """
        if not self.tensors:
            raise UnplainError("it calls a model")
        self.uses_torch, key = True, (id(thing), repr(form))
        if key not in self.models:
            self.models[key] = f"{OF_MODELS}{len(self.models)}", CalledModel(thing, form)
        return name_of(self.models[key][0])

    # -- functions -------------------------------------------------------------------------------------------------

    def function(self, function: FunctionType) -> str:
        """The name of a function of the user's, of a method's with its object as the first parameter."""
        return self._helper(function, None)

    def class_name(self, kind: type) -> str:
        """The name of a class of the user's."""
        key = id(kind), 0
        if key not in self.functions:
            name = f"C{len(self.functions)}_{kind.__name__}"
            self.functions[key] = (name, kind, None)
            self.functions[key] = (name, kind, assigned(name, source_of_class(self, kind)))
        return self.functions[key][0]

    @contextmanager
    def undone_if_unplain(self) -> Iterator[EncodingAttempt]:
        """An attempt to write down a thing, of which nothing stays where no block can have it."""
        kept = dict(self.constants), dict(self.functions), dict(self.given), dict(self.models), dict(self.outside.made)
        of_torch, attempt = self.uses_torch, EncodingAttempt()
        try:
            yield attempt
        except UnplainError:
            self.constants, self.functions, self.given, self.models, self.outside.made = kept
            self.uses_torch, attempt.found = of_torch, None

    def _helper(self, function: FunctionType, owner: Any) -> str:
        """The name of a function of the user's in the block."""
        key = id(function), id(owner)
        if key in self.functions:
            return self.functions[key][0]
        if len(self.functions) >= MOST_FUNCTIONS or not is_users(function.__code__.co_filename):
            raise UnplainError(f"it calls {function.__module__}.{function.__qualname__}")
        name = f"F{len(self.functions)}_{function.__name__ if function.__name__.isidentifier() else 'function'}"
        self.functions[key] = (name, (function, owner), None)
        bases = BaseMethods(function)
        made, objects = bases.visit(definition_under(function, name)), dict[str, Any]()
        given = made.args
        if owner is not None:
            objects[without_first(function, given)] = owner
        named = function.__kwdefaults__ or {}
        given.defaults = [self.source_of(each) for each in function.__defaults__ or ()]
        given.kw_defaults = [self.source_of(named[e.arg]) if e.arg in named else None for e in given.kwonlyargs]
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        known = function.__globals__ | {cell_name: content(cell) for cell_name, cell in cells} | bases.found
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        made.body = self._function(made.body, [e.arg for e in every if e is not None], known, objects)
        self.functions[key] = (name, (function, owner), made)
        return name

    def _function(
        self, body: list[ast.stmt], given: Sequence[str], known: Mapping[str, Any], objects: Mapping[str, Any]
    ) -> list[ast.stmt]:
        """The statements of a function, with the meaning of its global names."""
        body, imported = without_imports(body)
        known = {**known, **imported}
        arguments = ast.arguments([], [ast.arg(n) for n in dict.fromkeys([*given, *objects])], None, [], [], None, [])
        whole = ast.fix_missing_locations(ast.Module([defined(NAME, arguments, body)], []))
        for part in ast.walk(whole):
            if found := refused(part):
                raise UnplainError(f"it has {found}")
        outer, local = scopes(symtable.symtable(ast.unparse(whole), "block", "exec"))
        local -= {*objects}
        made = {name for name in local - {*given} if re.fullmatch(r"[CFGHKMOQT]\d+(_\w+)?", name)}
        if hidden := (local & {*BUILTINS, *LIBRARY, *MODULES}) | (outer & local) | (set_in(whole) & {*objects}) | made:
            raise UnplainError(f"it sets {min(hidden)!r}")
        if taken := {*ASKED} & ({*known} | local):
            raise UnplainError(f"it has a name {min(taken)!r}")
        outer -= {*ASKED}
        meant = {name: known.get(name, BUILTINS.get(name, getattr(builtins, name, MISSING))) for name in outer}
        named = Naming(self, {**meant, **objects})
        function = named.visit(whole).body[0]
        return list(function.body)
