"""The result of a node as the recorded function gets it: tensors as they are, other values as stand-ins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import torch

from ...ops.graph.graph import KernelCall, Node, Operator, Value
from ...ops.graph.types import ANY, ARRAY, SCALARS, STR, STRINGS, ListType, Type
from ...ops.runtime.primitives.named_tuples import is_record
from ...ops.runtime.primitives.numpy import DTYPES
from ..proxies.base import is_traced
from ..proxies.dicts import TracedDict
from ..proxies.lists import CHOOSE_BEGIN, NESTED, OF_TEXTS, WITH_NONE, TracedList
from ..proxies.make import TracedOptional, gives_none_in_it, holds_none, sample_of, traced
from ..proxies.tracer import Tracer
from ..proxies.trees import concrete, list_type, same_container
from ..rules.gradients import follow_grad_mode
from ..rules.tried.tried_lines import line_of_scalar
from .leaves.kept_parts import refuse_kept


def wrapped_result(
    recorder: Tracer, result: Any, varies: bool, decided: bool = True, any_length: bool = False
) -> tuple[Any, Any]:
    """The output pattern of a node, and the result for the function.

    Args:
        recorder: the one that records the node.
        result: what the node returned.
        varies: whether data decides its sizes.
        decided: whether data decides the numbers in it.
        any_length: whether lists in it have any length, where their items are alike.
    """
    if isinstance(result, torch.Tensor):
        return recorder.values.add(result, varies=varies), result
    if _are_texts(result):
        return wrapped_scalar(recorder, STRINGS, result, decided)
    if any_length and type(result) is list and (kind := list_type(result)) is not None:
        return wrapped_scalar(recorder, kind, result, decided)
    if is_record(result) or type(result) in (tuple, list, torch.Size):
        pairs = [wrapped_result(recorder, item, varies, decided, any_length) for item in result]
        outputs, items = tuple(p[0] for p in pairs), [p[1] for p in pairs]
        return outputs, same_container(result, items)
    if type(result) is dict:
        found = {key: wrapped_result(recorder, item, varies, decided, any_length) for key, item in result.items()}
        return {k: v[0] for k, v in found.items()}, {k: v[1] for k, v in found.items()}
    if isinstance(result, np.ndarray | np.generic) and result.dtype.name not in DTYPES:
        recorder.refuse(f"an array of dtype {result.dtype} cannot be recorded", "Use a dtype that torch has, too.")
    if isinstance(result, np.ndarray):
        return wrapped_scalar(recorder, ARRAY, result, varies)
    if type(result) in SCALARS or isinstance(result, np.generic):
        return wrapped_scalar(recorder, SCALARS.get(type(result), ANY), result, decided)
    value, stand_in = wrapped_scalar(recorder, ANY, result, decided)  # of a date, as a choice gives one
    return (None, result) if stand_in is None else (value, stand_in)


def varying_of(target: Any) -> tuple[bool, bool]:
    """Whether more than shapes decides the shapes of a node's results, and the lengths of lists in them."""
    return (target.kernel.varying, target.kernel.lists_vary) if isinstance(target, KernelCall) else (False, False)


_SIZE_READERS = frozenset(("size", "stride", "numel", "array_size"))


def record_scalar(recorder: Tracer, name: str, args: tuple[Any, ...], found: Any) -> Any:
    """Writes the node of an operator of Python, and returns its result as the function gets it.

    Args:
        recorder: the one that records the node.
        name: the name in the family ``py.…``.
        args: as the function gave them.
        found: the result on the example.
    """
    if name not in _OF_ARRAYS_OF_TEXTS and any(type(arg) is TracedList and arg.of_array for arg in args):
        recorder.refuse("more is asked of an array of texts than a recording has", OF_TEXTS)
    _refuse_objects(recorder, name, args)
    refuse_kept(recorder, name, args)
    if not _takes_none(name, args):
        args = tuple(arg.given() if type(arg) is TracedOptional else arg for arg in args)
    given_leaves = [leaf for arg in args for leaf in _given(arg)]
    arrays = [leaf for leaf in given_leaves if isinstance(leaf, torch.Tensor | np.ndarray)]
    arrays = [] if name in _SIZE_READERS else arrays
    kept = all(
        isinstance(arg, torch.Tensor) and arg not in recorder.values for arg in arrays
    )  # a captured tensor, such as a weight
    varies = bool(arrays and not kept) or any(map(recorder.values.varies, given_leaves))
    arguments = recorder.arguments(args)
    given = name in _SAME_ITEMS and type(args[0]) is TracedList and args[0].given
    if given and isinstance(found, torch.Tensor | np.ndarray):
        _refuse_result(recorder, name, found)
    sample, holds = _sample(recorder, name, args), gives_none_in_it(name, args)
    sample = found if holds and type(found) in SCALARS else sample
    if sample is not None and not isinstance(found, list):
        output, stand_in = optional(recorder, found, varies, sample)
    else:
        found = args[0][0].sample if found is None and _is_known(name, args) else found
        output, stand_in = _wrapped(recorder, name, found, varies, list_of(name, args))
    if type(stand_in) is TracedList:
        stand_in.given, stand_in.objects = given, _objects(name, args)
        stand_in.with_none = NESTED if sample is None and holds else sample
        stand_in.value.type = stand_in.value.type if stand_in.with_none is None else ANY
        stand_in.samples = args[0].samples if name in _SAME_ITEMS and type(args[0]) is TracedList else ()
    elif holds and issubclass(type(stand_in), TracedDict):
        stand_in.with_none = True
    follow_grad_mode(recorder)
    line = line_of_scalar(name, args)
    recorder.nodes.append(Node(Operator(f"py.{name}"), arguments, {}, output, line, varies or bool(arrays)))
    return stand_in


def _given(arg: Any) -> list[Any]:
    """The leaves of an argument that data may decide."""
    if is_traced(arg) or not isinstance(arg, tuple | list | dict):
        return [arg]
    return [leaf for item in (arg.values() if isinstance(arg, dict) else arg) for leaf in _given(item)]


def optional(recorder: Tracer, found: Any, varies: bool, sample: Any) -> tuple[Value, Any]:
    """The value and the stand-in of what may be None."""
    value = Value(ANY)
    if varies:
        recorder.values.varying.add(id(value))
    return value, TracedOptional(recorder, value, found, varies, sample)


def _is_known(name: str, args: tuple[Any, ...]) -> bool:
    return name == "getitem" and type(args[0]) is list and [type(each) for each in args[0]] == [TracedOptional]


_FOR_NONE = ("eq", "ne", "bool", "format", "json_dumps", "contains", "list", "cat_strings")
"""What takes a value that may be None."""
_KEEPS_ITEMS = ("cat_strings", "list", "reversed")
"""What asks nothing of the items of a list."""
_FOR_LISTS = ("len", "eq", "ne", "bool", "format", "json_dumps")
"""What may be asked of a list whatever is in it."""


def _takes_none(name: str, args: tuple[Any, ...]) -> bool:
    percent = name == "mod" and type(args[0]) is str  # "%s" % label
    return name in (*_FOR_NONE, "lookup") or percent or (name == "getitem" and type(args[0]) is list)


def _sample(recorder: Tracer, name: str, args: tuple[Any, ...]) -> Any:
    """What a result that may be None is otherwise, by an example; None where it is never None."""
    if name == "lookup" and issubclass(type(args[0]), TracedDict):
        return args[0].entry() if args[2:] == (None,) else None
    if name == "lookup":
        table = args[0] if isinstance(args[0], list | tuple | dict) and not is_traced(args[0]) else []
        return sample_of([*(table.values() if isinstance(table, dict) else table), *args[2:3]])
    if name == "re_group":
        return "" if args[0].may_lack(*args[1:]) else None
    if name == "getitem" and type(args[0]) is list:
        return None if _is_known(name, args) else sample_of(args[0])
    if not _takes_none(name, args) and any(type(leaf) is TracedOptional for arg in args for leaf in _given(arg)):
        recorder.refuse(
            "a value that may be None is given to what takes no None",
            "Choose what stands for None before: label or 'none', or tracepack.cond(x is None, lambda: 0, lambda: x).",
        )
    lists = [each for each in args if type(each) is TracedList and each.with_none is not None]
    if name == "with_entry" and len(lists) == 1 and lists[0] is args[0] and _fits(lists[0].with_none, args[2]):
        return lists[0].with_none
    if not lists:
        return _sample_of_lists(args) if name in ("list", "cat_strings", "mul") else None
    alike = name in (*_SAME_ITEMS, "cat_strings") and name not in ("sorted", "sorted_by", "foremost")
    nested = any(each.with_none is NESTED for each in lists)
    if name not in _FOR_LISTS and (not alike or (nested and name not in _KEEPS_ITEMS)):
        recorder.refuse(
            WITH_NONE,
            CHOOSE_BEGIN if nested else "Choose what stands for None before: [label or 'none' for label in labels].",
        )
    return (NESTED if nested else lists[0].with_none) if alike else None


def _fits(sample: Any, entry: Any) -> bool:
    """Whether an entry leaves a list with items that may be None as it is known; of NESTED no item is asked."""
    return sample is NESTED or entry is None or type(concrete(entry)) is type(sample)


def _sample_of_lists(args: tuple[Any, ...]) -> Any:
    """As `_sample`, for the list that some lists make, where one has items that may be None."""
    items = [item for each in args if type(each) is list for item in each]
    if None in map(_plain_none, items) or any(type(item) is TracedOptional for item in items):
        held = [item for each in args if type(each) is TracedList for item in each.concrete]
        found = sample_of([*held, *items])
        return NESTED if found is None else found
    return NESTED if any(map(holds_none, items)) else None


def _plain_none(item: Any) -> Any:
    return item if item is None else ...


def _objects(name: str, args: tuple[Any, ...]) -> Any:
    """What makes the objects of the items of a list that an operator of Python makes of lists of objects."""
    lists = args if name in ("zip", "zip_strict", "cat_strings") else args[:1]
    makers = [each.objects if type(each) is TracedList else None for each in lists]
    if name == "cat_strings":
        return makers[0] if all(each is makers[0] for each in makers) else None
    if not any(makers) or name not in (*_SAME_ITEMS, *_TUPLES):
        return None
    if name in _SAME_ITEMS:
        return makers[0]
    return _OfTuples(tuple([None, *makers] if name == "enumerate" else makers))


@dataclass(frozen=True)
class _OfTuples:
    """What makes the objects in the tuples of `zip` and its kin.

    Attributes:
        makers: one for each place; None where no object is.
    """

    makers: tuple[Any, ...]

    @property
    def is_record(self) -> bool:
        """Whether such tuples may be results."""
        return all(getattr(make, "is_record", True) for make in self.makers)

    def __call__(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        """The tuple with its objects."""
        return tuple(make(item) if make else item for make, item in zip(self.makers, items, strict=True))


def _refuse_objects(recorder: Tracer, name: str, args: tuple[Any, ...]) -> None:
    """Refuses to compare the objects of a list, or to ask for more, where the graph has tuples for them."""
    lists = [each for each in args if type(each) is TracedList and each.objects is not None]
    others = any(getattr(each.objects, "is_compared_otherwise", False) for each in lists)
    if others and name not in (*_OF_PLACES, *_TUPLES) and [] not in [each for each in args if type(each) is list]:
        kind = getattr(lists[0].objects, "kind", tuple).__name__
        what = f"the objects of a list are compared, or more is asked of them, of {kind}"
        recorder.refuse(what, "Give a key that is a number or a text, sorted(items, key=…), or make a list of such.")


_OF_PLACES = ("sorted_by", "foremost", "best_by", "reversed", "list", "getitem", "len", "bool", "cat_strings")
_OF_ARRAYS_OF_TEXTS = (
    "getitem",
    "len",
    "list",
    "contains",
    "sorted",
    "reversed",
    "zip",
    "zip_strict",
    "enumerate",
    "str_join",
)
"""What gives for an array of texts what it gives for their list."""
_SAME_ITEMS = ("sorted", "sorted_by", "foremost", "reversed", "list", "getitem")
_TUPLES = ("zip", "zip_strict", "enumerate")


def list_of(name: str, args: tuple[Any, ...]) -> Type | None:
    """The type of the list that an operator of Python makes of lists whose items are alike; None for any other."""
    if name in _SAME_ITEMS:
        kind = _type_of(args[0])
        return kind if isinstance(kind, ListType) else None
    lists = args[:1] if name == "enumerate" else args
    kinds = [_type_of(each) for each in lists] if name in _TUPLES else []
    items = [STR if kind == STRINGS else kind.item for kind in kinds if isinstance(kind, ListType) or kind == STRINGS]
    if not kinds or len(items) < len(kinds):
        return None
    return ListType((SCALARS[int], *items) if name == "enumerate" else tuple(items))


def _type_of(thing: Any) -> Any:
    return thing.value.type if is_traced(thing) else list_type(thing) if type(thing) is list else None


def _wrapped(recorder: Tracer, name: str, found: Any, varies: bool, alike: Type | None = None) -> tuple[Any, Any]:
    """The output pattern and the stand-in of a result; a list may have any length, a tuple has its own."""
    if name == "re_group" and found is None:
        found = ""  # as code takes a group that takes no part, but where it compares it with None
    if type(found) is tuple or is_record(found):
        pairs = [_wrapped(recorder, name, item, varies) for item in found]
        return tuple(output for output, _ in pairs), same_container(found, [item for _, item in pairs])
    if isinstance(found, torch.Tensor):
        return _item(recorder, found)
    kind: Type = STRINGS if _are_texts(found) else SCALARS.get(type(found), ANY)
    kind = alike if alike is not None and type(found) is list and kind == ANY else kind
    value, stand_in = wrapped_scalar(recorder, kind, found, varies)
    if stand_in is None:
        _refuse_result(recorder, name, found)
    return value, stand_in


def _refuse_result(recorder: Tracer, name: str, found: Any) -> NoReturn:
    recorder.refuse(
        f"{name} gives {type(found).__name__} on the example, which cannot be followed",
        "Give a default of the kind that the other results have.",
    )


def _item(recorder: Tracer, found: torch.Tensor) -> tuple[Value, torch.Tensor]:
    """The value and the tensor for an item of a list: a copy, which no other list knows. Its rank is guarded."""
    with torch._C.DisableTorchFunction(), recorder.within():
        found = found.clone()
    value = recorder.values.add(found, varies=True)
    recorder.values.loose.add(id(value))
    return value, found


def _are_texts(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and all(type(item) is str for item in found)


def wrapped_scalar(recorder: Tracer, kind: Type, result: Any, varies: bool) -> tuple[Value, Any]:
    """A new value for a scalar or an array, and its stand-in."""
    value = Value(kind)
    if varies:
        recorder.values.varying.add(id(value))
    return value, traced(recorder, value, result, varies)
