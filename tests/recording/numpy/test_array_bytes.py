"""The bytes of an array: what a service sends of an image or an embedding, as base64, digits, a digest or a count."""

from __future__ import annotations

import base64
import hashlib
import io
import zlib

import numpy as np
import pytest
import torch

import tracepack


def sent(x):
    return base64.b64encode(x.numpy().tobytes()).decode()


def summed(x):
    data = x.numpy().tobytes()
    return {"n": len(data), "crc": zlib.crc32(data), "sha": hashlib.sha256(data).hexdigest(), "hex": data.hex()}


def as_image(x):
    return base64.b64encode((x * 255).clamp(0, 255).to(torch.uint8).numpy().tobytes()).decode("ascii")


def before_a_write(array):
    data = array.tobytes()
    array = array * 2
    array += 1
    return data.hex(), array.tolist()


ROWS = torch.arange(6.0).reshape(2, 3) / 7
CASES = {
    "base64": (sent, ROWS[0], [torch.rand(4), torch.rand(0)]),
    "sums": (summed, ROWS, [torch.rand(1, 2)]),
    "whole numbers": (summed, torch.arange(4), [torch.arange(0)]),
    "truths": (summed, torch.tensor([True, False]), [torch.ones(3, dtype=torch.bool)]),
    "half precision": (summed, torch.ones(2).half(), [torch.rand(3).half()]),
    "complex numbers": (summed, torch.ones(2, dtype=torch.complex64), [torch.rand(3) * 1j]),
    "one number": (summed, torch.tensor(2.5), [torch.tensor(1.0)]),
    "an image": (as_image, torch.rand(3, 4, 4), [torch.rand(1, 2, 5)]),
    "a transposed array": (lambda array: array.T.tobytes().hex(), ROWS.numpy(), [np.ones((1, 4), np.float32)]),
    "another order": (lambda array: array.tobytes("F").hex(), ROWS.numpy(), [np.eye(3, dtype=np.float32)]),
    "every other row": (lambda array: array[::2].tobytes().hex(), ROWS.numpy(), [np.eye(3, dtype=np.float32)]),
    "bytes of it": (lambda array: bytes(array).hex(), np.arange(3, dtype=np.uint8), [np.zeros(0, np.uint8)]),
    "before a write": (before_a_write, np.ones(2), [np.zeros(3)]),
    "each of a list": (lambda xs: [sent(x) for x in xs], [torch.rand(2), torch.rand(3)], [[], [torch.rand(1)]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_of_an_array_are_those_of_each_run(name) -> None:
    process, example, others = CASES[name]
    file = io.BytesIO()
    tracepack.trace(process, example).save(file)
    mod = tracepack.load(file.getvalue())
    for given in (example, *others):
        assert mod(given) == process(given)


def test_another_order_of_numbers_is_refused() -> None:
    with pytest.raises(tracepack.RecordError, match=r"in an order of their own\. Write array\.tobytes\(\"C\"\)"):
        tracepack.trace(lambda array: array.tobytes("K").hex(), ROWS.numpy())
