"""Inputs of another class than the example's, where the function asks for it: a tuple for a list, a Parameter."""

from __future__ import annotations

import enum
import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import tracepack

X = torch.randn(2, 3)
Y = torch.nn.Parameter(torch.randn(2, 3))


def _matched(x: Any) -> int:
    match x:
        case torch.nn.Parameter():
            return 1
        case _:
            return 2


ASKING: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "the class of a tensor": (lambda x: x * 2 if type(x) is torch.Tensor else x, X, Y),
    "the name of the class": (lambda x: type(x).__name__, X, Y),
    "the class by attribute": (lambda x: x.__class__ is torch.Tensor, X, Y),
    "the class in a table": (lambda x: {torch.Tensor: 1}.get(type(x), 2), X, Y),
    "the class by a pattern": (_matched, X, Y),
    "a list that is returned": (lambda xs: xs, [1, 2, 3], (1, 2, 3)),
    "a part of a list": (lambda xs: xs[1:], [1, 2, 3], (1, 2, 3)),
    "the text of a list": (lambda xs: str(xs), [1, 2, 3], (1, 2, 3)),
    "a list beside another": (lambda xs: [] if xs != [1, 2, 3] else xs, [1, 2, 3], (1, 2, 3)),
    "the class of a list": (lambda xs: isinstance(xs, list), ["a", "b"], ("a", "b")),
    "a list of texts": (lambda xs: xs, ["a", "b"], ("a", "b")),
    "a list of tensors": (lambda xs: xs[:1], [X[0], X[0, :2]], (X[0], X[0, :2])),
    "a list in a list": (lambda rows: list(rows), [[1, 2], [3]], [(1, 2), [3]]),
    "a list of texts in a list": (lambda rows: rows[:1], [["a"], ["b", "c"]], [("a",)]),
    "a list of tensors in a list": (lambda rows: [row[:1] for row in rows], [[X[0]], [X[0, :2]]], [(X[0],)]),
    "a list in a dict of a list": (lambda rows: [row["a"] for row in rows], [{"a": [1]}, {"a": [2]}], [{"a": (1,)}]),
    "a list in a tuple of a list": (lambda rows: [row[1] for row in rows], [(1, [1]), (2, [2])], [(1, (3,))]),
    "a list that is added to one in a list": (lambda rows: [r + r[:1] for r in rows], [[1], [2, 3]], [(1, 2)]),
    "a list in a dict": (lambda d: d["a"][:1], {"a": [1, 2]}, {"a": (1, 2)}),
}


@pytest.mark.parametrize("name", ASKING)
def test_an_input_of_another_class_is_stopped_where_it_decides(name: str) -> None:
    process, example, other = ASKING[name]
    traced = tracepack.trace(process, example)
    file = io.BytesIO()
    traced.save(file)
    for pipeline in (traced, tracepack.load(file.getvalue())):
        for _ in range(2):
            pipeline(example)
            with pytest.raises(tracepack.SignatureError, match="the function asks for the class of this input"):
                pipeline(other)


@pytest.mark.parametrize(
    ("process", "example", "other"),
    [
        (lambda x: x * 2, X, Y),
        (lambda xs: sum(xs), [1, 2, 3], (4, 5)),
        (lambda xs: ",".join(xs), ["a", "b"], ("c", "d", "e")),
        (lambda rows: [sum(row) for row in rows], [[1, 2], [3]], [(4, 5), [6]]),
        (lambda rows: [",".join(row) for row in rows], [["a", "b"], ["c"]], [("d",), ["e"]]),
        (lambda xs: torch.cat(xs), [X[0], X[0, :2]], (X[0, :2], X[0])),
    ],
)
def test_it_is_taken_where_it_decides_nothing(process: Any, example: Any, other: Any) -> None:
    found, wanted = tracepack.trace(process, example)(other), process(other)
    assert torch.equal(found, wanted) if isinstance(wanted, torch.Tensor) else found == wanted


class Number(enum.IntEnum):
    THREE = 3


class Text(str, enum.Enum):
    ABC = "abc"


@pytest.mark.parametrize(
    ("process", "example", "given", "wanted"),
    [
        (lambda n: torch.tensor(n), 2.5, Number.THREE, "float"),
        (lambda n: torch.tensor(n), 2, Number.THREE, "int"),
        (lambda s: (f"{s}!", str(s)), "x", Text.ABC, "str"),
        (lambda s: [each.upper() for each in s], ["x", "y"], [Text.ABC], "strings"),
    ],
)
def test_a_member_of_an_enum_is_not_its_value(process, example, given, wanted):
    mod = tracepack.trace(process, example)
    for _ in range(2):
        mod(example)
        with pytest.raises(tracepack.SignatureError, match=f"a member of .*; expected {wanted}. Pass its value"):
            mod(given)


def test_an_int_for_a_float_of_numpy():
    mod = tracepack.trace(lambda n: torch.tensor(n), np.float32(3))
    assert mod(2.0).dtype == torch.float32
    with pytest.raises(tracepack.SignatureError, match="an int gives another answer than a float"):
        mod(3)


class Whole(int):
    def __add__(self, other: Any) -> Any:
        return "mine"


class Marked(str):
    __slots__ = ()

    def upper(self) -> str:
        return "mine"


class Part(float):
    def __mul__(self, other: Any) -> Any:
        return "mine"


@pytest.mark.parametrize(
    ("process", "example", "other", "words"),
    [
        (lambda n: n + 1, 3, Whole(4), r"got a Whole, a subclass; expected int\. Pass int\(value\)"),
        (lambda n: f"{n:.1f}", 3.5, Part(4), r"got a Part, a subclass; expected float\. Pass float\(value\)"),
        (lambda n: f"{n:.1f}", 3.5, Whole(4), r"got a Whole, a subclass; expected float\. Pass int\(value\)"),
        (lambda text: text.upper(), "ab", Marked("ab"), r"got a Marked, a subclass; expected str\. Pass str\(value\)"),
        (lambda words: [w.upper() for w in words], ["a"], ["b", Marked("a")], r"a Marked, a subclass"),
        (lambda xs: [x * 2 for x in xs], [1.5, 2.5], [2.5, Part(1)], r"a Part, a subclass"),
    ],
)
def test_a_subclass_of_a_number_or_a_text_is_stopped(process: Any, example: Any, other: Any, words: str) -> None:
    mod = tracepack.trace(process, example)
    assert mod(example) == process(example)
    with pytest.raises(tracepack.SignatureError, match=words):
        mod(other)


def test_a_text_of_numpy_is_a_plain_one() -> None:
    mod = tracepack.trace(lambda text, words: (repr(text), [repr(word) for word in words]), "a", ["b"])
    assert mod(np.str_("x"), ["y", np.str_("z")]) == ("'x'", ["'y'", "'z'"])


class Nines(tuple[int, ...]):
    """A tuple whose items are others for whoever asks."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return 99


class Long(list[Any]):
    def __len__(self) -> int:
        return 42


class Kept(list[Any]):
    """A list that answers as any other, with one method more."""

    def first(self) -> Any:
        return self[0]


class Pair(NamedTuple):
    a: int
    b: int

    def total(self) -> int:
        return self.a + self.b


@pytest.mark.parametrize(
    ("process", "example", "given", "message"),
    [
        (
            lambda t: t[0] * 2,
            (1, 2),
            Nines((1, 2)),
            "input 't': the tuple is of a subclass .* got Nines; .* Pass tuple",
        ),
        (lambda xs: [len(v) for v in xs], [[1], [2]], [Long([1])], r"input 'xs\[0\]': the list .* Pass list\(value\)"),
        (lambda xs: [v.upper() for v in xs], ["a"], Long(["a"]), "input 'xs': the list is of a subclass .* got Long"),
        (lambda xs: [v[0] for v in xs], [(1, 2)], [Nines((3, 4))], r"input 'xs\[0\]': the tuple is of a subclass"),
    ],
)
def test_lists_and_tuples_with_methods_of_their_own_are_refused(process, example, given, message) -> None:
    mod = tracepack.trace(process, example)
    assert mod(example) == process(example)
    with pytest.raises(tracepack.SignatureError, match=message):
        mod(given)


def test_lists_and_tuples_that_answer_as_any_other_are_taken() -> None:
    assert tracepack.trace(lambda xs: [x * 2 for x in xs], [1, 2])(Kept([3])) == [6]
    assert tracepack.trace(lambda p: p.total() * p[0], Pair(1, 2))(Pair(3, 4)) == 21


R = torch.rand(2, 3)


def doubled(best):
    values, indices = best
    return values * 2, best.indices + indices, best


OF_TORCH = {
    "max": (doubled, [torch.rand(2, 3).max(0)], [torch.rand(5, 2).max(0)]),
    "sort, by place": (lambda found: found[0] * 2, [torch.rand(2, 3).sort(0)], [torch.rand(4, 1).sort(0)]),
    "in a dict": (lambda d: d["best"].indices, [{"best": R.topk(1)}], [{"best": torch.rand(4, 2).topk(1)}]),
    "of linalg": (lambda found: found.eigenvalues, [torch.linalg.eigh(R[:, :2])], [torch.linalg.eigh(torch.eye(3))]),
}


@pytest.mark.parametrize("name", OF_TORCH)
def test_what_torch_returns_with_names_is_an_argument(name, reloaded) -> None:
    process, example, other = OF_TORCH[name]
    for mod in (made := tracepack.trace(process, *example), reloaded(made)):
        for given in (example, other):
            wanted, got = process(*given), mod(*given)
            assert type(got) is type(wanted)
            torch.testing.assert_close(got, wanted)


def test_it_keeps_the_names_of_its_fields() -> None:
    mod = tracepack.trace(doubled, R.max(0))
    assert mod.signature.startswith("(best.values: f32[N], best.indices: i64[M]) -> ")
    with pytest.raises(tracepack.SignatureError, match="a plain tuple has no names"):
        mod((R[0], R[0].long()))
    with pytest.raises(tracepack.SignatureError, match="a named tuple has other fields"):
        mod(torch.linalg.eigh(R[:, :2]))
