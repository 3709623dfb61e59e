"""The classes of containers: those of results are kept or refused, those of arguments decide nothing unseen."""

from __future__ import annotations

import io
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest
import torch

import tracepack
from tests.trust.trials import trial
from tracepack.ops.graph.errors import GraphError
from tracepack.ops.graph.graph import Record
from tracepack.ops.graph.text import graph_text
from tracepack.ops.runtime.primitives.named_tuples import as_size, record_factory

X = torch.rand(2, 3)
PAIR = {"a": X, "b": X + 1}


class Items(list[Any]):
    pass


class Part(tuple[Any, ...]):
    pass


def reordered(x: torch.Tensor) -> Any:
    found = OrderedDict(a=x * 2, b=OrderedDict({"any text": x.shape[0]}))
    found.move_to_end("a")
    return [found, x]


def test_an_ordered_dict_comes_back_as_one_and_through_an_outer_pipeline() -> None:
    assert trial(lambda: reordered, X, others=[(torch.rand(5, 3),)]) == "right"
    file = io.BytesIO()
    tracepack.trace(reordered, X).save(file)
    inner = tracepack.load(file.getvalue())
    outer = tracepack.trace(lambda x: inner(x + 1), X)
    wanted, got = reordered(X + 1), outer(X)
    assert type(got[0]) is OrderedDict
    assert list(got[0]) == ["b", "a"]
    assert got[0]["b"] == wanted[0]["b"]
    assert type(got[0]["b"]) is OrderedDict
    assert torch.equal(got[0]["a"], wanted[0]["a"])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: OrderedDict({1: x}), "a collections.OrderedDict, .* Give it texts for keys"),
        (lambda x: Items([x]), r"Items, which no archive tells from a list. Return list\(result\)"),
        (lambda x: (Part([x]),), "Part, which no archive tells from a tuple"),
        (lambda x: slice(0, x.shape[0]), "the function returns a slice, which an archive cannot hold"),
    ],
)  # fmt: skip
def test_a_result_of_another_class_is_refused(make: Any, text: str) -> None:
    with pytest.raises(tracepack.RecordError, match=text):
        tracepack.trace(make, X)


@pytest.mark.parametrize("make", [lambda x: defaultdict(list, a=x), lambda x: Counter(a=x * 2)])
def test_another_kind_of_dict_comes_back_as_a_dict(make: Any) -> None:
    got, wanted = tracepack.trace(make, X)(X), make(X)
    assert type(got) is dict
    assert torch.equal(got["a"], wanted["a"])


ASKING = "asks for the class of a dict or a list, which no signature holds"


ASKS = {
    "isinstance": lambda d: d["a"] * (2 if isinstance(d, OrderedDict) else 3),
    "its type": lambda d: d["a"] * (2 if type(d) is dict else 3),
}


@pytest.mark.parametrize("name", ASKS)
def test_a_function_that_asks_for_the_class_of_an_ordered_dict_is_refused(name: str) -> None:
    with pytest.raises(tracepack.RecordError, match=ASKING):
        tracepack.trace(ASKS[name], OrderedDict(PAIR))


@pytest.mark.parametrize("name", ASKS)
def test_a_function_that_asks_for_the_class_of_a_dict_takes_plain_ones(name: str, tmp_path) -> None:
    tracepack.trace(ASKS[name], PAIR).save(tmp_path / "a.tpk")
    mod = tracepack.load(tmp_path / "a.tpk")
    assert torch.equal(mod(PAIR), ASKS[name](PAIR))
    text = (
        "input 'd': the function asks for the class of this input, and an OrderedDict gives another answer; "
        "expected dict. Pass dict(value)."
    )
    with pytest.raises(tracepack.SignatureError) as info:
        mod(OrderedDict(PAIR))
    assert str(info.value) == text


def test_a_dict_that_is_printed_is_a_plain_one() -> None:
    mod = tracepack.trace(lambda d: (f"{d}", str(d)), {"a": 1.0, "b": "x"})
    assert mod({"a": 2.5, "b": "y"}) == ("{'a': 2.5, 'b': 'y'}",) * 2
    with pytest.raises(tracepack.SignatureError, match="an OrderedDict gives another answer"):
        mod(OrderedDict(a=2.5, b="y"))


IN_LISTS = {
    "str": lambda rows: [str(row) for row in rows],
    "a text": lambda rows: "; ".join(f"{row}" for row in rows),
    "type": lambda rows: [type(row).__name__ for row in rows],
    "isinstance": lambda rows: [isinstance(row, OrderedDict) for row in rows],
}


@pytest.mark.parametrize("name", IN_LISTS)
def test_the_class_of_the_dicts_in_a_list_is_kept_to_where_it_shows(name: str) -> None:
    mod = tracepack.trace(IN_LISTS[name], [{"k": 1}, {"k": 2}])
    assert mod([{"k": 3}]) == IN_LISTS[name]([{"k": 3}])
    with pytest.raises(tracepack.SignatureError, match="an OrderedDict gives another answer"):
        mod([{"k": 1}, OrderedDict(k=3)])


def test_dicts_of_a_list_may_be_ordered_ones_where_nothing_shows() -> None:
    mod = tracepack.trace(lambda rows: [row["k"] + 1 for row in rows], [{"k": 1}, {"k": 2}])
    assert mod([OrderedDict(k=3)]) == [4]


@pytest.mark.parametrize("example", [PAIR, OrderedDict(PAIR)], ids=["dict", "OrderedDict"])
def test_the_class_of_an_argument_is_no_part_of_a_signature(example: Any) -> None:
    assert trial(lambda: lambda d: d["a"] * 2 + d["b"], example, others=[(PAIR,), (OrderedDict(PAIR),)]) == "right"


def test_a_function_gets_containers_of_the_classes_of_its_example() -> None:
    def moved(d: Any) -> Any:
        d = d.copy()
        d.move_to_end("a")
        return list(d.values())[-1] * 2

    assert torch.equal(tracepack.trace(moved, OrderedDict(PAIR))(OrderedDict(PAIR)), X * 2)
    missing = tracepack.trace(lambda d: d["a"] * d.default_factory(), defaultdict(lambda: 4, PAIR))
    assert torch.equal(missing(defaultdict(lambda: 4, PAIR)), X * 4)
    with pytest.raises(tracepack.RecordError, match=ASKING):
        tracepack.trace(lambda items: items[0] * (2 if type(items) is list else 3), Items([X]))


def test_a_dict_that_is_handed_on_is_taken() -> None:
    assert trial(lambda: lambda d: d, PAIR) == "right"
    assert trial(lambda: lambda d: d.copy(), OrderedDict(PAIR)) == "right"


def test_a_key_of_any_text_is_quoted_in_the_graph() -> None:
    text = graph_text(tracepack.trace(reordered, X).graph)
    assert "'any text'=" in text
    assert "OrderedDict(b=" in text


def test_a_key_that_a_file_gives_twice_is_refused() -> None:
    with pytest.raises(GraphError, match=r"an OrderedDict has a key twice; got \('a', 'a'\)"):
        record_factory(Record("collections.OrderedDict", ("a", "a"), (1, 2)))


SIZES = [
    lambda x: x.shape[-1:] + x.shape[:1],
    lambda x: {"all": [x.size(), x.shape[2:]], "list": list(x.shape), "tuple": tuple(x.shape)},
    lambda x: (torch.Size([x.shape[0], 2]), 2 * x.shape[:1], x.shape[::-1], torch.Size([3])),
]


def classes(tree: Any) -> Any:
    """The classes of a tree's containers, in order."""
    items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, tuple | list) else ()
    return [type(tree), *map(classes, items)]


@pytest.mark.parametrize("function", SIZES)
def test_a_size_comes_back_as_one_and_through_an_outer_pipeline(function: Any) -> None:
    traced = tracepack.trace(function, X)
    file, x = io.BytesIO(), torch.rand(5, 3)
    traced.save(file, examples=[{"x": x}])
    loaded = tracepack.load(file.getvalue(), verify="golden")
    for mod in (traced, loaded, tracepack.trace(lambda x: loaded(x), X)):
        assert mod(x) == function(x)
        assert classes(mod(x)) == classes(function(x))


def test_a_size_that_a_file_makes_of_anything_else_is_refused() -> None:
    assert as_size((1, 2)) == torch.Size([1, 2])
    for items in ((1.5,), ("x",)):
        with pytest.raises(GraphError, match=r"not a torch.Size; got \(.*,\); expected integers"):
            as_size(items)


def _first(numbers: list[float]) -> float:
    match numbers:
        case []:
            return 0.0
        case [one]:
            return one * 2
        case [first, *_, last] if first > last:
            return first
        case _:
            return numbers[0] * 3


def _command(line: str) -> str:
    match line.split():
        case ["go", where]:
            return where
        case [word]:
            return word + "!"
        case _:
            return "?"


def _of_rows(rows: list[dict[str, Any]]) -> list[float]:
    found = []
    for row in rows:
        match row:
            case {"ok": True, "score": score} if score > 0:
                found.append(score)
            case _:
                found.append(0.0)
    return found


def _of_tensor(x: torch.Tensor) -> float:
    match x[0].tolist():
        case [a, b, c]:
            return float(a + b * c)
        case _:
            return 1.0


@pytest.mark.parametrize(
    ("process", "example", "others"),
    [
        (_first, [3.0, 2.0], ([5.0, 1.0], [1.0, 2.0], [1.0], [])),
        (_command, "go home", ("go out", "stay", "a b c")),
        (_of_rows, [{"ok": True, "score": 1.5}, {"ok": False, "score": 0.5}], ([{"ok": True, "score": -1.5}] * 2,)),
        (_of_tensor, X, (X + 1, torch.rand(3, 3))),
    ],
)
def test_a_case_takes_the_branch_of_python(process: Any, example: Any, others: Any) -> None:
    assert trial(lambda: process, example, others=[(other,) for other in others]) == "right"
