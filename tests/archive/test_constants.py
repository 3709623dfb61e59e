"""Constants of a file: dtypes from one closed table, sizes and products that torch can have, aligned memory."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.archive.files import rewritten


def saved(tmp_path, tensor):
    path = tmp_path / "constant.tpk"
    tracepack.trace(lambda x: (x, tensor), torch.ones(2)).save(path)
    return path


@pytest.mark.parametrize("dtype", ["qint8", "quint8", "qint32", "quint4x2", "bits8", "uint4", "strided", "nn", "load"])
def test_a_dtype_outside_of_the_table_is_refused(tmp_path, dtype):
    path = saved(tmp_path, torch.arange(8, dtype=torch.uint8))
    with pytest.raises(
        tracepack.ArchiveError, match=rf"\$.constants\[0\] has an impossible dtype or shape; got {dtype}"
    ):
        tracepack.load(rewritten(path, lambda m: m["constants"][0].update(dtype=dtype)))


@pytest.mark.parametrize(
    "shape", [[2**62], [2**63], [0, 2**63], [0, 2**40, 2**40], [-8], [8.0], [True] * 8, [1] * 65 + [8]]
)
def test_a_shape_that_no_tensor_has_is_refused(tmp_path, shape):
    path = saved(tmp_path, torch.arange(8, dtype=torch.uint8))
    with pytest.raises(tracepack.ArchiveError, match="has an impossible dtype or shape"):
        tracepack.load(rewritten(path, lambda m: m["constants"][0].update(shape=shape)))


def test_a_product_that_wraps_around_does_not_fit(tmp_path):
    path = saved(tmp_path, torch.arange(8, dtype=torch.uint8))
    with pytest.raises(tracepack.ArchiveError, match="does not fit its bytes|impossible dtype or shape"):
        tracepack.load(rewritten(path, lambda m: m["constants"][0].update(shape=[2**32, 2**32 + 8])))


@pytest.mark.parametrize("dtype", [torch.complex128, torch.float64, torch.int64, torch.bfloat16])
def test_memory_that_is_not_aligned_is_copied(tmp_path, dtype):
    tensor = torch.arange(6).to(dtype)
    path = saved(tmp_path, tensor)
    for name in ("a", "ab", "abc", "abcde", "abcdefgh"):
        data = rewritten(path, lambda m, name=name: m.update(name=name), padding=len(name))
        mod = tracepack.load(data)
        constant = mod.program.graph.output[1].tensor
        assert torch.equal(constant, tensor)
        assert constant.data_ptr() % 16 == 0
        assert torch.equal(mod(torch.ones(2))[1] * 2, tensor * 2)


_SINGLE = {
    "a column of one row": torch.randn(1, 4)[:, 1],
    "one of every four": torch.arange(4)[::4],
    "an imaginary part": torch.tensor([1 + 2j]).imag,
    "a slice of three dimensions": torch.randn(1, 1, 4)[:, :, 2:3],
}


@pytest.mark.parametrize("name", _SINGLE)
def test_a_single_item_is_saved_whatever_its_step_is(name, tmp_path):
    held, x = _SINGLE[name], torch.randn(3)
    module = tracepack.trace(lambda x: x + held.sum(), x)
    module.save(tmp_path / "one.tpk")
    assert torch.equal(tracepack.load(tmp_path / "one.tpk")(x), x + held.sum())


def test_golden_examples_may_have_a_single_item_of_any_step(tmp_path):
    module = tracepack.trace(lambda x: x[:, 1], torch.rand(3, 4))
    module.save(tmp_path / "one.tpk", examples=[{"x": torch.rand(1, 4)}, {"x": torch.rand(1, 8)[:, ::2]}])
    assert tracepack.load(tmp_path / "one.tpk")(torch.rand(2, 4)).shape == (2,)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, :UserWarning")
def test_a_captured_quantized_tensor_is_refused_with_the_form():
    held = torch.quantize_per_tensor(torch.arange(3.0), 0.1, 0, torch.qint8)
    with pytest.raises(tracepack.RecordError, match=r"a dtype that no file holds; got torch.qint8. .*\.dequantize\(\)"):
        tracepack.trace(lambda x: x + held.dequantize(), torch.rand(3))
