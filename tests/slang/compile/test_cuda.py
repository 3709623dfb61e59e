"""What can be known of CUDA without a card: the code that Slang writes, that nvrtc takes it, and how it is launched.

The launches go to a stand-in for SlangPy's device that runs the same Slang text, compiled as C++, thread by thread.
The tests marked `gpu` are the real thing.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.card import Card
from tests.nvrtc import cubin_of
from tracepack.ops import slang
from tracepack.ops.slang.binding.layout import layout_of
from tracepack.ops.slang.compile.client import ask
from tracepack.ops.slang.compile.codegen import Variant, generate
from tracepack.ops.slang.compile.elements import pointers_after_slots
from tracepack.ops.slang.compile.program import with_lines
from tracepack.ops.slang.compile.slangc import arguments_for
from tracepack.ops.slang.compile.slangpy_tensors import tensor_module
from tracepack.ops.slang.launch import gpu
from tracepack.ops.slang.launch import slangpy_device as devices
from tracepack.ops.slang.launch.operation import Operation
from tracepack.ops.slang.launch.select import launcher_for

from ..conftest import POLYNOMIAL, TENSORS, TYPES

INDEX = torch.arange(3, dtype=torch.int32)
HALF = 'import "slangpy";\n[Differentiable] half f(int i, IDiffTensor<half, 1> x) { return x[i] * x[i]; }'
DOUBLE = HALF.replace("half", "double")
# name: source, function, arguments, slots that need gradients or None
CASES: dict[str, tuple[str, str, tuple[Any, ...], tuple[int, ...] | None]] = {
    "forward": (POLYNOMIAL, "polynomial", (2.0, 8.0, -1.0, torch.ones(4)), None),
    "broadcast": (POLYNOMIAL, "polynomial", (torch.ones(3, 1), 8.0, -1.0, torch.ones(4)), (0, 3)),
    "struct": (TYPES, "combine", ({"x": torch.ones(4), "y": torch.ones(4, 2)},), (0, 1)),
    "whole": (TENSORS, "linear_layer", (INDEX, *map(torch.ones, ((3, 5), (3,), (5,), (3,)))), (1, 2, 3)),
    "batch": (TENSORS, "linear_layer", (INDEX, *map(torch.ones, ((3, 5), (3,), (2, 1, 5), (2, 1, 3)))), (1, 2, 3)),
    "in place": (TENSORS, "process_inplace", (INDEX, torch.ones(3)), (1,)),
    "double": (DOUBLE, "f", (INDEX, torch.ones(3, dtype=torch.float64)), (1,)),
    "half": (HALF, "f", (INDEX, torch.ones(3, dtype=torch.float16)), (1,)),
}
CUDA_TYPES = {"uint8_t": "uchar", "int": "int", "float": "float", "double": "double", "half": "__half"}


def slang_text(operation: Operation, variant: Variant) -> str:
    source = operation.program.source
    source = source if variant.needs is None else source.to_differentiate()
    return with_lines(source, generate(operation.spec, variant))


def case(name: str) -> tuple[Operation, Variant]:
    text, function, arguments, needs = CASES[name]
    call = slang.load(text)[function]._resolve(arguments, {})
    layout = layout_of(call.operation.spec, call.flatten(arguments, {}))
    return call.operation, Variant(layout.modes, needs, "gpu", layout.rank)


def cuda_code(name: str, directory: Path) -> str:
    operation, variant = case(name)
    unit = directory / "unit.slang"
    unit.write_text(slang_text(operation, variant))
    includes = [tensor_module(one_thread=False)] if operation.program.source.uses_slangpy else []
    code: str = ask(arguments=arguments_for(unit, includes, entry=variant.entry, target="cuda"), do="code")["code"]
    return code


@pytest.mark.parametrize("name", CASES)
def test_the_cuda_kernel_takes_what_a_launch_gives(name: str, tmp_path: Path) -> None:
    code = cuda_code(name, tmp_path)
    operation, variant = case(name)
    (found,) = re.findall(rf'extern "C" __global__ void {variant.entry}\(([^)]*)\)', code)
    expected = ["ulonglong tp_begin", "ulonglong tp_end", "longlong * tp_dims"]
    for index, slot in enumerate(operation.spec.slots):
        star = "" if slot.is_value else " *"
        expected.append(f"{CUDA_TYPES[slot.type.scalar]}{star} tp_s{index}")
    expected += [
        f"{CUDA_TYPES[type_.scalar]} * {pointer}"
        for pointer, type_ in pointers_after_slots(operation.spec, variant.needs)
    ]
    assert re.sub(r"_0\b", "", found).split(", ") == expected


@pytest.mark.parametrize("name", CASES)
def test_nvrtc_compiles_the_kernel(name: str, tmp_path: Path) -> None:
    assert cubin_of(cuda_code(name, tmp_path))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Card:
    found = Card(tmp_path)
    handle = SimpleNamespace(from_cuda_stream=lambda stream: ("stream", stream))
    monkeypatch.setattr(gpu, "shared_device", lambda kind, index: found)
    monkeypatch.setattr(gpu, "session_for", lambda kind, index, source: found)
    monkeypatch.setattr(gpu, "import_slangpy", lambda: SimpleNamespace(NativeHandle=handle))
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=("of", device)))
    return found


def on_stand_in(function: slang.SlangFunction, *arguments: Any) -> tuple[Operation, list[Any]]:
    """The operation with the CUDA launcher in the place of the CPU's, and its slots."""
    call = function._resolve(arguments, {})
    operation = call.operation
    cuda = gpu.GpuLauncher(operation.program, operation.spec, "cuda", torch.device("cpu"))
    twin = Operation(operation.program, operation.spec, operation.target, operation._publish)
    twin._cpu = cuda
    return twin, call.flatten(arguments, {})


def test_a_launch_passes_torchs_memory_and_stream(stand_in: Card, polynomial: slang.SlangModule) -> None:
    x = torch.randn(700, requires_grad=True)
    operation, slots = on_stand_in(polynomial.polynomial, 2.0, 8.0, -1.0, x)
    (result,) = operation(*slots)
    torch.testing.assert_close(result, 2 * x * x + 8 * x - 1)
    (launch,) = stand_in.launches
    assert launch["stream"] == ("stream", ("of", 0))
    assert (launch["tp_s3"], launch["tp_o0"]) == (x.data_ptr(), result.data_ptr())
    assert (launch["threads"], launch["tp_begin"], launch["tp_end"]) == ([700, 1, 1], 0, 700)
    gradient = torch.randn(700)
    (found,) = torch.autograd.grad(result, x, gradient)
    torch.testing.assert_close(found, gradient * (4 * x + 8).detach())
    assert stand_in.launches[1]["tp_s3"] == x.data_ptr()
    assert stand_in.launches[1]["tp_g0"] == gradient.data_ptr()


def test_a_large_launch_is_cut(stand_in: Card, polynomial: slang.SlangModule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_CHUNK", 256)
    x = torch.randn(600)
    operation, slots = on_stand_in(polynomial.polynomial, 2.0, 8.0, -1.0, x)
    torch.testing.assert_close(operation(*slots)[0], 2 * x * x + 8 * x - 1)
    assert [(each["tp_begin"], each["threads"][0]) for each in stand_in.launches] == [(0, 256), (256, 256), (512, 88)]


def test_broadcast_tensors_are_not_copied(stand_in: Card, polynomial: slang.SlangModule) -> None:
    a, c, x = (torch.randn(size, requires_grad=True) for size in ((3, 1), (5,), (2, 1, 5)))
    operation, slots = on_stand_in(polynomial.polynomial, a, 2.0, c, x)
    (result,) = operation(*slots)
    expected = a * x * x + 2 * x + c
    torch.testing.assert_close(result, expected)
    assert [stand_in.launches[0][f"tp_s{i}"] for i in (0, 2, 3)] == [each.data_ptr() for each in (a, c, x)]
    torch.testing.assert_close(*(torch.autograd.grad(each.square().sum(), (a, c, x)) for each in (result, expected)))


def test_whole_tensors(stand_in: Card, tensors: slang.SlangModule) -> None:
    weight, bias, x = (torch.randn(size, requires_grad=True) for size in ((3, 5), (3,), (4, 1, 5)))
    operation, slots = on_stand_in(tensors.linear_layer, INDEX, weight, bias, x, torch.zeros(4, 1, 3))
    (result,) = operation(*slots)
    expected = torch.nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(result, expected)
    assert stand_in.launches[0]["tp_s1"] == weight.data_ptr()
    found = (torch.autograd.grad(each.square().sum(), (weight, bias, x)) for each in (result, expected))
    torch.testing.assert_close(*found)


def test_each_card_has_a_device_of_its_own(monkeypatch: pytest.MonkeyPatch, polynomial: slang.SlangModule) -> None:
    opened: list[tuple[str, int]] = []
    monkeypatch.setattr(devices, "create_device", lambda kind, index: opened.append((kind, index)) or (kind, index))
    devices.shared_device.cache_clear()
    try:
        assert [devices.shared_device("cuda", index) for index in (0, 1, 0)] == [("cuda", 0), ("cuda", 1), ("cuda", 0)]
        assert opened == [("cuda", 0), ("cuda", 1)]
    finally:
        devices.shared_device.cache_clear()
    operation = polynomial.polynomial.operation(1.0, 1.0, 1.0, torch.ones(1))
    found = [launcher_for("", torch.device("cuda", index), operation.program, operation.spec) for index in (0, 1)]
    assert [each._device.index for each in found] == [0, 1]


cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")


@cuda
@pytest.mark.gpu
def test_forward_and_backward_on_a_card() -> None:
    module = slang.load(POLYNOMIAL)
    x, a = torch.randn(1000, device="cuda", requires_grad=True), torch.randn(1, device="cuda", requires_grad=True)
    found, expected = module.polynomial(a, 8, -1, x), a * x * x + 8 * x - 1
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(each.square().sum(), (a, x)) for each in (found, expected)))


@cuda
@pytest.mark.gpu
def test_a_thread_whose_first_kernel_is_ours() -> None:
    """Torch has entered no context of CUDA in it; so it is with the thread of gradients."""
    module, x = slang.load(POLYNOMIAL), torch.randn(1000, device="cuda")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(module.polynomial, 2, 8, -1, x).result()
    torch.testing.assert_close(found, 2 * x * x + 8 * x - 1)


@cuda
@pytest.mark.gpu
def test_another_stream_on_a_card() -> None:
    module, x = slang.load(POLYNOMIAL), torch.randn(1 << 20, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        y = x * 2
        found = module.polynomial(2, 8, -1, y)
    torch.cuda.synchronize()
    torch.testing.assert_close(found, 2 * y * y + 8 * y - 1)


@cuda
@pytest.mark.gpu
def test_whole_tensors_on_a_card() -> None:
    module = slang.load(TENSORS)
    weight, bias, x = (torch.randn(size, device="cuda", requires_grad=True) for size in ((3, 5), (3,), (4, 5)))
    result = torch.empty(4, 3, device="cuda")
    function = module.linear_layer.map(idx=(1,), input=(0,), output=(0,))
    function(INDEX.cuda(), weight, bias, x, result)
    expected = torch.nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(
        *(torch.autograd.grad(each.square().sum(), (weight, bias, x)) for each in (result, expected))
    )


@cuda
@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="this machine has no second CUDA device")
def test_the_second_card() -> None:
    x = torch.randn(100, device="cuda:1")
    found = slang.load(POLYNOMIAL).polynomial(2, 8, -1, x)
    assert found.device == x.device
    torch.testing.assert_close(found, 2 * x * x + 8 * x - 1)
