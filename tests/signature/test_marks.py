"""What no type tells of arguments: the order of keywords, an int for a float. A call is held to it where it counts."""

from __future__ import annotations

import io
import json
from collections import namedtuple
from typing import Any

import pytest
import torch

import tracepack

X, ONES = torch.rand(2), torch.ones(2)


def saved(process: Any, *args: Any, **kwargs: Any) -> Any:
    file = io.BytesIO()
    tracepack.trace(process, *args, **kwargs).save(file)
    return tracepack.load(file.getvalue())


@pytest.mark.filterwarnings("ignore:the names of")
def test_the_order_of_keywords_on_which_the_answer_hangs() -> None:
    mod = saved(lambda x, **more: [v * x for v in more.values()], X, a=ONES, b=ONES * 2)
    for _ in range(2):  # the second call takes the fast path
        assert torch.equal(mod(X, a=ONES, b=ONES * 3)[1], X * 3)
        with pytest.raises(
            tracepack.SignatureError, match=r"in another order.*got \('b', 'a'\); expected \('a', 'b'\)"
        ):
            mod(X, b=ONES, a=ONES)
        with pytest.raises(tracepack.SignatureError, match="in another order"):
            mod.run({"b": ONES, "x": X, "a": ONES})


@pytest.mark.skipif(hasattr(int, "is_integer"), reason="ints have it since Python 3.12")
@pytest.mark.parametrize(
    ("process", "example", "other"),
    [
        (lambda xs: [v.is_integer() for v in xs], [0.5, 2.5], [1, 2.5]),
        (lambda v: v.is_integer(), 0.5, 1),
        (lambda v: v.is_integer() if v > 3 else False, 0.5, 5),
    ],
)
def test_an_int_lacks_what_a_float_has(process, example, other) -> None:
    mod = saved(process, example)
    assert mod(example) == process(example)
    with pytest.raises(AttributeError, match="'int' object has no attribute 'is_integer'"):
        process(other)
    with pytest.raises(tracepack.SignatureError, match="an int gives another answer than a float"):
        mod(other)


def test_keywords_that_are_looked_up_come_in_any_order() -> None:
    mod = saved(lambda x, **more: more["a"] * x - more["b"], X, a=ONES, b=ONES * 2)
    assert torch.equal(mod(X, b=ONES, a=ONES * 3), 3 * X - 1)


def test_an_int_for_a_float_where_the_answer_hangs_on_it() -> None:
    mod = saved(lambda x, n: torch.full((2,), n) + x, X, 2.5)
    assert torch.equal(mod(X, 3.0), X + 3)
    whole = saved(lambda x, n: torch.full((2,), n), X, 2.5)
    with pytest.raises(
        tracepack.SignatureError, match="input 'n': an int gives another answer than a float; got 3; expected float"
    ):
        whole(X, 3)
    assert whole(X, 3.0).dtype == torch.float32


@pytest.mark.parametrize("process", [lambda x, n: x * n, lambda x, n: n // 2, lambda x, n: x.clamp(max=n)])
def test_an_int_is_taken_for_a_float_where_it_gives_the_same(process: Any) -> None:
    got, wanted = saved(process, X, 2.5)(X, 3), process(X, 3)
    assert type(got) is type(wanted)
    assert torch.equal(torch.as_tensor(got), torch.as_tensor(wanted))


def _of_rows(rows: Any) -> Any:
    return torch.tensor([row["s"] for row in rows])


ROWS = [{"s": 0.5, "n": 1}, {"s": 1.5, "n": 2}]


@pytest.mark.parametrize(
    ("process", "example", "some", "none"),
    [
        (lambda items: torch.tensor(items), ([1.5, 2.5],), ([1, 2.5],), ([1, 2],)),
        (lambda pair: torch.tensor(pair), ((1.5, 2.5),), ((1, 2.5),), ((1, 2),)),
        (lambda a, b: torch.tensor([a, b]), (1.5, 2.5), (1, 2.5), (1, 2)),
        (_of_rows, (ROWS,), ([{"s": 1, "n": 1}, ROWS[1]],), ([{"s": 1, "n": 1}],)),
    ],
)
def test_ints_for_all_floats_at_once_where_the_answer_hangs_on_it(
    process: Any, example: Any, some: Any, none: Any
) -> None:
    mod = saved(process, *example)
    for args in (example, some):
        assert (mod(*args).dtype, mod(*args).tolist()) == (process(*args).dtype, process(*args).tolist())
    assert process(*none).dtype == torch.int64
    with pytest.raises(tracepack.SignatureError, match="an int gives another answer than a float; got 1; expected"):
        mod(*none)


def test_an_int_among_floats_where_the_answer_hangs_on_it() -> None:
    mod = saved(lambda rows: [isinstance(row["s"], float) for row in rows], ROWS)
    assert mod(ROWS[:1] * 3) == [True] * 3
    with pytest.raises(tracepack.SignatureError, match="input 'rows': an int gives another answer than a float"):
        mod([ROWS[0], {"s": 1, "n": 1}])
    pairs = saved(lambda a, b, c, d: (torch.tensor([a, b]), torch.tensor([c, d])), 0.5, 1.5, 2.5, 3.5)
    with pytest.raises(tracepack.SignatureError, match="an int gives another answer than a float"):
        pairs(1, 2, 2.5, 3.5)


def kind_of(v: Any) -> str:
    return "int" if type(v) is int else "float"


OWN_INTS = {
    "in a helper": (lambda v: [kind_of(x) for x in v], [1, 2.5], [3.5, 4]),
    "by isinstance": (lambda v: [isinstance(x, int) for x in v], [1, 2.5], [3.5, 4]),
    "the last": (lambda v: kind_of(v[-1]), [2.5, 1], [4, 2.5]),
    "in records": (lambda v: [kind_of(row["s"]) for row in v], [{"s": 1}, {"s": 2.5}], [{"s": 2.5}, {"s": 1}]),
    "in lists": (lambda v: [[kind_of(x) for x in row] for row in v], [[1, 2.5], [3.0]], [[1.5, 2], [3.0]]),
}


@pytest.mark.parametrize("name", OWN_INTS)
def test_ints_of_the_example_on_which_the_answer_hangs_stay_ints(name: str) -> None:
    process, example, other = OWN_INTS[name]
    line = "the length of 'v' is fixed to 2, because an int among the floats of 'v' gives another answer than a float. "
    with pytest.warns(UserWarning, match=f"{line}Write floats only, as 1.0 for 1, and it may have any length"):
        mod = saved(process, example)
    assert mod(example) == process(example)
    with pytest.raises(tracepack.SignatureError):
        mod(other)


@pytest.mark.filterwarnings("error")
def test_ints_of_the_example_that_give_the_same_leave_the_length_free() -> None:
    mod = saved(lambda v: [x * 2 for x in v], [1, 2.5])
    for given in ([1, 2.5], [1, 2, 3], [0.5]):
        assert repr(mod(given)) == repr([x * 2 for x in given])


@pytest.mark.parametrize(
    "process", [lambda items: [x * 2 for x in items], lambda items: [x / 2 for x in items], lambda items: sum(items)]
)
def test_ints_are_taken_for_the_floats_of_a_list_where_they_give_the_same(process: Any) -> None:
    got, wanted = saved(process, [1.5, 2.5])([3, 4]), process([3, 4])
    assert repr(got) == repr(wanted)


Point = namedtuple("Point", "x y")
Turned = namedtuple("Turned", "y x")
Box = namedtuple("Box", "corner size")
ONE, OTHER = Point(1.0, 2.0), Turned(2.0, 1.0)


@pytest.mark.parametrize(
    ("process", "example", "other", "where"),
    [
        (lambda rows: [row.x - row.y for row in rows], [ONE, ONE], [ONE, OTHER], "rows[1]"),
        (lambda rows: [row["k"].x for row in rows], [{"k": ONE}] * 2, [{"k": OTHER}], "rows[0]['k']"),
        (lambda rows: [row.corner.x for row in rows], [Box(ONE, 1)] * 2, [Box(OTHER, 1)], "rows[0][0]"),
        (lambda rows: [sum(p.x for p in row) for row in rows], [[ONE], [ONE] * 2], [[OTHER]], "rows[0][0]"),
        (lambda d: [row.x for row in d["rows"]], {"rows": [ONE, ONE]}, {"rows": [OTHER]}, "d['rows'][0]"),
        (lambda rows: [row.x for row in rows], [Point(X, 1)] * 2, [Turned(1, X)], "rows[0]"),
    ],
)
def test_named_tuples_in_lists_have_the_fields_of_the_example(
    process: Any, example: Any, other: Any, where: str
) -> None:
    traced = tracepack.trace(process, example)
    file = io.BytesIO()
    traced.save(file)
    for mod in (traced, tracepack.load(file.getvalue()), tracepack.load(file.getvalue(), convert=True)):
        for _ in range(2):
            assert repr(mod(example)) == repr(process(example))
            with pytest.raises(tracepack.SignatureError, match="a named tuple has other fields") as caught:
                mod(other)
            assert where in str(caught.value)


def test_plain_tuples_in_a_list_of_named_ones() -> None:
    file = io.BytesIO()
    tracepack.trace(lambda rows: [row.x - row.y for row in rows], [ONE, ONE]).save(file)
    with pytest.raises(tracepack.SignatureError, match=r"input 'rows\[1\]': a plain tuple has no names.*fields x, y"):
        tracepack.load(file.getvalue())([ONE, (1.0, 2.0)])
    assert tracepack.load(file.getvalue(), convert=True)([ONE, (5.0, 2.0)]) == [-1.0, 3.0]
    other = namedtuple("Elsewhere", "x y")
    assert tracepack.load(file.getvalue())([other(5.0, 2.0)]) == [3.0]


def test_named_tuples_in_lists_come_from_json_and_from_examples(tmp_path: Any) -> None:
    from tracepack.pipeline.signature.feeds import build_feed

    mod = saved(lambda rows: [row.x - row.y for row in rows], [ONE, ONE])
    feed = build_feed(mod.program.parameters, json.loads('{"rows": [[5.0, 2.0]]}'))
    assert mod.run(feed) == [3.0]
