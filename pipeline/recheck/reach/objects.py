"""The user's objects that a function can reach: their content before it ran, and what the function changed in it.

A recording must leave these objects unchanged, and a function that keeps state in them gives other results in later
calls. Lists, dicts, sets, attributes, closures, the globals that code names, classes and arrays are examined, to any
depth, also behind decorators, except for other objects of Python, torch or tracepack; `contents` knows some of those,
and `leads` what others hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import getclosurevars
from io import IOBase
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from ....ops.graph.errors import RecordError, TracepackError
from ....ops.lowering.patches.lock import lowering
from ....ops.op import InferenceOp
from ....ops.runtime.user_code import OURS, decorated, functions_in, names_in, stored_attributes
from ...proxies.base import is_traced
from ..glimpses import brief
from .contents.hidden import BYTES, access, counts
from .contents.kept_arrays import KeptArrays
from .contents.open_files import access_by_place
from .contents.pickled import pickled
from .later import Moves
from .leads import asked_names, called_by, drawn_from, leads, modules_in, open_in, texts_for_names
from .named_values import plain_among
from .places import (
    OF_FUNCTIONS,
    Location,
    Variable,
    attributes,
    content_of,
    in_dict,
    in_object,
    items_in,
    objects_in,
    own_attributes,
    plain_attributes,
    put_back,
    refill,
    set_attributes,
    set_content,
    slots_of,
    some_names,
)
from .rebound import glimpse
from .whose import (
    has_attributes,
    is_constant,
    is_looked_into,
    is_made_by_hand,
    is_of_no_module,
    is_shared,
    is_users_module,
    is_users_own,
)
from .written.caches import Caches
from .written.named_ways import OF_OBJECT, Ways
from .written.unseen import keeps_own_state
from .written.written_places import WrittenPlaces

MOST_OBJECTS = 20_000
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, torch.dtype, torch.device, range)
_CONTAINERS = (dict, list, set, deque, tuple)


class Objects:
    """All places that a function can reach.

    They are read and set while no other thread lowers, since lowering changes a model for a while.

    Args:
        process: the function, or whatever is called.
        most: how many objects are looked at.
        known: what is left out.

    Attributes:
        functions: the user's own functions among what was found, `ops` and `classes` those among it.
        tensors: the tensors, by their ids.
        ends_early: whether there was more than was looked at.
    """

    def __init__(self, process: Any, most: int = MOST_OBJECTS, known: Iterable[Any] = ()) -> None:
        self.functions: list[FunctionType] = []
        self.ops: list[InferenceOp] = []
        self.classes: list[type] = []
        self._ours: list[Any] = []
        self._places: list[Location] = []
        self._arrays = KeptArrays()
        self._met: dict[int, Any] = {id(each): each for each in known}
        self.tensors: dict[int, torch.Tensor] = {}
        self._caches = Caches()
        self._ways, self._at = Ways(process), id(process)
        self._waiting: deque[tuple[Any, str]] = deque([(process, "the function")])
        with lowering():
            while self._waiting and len(self._met) < most:
                self._look_at(*self._waiting.popleft())
                if not self._waiting:
                    self._ask_ours()
            self.ends_early = bool(self._waiting)
            if any("cache_info" in names_in(function.__code__) for function in self.functions):
                for cache in self._caches:
                    self._add(*counts(cache))
        self._written = WrittenPlaces(self._ways, unread=self.ends_early)

    def changes(self) -> list[tuple[Location, Any]]:
        """Every place that the function changed, with the key under which it did."""
        with lowering():
            found = [(place, key) for place in self._places for key in self._written.changed_in(place)]
        return found + self._arrays.changed(self._written.among)

    def state(self) -> Moves:
        """The same, each with a glimpse of what is there now."""
        return [(place, key, brief(place.read().get(key), glimpse)) for place, key in self.changes()]

    def has_grown(self) -> bool:
        """Whether there may be more to reach than was found: something changed, or a cache was filled."""
        return self._caches.are_filled() or self.first_change() is not None

    def first_change(self) -> tuple[Location, Any] | None:
        """The first of them."""
        return next(iter(self.changes()), None)

    def restore(self) -> None:
        """Gives back what the function can have written, and empties caches that hold things of a recording.

        Also those that were filled meanwhile, where something goes back: a call that is cached does not set it again.
        """
        with lowering():
            changed = False
            for place in self._places:
                if keys := self._written.among(place, place.differing()):
                    changed = True
                    place.put_back(None if self._written.keys_in(place) is None else keys)
            self._caches.forget(filled=changed)
            self._arrays.restore(self._written.among)

    def empty_caches(self) -> None:
        """Empties caches that were filled meanwhile with what the function can have written."""
        self._caches.empty(self._written.may_write)

    def reaches(self, thing: Any) -> bool:
        """Whether an object that is no tensor is among what was found."""
        return id(thing) in self._met

    def places(self) -> list[Location]:
        """The places that were found."""
        return [*self._places]

    def shared_with(self, other: Objects) -> list[Any]:
        """What both have found, but for tensors."""
        return [thing for key, thing in self._met.items() if key in other._met]

    def arrays(self) -> list[tuple[str, np.ndarray[Any, Any]]]:
        """The arrays of numbers, each with its name where it has one."""
        names = {id(item): repr(key) for place in self._places for key, item in place.before.items()}
        plain = (each for each in self._met.values() if type(each) is np.ndarray and not each.dtype.hasobject)
        return [(names.get(id(each), ""), each) for each in plain]

    def named(self) -> Mapping[str, list[Any]]:
        """What is kept under each name: of attributes, variables and keys."""
        return self._ways.named

    def plain_values(self) -> list[Any]:
        """The numbers and texts that the user's functions name: constants of their code, globals, variables."""
        return plain_among((item for place in self._places for item in place.before.values()), self.functions)

    def _look_at(self, thing: Any, name: str) -> None:
        try:
            self._visit(thing, name)
        except TracepackError:
            raise
        except Exception as error:  # such as a proxy that stands for nothing yet
            raise RecordError(
                f"an object cannot be looked at, so that nothing tells what is kept in it: {error!r:.120}",
                where=f"a {type(thing).__name__} that the function reaches, {name}",
                fix="Keep it out of what the function names.",
            ) from error

    def _visit(self, thing: Any, name: str) -> None:
        kind = type(thing)
        if is_traced(thing) or id(thing) in self._met or id(thing) in self.tensors:
            return
        if isinstance(thing, torch.Tensor):  # not counted: a model has many
            self.tensors[id(thing)] = thing
            self._at = id(thing)
            self._attributes(thing)
            return
        if isinstance(thing, _PLAIN) and not has_attributes(thing):
            return
        self._met[id(thing)] = thing
        self._at, before = id(thing), self._at
        self._look_into(thing, kind, name)
        self._at = before

    def _look_into(self, thing: Any, kind: type, name: str) -> None:
        if kind is FunctionType:
            self._function(thing)
        elif kind is MethodType:
            self._wait((thing.__self__, name), (thing.__func__, name))
        elif kind is partial:
            self._wait(*((part, name) for part in (thing.func, *thing.args, thing.keywords)))
            self._attributes(thing)
        elif isinstance(thing, InferenceOp):
            self.ops.append(thing)
            self._ours.append(thing)
            self._wait((getattr(thing, "model", None), f"the model of op {thing.name!r}"))
        elif isinstance(thing, np.ndarray):
            if thing.dtype == object and thing.size <= MOST_OBJECTS:
                self._add("a numpy array", *objects_in(thing), thing)
            else:
                self._arrays.meet(thing)
            if kind is not np.ndarray:
                self._attributes(thing)
        elif isinstance(thing, _CONTAINERS):
            self._container(thing, name)
            if kind not in _CONTAINERS:
                self._object(thing)
        elif isinstance(thing, type):
            self.classes.append(thing)
            self._class(thing)
        elif found := access(thing) or pickled(thing):
            self._add(*found, thing if found[0] in BYTES and not isinstance(thing, IOBase) else None)
        elif isinstance(thing, ModuleType):
            if is_made_by_hand(thing):
                self._attributes(thing)
        elif is_looked_into(kind) or isinstance(thing, _PLAIN):
            self._object(thing)
        else:
            self._foreign(thing, name)

    def _wait(self, *pairs: tuple[Any, str]) -> None:
        self._ways.add(self._at, (thing for thing, _ in pairs))
        self._waiting.extend(pairs)

    def _add(
        self, name: str, read: Callable[[], dict[Any, Any]], write: Callable[[dict[Any, Any]], None], holder: Any = None
    ) -> None:
        place = Location(name, read, write, read(), holder)
        self._places.append(place)
        self._ways.add_place(self._at, place)
        held = (part for pair in place.before.items() for part in pair)
        self._waiting.extend((part, name) for part in held if not is_traced(part))

    def _container(self, thing: Any, name: str) -> None:
        if isinstance(thing, tuple):
            self._wait(*((item, name) for item in thing))
        else:
            self._add(name, *items_in(thing), thing)

    def _foreign(self, thing: Any, name: str) -> None:
        """An object of Python, torch or numpy: what it leads to, and the attributes that it has now."""
        if isinstance(thing, IOBase) or type(thing).__module__ == "tracepack.pipeline.pipeline":
            self._ours.append(thing)
        behind = leads(thing)
        self._wait(*((each, name) for each in (*behind, *called_by(thing))))
        self._wait(*((each, name) for each in self._caches.meet(thing)))
        if behind or is_constant(thing):
            return
        if has_attributes(thing) and not is_shared(type(thing)):
            held = vars(thing)
            place = type(thing).__name__, lambda: dict(held), lambda items: put_back(held, items)
            self._places.append(Location(*place, dict(held)))  # what is in them is not the user's

    def _ask_ours(self) -> None:
        """What functions name of ops and pipelines, whose other attributes are no user's, and of files."""
        while self._ours:
            self._at = id(thing := self._ours.pop())
            if isinstance(thing, IOBase):
                if any("tell" in names_in(function.__code__) for function in self.functions):
                    self._add(*access_by_place(thing))
                continue
            self._named(vars(thing), asked_names(vars(thing), self.functions), type(thing).__name__)

    def _attributes(self, thing: Any) -> None:
        if has_attributes(thing):
            self._add(type(thing).__name__, *plain_attributes(vars(thing)), in_dict(vars(thing)))

    def _object(self, thing: Any) -> None:
        own = not keeps_own_state(type(thing))
        if has_attributes(thing):
            held, name = vars(thing), type(thing).__name__
            self._add(name, lambda: dict(held), lambda items: refill(held, items), in_dict(held) if own else None)
        slots = [name for kind in type(thing).__mro__ for name in slots_of(kind)]
        if slots:
            get, write = partial(attributes, thing, slots), partial(set_attributes, thing, slots)
            self._add(type(thing).__name__, get, write, in_object(thing) if own else None)
        for kind in type(thing).__mro__:
            self._ways.add(self._at, [kind], OF_OBJECT)
            self._visit(kind, kind.__name__)

    def _class(self, kind: type) -> None:
        self._ways.add(self._at, [type(kind)], OF_OBJECT)
        self._visit(type(kind), kind.__name__)
        if not (is_users_module(kind.__module__) or is_of_no_module(kind)):
            return
        self._wait(*((base, kind.__name__) for base in kind.__bases__ if base is not object))
        read, write = partial(own_attributes, kind), partial(set_attributes, kind, None)
        self._add(f"class {kind.__name__}", read, write, in_object(kind))
        for name, found in list(vars(kind).items()):
            for function in functions_in(found):
                self._ways.add(self._at, [function], name)
                self._visit(function, kind.__name__)
            self._wait(*((each, kind.__name__) for each in called_by(found)))

    def _function(self, function: FunctionType) -> None:
        if not is_users_own(function.__code__.co_filename):
            if function.__code__.co_filename.startswith(OURS):  # it wraps a function of the user's
                self._wait(*((cell.cell_contents, "the function") for cell in function.__closure__ or ()))
            self._wait(*((each, function.__name__) for each in [*decorated(function), *called_by(function)]))
            return
        self.functions.append(function)
        name, defaults = function.__name__, [*OF_FUNCTIONS]
        get, write = partial(attributes, function, defaults), partial(set_attributes, function, defaults)
        self._add(f"a default of {name}", get, write, in_object(function))
        self._ways.add(self._at, [vars(function)])
        self._visit(vars(function), f"an attribute of {name}")
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            if id(cell) not in self._met:
                self._met[id(cell)] = cell
                get, write = partial(content_of, cell), partial(set_content, cell)
                self._add(f"variable {variable!r}", get, write, Variable(variable))
        self._globals(function)

    def _globals(self, function: FunctionType) -> None:
        """The globals that code names, the attributes that it reads of the user's modules and sets on any module."""
        code, held = function.__code__, function.__globals__
        names = [*names_in(code), *(texts := texts_for_names(code))]
        self._named(held, names, "a global")  # also what it has yet to bind; names of attributes do no harm
        scope = held | (variables := dict(getclosurevars(function).nonlocals))
        modules = [*modules_in(scope, [*names, *variables], {*stored_attributes(code), *texts}, code)]
        for title, module, read_names in modules:
            self._ways.add(self._at, [module])
            self._named(vars(module), read_names, f"a global of {title}")
            self._wait(*((each, title) for each in drawn_from(module, names)))
        for thing, stored in open_in([scope, *(vars(each.module) for each in modules)], names, code):
            read, write = partial(attributes, thing, stored), partial(set_attributes, thing, stored)
            self._add(thing.__name__, read, write, in_object(thing))

    def _named(self, held: dict[str, Any], names: list[str], title: str) -> None:
        if names:
            self._add(title, *some_names(held, names), in_dict(held))
