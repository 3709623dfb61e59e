"""What matx gets wrong: one test for each row of the table of its failures."""

from __future__ import annotations

import copy
import os

import numpy as np
import pytest
import torch
from torch import nn

import tracepack
from tests.models import Branching, MyCell


def test_a_branch_on_a_traced_value_never_takes_the_wrong_side(reloaded):
    def process(a, x):
        return x + 1 if a == 1 else x - 1

    x = torch.zeros(2)
    mod = reloaded(tracepack.trace(process, 1, x))
    assert torch.equal(mod(1, x), process(1, x))
    assert torch.equal(mod(2, x), process(2, x))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_module_with_a_branch_on_data_is_refused_or_right_and_the_op_stays_itself(reloaded):
    module, x = Branching(), torch.rand(3, 4)
    op = tracepack.script(module)
    before = op(x)
    with pytest.raises(tracepack.LoweringError):
        tracepack.trace(lambda x: op(x), x)
    assert torch.equal(op(x), before)
    scripted = tracepack.script(torch.jit.script(module))
    mod = reloaded(tracepack.trace(lambda x: scripted(x), x))
    for bias in (10.0, -10.0):  # either side of the branch
        y = torch.full((3, 4), bias)
        with torch.no_grad():
            assert torch.equal(mod(y), module(y))


def test_ops_scripted_within_a_millisecond_stay_themselves():
    modules = [nn.Linear(4, 4) for _ in range(40)]
    ops = [tracepack.script(module) for module in modules]
    x = torch.rand(2, 4)
    results = tracepack.trace(lambda x: [op(x) for op in ops], x)(x)
    assert all(torch.equal(result, module(x)) for result, module in zip(results, modules, strict=True))


def test_one_bit_flipped_in_the_weights_is_an_error(cell_file):
    from tests.archive.files import corrupt

    with pytest.raises(tracepack.ArchiveError, match="member 'weights.safetensors': a member was altered"):
        tracepack.load(corrupt(cell_file[0].read_bytes(), "weights.safetensors"))


@pytest.mark.skipif(torch.accelerator.is_available(), reason="says what a machine without an accelerator says")
def test_a_gpu_op_on_the_cpu_is_refused_when_it_is_loaded(tmp_path):
    from tests.runtime.test_placement import as_if_for_gpu

    op, x = tracepack.script(MyCell()), torch.rand(3, 4)
    mod = tracepack.trace(lambda x: op(x, x), x)
    as_if_for_gpu(mod)
    mod.save(tmp_path / "cell.tpk")
    with pytest.raises(
        tracepack.PlacementError, match="op 'MyCell': it was scripted for cuda:1 and cannot run on the CPU"
    ):
        tracepack.load(tmp_path / "cell.tpk", device=-1)


def test_a_non_contiguous_output_is_refused_where_it_arises():
    class Transposed(nn.Module):
        def forward(self, x):
            return x.t()

    op = tracepack.script(Transposed())
    with pytest.raises(tracepack.NonContiguousOutputError, match="op 'Transposed': output 0 is not contiguous"):
        tracepack.trace(lambda x: op(x) + 1, torch.rand(3, 4))


EVERYTHING = {
    "str keys": {"a": 1},
    "a 1-tuple": (1,),
    "True": True,
    "None": None,
    "a tuple": (1, 2.5, "x"),
    "a list": [1, [2]],
    "nested tuples": ((1,), (2, (3,))),
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_eager_traced_and_loaded_return_the_same_types(name, reloaded):
    value = EVERYTHING[name]

    def process(x):
        return value, x

    mod = tracepack.trace(process, torch.ones(1))
    for pipeline in (mod, reloaded(mod)):
        result = pipeline(torch.ones(1))[0]
        assert result == value
        assert type(result) is type(value)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.bfloat16, torch.complex64, torch.float16, torch.uint8, torch.int64]
)
def test_every_dtype_passes(dtype, reloaded):
    x = torch.tensor([[0, 1], [1, 1]]).to(dtype)
    mod = reloaded(tracepack.trace(lambda x: (x, x.t().contiguous()), x))
    assert all(torch.equal(a, b) for a, b in zip(mod(x), (x, x.t()), strict=True))
    assert mod(x)[0].dtype == dtype


def test_zero_dimensions_stay_zero_dimensions(reloaded):
    mod = reloaded(tracepack.trace(lambda x: x * 2, torch.tensor(3.0)))
    assert mod(torch.tensor(4.0)).shape == ()
    assert mod.run({"x": np.array(4.0, np.float32)}).item() == 8
    assert mod.run({"x": np.float32(4.0)}).item() == 8


def test_nested_tuples_dicts_and_tensors_are_inputs_and_outputs(reloaded):
    def process(x):
        return {"sum": x["a"] + x["b"][0][1], "parts": x}

    given = {"a": torch.ones(2), "b": ((torch.zeros(2), torch.ones(2)), [3])}
    mod = reloaded(tracepack.trace(process, given))
    result = mod(given)
    assert torch.equal(result["sum"], torch.full((2,), 2.0))
    assert result["parts"]["b"][1] == [3]
    assert type(result["parts"]["b"]) is tuple


@pytest.mark.parametrize(
    ("feed", "text"),
    [
        ({"x": torch.rand(3, 4)}, "input 'h': missing input"),
        ({"x": torch.rand(3, 4), "h": torch.rand(3, 4).int()}, "input 'h': wrong dtype; got int32; expected float32"),
        ({"x": torch.rand(3, 4), "h": torch.rand(3, 9)}, "input 'h': dimension 1 has a wrong size; got 9"),
    ],
)
def test_bad_feeds_get_one_short_line_that_names_the_input(cell_file, feed, text):
    mod = tracepack.load(cell_file[0])
    with pytest.raises(tracepack.SignatureError, match=text) as caught:
        mod.run(feed)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_truncated_file_is_named(cell_file, tmp_path):
    path = tmp_path / "cut.tpk"
    path.write_bytes(cell_file[0].read_bytes()[:1000])
    with pytest.raises(tracepack.ArchiveError, match=r"cut.tpk': the file is truncated or damaged"):
        tracepack.load(path)


def test_script_and_trace_touch_neither_the_model_nor_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout()).train()
    before = copy.deepcopy(module.state_dict())
    op = tracepack.script(module)
    tracepack.trace(lambda x: op(x), torch.rand(2, 4))
    assert module.training
    assert module[1].training
    assert all(p.requires_grad for p in module.parameters())
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
    assert os.listdir(tmp_path) == []


def test_a_constant_is_stored_as_binary_and_examples_are_not_stored(tmp_path):
    table = torch.rand(512, 512)
    path = tmp_path / "table.tpk"
    example = torch.full((512,), 123.25)
    tracepack.trace(lambda x: x @ table, example).save(path)
    assert path.stat().st_size < 1.01 * table.nbytes + 8192
    assert example[:8].numpy().tobytes() not in path.read_bytes()


def test_other_threads_run_while_a_pipeline_runs():
    """torch releases the GIL inside operators: a counting thread advances while one long run goes on."""
    import threading
    import time

    x = torch.rand(700, 700)
    mod = tracepack.trace(lambda x: x @ x @ x @ x, x)
    mod(x)
    ticks, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        for _ in range(3):
            mod(x)
        during = ticks[0]
    finally:
        stop.set()
        thread.join()
    assert during >= 3
