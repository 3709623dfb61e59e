"""What a signature, its fields and its JSON schema say of the results, held against what runs give."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tracepack

X, FAR = torch.tensor([1.0, -2.0, 0.5]), torch.tensor([1e9, 1e9, -1e9, 1e9])
LONG = torch.tensor([1, 2, 3])


def of_texts(words: list[str]) -> Any:
    return torch.tensor([len(word) for word in words if len(word) > 50], dtype=torch.int64)


DATA = [
    (lambda x: x[x > 100], X, FAR),
    (lambda x: x[x > 100] * 2, X, FAR),
    (lambda x: x.masked_select(x > 123456.0), X, FAR),
    (lambda x: torch.cat([x[x > 100], torch.ones(1)]), X, FAR),
    (lambda x: torch.from_numpy(x.numpy()[x.numpy() > 100]), X, FAR),
    (lambda x: torch.tensor([value for value in x.tolist() if value > 100]), X, FAR),
    (lambda x: torch.zeros(max(int(x.argmax()), 0)), X, torch.tensor([1.0, 2.0])),
    (lambda x: (x > 1e6).unique(), X, FAR),
    (of_texts, ["a", "b"], ["b" * 60]),
    (lambda rows: torch.tensor(rows, dtype=torch.int64).reshape(-1, 1), [[1, 2], [3, 4]], [[1], [2]]),
]


@pytest.mark.parametrize(("process", "example", "other"), DATA)
def test_no_size_is_claimed_that_data_decides(process: Any, example: Any, other: Any) -> None:
    mod = tracepack.trace(process, example)
    (field,) = mod.outputs
    got = mod(other)
    assert torch.equal(got, process(other))
    assert field.shape is not None
    assert len(field.shape) == got.dim()
    assert all(size in (None, now) for size, now in zip(field.shape, got.shape, strict=True))


def test_the_dtype_of_a_list_that_is_empty_on_the_example_is_not_taken_for_that_of_others() -> None:
    def process(words: list[str]) -> Any:
        return torch.tensor([len(word) for word in words if len(word) > 50])

    with pytest.warns(UserWarning, match="float32 .* instead of int64"):
        mod = tracepack.trace(process, ["a", "b"])
    assert mod(["c", "d"]).dtype == torch.float32
    with pytest.raises(tracepack.GuardError, match="got True; expected False"):
        mod(["a", "b" * 60])


def test_sizes_that_data_does_not_decide_are_claimed() -> None:
    mod = tracepack.trace(lambda x: ((x > 5).nonzero(), x[None]), X)
    assert [field.shape for field in mod.outputs] == [(None, 1), (1, "N")]


def test_the_letter_of_an_input_is_no_other_inputs() -> None:
    mod = tracepack.trace(lambda x, ids: (ids * ids.sum().item(), x * 2), X, LONG)
    assert "M" in mod.signature
    fields = mod.outputs
    assert fields[0].shape != ("N",)
    assert fields[1].shape == ("N",)
    assert [part.shape[0] for part in mod(X[:2], LONG)] == [3, 2]


LISTS = [
    (lambda words: torch.tensor([len(word) for word in words]), ["a", "b"], []),
    (lambda x: torch.tensor([i for i, value in enumerate(x.tolist()) if value > 0]), X, -X.abs()),
    (lambda x: torch.tensor([row for row in x.tolist() if row[0] > 0]) * 2, torch.eye(3) - 0.5, -torch.eye(3)),
    (lambda rows: torch.tensor(rows), [[1, 2], [3, 4]], []),
]


@pytest.mark.parametrize(("process", "example", "other"), LISTS)
def test_no_dtype_and_no_size_is_claimed_of_a_list_that_may_be_empty(process: Any, example: Any, other: Any) -> None:
    mod = tracepack.trace(process, example)
    got, wanted = mod(other), process(other)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape) == (torch.float32, (0,))
    field = mod.outputs[0]
    assert field.dtype is None
    assert (field.kind, field.shape) in (("any", None), ("tensor", None), ("tensor", (None,)))


KINDS = [
    (lambda x: max(x[x > 1000].tolist(), default=0), X, FAR, float),
    (lambda x: sorted([1.5, int(x.argmax())])[0], X, torch.tensor([1.0, 1.0, 9.0, 1.0]), float),
    (lambda v: v**0.5, 2.0, -2.0, complex),
    (lambda n: n or 0.5, 3, 0, float),
    (lambda n: 2**n, 3, -3, float),
    (lambda n: n**n, 3, -3, float),
    (lambda n: -(2**n) * 3 + 1, 3, -3, float),
    (lambda v: 4.0**v - v**v, 2.5, -2.5, complex),
    (lambda n: sorted([1.5, n])[0] * 2, 2, 1, int),
]


@pytest.mark.parametrize(("process", "example", "other", "kind"), KINDS)
def test_no_kind_is_claimed_that_data_decides(process: Any, example: Any, other: Any, kind: Any) -> None:
    mod = tracepack.trace(process, example)
    try:
        got = mod(other)
    except tracepack.GuardError:
        return
    assert type(got) is kind
    assert mod.outputs[0].kind in ("any", kind.__name__)
    assert mod.json_schema()["properties"]["outputs"] == {}


def test_powers_whose_kind_is_certain_are_claimed() -> None:
    mod = tracepack.trace(lambda x, n, v: (2 ** x.shape[0], n**2, 2 ** abs(n), n**-1, v**3, 2.0**v), X, 3, 0.5)
    assert [field.kind for field in mod.outputs] == ["int", "int", "int", "float", "float", "float"]


def test_a_list_is_no_number_in_the_schema() -> None:
    mod = tracepack.trace(lambda x: [value * 2 for value in x.tolist()], X)
    assert mod.outputs[0].kind == "any"
    assert mod.json_schema()["properties"]["outputs"] == {"type": "array", "items": {"type": "number"}}


def test_an_int_that_gives_another_dtype_than_the_signature_says_is_stopped() -> None:
    mod = tracepack.trace(lambda v: torch.arange(2) * v, 2.5)
    assert mod.signature == "(v: float) -> f32[2]"
    assert mod(3.0).dtype == torch.float32
    with pytest.raises(tracepack.SignatureError, match=r"an int gives another answer.*Pass a float"):
        mod(3)
    assert torch.equal(tracepack.trace(lambda x, v: x * v, X, 2.5)(X, 3), X * 3)
