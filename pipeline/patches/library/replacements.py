"""What stands for functions of Python's library and of torch that take stand-ins, by the modules that have them."""

from __future__ import annotations

import base64
import collections
import copy
import datetime
import decimal
import functools
import itertools
import json
import math
import operator
import statistics
import unicodedata
from collections.abc import Callable
from types import GeneratorType
from typing import Any

import numpy as np
import torch

from ....ops.graph.graph import Operator
from ....ops.graph.operators.names import STATISTICS
from ...lists.iterating import chained, paired, sliced
from ...lists.mapping import as_rows, each
from ...lists.reductions import accumulated, reduced
from ...lists.walking.iterators import collected
from ...lists.walking.text_arrays import asks_texts, texts_at
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.strings import TracedStr
from ...recording.recorder import Recorder
from ..python.conditions.demanded import asserted
from ..python.operations import active, holds_traced
from ..redirect import stand_in_of
from .codes.base64_calls import OF_BASE64, from_bytes, fromhex
from .codes.byte_buffers import array_from_buffer, from_buffer, saved
from .codes.structs import OF_CODES
from .given_functions import recorded
from .operator_calls import OF_OPERATOR
from .orders import OF_ORDERS
from .tallies import counted, flattened, from_keys
from .values.dates import CLASSES
from .values.decimals import made
from .values.numpy_types import OF_NUMBERS
from .values.one_object import OF_IDENTITY
from .values.text_calls import OF_TEXTS
from .values.typed_tensors import OF_DTYPES


def normalize(form: Any, text: Any) -> Any:
    """Stands for `unicodedata.normalize`."""
    recorder = active()
    if recorder is None or not is_traced(text):
        return unicodedata.normalize(form, text)
    return recorder.scalar("normalize", form, text)


def power(base: Any, exponent: Any, /) -> Any:
    """Stands for `math.pow`."""
    recorder = active()
    if recorder is None or not (is_traced(base) or is_traced(exponent)):
        return math.pow(base, exponent)
    return recorder.scalar("math_pow", base, exponent)


def _of_character(name: str) -> Callable[..., Any]:
    """Stands for a function of `unicodedata` that takes one character."""
    plain = getattr(unicodedata, name)

    def call(character: Any) -> Any:
        recorder = active()
        if recorder is None or not is_traced(character):
            return plain(character)
        return recorder.scalar(name, character)

    return call


def dumps(thing: Any, **options: Any) -> Any:
    """Stands for `json.dumps`."""
    recorder = active()
    if recorder is None or not holds_traced(thing):
        return json.dumps(thing, **options)
    known = {"indent": None, "sort_keys": False, "ensure_ascii": True, "separators": None}
    if not options.keys() <= known.keys():
        recorder.refuse("json.dumps was given an option that is not recorded", f"Use {', '.join(known)} only.")
    given = [options.get(key, plain) for key, plain in known.items()]
    if given[-1] is None:
        return recorder.scalar("json_dumps", thing, *given[:-1])
    return recorder.scalar("json_dumps", thing, *given[:-1], *given[-1])


def check(condition: Any, message: Any = None) -> None:
    """Stands for `torch._check` and `torch._assert`."""
    if active() is None:
        torch._check(condition, message)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    elif not asserted(condition):
        text = message() if callable(message) else message
        raise RuntimeError(str(text or "Expected cond to be True, but got False."))


def check_all(condition: Any, message: Any = None) -> None:
    """Stands for `torch._check_tensor_all`."""
    check(condition.all(), message)


def copied(thing: Any) -> Any:
    """Stands for `copy.copy`: of a tensor another one over the same memory, from which no gradients go on."""
    recorder = active()
    if recorder is None or not isinstance(thing, torch.Tensor):
        return copy.copy(thing)
    return thing.detach() if thing.requires_grad or thing in recorder.values else copy.copy(thing)


def _statistic(name: str) -> Callable[..., Any]:
    """Stands for a function of `statistics`."""
    plain = getattr(statistics, name)

    def call(data: Any, *args: Any, **options: Any) -> Any:
        recorder = active()
        if recorder is None:
            return plain(data, *args, **options)
        items = collected(recorder, data)
        if not holds_traced(items) or args or not options.keys() <= ({"n"} if name == "quantiles" else set()):
            return plain(items, *args, **options)
        return recorder.scalar("statistics", name, items, *options.values())

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


def _of_arrays(name: str) -> Callable[..., Any]:
    """Stands for a function of numpy that takes a list of arrays, here one of any length."""
    plain = getattr(np, name)

    def call(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = active()
        items = arrays if recorder is None else _listed(recorder, arrays)
        if recorder is None or type(items) is not TracedList:
            return plain(items, *args, **kwargs)
        return recorder.array(f"numpy.{name}", items, *args, **kwargs)

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

    def call(*args: Any, **options: Any) -> Any:
        recorder = active()
        return plain(*args, **options) if recorder is None else function(recorder, *args, **options)

    if name == "chain":
        vars(call)["from_iterable"] = flattened
    return call


def grouped(recorder: Recorder, given: Any, key: Any = None) -> Any:
    """Stands for `itertools.groupby`: the groups are lists, which are there before the next one is asked for."""
    items = recorder.scalar("list", given) if type(given) is TracedStr else _listed(recorder, given)
    keys = items if key is None or type(items) is not TracedList else each(recorder, recorded(key), items)
    if type(keys) is not TracedList:
        return itertools.groupby(items, key)
    return each(recorder, lambda run: (keys[run[0]], items[slice(*run)]), recorder.scalar("runs", keys))


OF_ITERABLES = {
    name: _of_iterables(name, function)
    for name, function in {"chain": chained, "islice": sliced, "pairwise": paired, "groupby": grouped}.items()
}


def _listed(recorder: Recorder, items: Any) -> Any:
    """A list of any length that a generator, or the rows of a tensor or an array are; anything else as it is."""
    items = as_rows(recorder, items)
    return collected(recorder, items) if isinstance(items, GeneratorType) else items


_TAKE_ARRAYS = ("stack", "concatenate", "hstack", "vstack", "dstack", "column_stack")
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


def naming_device(plain: Callable[..., Any]) -> Callable[..., Any]:
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

_CHECKS = (
    "_check", "_assert", "_assert_async", "_check_value", "_check_index", "_check_type", "_check_not_implemented",
)  # fmt: skip


def _take(a: Any, indices: Any, *args: Any, **options: Any) -> Any:
    """Stands for `numpy.take`, which knows of no arrays of texts."""
    recorder = active()
    if recorder is not None and not args and not options and asks_texts(recorder, a, indices):
        return texts_at(recorder, a, indices)
    return np.take(a, indices, *args, **options)


OF_NUMPY: dict[str, Callable[..., Any]] = {
    "frombuffer": array_from_buffer,
    "take": _take,
    **{name: _of_arrays(name) for name in _TAKE_ARRAYS},
    **{name: function for name, (_, function) in OF_NUMBERS.items()},
}
"""What stands for functions of numpy, some of which torch has by the same names."""

MODULES: dict[str, tuple[Any, dict[str, Callable[..., Any]]]] = {
    "normalize": (unicodedata, {"normalize": normalize}),
    **{name: (unicodedata, {name: _of_character(name)}) for name in ("combining", "category")},
    "dumps": (json, {"dumps": dumps}),
    **{name: (torch, {name: check}) for name in _CHECKS if hasattr(torch, name)},
    "_check_is_size": (torch, {"_check_is_size": lambda size, message=None, **_: check(size >= 0, message)}),
    "_check_tensor_all": (torch, {"_check_tensor_all": check_all}),
    "copy": (copy, {"copy": copied}),
    "device": (torch, {"device": naming_device(torch.device)}),
    **{name: (statistics, {name: _statistic(name)}) for name in STATISTICS},
    **{name: (torch, {name: _of_tensors(name)}) for name in _TAKE_LISTS},
    **{name: (torch, {name: naming_device(getattr(torch, name))}) for name in _MAKE_TENSORS},
    "fromkeys": (dict, {"fromkeys": from_keys}),
    "from_iterable": (itertools.chain, {"from_iterable": flattened}),
    "Counter": (collections, {"Counter": counted}),
    "frombuffer": (torch, {"frombuffer": from_buffer}),
    "save": (torch, {"save": saved}),
    "reduce": (functools, {"reduce": reduce}),
    "accumulate": (itertools, {"accumulate": accumulate}),
    **{name: (itertools, {name: function}) for name, function in OF_ITERABLES.items()},
    **{name: (module, {name: function}) for name, (module, function) in (OF_ORDERS | OF_OPERATOR).items()},
    **{name: (base64, {name: function}) for name, function in OF_BASE64.items()},
    **{name: (module, {name: function}) for name, (module, function) in OF_IDENTITY.items()},
    "fromhex": (bytes, {"fromhex": fromhex}),
    "from_bytes": (int, {"from_bytes": from_bytes}),
    **{kind.__name__: (datetime, {kind.__name__: function}) for kind, function in CLASSES.items()},
    "Decimal": (decimal, {"Decimal": made}),
    **{kind.__name__: (torch, {kind.__name__: function}) for kind, function in OF_DTYPES.items()},
    "Variable": (torch.autograd, {"Variable": OF_DTYPES[torch.autograd.Variable]}),
    **{name: (module, {name: function}) for name, (module, function) in (OF_TEXTS | OF_CODES).items()},
    "pad_sequence": (torch.nn.utils.rnn, {"pad_sequence": padded}),
}
"""The name of a function -> its module, and what stands for it there."""
