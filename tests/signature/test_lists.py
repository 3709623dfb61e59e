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
    unlike = tracepack.trace(lambda xs: [x * 2 for x in xs], [torch.ones(2), 3])
    assert unlike.signature == "(xs[0]: f32[N], xs[1]: int) -> [f32[N], int]"


def test_a_list_that_is_unpacked_needs_no_word():
    def process(pair):
        first, second = pair
        return first - second

    mod = tracepack.trace(process, [torch.ones(2), torch.ones(2)])  # any warning fails the test
    assert mod.signature.startswith("(pair[0]: f32[N], pair[1]: f32[")


def test_a_branch_on_an_item_is_guarded():
    said = r"for x in xs.*: the length is fixed to 2, because lists of any length were refused: .*of different types"
    with pytest.warns(UserWarning, match=said):
        mod = tracepack.trace(lambda xs: [x + 1 if x > 0 else x * torch.ones(1) for x in xs], [1.0, 2.0])
    assert mod([3.0, 4.0]) == [4.0, 5.0]
    with pytest.raises(tracepack.TracepackError):
        mod([3.0, -4.0])


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
