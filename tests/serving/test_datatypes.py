"""Tensors as the protocol's bytes: every datatype, in every layout, against numpy's own bytes."""

import pytest
import torch

from tracepack.serving.protocol.datatypes import DTYPES, from_bytes, to_bytes

pytest.importorskip("starlette", reason="the extra 'serve' is not installed")


def layouts(shape):
    numbers = torch.randint(0, 2, shape)
    return [numbers, numbers.mT, numbers[:, ::2], numbers[:1].expand(shape), numbers[0], numbers[0, 0], numbers[:0]]


@pytest.mark.parametrize("kind", DTYPES)
def test_bytes_are_those_of_numpy_and_come_back(kind):
    for numbers in layouts((4, 6)):
        tensor = numbers.to(DTYPES[kind])
        sent = bytes(to_bytes(tensor))
        if kind == "BF16":  # the upper half of a float32
            assert sent == (tensor.float().numpy().view("uint32") >> 16).astype("uint16").tobytes()
        else:
            assert sent == numbers.numpy().astype(tensor.numpy().dtype).tobytes()
        read = from_bytes(sent, kind, tuple(tensor.shape), "x")
        assert read.dtype == tensor.dtype
        assert torch.equal(read, tensor)


def test_a_view_that_only_notes_its_sign_is_sent_with_it():
    imaginary = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    assert imaginary.is_neg()
    assert bytes(to_bytes(imaginary)) == torch.tensor([-2.0, 4.0]).numpy().tobytes()
