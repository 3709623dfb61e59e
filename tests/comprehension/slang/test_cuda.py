# ruff: noqa: E501 - texts of comprehensions read better on one line
"""The CUDA text of the Slang emitter.

It is translated for every operator, and compiled by NVIDIA's compiler; the last test runs it where a card is.
"""

from __future__ import annotations

import ctypes
import re

import pytest
import torch

from tests.comprehension.operator_cases import CASES

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
from tests.comprehension.slang.running import MATMUL, TOLERANCE, as_list, compare, of_case, tiled
from tests.nvrtc import cubin_of
from tracepack.ops.comprehension import Options
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.program.specialise import specialise
from tracepack.ops.comprehension.run import select as runner
from tracepack.ops.comprehension.run.select import make_runner
from tracepack.ops.comprehension.slang import emitter as slang_emitter
from tracepack.ops.comprehension.slang.devices import on_cuda
from tracepack.ops.comprehension.slang.emitter import SlangEmitter
from tracepack.ops.comprehension.slang.program import ENTRY, generate
from tracepack.ops.comprehension.torch.emitter import TorchEmitter
from tracepack.ops.slang.compile.native_entry import NativeEntry
from tracepack.ops.slang.compile.native_library import translated, whole_library
from tracepack.ops.slang.launch import gpu


def test_on_cuda_slang_is_chosen_where_threads_are_many(monkeypatch):
    """What is chosen, with the emitter replaced: torch's libraries for large products and long narrow reductions."""
    monkeypatch.setattr(slang_emitter, "SlangEmitter", lambda *args: args)

    def chosen(text: str, *shapes: tuple[int, ...], options: Options | None = None):
        program = specialise(check(parse(text)[0]), list(shapes))
        return make_runner(program, options or Options(), torch.device("cuda", 1), False)

    relu = "def f(float(N) A) -> (B) { B(i) = fmax(A(i), 0.0) }"
    _, schedule, _, kind, index = chosen(relu, (1000,))
    assert (len(schedule.nests), kind, index) == (1, "cuda", 1)
    assert isinstance(chosen(relu, (1000,), options=Options("torch")), TorchEmitter)
    assert isinstance(chosen(MATMUL, (512, 512), (512, 512)), TorchEmitter)
    assert isinstance(chosen(MATMUL, (512, 512), (512, 512), options=Options("conv")), tuple)
    assert isinstance(chosen("def f(float(N) A) -> (s) { s +=! A(i) }", (1 << 20,)), TorchEmitter)
    assert chosen(MATMUL, (4096, 16), (16, 4096))[1].nests[0].unroll == (("m", 4),)
    monkeypatch.setattr(runner.util, "find_spec", lambda name: None)
    assert isinstance(chosen(relu, (1000,)), TorchEmitter)


@pytest.mark.parametrize("case", CASES[::6], ids=lambda c: c.name)
def test_cuda_text(case):
    """Slang accepts every stage for CUDA, as a kernel of plain pointers; so does NVIDIA's compiler."""
    layer, inputs = of_case(case, case.dtypes[-1], 0)
    p = layer.plan(inputs).program
    generated = generate(p, tiled(p), False)
    for stage in generated.stages:
        code = translated(generated.text, stage.entry, "cuda")
        assert f'extern "C" __global__ void {stage.entry}(' in code
        assert stage.entry.encode() in cubin_of(code)


class StandIn:
    """What launches CUDA's stages, on a machine without a card: the same text as C++, on the addresses that it is given."""

    def __init__(self, kind: str, name: str, text: str, entries: list[str], *, index: int) -> None:
        assert (kind, index) == ("cuda", 0)
        self._names = re.findall(r"uniform \w+\* (\w+)", text[text.index(f"void {ENTRY}(") :])
        self._entry = NativeEntry(whole_library(text, ENTRY), [ctypes.c_uint64] * len(self._names), parallel=False)
        self._text, self._entries = text, entries

    def dispatch(self, entry: int, total: int, variables: dict[str, int]) -> None:
        head = self._text[self._text.index(f"void {self._entries[entry]}(") :].split(")")[0]
        assert set(re.findall(r"uniform \w+\* (\w+)", head)) == set(variables)
        self._entry(total, entry, [variables.get(name, 0) for name in self._names])


@pytest.mark.parametrize("name", ["conv temporary", "softmax outputs", "rewritten part", "lookup weighted"])
def test_cuda_launches(name, monkeypatch):
    """Every stage gets the tensors that its entry names, by their addresses, temporaries among them."""
    monkeypatch.setattr(gpu, "GpuCode", StandIn)
    layer, inputs = of_case(next(c for c in CASES if c.name == name), "float", 0)
    p = layer.plan(inputs).program
    launch = on_cuda(p, generate(p, tiled(p), False), 0)
    outputs = {n: torch.empty(p.tensors[n].shape) for n in p.outputs}
    launch({**dict(zip(p.inputs, inputs, strict=True)), **outputs}, torch.zeros(1, dtype=torch.int32))
    compare(list(outputs.values()), TorchEmitter(p)(inputs), TOLERANCE["float"])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card on this machine")
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_operators_on_cuda(case):
    layer, inputs = of_case(case, case.dtypes[-1], 3)
    p = layer.plan(inputs).program
    found = SlangEmitter(p, tiled(p), False, "cuda")([x.cuda() for x in inputs])
    compare([t.cpu() for t in found], as_list(case.reference(*inputs)), TOLERANCE[case.dtypes[-1]])
    assert torch.equal(found[0], SlangEmitter(p, tiled(p), False, "cuda")([x.cuda() for x in inputs])[0])
    compare([t.cpu() for t in found], TorchEmitter(p)(inputs), TOLERANCE[case.dtypes[-1]])
