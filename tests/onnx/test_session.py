"""The sessions of ONNX models: memory that is lent and not copied, threads, dtypes and devices."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import tracepack
from tests.onnx.models import EMPTY, FLOAT, INT64, classifier, linear, lookup, model, port, unary, weights
from tracepack.ops.onnx import session as sessions
from tracepack.ops.onnx.session import Session

WEIGHT = weights(4, 3)
LABELS = ["cat", "dog", "fox"]


@pytest.fixture
def op() -> tracepack.InferenceOp:
    return tracepack.script(linear(WEIGHT), name="net")


DLPACK = hasattr(onnxruntime.OrtValue, "__dlpack__")  # in versions for Python 3.11 and newer


@pytest.mark.parametrize(
    "dtype",
    "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split(),
)
def test_every_dtype_of_both(dtype: str, reloaded: Any) -> None:
    kind = getattr(TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper()))
    op = tracepack.script(unary("Identity", kind, ["N", 2]))
    if dtype == "bfloat16" and not DLPACK:
        with pytest.raises(tracepack.GraphError, match="this version of ONNX Runtime does not hand out"):
            op(torch.ones(2, 2, dtype=torch.bfloat16))
        return
    x = torch.tensor([[0, 1], [3, 2], [1, 0]]).to(getattr(torch, dtype))
    got = op(x)
    assert (got.dtype, got.shape) == (x.dtype, x.shape)
    assert torch.equal(got.to(torch.float64), x.to(torch.float64))
    loaded = reloaded(tracepack.trace(lambda x: op(x), x), trust=True)
    assert loaded(x[:1]).to(torch.float64).tolist() == x[:1].to(torch.float64).tolist()
    if EMPTY:
        assert op(x[:0]).shape == (0, 2)


@pytest.mark.skipif(not DLPACK, reason="this onnxruntime has no DLPack")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64])
def test_memory_that_is_bound_by_address(dtype: torch.dtype) -> None:
    """The way to a GPU, walked on the CPU."""
    kind = {torch.float32: FLOAT, torch.bool: TensorProto.BOOL, torch.int64: INT64}[dtype]
    made = Session(unary("Identity", kind, ["N", 2]).SerializeToString(), "cpu", "op")
    x = torch.tensor([[0, 1], [1, 1]]).to(dtype)
    (found,) = made._by_address([x])
    assert found.dtype == dtype
    assert torch.equal(found, x)
    words = Session(lookup({"a": 1}).SerializeToString(), "cpu", "op")
    with pytest.raises(tracepack.GraphError, match="op, 'words': ONNX Runtime binds no strings by address"):
        words._by_address([["a", "b"]])
    labels = Session(classifier(WEIGHT, LABELS).SerializeToString(), "cpu", "op")
    x = torch.randn(3, 4)
    assert labels._by_address([x])[0] == [LABELS[i] for i in (x @ torch.from_numpy(WEIGHT)).argmax(1)]


def test_results_are_not_copied_and_are_ones_own() -> None:
    """A result is memory of the runtime, which no later run touches; and no input is aliased."""
    made = model(
        [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Identity", ["x"], ["same"])],
        [port("x", FLOAT, ["N", 2])],
        [port("y", FLOAT, ["N", 2]), port("same", FLOAT, ["N", 2]), port("held", FLOAT, [2])],
        [numpy_helper.from_array(np.ones(2, np.float32), "held")],
    )
    op = tracepack.script(made)
    x = torch.ones(3, 2)
    first = op(x)
    second = op(x * 2)
    assert first["y"].is_contiguous()
    assert first["same"].data_ptr() != x.data_ptr()
    for result in first.values():
        result.add_(5)
    assert x.tolist() == [[1.0, 1.0]] * 3
    assert second["y"].tolist() == [[2.0, 2.0]] * 3
    assert op(x)["held"].tolist() == [1.0, 1.0]


def test_inputs_of_any_strides(op: Any, reloaded: Any) -> None:
    x = torch.randn(4, 6).t()[:, :4]
    wanted = torch.relu(x @ torch.from_numpy(WEIGHT))
    torch.testing.assert_close(op(x), wanted)
    loaded = reloaded(tracepack.trace(lambda x: op(x), torch.randn(2, 4)), trust=True)
    torch.testing.assert_close(loaded(x), wanted)
    torch.testing.assert_close(loaded(x.numpy()), wanted)


def test_a_session_is_made_once(op: Any, monkeypatch: pytest.MonkeyPatch, reloaded: Any) -> None:
    made: list[Any] = []
    original = onnxruntime.InferenceSession
    monkeypatch.setattr(
        sessions.onnxruntime,
        "InferenceSession",
        lambda *args, **kwargs: made.append(args[1]) or original(*args, **kwargs),
    )
    loaded = reloaded(tracepack.trace(lambda x: op(x), torch.randn(2, 4)), trust=True)
    threads = [threading.Thread(target=lambda: [loaded(torch.randn(3, 4)) for _ in range(5)]) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(made) == 1
    assert (made[0].intra_op_num_threads, made[0].inter_op_num_threads) == (torch.get_num_threads(), 1)
    assert made[0].get_session_config_entry("session.intra_op.allow_spinning") == "1"
    assert made[0].get_session_config_entry("session.force_spinning_stop") == "1"


@pytest.mark.filterwarnings("ignore:this machine has no cuda")
def test_where_it_runs(op: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Packed for a GPU it waits for one; on a GPU the runtime must have the provider."""
    packed = tracepack.script(linear(WEIGHT), device="cuda:0", name="net")
    tracepack.trace(lambda x: packed(x), torch.randn(2, 4)).save(tmp_path / "a.tpk")
    if not torch.cuda.is_available():
        with pytest.raises(tracepack.PlacementError, match="op 'net': it needs cuda:0, which this machine lacks"):
            tracepack.load(tmp_path / "a.tpk", trust=True)
    loaded = tracepack.load(tmp_path / "a.tpk", trust=True, gpu_ops="cpu")
    x = torch.randn(3, 4)
    assert torch.equal(loaded(x), op(x))
    monkeypatch.setattr(sessions.onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(tracepack.MissingExtraError) as got:
        op.kernel.check_device("cuda:0")
    assert str(got.value) == (
        "op 'net': this ONNX Runtime cannot run on cuda:0; got ['CPUExecutionProvider']; "
        "expected CUDAExecutionProvider. Install onnxruntime-gpu in place of onnxruntime, or run the op on the CPU."
    )


def test_what_a_load_converts(op: Any, reloaded: Any) -> None:
    """A model writes into none of its inputs, so they may be copies."""
    loaded = reloaded(tracepack.trace(lambda x: op(x), torch.ones(2, 4)), trust=True, convert=True)
    x = torch.arange(8.0).reshape(2, 4)
    for given in (x.tolist(), x.double(), x.int(), x.numpy()):
        assert torch.equal(loaded(given), op(x))


def test_a_release_that_empty_inputs_may_end_gets_none(op: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 1.30 the operators of nearest neighbours divide by the number of rows: the process ends with SIGFPE."""
    monkeypatch.setattr(onnxruntime, "__version__", "1.30.2")
    sessions._takes_empty.cache_clear()
    try:
        with pytest.raises(
            tracepack.TracepackError, match=r"an empty input, .* in ONNX Runtime 1\.30\.2\..*1\.31 or newer"
        ):
            op(torch.empty(0, 4))
        assert op(torch.ones(1, 4)).shape == (1, 3)
        monkeypatch.setattr(onnxruntime, "__version__", "1.31.0")
        sessions._takes_empty.cache_clear()
        assert op(torch.empty(0, 4)).shape == (0, 3)
    finally:
        sessions._takes_empty.cache_clear()
