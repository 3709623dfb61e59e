"""The dtypes and sizes of results that are arrays of numpy: letters where they follow, None where data decides."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

Case = tuple[Callable[..., Any], str, tuple[Any, ...]]

CASES: dict[str, Case] = {
    "a mean": (lambda x: x.mean(0), "float32", ("M",)),
    "another dtype": (lambda x: x.astype(np.float64), "float64", ("N", "M")),
    "a function": (lambda x: np.exp(x) / (x.std(0) + 1), "float32", ("N", "M")),
    "stack": (lambda x: np.stack([x, x]), "float32", (2, "N", "M")),
    "concatenate": (lambda x: np.concatenate([x, x]), "float32", ("2*N", "M")),
    "transposed": (lambda x: x.T[None], "float32", (1, "M", "N")),
    "argmax": (lambda x: x.argmax(1), "int64", ("N",)),
    "a comparison": (lambda x: x > 0, "bool", ("N", "M")),
    "a column": (lambda x: x[:, 0], "float32", ("N",)),
    "some rows": (lambda x: x[:3], "float32", (None, "M")),
    "many rows": (lambda x: x[:200], "float32", (None, "M")),
    "zeros": (lambda x: np.zeros((len(x), 3), np.int64), "int64", ("N", 3)),
    "reshape": (lambda x: x.reshape(-1), "float32", (None,)),
    "in place": (lambda x: written(x), "float32", ("N", "M")),
    "a mask": (lambda x: x[x > 0], "float32", (None,)),
    "unique": (lambda x: np.unique(x > 0), "bool", (None,)),
    "numbers": (lambda x: np.array([x.mean(), x.max()]), "float32", (2,)),
    "tensors": (lambda x: torch.softmax(torch.as_tensor(x), 1).numpy()[0], "float32", ("M",)),
    "rank by sizes": (lambda x: np.squeeze(x), None, None),
}


def written(x: Any) -> Any:
    found = x.copy()
    found[found > 0.5] = 1
    found *= 2
    return found


@pytest.mark.parametrize("name", CASES)
def test_results_that_are_arrays_have_dtype_and_shape(name: str) -> None:
    function, dtype, shape = CASES[name]
    mod = tracepack.trace(function, np.random.rand(4, 3).astype(np.float32))
    file = io.BytesIO()
    mod.save(file)
    for each in (mod, tracepack.load(file.getvalue())):
        (field,) = each.outputs
        assert (field.kind, field.dtype, field.shape) == ("array", dtype, shape)


@pytest.mark.parametrize("name", CASES)
def test_no_size_is_claimed_that_a_run_has_not(name: str) -> None:
    function, _, shape = CASES[name]
    mod = tracepack.trace(function, np.random.rand(4, 3).astype(np.float32))
    for rows, columns in ((1, 1), (2, 7), (300, 5)):
        found = mod(np.random.rand(rows, columns).astype(np.float32) - 0.5)
        known = {"N": rows, "2*N": 2 * rows, "M": columns, None: None}
        for claimed, size in zip(shape or (), found.shape, strict=shape is not None):
            assert claimed is None or known.get(claimed, claimed) == size


def test_a_size_that_may_be_broadcast_is_none() -> None:
    mod = tracepack.trace(lambda x, y, k: (x + y, x[:k], x * k), *[np.ones((4, 3), np.float32)] * 2, 2)
    assert [(field.dtype, field.shape) for field in mod.outputs] == [
        ("float32", (None, None)),
        ("float32", (None, None)),
        ("float32", ("N", "M")),
    ]


def test_an_op_gives_arrays_of_known_sizes() -> None:
    op = tracepack.script(torch.nn.Linear(4, 3))
    mod = tracepack.trace(lambda x: op(torch.from_numpy(x)).numpy(), np.ones((2, 4), np.float32))
    assert mod.outputs[0].shape == ("N", 3)
    schema = mod.json_schema()["properties"]["outputs"]
    assert (schema["x-dtype"], schema["x-shape"]) == ("float32", ["N", 3])


def test_a_long_array_is_not_made_to_look_at_a_file() -> None:
    mod = tracepack.trace(lambda x: np.zeros((len(x), 10**7), np.bool_)[:, :1] | (x > 0), np.ones((1, 1), np.float32))
    assert mod.outputs[0].shape is None
