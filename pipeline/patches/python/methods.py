"""What stands for the receiver of a method that a recorded function calls with stand-ins: a text, a module, a logger.

A method of a plain text takes plain texts only; so do the functions of `re` and `json`. Where a recorded function looks
up such a method, the object of this module takes the place of its receiver. It records the call where a stand-in takes
part, and leaves any other call to the receiver itself.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import operator
import re
import statistics
import unicodedata
from collections.abc import Callable
from types import GeneratorType
from typing import Any

import torch

from ....ops.graph.graph import Operator
from ....ops.graph.operators.names import STATISTICS, TEXT_METHODS
from ...lists.formats import filled_in
from ...lists.iterating import chained, paired, sliced
from ...lists.loop import collected
from ...lists.mapping import rows_of
from ...lists.pieces import Pieces
from ...lists.reductions import accumulated, reduced
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.strings import TracedStr, method_of
from ...recording.recorder import Recorder
from ..expressions import EXPRESSIONS, RegularExpressions
from ..library import special
from ..redirect import stand_in_of
from .operations import AskedTable, HandedOver, active, asserted, formatted, holds_traced, number_of


class PlainText(str):
    """A plain text whose methods are recorded where an argument is traced."""

    def __mod__(self, values: Any) -> Any:
        recorder = active()
        if recorder is None or not _any_traced(values):
            return str.__mod__(self, values)
        return recorder.scalar("mod", str(self), values if isinstance(values, tuple) else (values,))

    def format(self, *args: Any, **kwargs: Any) -> Any:
        """As for str."""
        recorder = active()
        if recorder is None or not _any_traced((args, kwargs)):
            return str.format(self, *args, **kwargs)
        parts = filled_in(recorder, str(self), args, kwargs, formatted)
        return recorder.scalar("join_texts", *parts)

    def join(self, items: Any) -> Any:
        """As for str."""
        recorder = active()
        if recorder is None:
            return str.join(self, items)
        found = collected(recorder, items)
        return recorder.scalar("str_join", str(self), found) if holds_traced(found) else str.join(self, found)


def _any_traced(tree: Any) -> bool:
    recorder = active()
    if isinstance(tree, torch.Tensor):
        return recorder is not None and tree in recorder.values
    if type(tree) in (tuple, list):
        return any(map(_any_traced, tree))
    return any(map(_any_traced, tree.values())) if type(tree) is dict else is_traced(tree)


def _text_method(name: str) -> Callable[..., Any]:
    def method(self: PlainText, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is not None and (holds_traced(args) or holds_traced(kwargs)):
            return method_of(recorder, str(self), name, args, kwargs)
        return getattr(str, name)(str(self), *args, **kwargs)

    return method


for _name in set(TEXT_METHODS) - {"join"}:
    setattr(PlainText, _name, _text_method(_name))


# -- modules -------------------------------------------------------------------------------------------------------


class _Module:
    """Stands for a module, some functions of which are recorded."""

    def __init__(self, plain: Any, functions: dict[str, Callable[..., Any]]) -> None:
        self.plain, self.functions = plain, functions

    def __getattr__(self, name: str) -> Any:
        return self.functions.get(name) or getattr(self.plain, name)


def normalize(form: Any, text: Any) -> Any:
    """Stands for `unicodedata.normalize`."""
    recorder = active()
    if recorder is None or not is_traced(text):
        return unicodedata.normalize(form, text)
    return recorder.scalar("normalize", form, text)


def dumps(thing: Any, **options: Any) -> Any:
    """Stands for `json.dumps`."""
    recorder = active()
    if recorder is None or not holds_traced(thing):
        return json.dumps(thing, **options)
    known = {"indent": None, "sort_keys": False, "ensure_ascii": True}
    if not options.keys() <= known.keys():
        recorder.refuse("json.dumps was given an option that is not recorded", f"Use {', '.join(known)} only.")
    return recorder.scalar("json_dumps", thing, *(options.get(key, plain) for key, plain in known.items()))


def check(condition: Any, message: Any = None) -> None:
    """Stands for `torch._check` and `torch._assert`."""
    if active() is None:
        torch._check(condition, message)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    elif not asserted(condition):
        text = message() if callable(message) else message
        raise RuntimeError(str(text or "Expected cond to be True, but got False."))


def copied(thing: Any) -> Any:
    """Stands for `copy.copy`: of a tensor another one over the same memory."""
    recorder = active()
    traced = recorder is not None and isinstance(thing, torch.Tensor) and thing in recorder.values
    return thing.view_as(thing) if traced else copy.copy(thing)


def _statistic(name: str) -> Callable[..., Any]:
    """Stands for a function of `statistics`."""
    plain = getattr(statistics, name)

    def call(items: Any) -> Any:
        recorder = active()
        if recorder is None:
            return plain(items)
        items = collected(recorder, items)
        return recorder.scalar("statistics", name, items) if holds_traced(items) else plain(items)

    return call


def _of_tensors(name: str) -> Callable[..., Any]:
    """Stands for a function of torch that takes a list of tensors, here one of any length."""
    plain = getattr(torch, name)

    def call(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        if recorder is None or type(tensors) is not TracedList:
            return plain(tensors, *args, **kwargs)
        with torch._C.DisableTorchFunction():
            return recorder.apply(Operator(f"torch.{name}"), plain, (tensors, *args), kwargs)

    return call


def reduce(function: Any, items: Any, /, *initial: Any) -> Any:
    """Stands for `functools.reduce`."""
    recorder = active()
    found = items if recorder is None else _listed(recorder, items)
    if recorder is None or type(found) is not TracedList:
        return functools.reduce(function, found, *initial)
    return reduced(recorder, stand_in_of(function), found, *initial)


def accumulate(items: Any, func: Any = None, *, initial: Any = None) -> Any:
    """Stands for `itertools.accumulate`."""
    recorder = active()
    found = items if recorder is None else _listed(recorder, items)
    if recorder is None or type(found) is not TracedList:
        return itertools.accumulate(found, func, initial=initial)
    given = () if initial is None else (initial,)
    return accumulated(recorder, operator.add if func is None else stand_in_of(func), found, *given)


def _of_iterables(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for a function of itertools."""
    plain = getattr(itertools, name)

    def call(*args: Any) -> Any:
        recorder = active()
        return plain(*args) if recorder is None else function(recorder, *args)

    vars(call).update({key: getattr(plain, key) for key in ("from_iterable",) if hasattr(plain, key)})
    return call


OF_ITERABLES = {
    name: _of_iterables(name, function)
    for name, function in {"chain": chained, "islice": sliced, "pairwise": paired}.items()
}


def _listed(recorder: Recorder, items: Any) -> Any:
    """A list of any length that a generator or a tensor's rows are; anything else as it is."""
    if isinstance(items, torch.Tensor) and items in recorder.values and recorder.rank(items):
        return rows_of(recorder, items)
    return collected(recorder, items) if isinstance(items, GeneratorType) else items


_TAKE_LISTS = ("stack", "cat", "concat", "concatenate", "hstack", "vstack", "dstack", "column_stack")


def padded(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> torch.Tensor:
    """Stands for `torch.nn.utils.rnn.pad_sequence`."""
    recorder = active()
    args = (batch_first, padding_value, padding_side)
    if recorder is None or type(sequences) is not TracedList:
        return torch.nn.utils.rnn.pad_sequence(sequences, *args)
    plain: Any = torch._C._nn.pad_sequence
    with torch._C.DisableTorchFunction():
        found: torch.Tensor = recorder.apply(Operator("torch._C._nn.pad_sequence"), plain, (sequences, *args), {})
    return found


def _naming_device(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for a function that takes the name of a device: a text that names one must stay the same."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recorder = active()

        def name(thing: Any) -> Any:
            named = recorder is not None and type(thing) is TracedStr
            return recorder.pin(thing, "it names a device") if recorder is not None and named else thing

        return plain(*map(name, args), **{key: name(item) for key, item in kwargs.items()})

    return call


_MAKE_TENSORS = (
    "tensor", "as_tensor", "arange", "linspace", "eye",
    *(f"{name}{like}" for name in ("zeros", "ones", "full", "empty", "rand", "randn") for like in ("", "_like")),
)  # fmt: skip

_MODULES: dict[str, tuple[Any, dict[str, Callable[..., Any]]]] = {
    "normalize": (unicodedata, {"normalize": normalize}),
    "dumps": (json, {"dumps": dumps}),
    "_check": (torch, {"_check": check}),
    "_assert": (torch, {"_assert": check}),
    "copy": (copy, {"copy": copied}),
    "device": (torch, {"device": _naming_device(torch.device)}),
    **{name: (statistics, {name: _statistic(name)}) for name in STATISTICS},
    **{name: (torch, {name: _of_tensors(name)}) for name in _TAKE_LISTS},
    **{name: (torch, {name: _naming_device(getattr(torch, name))}) for name in _MAKE_TENSORS},
    "reduce": (functools, {"reduce": reduce}),
    "accumulate": (itertools, {"accumulate": accumulate}),
    **{name: (itertools, {name: function}) for name, function in OF_ITERABLES.items()},
    "pad_sequence": (torch.nn.utils.rnn, {"pad_sequence": padded}),
}


def _receiver(name: str) -> Callable[[Any], Any]:
    """The function that gives what stands for the receiver of a method."""
    module, functions = _MODULES.get(name, (None, {}))

    def receiver(thing: Any) -> Any:
        recorder = active()
        if recorder is None:
            return thing
        if type(thing) is str and (name in TEXT_METHODS or name == "format"):
            return PlainText(thing)
        if name in EXPRESSIONS and (thing is re or isinstance(thing, re.Pattern)):
            return RegularExpressions(thing)
        if name in special.NAMES and thing is special.module():
            return _Module(thing, {name: special.function(name)})
        if module is not None and thing is module:
            return _Module(module, functions)
        if name == "to" and isinstance(thing, torch.Tensor):
            return _Module(thing, {"to": _naming_device(thing.to)})
        if name == "manual_seed" and isinstance(thing, torch.Generator):
            return Seeding(recorder, thing)
        if (name == "get" and type(thing) is dict) or (name == "index" and type(thing) in (list, tuple)):
            return _Entries(thing)
        return thing

    return receiver


class Seeding:
    """Stands for a generator that is seeded."""

    def __init__(self, recorder: Recorder, plain: torch.Generator) -> None:
        self.recorder, self.plain = recorder, plain

    def manual_seed(self, seed: Any) -> torch.Generator:
        """As for a torch.Generator; the seed may be a number of the recording."""
        recorder = self.recorder
        seed = number_of(recorder, seed)
        if not is_traced(seed):
            return self.plain.manual_seed(seed)
        recorder.allow_random()
        recorder.generators.seed(self.plain, seed.concrete, seed.value)
        return self.plain


class _Entries:
    """Stands for a table whose method is called."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __getattr__(self, name: str) -> Any:
        def call(key: Any, *rest: Any) -> Any:
            recorder = active()
            if recorder is None or not is_traced(key):
                return getattr(self.plain, name)(key, *rest)
            return getattr(AskedTable(recorder, self.plain), name)(key, *rest)

        return call


def _modulo(operands: Any) -> Any:
    text, values = operands
    return values, PlainText(text) if type(text) is str and active() is not None else text


RECEIVERS: dict[str, HandedOver] = {
    name: HandedOver(_receiver(name))
    for name in (*TEXT_METHODS, "format", "get", "to", "manual_seed", *EXPRESSIONS, *_MODULES, *special.NAMES)
}
RECEIVERS["%"] = HandedOver(_modulo)
"""What gives the receiver, by the name of the method; of the operator % of texts, too."""


def _in_pieces(thing: Any) -> Any:
    recorder = active()
    ours = recorder is not None and (thing is torch or (isinstance(thing, torch.Tensor) and thing in recorder.values))
    return Pieces(recorder, thing) if recorder is not None and ours else thing


PIECES = HandedOver(_in_pieces)
"""What gives the receiver of a method whose result a loop goes through."""
