"""The table of DESIGN.md: where an op runs."""

from __future__ import annotations

import io
from contextlib import nullcontext

import pytest
import torch

import tracepack
from tests.models import MyCell
from tracepack.ops.graph.device import CPU, Device, place
from tracepack.ops.graph.graph import Graph, Node, Operator
from tracepack.ops.runtime.placement import place_all
from tracepack.ops.runtime.plan import Plan

GPU0, GPU1 = Device("cuda", 0), Device("cuda", 1)


NONE, ONE, TWO = (CPU,), (CPU, GPU0), (CPU, GPU0, GPU1)


@pytest.mark.parametrize(
    ("scripted", "requested", "present", "expected"),
    [
        # Scripted for the CPU: it runs there, whatever is given.
        (CPU, None, NONE, CPU), (CPU, CPU, NONE, CPU), (CPU, GPU0, ONE, CPU), (CPU, GPU1, TWO, CPU),
        # Scripted for a gpu, loaded with gpu k: on gpu k, whichever it was scripted on.
        (GPU0, GPU0, TWO, GPU0), (GPU0, GPU1, TWO, GPU1), (GPU1, GPU0, ONE, GPU0), (GPU1, GPU1, TWO, GPU1),
        # Nothing given: on gpu 0.
        (GPU0, None, ONE, GPU0), (GPU1, None, TWO, GPU0), (Device("xpu", 1), None, ONE, GPU0),
    ],
)  # fmt: skip
def test_every_row_that_places(scripted, requested, present, expected):
    assert place(scripted, requested, present) == expected


@pytest.mark.parametrize(
    ("scripted", "requested", "present", "text"),
    [
        (GPU0, CPU, TWO, "op 'cell': it was scripted for cuda:0 and cannot run on the CPU. Load it on an "
                         "accelerator, or pass gpu_ops='cpu' to move such ops to the CPU."),
        (GPU0, GPU1, ONE, "op 'cell': it needs cuda:1, which this machine lacks. Devices present: cpu, cuda:0."),
        (GPU0, None, NONE, "op 'cell': it needs cuda:0, which this machine lacks. Devices present: cpu."),
    ],
)  # fmt: skip
def test_every_row_that_refuses(scripted, requested, present, text):
    with pytest.raises(tracepack.PlacementError) as caught:
        place(scripted, requested, present, where="op 'cell'")
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("requested", [None, CPU, GPU0])
def test_ops_of_accelerators_move_to_the_cpu_on_request(requested):
    assert place(GPU1, requested, NONE, gpu_ops="cpu") == CPU


@pytest.mark.parametrize(
    ("requested", "present", "expected"),
    [(GPU0, ONE, GPU0), (GPU1, TWO, GPU1), (None, TWO, GPU0), (CPU, TWO, CPU), (CPU, NONE, CPU)],
)
def test_ops_of_the_cpu_move_to_an_accelerator_on_request(requested, present, expected):
    assert place(CPU, requested, present, cpu_ops="gpu") == expected


@pytest.mark.parametrize("requested", [None, GPU0])
def test_ops_of_the_cpu_cannot_move_to_an_accelerator_that_is_not_there(requested):
    with pytest.raises(tracepack.PlacementError) as caught:
        place(CPU, requested, NONE, cpu_ops="gpu", where="op 'cell'")
    text = (
        "op 'cell': it needs cuda:0, which this machine lacks. Devices present: cpu. Leave cpu_ops='gpu' out to run it"
    )
    assert str(caught.value).startswith(text)


def as_if_for_gpu(mod: tracepack.Pipeline) -> None:
    """Marks the pipeline's op as scripted for gpu 1, as on a machine that has one."""
    from tracepack.ops.graph.traverse import bodies

    for body in bodies(mod.graph):
        body.device = "cuda:1"


@pytest.mark.skipif(torch.accelerator.is_available(), reason="says what a machine without an accelerator says")
def test_a_gpu_archive_is_refused_before_any_weight_is_read(tmp_path, monkeypatch):
    op, x = tracepack.script(MyCell()), torch.rand(3, 4)
    mod = tracepack.trace(lambda x: op(x, x), x)
    as_if_for_gpu(mod)
    mod.save(tmp_path / "cell.tpk")

    def never(*args):
        raise AssertionError("a weight was read")

    monkeypatch.setattr("tracepack.serialization.program.mapped_weights", never)
    monkeypatch.setattr("tracepack.serialization.container.archive.Archive.check", never)
    with pytest.raises(
        tracepack.PlacementError, match="op 'MyCell': it was scripted for cuda:1 and cannot run on the CPU"
    ):
        tracepack.load(tmp_path / "cell.tpk", device="cpu")
    with pytest.raises(tracepack.PlacementError, match="op 'MyCell': it needs cuda:0, which this machine lacks"):
        tracepack.load(tmp_path / "cell.tpk")
    with pytest.raises(tracepack.PlacementError, match="needs cuda:3, which this machine lacks. Devices present: cpu"):
        tracepack.load(tmp_path / "cell.tpk", device=3)


def test_ops_of_the_cpu_stay_there_whatever_device_is_asked_for(tmp_path):
    op, x = tracepack.script(MyCell(), device="cpu"), torch.rand(3, 4)
    mod = tracepack.trace(lambda x: op(x, x)[0], x)
    mod.save(tmp_path / "cell.tpk")
    for device in (7, "cuda:1", "cuda", -1):
        moves_nothing = pytest.warns(UserWarning, match="nothing runs on cuda:.: all ops were scripted for the CPU")
        with nullcontext() if device == -1 else moves_nothing:
            loaded = tracepack.load(tmp_path / "cell.tpk", device=device)
        assert loaded.placement == {"MyCell": "cpu"}
        assert torch.equal(loaded(x), mod(x))


def test_a_gpu_archive_runs_on_the_cpu_on_request(tmp_path):
    module, x = MyCell().eval(), torch.rand(3, 4)
    op = tracepack.script(module)
    mod = tracepack.trace(lambda x: op(x, x)[0], x)
    as_if_for_gpu(mod)
    mod.save(tmp_path / "cell.tpk")
    loaded = tracepack.load(tmp_path / "cell.tpk", gpu_ops="cpu")
    assert loaded.placement == {"MyCell": "cpu"}
    assert torch.equal(loaded(x), module(x, x)[0])
    with pytest.raises(tracepack.DeviceError, match="unknown value of gpu_ops; got 'tpu'; expected 'gpu' or 'cpu'"):
        tracepack.load(tmp_path / "cell.tpk", gpu_ops="tpu")


def test_a_cpu_archive_ignores_the_device(tmp_path, cell_file):
    path, module, x, h = cell_file
    for device in (None, -1, "cpu", torch.device("cpu")):
        loaded = tracepack.load(path, device=device)
        assert loaded.placement == {"MyCell": "cpu"}
        assert torch.equal(loaded(x, h)[0], module(x, h)[0])


def test_copies_between_devices_are_in_the_plan():
    """An op on another device gets its inputs moved; checked on torch's meta device, which every machine has."""
    from tracepack.ops.graph.traverse import bodies
    from tracepack.ops.runtime.plan import Plan

    first, second = tracepack.script(MyCell(), name="first"), tracepack.script(MyCell(), name="second")
    x = torch.rand(3, 4)
    mod = tracepack.trace(lambda x: second(first(x, x)[0] + 1, x)[0], x)
    places = {body.name: body for body in bodies(mod.graph)}
    meta = Device("meta")
    plan = Plan(mod.graph, lambda body: meta if body is places["second"] else CPU)
    result = plan.fast(x)
    assert result.device.type == "meta"
    assert plan.source.count(".to(") == 2  # the result of `first`, and x, each once


def on_accelerator(graph: Graph, device: str, *inputs: int) -> Graph:
    """A graph as a machine with a card records it."""
    mark = Node(Operator("py.on_accelerator"), (device, *inputs))
    return Graph(graph.inputs, (mark, *graph.nodes), graph.output)


def test_torch_code_of_a_card_is_placed_as_an_op_is() -> None:
    graph = on_accelerator(tracepack.trace(lambda x: x * 2, torch.ones(2)).graph, "cuda:1", 0)
    assert place_all(graph, GPU0, ONE) == place_all(graph, None, TWO) == {id(graph): GPU0}
    assert place_all(graph, None, NONE, gpu_ops="cpu") == {id(graph): CPU}
    with pytest.raises(tracepack.PlacementError) as caught:
        place_all(graph, CPU, TWO)
    assert str(caught.value).startswith("the function's own torch code: it was scripted for cuda:1 and cannot run on")


def test_torch_code_of_a_card_moves_nothing_by_itself() -> None:
    """Inputs, and what is made from them, lie where they did in Python; checked on torch's meta device."""

    def process(x, lengths):
        return x.mean(-1) * 2, lengths * 2 + torch.zeros(1, device="cpu"), x.sum() + 1

    mod = tracepack.trace(process, torch.rand(3, 4), torch.rand(3))
    plan = Plan(on_accelerator(mod.graph, "cuda:0", 0), home=Device("meta"))
    assert plan.homes == [Device("meta"), CPU]
    assert ".to(" not in plan.source
    made = plan.fast(torch.rand(3, 4, device="meta"), torch.ones(3))
    assert [each.device.type for each in made] == ["meta", "cpu", "meta"]


@pytest.mark.gpu
def test_torch_code_on_a_card_for_real() -> None:
    weight = torch.rand(4)

    def process(x, lengths):
        table = torch.zeros(x.shape[0], device=x.device) + torch.arange(x.shape[0], device="cuda")
        return {"card": x.mean(-1) + table, "cpu": (x.cpu() * weight).sum(-1), "lengths": lengths * 2 + torch.ones(1)}

    x, lengths = torch.rand(3, 4, device="cuda"), torch.tensor([1, 2, 3])
    file = io.BytesIO()
    tracepack.trace(process, x, lengths).save(file)
    for loaded in (tracepack.load(file.getvalue()), tracepack.load(file.getvalue(), device=0)):
        for rows in (1, 5):
            x, lengths = torch.rand(rows, 4, device="cuda"), torch.arange(rows)
            torch.testing.assert_close(loaded(x, lengths), process(x, lengths))
    on_cpu = tracepack.load(file.getvalue(), gpu_ops="cpu")(x, lengths)
    assert {each.device.type for each in on_cpu.values()} == {"cpu"}
    with pytest.raises(tracepack.PlacementError, match="the function's own torch code"):
        tracepack.load(file.getvalue(), device="cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("device", [None, 0])
def test_a_model_that_lies_on_a_card(device) -> None:
    model, x = MyCell().cuda(), torch.rand(3, 4, device="cuda")
    op = tracepack.script(model, device=device)
    mod = tracepack.trace(lambda x: op(x, x)[0].argmax(-1).tolist(), x)
    with torch.no_grad():
        assert mod(x) == mod(x.cpu()) == model(x, x)[0].argmax(-1).tolist()


@pytest.mark.gpu
def test_data_that_a_trace_tries_does_not_end_the_context() -> None:
    """An index out of range fails an assertion of a kernel, after which the process cannot use the card."""
    table = torch.rand(10, 4, device="cuda")
    embedding = torch.nn.Embedding(10, 4).cuda()
    op = tracepack.script(embedding, device=0)
    ids = torch.tensor([1, 9], device="cuda")
    mod = tracepack.trace(lambda ids: table[ids] + op(ids) + table.index_select(0, ids), ids)
    torch.cuda.synchronize()
    with torch.no_grad():
        torch.testing.assert_close(mod(ids), 2 * table[ids] + embedding(ids))


@pytest.mark.gpu
def test_the_table_for_real(tmp_path, cell_file):
    path, module, x, h = cell_file
    with pytest.warns(UserWarning, match="nothing runs on cuda:0: all ops were scripted for the CPU"):
        assert tracepack.load(path, device=0).placement == {"MyCell": "cpu"}
    op = tracepack.script(module, device=0)
    mod = tracepack.trace(lambda x, h: op(x, h), x, h)
    mod.save(tmp_path / "gpu.tpk")
    for index in range(torch.accelerator.device_count()):
        loaded = tracepack.load(tmp_path / "gpu.tpk", device=index)
        result = loaded(x, h)[0]
        assert result.device.index == index
        assert torch.allclose(result.cpu(), module(x, h)[0], atol=1e-6)
    with pytest.raises(tracepack.PlacementError):
        tracepack.load(tmp_path / "gpu.tpk", device="cpu")
    assert next(module.parameters()).device.type == "cpu"


@pytest.mark.parametrize("cpu_ops", ["cpu", "gpu"])
def test_a_file_without_ops_says_why_nothing_moves(tmp_path, cpu_ops) -> None:
    tracepack.trace(lambda x: x * 2, torch.rand(3)).save(tmp_path / "plain.tpk")
    with pytest.warns(UserWarning, match="nothing runs on cuda:0: it has no ops, and torch's own functions run where"):
        tracepack.load(tmp_path / "plain.tpk", device="cuda:0", cpu_ops=cpu_ops)


def test_an_op_on_meta_is_refused() -> None:
    with pytest.raises(tracepack.DeviceError, match="an op computes, and tensors on meta have no data"):
        tracepack.script(MyCell(), device=torch.device("meta"))
