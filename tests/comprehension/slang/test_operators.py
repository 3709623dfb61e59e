"""Every operator on Slang's CPU target and on Vulkan, with its gradient and in tiles, against torch."""

from __future__ import annotations

import pytest
import torch

from tests.comprehension import random_programs
from tests.comprehension.operator_cases import CASES

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
from tests.comprehension.slang.running import TOLERANCE, as_list, compare, of_case, program_of, run, simple, tiled
from tracepack.ops.comprehension import define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.loops.description import ProgramSchedule, Schedule
from tracepack.ops.comprehension.slang.emitter import SlangEmitter
from tracepack.ops.comprehension.torch.emitter import TorchEmitter
from tracepack.ops.graph.errors import DeviceError


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_operators_and_their_gradients(case, device):
    layer, inputs = of_case(case, "float", 0)
    plan = layer.plan(inputs)
    if not case.gradient:
        found = SlangEmitter(plan.program, simple(plan.program), False, device)(inputs)
        compare(found, as_list(case.reference(*inputs)), TOLERANCE["float"])
        return
    wanted = frozenset(i for i, t in enumerate(inputs) if t.is_floating_point())
    forward, backward = plan.derived(wanted)
    found = SlangEmitter(forward, simple(forward), False, device)(inputs)
    leaves = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
    expected = as_list(case.reference(*leaves))
    compare(found[: len(expected)], [t.detach() for t in expected], TOLERANCE["float"])
    seeds = [torch.randn(t.shape) for t in expected]
    everything = dict(zip([*forward.inputs, *forward.outputs], [*(x.detach() for x in inputs), *found], strict=True))
    given = [everything[s] for s in backward.saved]
    given += [seeds[plan.program.outputs.index(s)].to(everything[s].dtype) for s in backward.seeds]
    gradients = SlangEmitter(backward.program, simple(backward.program), False, device)(given)
    by_name = dict(zip(backward.gradients, gradients, strict=True))
    differentiable = [(e, s) for e, s in zip(expected, seeds, strict=True) if e.requires_grad]
    outputs, seeds = [e for e, _ in differentiable], [s.to(e.dtype) for e, s in differentiable]
    names = [plan.program.inputs[i] for i in sorted(wanted)]
    reference = torch.autograd.grad(outputs, [leaves[i] for i in sorted(wanted)], seeds)
    compare([by_name[n] for n in names], reference, 10 * TOLERANCE["float"])


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
@pytest.mark.usefixtures("vulkan")
def test_operators_in_tiles_of_other_types_on_vulkan(case):
    layer, inputs = of_case(case, case.dtypes[-1], 3)
    p = layer.plan(inputs).program
    try:
        found = SlangEmitter(p, tiled(p), False, "vulkan")(inputs)
    except DeviceError as error:
        assert case.dtypes[-1] == "double"
        pytest.skip(error.what)
    compare(found, as_list(case.reference(*inputs)), TOLERANCE[case.dtypes[-1]])


def test_tiles_of_every_kind_on_the_cpu():
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
    a, b = torch.randn(13, 21), torch.randn(21, 45)
    p = program_of(text, a, b)
    for schedule in (
        Schedule("n", 4, (("m", 3),)),
        Schedule("m", 2, (("n", 7),), ("n", "m")),
        Schedule(None, 1, (("m", 13), ("n", 5))),
        Schedule("n", 16),
    ):
        torch.testing.assert_close(SlangEmitter(p, ProgramSchedule((schedule,), False), False, "cpu")([a, b])[0], a @ b)


def test_many_elements_are_split_over_threads():
    a = torch.randn(1 << 18)
    assert torch.equal(run("def f(float(N) A) -> (B) { B(i) = A(i) * 2 }", a, device="cpu")[0], a * 2)


def test_random_programs(device):
    """Random texts and tiles against torch's operators: this found that Vulkan folds a division by zero to anything."""
    ran = 0
    for seed in range(60 if device == "vulkan" else 12):
        made = random_programs.make(seed)
        try:
            p = program_of(made.text, *made.inputs)
        except errors.ComprehensionError:  # types left to chance
            continue
        (found,) = SlangEmitter(p, tiled(p) if seed % 2 else simple(p), False, device)(made.inputs)
        (wanted,) = TorchEmitter(p)(made.inputs)
        tolerance = 1e-4 if "float" in made.text else 1e-9
        assert torch.allclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True), (seed, made.text)
        ran += 1
    assert ran > (40 if device == "vulkan" else 7)


def test_random_indices(device):
    """Sums and their gradients where divisions and remainders split the nests."""
    for seed in range(12 if device == "vulkan" else 4):
        made = random_programs.indexed(seed)
        forward, backward = define(made.text).plan(made.inputs).derived(frozenset({0, 1}))
        found, wanted = (
            e(made.inputs) for e in (SlangEmitter(forward, simple(forward), False, device), TorchEmitter(forward))
        )
        compare(found, wanted, 0)
        order = [*forward.inputs, *forward.outputs]
        saved = [[*made.inputs, *wanted][order.index(s)] for s in backward.saved]
        given = [*saved, *(torch.ones_like(wanted[forward.outputs.index(s)]) for s in backward.seeds)]
        p = backward.program
        compare(SlangEmitter(p, tiled(p) if seed % 2 else simple(p), False, device)(given), TorchEmitter(p)(given), 0)
