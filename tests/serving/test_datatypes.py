"""Tensors as the protocol's bytes: every datatype, in every layout, against numpy's own bytes."""

import pytest
import torch

import tracepack
from tracepack.serving.protocol.datatypes import DTYPES, from_bytes, to_bytes
from tracepack.serving.protocol.interface import Interface

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


def test_an_int_where_a_float_is_declared_is_sent_as_one() -> None:
    """The sum of no numbers is the int 0, and the model says FP64."""
    mod = tracepack.trace(lambda xs: {"total": sum(xs), "count": len(xs)}, [1.0, 2.0])
    interface = Interface(mod, "sums")
    for given, total in ([], 0.0), ([1.5], 1.5), ([1 << 60], 1 << 60):
        outputs = interface.outputs_of(mod(given), {})
        assert [each.datatype for each in outputs] == ["INT64" if total == 1 << 60 else "FP64", "INT64"]
        assert outputs[0].value.tolist() == [total]
