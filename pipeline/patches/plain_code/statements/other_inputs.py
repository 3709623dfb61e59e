"""Whether a block gives another kind of value for other inputs than the example's.

It does where there are no items, as by the 0 that a sum of tensors begins with, and on the other side of a choice, as
of ``x.sum() if flag else x``. Code that goes on with a tensor would be refused then, where Python goes on with what it
has. So the block is run with flags turned round, with other numbers, texts and data, and with no items.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, cycle, islice, zip_longest
from typing import Any

import numpy as np
import torch

from .....ops.graph.errors import GuardError
from .....ops.runtime.primitives.control_flow import LimitedRounds
from .....ops.runtime.primitives.plain_code.objects.model_call import OF_OTHER_KINDS
from .....ops.runtime.primitives.plain_code.running import block_of, described, misfit
from ..called_models import kind_of_call

MOST_OTHERS = 28
"""How many other inputs are tried; each runs the block once."""
MOST_WITH_MODELS = 6
"""How many where the block calls models, which take their time."""
_MOST_ITEMS = 1 << 24
"""How many items of tensors all of them have together, of which each copy takes its time, too."""
_MOST_ROUNDS = 2000
"""Of each loop: for another number it may go on for long."""
_MOST_REPEATED = 64
_TEXTS = ("7", "A b c d e f", "a")
"""A number, many words, and a small letter: for questions such as `isdigit`, `split` and `islower`."""
_LARGE, _VERY_LARGE = 1e4, 1e8
_MORE = 8  # times the rows of a small tensor: for a question about how many there are of some kind


@dataclass(frozen=True)
class OtherKind:
    """What a block gives for other inputs.

    Attributes:
        what: its kind, in words, or with what it calls a model.
        of_items: whether there were no items, so that no flag or number chose it.
        calls: what its models were given where Python goes on: the kinds of each call, by the places of the models.
    """

    what: str
    of_items: bool
    calls: Mapping[int, Sequence[Any]] = field(default_factory=dict)


_known: ContextVar[dict[str, OtherKind | None] | None] = ContextVar("_known", default=None)


@contextmanager
def kinds_of_trace() -> Iterator[None]:
    """While it is entered, what was found for a block is kept: one trace records a function several times."""
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def other_kind(
    text: str,
    kind: Any,
    given: Sequence[Any],
    samples: Mapping[int, Any],
    models: Mapping[int, Callable[..., Any]],
) -> OtherKind | None:
    """What a block gives for other inputs, where that is of another kind; None where no such inputs are found.

    Args:
        text: of the block.
        kind: of what it gives on the example; "any" where it may give what it likes, as long as it calls its models
            with what they take.
        given: what it is given there.
        samples: what those may be instead that may be None, by their places: None, or an example of what it is else.
        models: the user's models that it calls, by their places.
    """
    known = _known.get()
    key = json.dumps([text, kind])
    if known is not None and key in known:
        return known[key]
    found = _tried(text, kind, given, samples, models)
    if known is not None:
        known[key] = found
    return found


def _tried(
    text: str,
    kind: Any,
    given: Sequence[Any],
    samples: Mapping[int, Any],
    models: Mapping[int, Callable[..., Any]],
) -> OtherKind | None:
    items = sum(each.numel() for each in given if isinstance(each, torch.Tensor))
    most = min(MOST_WITH_MODELS if models else MOST_OTHERS, max(1, _MOST_ITEMS // max(items, 1)))
    for inputs in islice(other_inputs(text, given, samples), most):
        what = _misfits(text, kind, inputs)
        if what and (calls := _calls(text, inputs, models)) is not None:
            return OtherKind(what, False, calls)
    for inputs in islice(_without_items(given), 0 if models else most):
        if what := _misfits(text, kind, inputs):
            return OtherKind(what, True)
    return None


def _misfits(text: str, kind: Any, given: Sequence[Any]) -> str:
    """What a block gives of another kind; empty where it gives the same, or fails, as Python does, too."""
    try:
        got = misfit(_run(text, given), kind)
        return f"gives {got} instead of {described(kind)}" if got else ""
    except GuardError as error:
        wrong = error.what == OF_OTHER_KINDS
        return f"calls a model with {error.got} instead of {error.expected}" if wrong else ""
    except Exception:
        return ""


def _calls(
    text: str, given: Sequence[Any], models: Mapping[int, Callable[..., Any]]
) -> dict[int, list[list[Any]]] | None:
    """The kinds of what Python gives the user's models in a block; None where it does not run it to its end."""
    found: dict[int, list[list[Any]]] = {at: [] for at in models}
    if models:
        try:
            _run(text, [partial(_noted, models[at], found[at]) if at in models else e for at, e in enumerate(given)])
        except Exception:
            return None
    return found


def _noted(model: Callable[..., Any], calls: list[list[Any]], *args: Any) -> Any:
    calls.append(kind_of_call(args))
    return model(*args)


def _run(text: str, given: Sequence[Any]) -> Any:
    functions = {id(each): each for each in given if callable(each)}
    with warnings.catch_warnings(), LimitedRounds(_MOST_ROUNDS), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return block_of(text).run(deepcopy(tuple(given), functions))


@dataclass(frozen=True)
class _AskedFor:
    """The numbers and texts that a block asks for, in the order in which it names them."""

    numbers: tuple[float, ...]
    texts: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _AskedFor:
        tree = ast.parse(text)
        lines = [(line.targets[0], line.value) for line in ast.walk(tree) if isinstance(line, ast.Assign)]
        named = {name.id: value for name, value in lines if isinstance(name, ast.Name) and name.id.startswith("K")}
        questions = [each for each in ast.walk(tree) if isinstance(each, ast.Compare | ast.MatchValue | ast.Call)]
        found: list[Any] = []
        for question in sorted(questions, key=lambda each: isinstance(each, ast.Call)):
            parts = [part for part in ast.walk(question) if isinstance(part, ast.Name | ast.Constant)]
            whole = [named[part.id] for part in parts if isinstance(part, ast.Name) and part.id in named]
            inner = (part for each in [*parts, *whole] for part in ast.walk(each))
            found += [part.value for part in inner if isinstance(part, ast.Constant)]
        numbers = [each for each in found if type(each) in (int, float) and abs(each) < _LARGE]
        return cls(tuple(dict.fromkeys(numbers)), tuple(dict.fromkeys(e for e in found if type(e) is str)))

    def places(self) -> list[slice]:
        """The places in a flat tensor that it asks for, as `argmax` gives them."""
        return [slice(int(each), int(each) + 1) for each in self.numbers[:4] if 0 <= each < _LARGE]

    def lengths(self) -> list[int]:
        """How long something may be for a question about its length, and a bit longer than most are."""
        near = [int(number) + step for number in self.numbers for step in (0, 1)]
        return [each for each in dict.fromkeys([*near[:4], 1, 9]) if 0 < each <= _MOST_REPEATED]


def _repeated(thing: Any, count: int) -> list[Any]:
    """The items of something in turn, as many as asked for."""
    return list(islice(cycle(thing), count))


def other_inputs(text: str, given: Sequence[Any], samples: Mapping[int, Any]) -> Iterator[list[Any]]:
    """Other inputs, with tensors of the same sizes.

    First flags are turned round, alone and together, then others change one by one, and then two of them.

    Args:
        text: of a block.
        given: what it is given.
        samples: what those may be instead that may be None, by their places.
    """
    asked = _AskedFor.of(text)
    others = [[*_others(each, asked), *([samples[at]] if at in samples else [])] for at, each in enumerate(given)]
    flags = [at for at, each in enumerate(given) if type(each) is bool]
    for count in range(1, min(len(flags), 4) + 1):
        for turned in combinations(flags, count):
            yield [not each if at in turned else each for at, each in enumerate(given)]
    singles = [[(at, other) for other in found] for at, found in enumerate(others) if at not in flags]
    for at, other in (each for turn in zip_longest(*singles) for each in turn if each is not None):
        yield [*given[:at], other, *given[at + 1 :]]
    for one, another in combinations([at for at, found in enumerate(others) if found], 2):
        if not {one, another} <= {*flags}:
            first, second = others[one][0], others[another][0]
            yield [first if at == one else second if at == another else each for at, each in enumerate(given)]


def _others(thing: Any, asked: _AskedFor) -> list[Any]:
    """Other things of the kind of one, with as many items."""
    match thing:
        case bool():
            return [not thing]
        case int():
            near = [number + step for number in map(int, asked.numbers) for step in (0, 1, -1)]
            # The next ones are other places of a table that is asked for a rest, as ``[1, 2.5, 3][n % 3]``.
            return [e for e in dict.fromkeys([*near[:9], 0, -1, thing + 1, thing + 2, thing + 7]) if e != thing]
        case float():
            close = [float(number + step) for number in asked.numbers for step in (0, 1, -1)]
            return [each for each in dict.fromkeys([*close[:9], 0.0, -1.5, thing + 7.5]) if each != thing]
        case str():
            longer = ["".join(_repeated(thing or "a", count)) for count in asked.lengths()]
            return [e for e in dict.fromkeys([*asked.texts[:8], f"{thing}?", *_TEXTS, *longer, ""]) if e != thing]
        case torch.Tensor() if thing.numel():
            return [
                *_other_data(thing, str(thing.dtype).removeprefix("torch."), torch, asked),
                thing.flip([*range(thing.dim())]),
                *([_of_more_rows(thing)] if thing.dim() and thing.numel() <= _MOST_REPEATED else []),
            ]
        case np.ndarray() if thing.size:
            return [*_other_data(thing, str(thing.dtype), np, asked), np.flip(thing), *_of_other_sizes(thing, asked)]
        case np.generic() if thing.dtype.kind in "fiub":
            return [each for each in map(type(thing), (0, 1, 100)) if each != thing]
        case list() if thing:
            changed = [_others(each, asked) for each in thing]
            turned = [
                [of[turn] if turn < len(of) else each for of, each in zip(changed, thing, strict=True)]
                for turn in range(max(map(len, changed)))
            ]
            return turned + [_repeated(thing, count) for count in asked.lengths() if count != len(thing)]
        case tuple() if type(thing) is tuple:
            return [(*thing[:at], other, *thing[at + 1 :]) for at, e in enumerate(thing) for other in _others(e, asked)]
        case dict():
            return [{**thing, key: other} for key, each in thing.items() for other in _others(each, asked)]
    return []


def _other_data(thing: Any, dtype: str, library: Any, asked: _AskedFor) -> list[Any]:
    """A tensor or an array of other data.

    Where all is 0, large or below 0, or no number, where half is very large, and where one is the largest: that at a
    place for which the block asks.
    """
    if dtype == "bool":
        return [~thing]
    if dtype.startswith(("float", "bfloat")):
        filled = [library.full_like(thing, value) for value in (0.0, _LARGE, -_LARGE, float("nan"))]
        return [*filled, *(_risen(thing, library, places) for places in (slice(None, None, 2), *asked.places()))]
    return [library.full_like(thing, value) for value in (0, 1)] if "int" in dtype else []


def _of_more_rows(thing: torch.Tensor) -> torch.Tensor:
    """A tensor with many times the rows, none of which is below 0."""
    has_sign = thing.dtype is not torch.bool and not thing.is_complex()
    return torch.cat([thing.abs() if has_sign else thing] * _MORE)


def _of_other_sizes(thing: np.ndarray[Any, Any], asked: _AskedFor) -> list[Any]:
    """An array with as many rows as the block asks for, or a few more or less: it is Python that goes through them."""
    if not thing.ndim or thing.size > _MOST_REPEATED:
        return []
    counts = dict.fromkeys(count for each in asked.lengths() for count in (each, each - 1) if count != len(thing))
    return [np.resize(thing, (count, *thing.shape[1:])) for count in counts]


def _risen(thing: Any, library: Any, places: Any) -> Any:
    """Very large numbers at some places of the flat tensor, and 0 elsewhere."""
    flat = library.zeros_like(thing).reshape(-1)
    flat[places] = _VERY_LARGE
    return flat.reshape(thing.shape)


def _without_items(given: Sequence[Any]) -> Iterator[list[Any]]:
    """The inputs where one thing has no items, or two where it has none."""
    for at, thing in enumerate(given):
        for other in _empty(thing):
            yield [*given[:at], other, *given[at + 1 :]]


def _empty(thing: Any) -> Iterator[Any]:
    if isinstance(thing, torch.Tensor):
        for dim, size in enumerate(thing.shape):
            yield thing.new_zeros((*thing.shape[:dim], 2 if size == 0 else 0, *thing.shape[dim + 1 :]))
    elif type(thing) in (list, dict, str) and thing:
        yield type(thing)()
