"""What lists and dicts of run time hold, as data for programs: by the nodes, and right for other data."""

from __future__ import annotations

import collections
import io

import jsonschema
import pytest
import torch

import tracepack
from tests.everyday.entries.nested import begun_entries

LABELS = ["cat", "dog", "fox", "owl"]
X, WORDS = torch.tensor([0.5, 2.0, 1.0]), ["ab", "a", "ab"]


def grouped(words):
    table = {}
    for word in words:
        if word[0] not in table:
            table[word[0]] = {"n": 0, "words": []}
        table[word[0]]["n"] += 1
        table[word[0]]["words"].append(word)
    return table


def sums(x):
    found, total = {}, 0
    for i, value in enumerate(x.tolist()):
        total += value
        found[LABELS[i % 4]] = total
    return found


CASES = {
    "list[float]": (lambda x: x.tolist(), X),
    "list[list[int]]": (lambda x: x.long().tolist(), torch.rand(2, 3)),
    "list[int]": (lambda x: [round(value) for value in x.tolist()], X),
    "list[f32[?]]": (lambda x: [row / 2 for row in x], torch.rand(2, 3)),
    "list[strings]": (lambda words: [list(word) for word in words], WORDS),
    "dict[str, float]": (lambda x: {LABELS[i]: v for i, v in zip(x.argsort().tolist(), x.tolist(), strict=True)}, X),
    "dict[str, int]": (lambda words: dict(collections.Counter(words)), WORDS),
    "dict[int, str]": (lambda words: {len(word): word for word in words}, WORDS),
    "dict[str, dict[str, int]]": (begun_entries, WORDS),
    "dict[str, {'n': int, 'words': strings}]": (grouped, WORDS),
    "list[(str, int)]": (lambda words: collections.Counter(words).most_common(2), WORDS),
}
OTHERS = {
    torch.Tensor: [torch.tensor([2.5, 0.25]), torch.rand(4, 1), torch.rand(1)],
    list: [["b"], ["x", "xy", "z"], []],
}


def loaded(process, example):
    file = io.BytesIO()
    tracepack.trace(process, example).save(file)
    return tracepack.load(file.getvalue())


@pytest.mark.parametrize("wanted", CASES)
def test_what_containers_hold(wanted) -> None:
    process, example = CASES[wanted]
    mod = loaded(process, example)
    assert [field.type for field in mod.outputs] == [wanted]
    for other in OTHERS[type(example)]:
        if not isinstance(other, torch.Tensor) or other.dim() == example.dim():
            found = mod(other)
            plain = [each.tolist() for each in found] if "f32" in wanted else found
            jsonschema.validate(_as_json(plain), mod.json_schema()["properties"]["outputs"])


def _as_json(found):
    if isinstance(found, dict):
        return {str(key): _as_json(item) for key, item in found.items()}
    return list(map(_as_json, found)) if isinstance(found, list | tuple) else found


def test_a_sum_that_begins_whole_is_a_float() -> None:
    assert [field.type for field in loaded(sums, X).outputs] == ["dict[str, float]"]


def test_the_schema_refuses_another_kind() -> None:
    schema = loaded(lambda words: dict(collections.Counter(words)), WORDS).json_schema()["properties"]["outputs"]
    assert schema == {"type": "object", "additionalProperties": {"type": "integer"}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"a": "b"}, schema)


def test_what_the_nodes_do_not_tell_stays_unknown() -> None:
    mod = loaded(lambda x: sorted({round(value, 1) for value in x.tolist()}), X)
    assert [(field.kind, field.type) for field in mod.outputs] == [("any", None)]
