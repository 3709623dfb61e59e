"""Lists of any length in a signature: what a run takes and refuses, golden examples, JSON, conversion."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import tracepack
from tests.security.forge import archive_of
from tracepack.ops.graph.graph import Graph, Value
from tracepack.ops.graph.types import FLOAT, ListType, TensorType
from tracepack.pipeline.signature.feeds import build_feed

RECORDS = [{"x": torch.ones(2), "name": "a", "k": 2}, {"x": torch.ones(3), "name": "b", "k": 3}]


def totals(records):
    return {"totals": [r["x"].sum() * r["k"] for r in records], "names": [r["name"] for r in records]}


@pytest.fixture(scope="module")
def mod():
    return tracepack.trace(totals, RECORDS)


def test_the_signature_shows_the_items(mod, reloaded):
    for pipeline in (mod, reloaded(mod)):
        assert pipeline.signature.startswith("(records: list[{'x': f32[?], 'name': str, 'k': int}]) -> ")
        (field,) = pipeline.inputs
        assert (field.name, field.kind, field.dtype, field.shape) == ("records", "list", None, None)
        items = pipeline.json_schema()["properties"]["inputs"]["properties"]["records"]["items"]
        assert list(items["properties"]) == ["x", "name", "k"]
        assert items["properties"]["x"]["x-shape"] == [None]


REFUSED = {
    "no list": (3, "input 'records': not a list; got int; expected list"),
    "another kind of item": ([3], r"input 'records\[0\]': another structure; got int; expected a dict with the keys"),
    "a missing key": ([{"x": torch.ones(1), "name": "a"}], r"input 'records\[0\]': .*got keys \['x', 'name'\]"),
    "another order": ([dict(reversed(RECORDS[0].items()))], r"got keys \['k', 'name', 'x'\]; .* in this order"),
    "another dtype": ([RECORDS[0], {**RECORDS[1], "x": torch.arange(2)}], r"records\[1\]\['x'\].: wrong dtype"),
    "another rank": ([{**RECORDS[0], "x": torch.ones(2, 2)}], r"records\[0\]\['x'\].: wrong rank; got shape \(2, 2\)"),
    "no tensor": ([{**RECORDS[0], "x": "a"}], r"records\[0\]\['x'\].: not a tensor; got str"),
    "no number": ([{**RECORDS[0], "k": "2"}], r"records\[0\]\['k'\].: wrong type; got str; expected int"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_item_that_does_not_fit_is_named(mod, name):
    given, words = REFUSED[name]
    with pytest.raises(tracepack.SignatureError, match=words):
        mod(given)


def test_arrays_and_tuples_are_taken(mod):
    found = mod(tuple({**record, "x": record["x"].numpy()} for record in RECORDS))
    assert [total.item() for total in found["totals"]] == [4.0, 9.0]


def test_golden_examples_hold_lists(mod, tmp_path):
    path = tmp_path / "lists.tpk"
    mod.save(path, examples=[{"records": RECORDS * 2}, {"records": []}])
    loaded = tracepack.load(path, verify="golden")
    assert loaded(RECORDS[:1])["names"] == ["a"]


def test_conversion_and_json(mod, reloaded):
    plain = [{"x": [1.0, 2.0], "name": "c", "k": 2.0}]
    found = reloaded(mod, convert=True)(plain)
    assert (found["totals"][0].item(), found["names"]) == (6.0, ["c"])
    feed = build_feed(mod.program.parameters, json.loads('{"records": [{"x": [1.0, 2.0], "name": "c", "k": 2}]}'))
    assert mod.run(feed)["totals"][0].item() == 6.0
    numbers = tracepack.trace(lambda xs: [x * 2 for x in xs], [1.0, 2.0])
    assert reloaded(numbers, convert=True)(np.array([1.5, 2.5, 3.5])) == [3.0, 5.0, 7.0]


def test_lists_whose_length_a_function_needs_stay_fixed():
    said = r"xs\[0\] \+ xs\[1\].*: the length of 'xs' is fixed to 2\. A list comprehension over it, or tracepack\.map"
    with pytest.warns(UserWarning, match=said):
        mod = tracepack.trace(lambda xs: xs[0] + xs[1], [torch.ones(2), torch.ones(2)])
    assert mod.signature.startswith("(xs[0]: f32[N], xs[1]: f32[")
    with pytest.raises(tracepack.SignatureError, match="got list of 3; expected list of 2. It has the length of"):
        mod([torch.ones(2)] * 3)
    with pytest.warns(UserWarning, match="is fixed to 2, because an item is a tensor in one and an int in another"):
        unlike = tracepack.trace(lambda xs: [x * 2 for x in xs], [torch.ones(2), 3])
    assert unlike.signature == "(xs[0]: f32[N], xs[1]: int) -> [f32[N], int]"


def test_a_list_that_is_unpacked_needs_no_word():
    def process(pair):
        first, second = pair
        return first - second

    mod = tracepack.trace(process, [torch.ones(2), torch.ones(2)])  # any warning fails the test
    assert mod.signature.startswith("(pair[0]: f32[N], pair[1]: f32[")


def test_a_choice_between_two_kinds_of_item_goes_both_ways():
    mod = tracepack.trace(lambda xs: [x + 1 if x > 0 else x * torch.ones(1) for x in xs], [1.0, 2.0])
    assert mod([3.0, 4.0, 5.0]) == [4.0, 5.0, 6.0]
    first, second = mod([3.0, -4.0])
    assert first == 4.0
    assert torch.equal(second, torch.full((1,), -4.0))


KINDS = [["list"], ["list", 3], ["list", ["f9", []]], ["list", {"t": [], "d": []}], ["lists", "int"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_malformed_type_of_a_list_is_refused(kind):
    from tracepack.serialization.decoder import decode_type

    with pytest.raises(tracepack.ArchiveError, match="malformed"):
        decode_type(kind, "$.x")


def test_types_of_lists_without_end_are_refused():
    from tracepack.serialization.decoder import decode_type

    deep = ["list", "int"]
    for _ in range(5000):
        deep = ["list", deep]
    with pytest.raises(tracepack.ArchiveError, match="more than 200 levels"):
        decode_type(deep, "$.x")


def test_a_list_of_a_file_may_be_used_wrongly_and_is_an_error_of_ours():
    xs = Value(ListType(TensorType("float32", ("?",))))
    loaded = tracepack.load(archive_of(Graph((xs,), (), xs)))
    assert [x.tolist() for x in loaded([torch.ones(2)])] == [[1.0, 1.0]]
    numbers = Value(ListType(FLOAT))
    with pytest.raises(tracepack.SignatureError, match="wrong type; got str; expected float"):
        tracepack.load(archive_of(Graph((numbers,), (), numbers)))(["a"])


def test_a_pipeline_takes_the_lists_of_a_function_around_it(reloaded):
    inner = reloaded(tracepack.trace(lambda xs: [x * 2 for x in xs], [torch.ones(2), torch.ones(3)]))
    upper = reloaded(tracepack.trace(lambda texts: [text.upper() for text in texts], ["a", "b"]))

    def process(xs, texts):
        return [x.sum() for x in inner([x + 1 for x in xs])], upper(texts)

    mod = reloaded(tracepack.trace(process, [torch.ones(2), torch.ones(3)], ["c"]))
    sums, texts = mod([torch.ones(n) for n in (1, 4, 2)], ["x", "y"])
    assert ([total.item() for total in sums], texts) == ([4.0, 16.0, 8.0], ["X", "Y"])
    with pytest.raises(tracepack.SignatureError, match="wrong dtype; got int64; expected float32"):
        tracepack.trace(lambda xs: inner([x.long() for x in xs]), [torch.ones(2), torch.ones(3)])


LAYER = tracepack.script(torch.nn.Linear(4, 3).eval(), device="cpu")
R = torch.rand


def appended(xs):
    out = []
    for x in xs:
        y = LAYER(x)
        out.append(y.sum())
    return out


def added(xs):
    total = torch.zeros(3)
    for x in xs:
        total = total + LAYER(x).sum(0)
    return total


NEEDING = {
    "a comprehension": (lambda xs: [LAYER(x) for x in xs], "list[f32[?,4]]", lambda size: [R(2, size), R(3, size)]),
    "a loop": (appended, "list[f32[?,4]]", lambda size: [R(2, size)]),
    "a sum": (added, "list[f32[?,4]]", lambda size: [R(2, size), R(1, size)]),
    "map": (lambda xs: tracepack.map(lambda x: LAYER(x), xs), "list[f32[?,4]]", lambda size: [R(2, size)]),
    "enumerate": (lambda xs: [LAYER(x) * i for i, x in enumerate(xs)], "list[f32[?,4]]", lambda size: [R(2, size)]),
    "another dtype": (lambda xs: [LAYER(x.float()) for x in xs], "list[f64[?,4]]", lambda size: [R(2, size).double()]),
    "rows": (lambda xs: [[LAYER(row) for row in x] for x in xs], "list[f32[?,4]]", lambda size: [R(2, size)]),
    "lists": (
        lambda xss: [[LAYER(x) for x in xs] for xs in xss], "list[list[f32[?,4]]]",
        lambda size: [[R(2, 4)], [R(2, size), R(1, size)]],
    ),
    "records": (
        lambda rs: [LAYER(r["x"]) * r["w"] for r in rs], "list[{'x': f32[?,4], 'w': float}]",
        lambda size: [{"x": R(2, size), "w": 2.0}],
    ),
    "pairs": (lambda ps: [LAYER(x) * w for x, w in ps], "list[(f32[?,4], float)]", lambda size: [(R(2, size), 2.0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDING)
def test_the_sizes_that_a_model_needs_of_items_are_shown_and_asked_for(name, reloaded) -> None:
    process, kind, given = NEEDING[name]
    mod = reloaded(tracepack.trace(process, given(4)))
    (field,) = mod.inputs
    assert field.type == kind
    schema = json.dumps(mod.json_schema()["properties"]["inputs"])
    assert '"x-shape": [null, 4]' in schema
    wanted, got = process(given := given(4)), mod(given)
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    with pytest.raises(tracepack.SignatureError, match=r"dimension 1 has a wrong size; got 5 in shape \(2, 5\)"):
        mod(NEEDING[name][2](5))


def test_so_are_those_of_a_list_in_a_dict_and_of_several(reloaded) -> None:
    mod = reloaded(tracepack.trace(lambda d: [LAYER(x) for x in d["a"]], {"a": [R(2, 4), R(3, 4)], "b": 1}))
    assert mod.signature.startswith("(d['a']: list[f32[?,4]], d['b']: int)")
    mod = tracepack.trace(lambda xs, ys: [LAYER(x) + y for x, y in zip(xs, ys, strict=False)], [R(2, 4)], [R(2, 3)])
    assert mod.signature.startswith("(xs: list[f32[?,4]], ys: list[f32[?,?]])")


def first_positive(xs):
    for x in xs:
        if LAYER(x).sum() > 0:
            return x
    return torch.zeros(1, 4)


FREE = [
    lambda xs: [LAYER(x) for x in xs if x.sum() > 0],
    lambda xs: [LAYER(x) if x.sum() > 0 else x.sum(-1, keepdim=True).expand(-1, 3) for x in xs],
    first_positive,
]


@pytest.mark.parametrize("process", FREE)
def test_items_that_a_model_may_never_see_are_free(process) -> None:
    mod = tracepack.trace(process, [R(2, 4), R(3, 4)])
    assert mod.signature.startswith("(xs: list[f32[?,?]])")
    given = [-R(2, 7)]
    if process is first_positive:
        given.insert(0, next(x for x in (torch.randn(1, 4) for _ in range(1000)) if LAYER(x).sum() > 0))
    torch.testing.assert_close(mod(given), process(given), rtol=0, atol=0)
