"""Tensors made of lists of ints without a dtype: ints, and floats where the list is empty, as the signature says."""

from __future__ import annotations

import io

import jsonschema
import pytest
import torch

import tracepack
from tracepack.cli.manifest import describe

WORDS, NUMBERS, FLAGS = ["ab", "a"], [3, 5], [True, False]
INTS, TRUTHS = "i64[?] or f32[0]", "bool[?] or f32[0]"

CASES = {
    "lengths": (lambda texts: torch.tensor([len(text) for text in texts]), WORDS, INTS),
    "truths": (lambda texts: torch.tensor([len(text) > 1 for text in texts]), WORDS, TRUTHS),
    "an argument": (lambda xs: torch.tensor(xs), NUMBERS, INTS),
    "flags": (lambda xs: torch.tensor(xs), FLAGS, TRUTHS),
    "as_tensor": (lambda xs: torch.as_tensor([x * 2 for x in xs]), NUMBERS, INTS),
    "twice": (lambda texts: torch.tensor([len(text) for text in texts]) * 2 + 1, WORDS, INTS),
    "pairs": (lambda xs: torch.tensor([(x, x + 1) for x in xs]), NUMBERS, "i64[?,2] or f32[0]"),
    "a dtype, pairs": (lambda xs: torch.tensor([(x, 1) for x in xs], dtype=torch.int), NUMBERS, "i32[?,2] or i32[0]"),
}  # fmt: skip
OTHERS = {str: ["x", "xyz", ""], int: [-4, 0, 9], bool: [True, True, False]}


def loaded(process, example):
    file = io.BytesIO()
    tracepack.trace(process, example).save(file)
    return tracepack.load(file.getvalue())


@pytest.mark.parametrize("case", CASES)
def test_what_a_tensor_of_a_list_may_be(case) -> None:
    process, example, wanted = CASES[case]
    mod = loaded(process, example)
    [field] = mod.outputs
    assert (field.kind, field.type) == ("tensor", wanted)
    assert field.dtype == ("int32" if "dtype" in case else None)
    assert field.shape == (None if "pairs" in case else (None,))
    assert f"-> {wanted}" in mod.signature
    for items in (OTHERS[type(example[0])], OTHERS[type(example[0])][:1], []):
        found, plain = mod(items), process(items)
        assert found.dtype == plain.dtype
        assert torch.equal(found, plain)
        jsonschema.validate(found.tolist(), mod.json_schema()["properties"]["outputs"])


def test_they_are_shown_in_dicts_and_lists(tmp_path) -> None:
    mod = tracepack.trace(lambda texts: {"n": [torch.tensor([len(text) for text in texts])]}, WORDS)
    assert mod.signature == "(texts: strings) -> {'n': [i64[?] or f32[0]]}"
    schema = mod.json_schema()["properties"]["outputs"]["properties"]["n"]["prefixItems"][0]["anyOf"]
    assert [(each["x-dtype"], each["x-shape"]) for each in schema] == [("int64", [None]), ("float32", [0])]
    mod.save(tmp_path / "n.tpk")
    assert describe(str(tmp_path / "n.tpk")).signature == mod.signature


def test_list_of_it_holds_ints() -> None:
    mod = tracepack.trace(lambda texts: torch.tensor([len(text) for text in texts]).tolist(), WORDS)
    assert [field.type for field in mod.outputs] == ["list[int]"]
    assert mod([]) == []


def test_ints_that_may_be_floats_leave_it_unknown() -> None:
    mod = tracepack.trace(lambda xs: torch.tensor([x**2 for x in xs]), NUMBERS)
    assert [field.kind for field in mod.outputs] == ["any"]
