"""What is given for a tuple, a dict or a tensor and is of another class: taken where the answer is the same."""

from __future__ import annotations

import enum
import io
from collections import Counter, OrderedDict, defaultdict
from typing import Any, NamedTuple

import pytest
import torch

import tracepack

D = {"a": 1, "b": 2}


def saved(process, *examples):
    """A pipeline that was stored and loaded again."""
    tracepack.trace(process, *examples).save(stream := io.BytesIO())
    return tracepack.load(io.BytesIO(stream.getvalue()))


class Same(dict):
    def __getitem__(self, key):
        return -1


class Getting(dict):
    def get(self, key, default=None):
        return -2


class Missing(dict):
    def __missing__(self, key):
        return 5


class Walking(dict):
    def __iter__(self):
        return iter(["b", "a"])


class Showing(dict):
    def items(self):
        return [("a", 7), ("b", 7)]


class Falsy(dict):
    def __bool__(self):
        return False


class WithAttributes(dict):
    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(name)
        return self[name]


class Word(str):
    def upper(self):
        return "no"


class TextNamed(str, enum.Enum):
    A = "a"


class Pair(NamedTuple):
    a: int
    b: float


def entries(d: dict[str, int]) -> tuple[int, int]:
    return d["a"] + 1, d.get("b", 0)


@pytest.mark.parametrize("kind", [Same, Getting, Missing, Walking, Showing, Falsy])
def test_a_dict_with_methods_of_its_own_is_stopped(kind) -> None:
    with pytest.raises(
        tracepack.SignatureError,
        match=rf"input 'd': the dict is of a subclass that overrides its methods; got {kind.__name__}; expected dict. "
        r"Pass dict\(value.items\(\)\)",
    ):
        saved(entries, D)(kind(D))
    with pytest.raises(tracepack.SignatureError, match=r"input 'ds\[1\]': the dict is of a subclass that overrides"):
        saved(lambda ds: [d["a"] for d in ds], [D, D])([D, kind(D)])


def test_a_dict_with_methods_of_its_own_is_no_example() -> None:
    with pytest.raises(tracepack.RecordError, match="the dict is of a subclass that overrides its methods"):
        tracepack.trace(entries, Same(D))


@pytest.mark.parametrize("given", [OrderedDict(D), defaultdict(int, D), Counter(D), WithAttributes(D)])
def test_dicts_of_other_classes_are_taken(given) -> None:
    assert saved(entries, D)(given) == saved(entries, given)(D) == entries(D)


def caught(d: dict[str, int]) -> int:
    try:
        return d["zz"]
    except KeyError:
        return d["a"]


@pytest.mark.parametrize("given", [defaultdict(int, D), Counter(D)])
def test_a_dict_that_makes_up_what_it_lacks_is_stopped_where_the_function_asks_for_that(given) -> None:
    mod = saved(caught, D)
    assert mod(D) == 1
    with pytest.raises(
        tracepack.SignatureError,
        match=rf"input 'd': the function asks for the class of this input, and a {type(given).__name__} gives another",
    ):
        mod(given)


KEYS = [({"a": 1}, {Word("a"): 1}), ({"a": 1}, {TextNamed.A: 1}), ({1: 1}, {True: 1}), ({1: 1}, {1.0: 1})]


@pytest.mark.filterwarnings("ignore:the keys of")
@pytest.mark.parametrize(("example", "given"), KEYS)
def test_keys_of_another_class_are_stopped(example, given) -> None:
    wanted = type(min(example)).__name__
    with pytest.raises(tracepack.SignatureError, match=f"'d': a key is of another class; got .*; expected {wanted}"):
        saved(lambda d: [f"{key}" for key in d], example)(given)


ASKING: dict[str, tuple[Any, Any, Any]] = {
    "itself": (lambda t: t, (1, 2.5), Pair(1, 2.5)),
    "itself in a list": (lambda ts: ts[::-1], [(1, 2.5), (2, 2.5)], [Pair(1, 2.5)]),
    "its fields": (lambda t: hasattr(t, "_fields"), (1, 2.5), Pair(1, 2.5)),
    "its text": (lambda t: f"{t}", (1, 2), torch.Size((1, 2))),
    "sizes": (lambda t: t, (1, 2), torch.Size((1, 2))),
    "within a tuple": (lambda t: t[0], ((1, 2.5), 3), (Pair(1, 2.5), 3)),
}


@pytest.mark.parametrize("name", ASKING)
def test_a_named_tuple_for_a_tuple_is_stopped_where_the_function_shows_which(name) -> None:
    process, example, given = ASKING[name]
    mod = saved(process, example)
    assert mod(example) == process(example)
    with pytest.raises(tracepack.SignatureError, match=r"asks for the class of this input, .*Pass tuple\(value\)"):
        mod(given)


TAKEN: dict[str, tuple[Any, Any, Any]] = {
    "longer": (lambda t: (*t, 1), (1, 2.5), Pair(1, 2.5)),
    "items": (lambda t: t[0] + t[1], (1, 2.5), Pair(1, 2.5)),
    "items in a list": (lambda ts: [t[0] for t in ts], [(1, 2.5), (2, 2.5)], [Pair(1, 2.5)]),
    "sizes": (lambda t: torch.ones(4).reshape(t).shape[0], (2, 2), torch.Size((4, 1))),
}


@pytest.mark.filterwarnings("ignore:the length of")
@pytest.mark.parametrize("name", TAKEN)
def test_a_named_tuple_for_a_tuple_is_taken_where_the_answer_is_the_same(name) -> None:
    process, example, given = TAKEN[name]
    found, wanted = saved(process, example)(given), process(given)
    assert found == wanted
    assert type(found) is type(wanted)


class Summed(torch.Tensor):
    def sum(self):
        return torch.tensor(-1.0)


class Answering(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return -5


class Tagged(torch.Tensor):
    """A class without methods."""


def test_a_tensor_with_methods_of_its_own_is_stopped() -> None:
    mod, several = saved(lambda x: x.sum(), torch.ones(2)), saved(lambda xs: [x.sum() for x in xs], [torch.ones(2)] * 2)
    for kind in (Summed, Answering):
        with pytest.raises(tracepack.SignatureError, match=f"a subclass that overrides operators; got {kind.__name__}"):
            mod(torch.ones(2).as_subclass(kind))
        with pytest.raises(tracepack.SignatureError, match=f"a subclass that overrides operators; got {kind.__name__}"):
            several([torch.ones(2).as_subclass(kind)])
    assert mod(torch.ones(3).as_subclass(Tagged)) == 3
