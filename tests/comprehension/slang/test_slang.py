# ruff: noqa: E501 - texts of comprehensions read better on one line
"""The Slang emitter on Slang's CPU target and on Vulkan (llvmpipe will do), against torch and Python's integers.

Its CUDA text is translated for every operator, and compiled to PTX where NVIDIA's compiler is; the last test runs it
where a card is.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re
import warnings

import pytest
import random_programs
import torch
from operator_cases import CASES, Case, Maker

from tests.nvrtc import cubin_of

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")

import tracepack as tp
from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.expr.functions import BUILTINS
from tracepack.ops.comprehension.expr.ir import Program
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.loops.description import ProgramSchedule, Schedule
from tracepack.ops.comprehension.program.specialise import specialise
from tracepack.ops.comprehension.run import select as runner
from tracepack.ops.comprehension.run.select import make_runner
from tracepack.ops.comprehension.slang import emitter as slang_emitter
from tracepack.ops.comprehension.slang.devices import on_cuda
from tracepack.ops.comprehension.slang.emitter import SlangEmitter
from tracepack.ops.comprehension.slang.program import ENTRY, generate, lowered
from tracepack.ops.comprehension.torch.emitter import TorchEmitter
from tracepack.ops.comprehension.tune.cache import TuningCache
from tracepack.ops.graph.errors import DeviceError
from tracepack.ops.slang.compile.native_entry import NativeEntry
from tracepack.ops.slang.compile.whole_module import native_library, translated
from tracepack.ops.slang.launch import gpu
from tracepack.ops.slang.launch.slangpy_device import shared_device

TYPES = {"float": torch.float32, "double": torch.float64, "float16": torch.float16}
# What another order of sums may change, against values of size one.
TOLERANCE = {"float": 2e-5, "double": 1e-11, "float16": 1e-2}


@pytest.fixture
def vulkan() -> None:
    try:
        shared_device("vulkan")
    except DeviceError as error:
        pytest.skip(f"no Vulkan driver on this machine: {error.got}")


@pytest.fixture(params=["cpu", "vulkan"])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "vulkan":
        request.getfixturevalue("vulkan")
    return request.param


def simple(program: Program) -> ProgramSchedule:
    return ProgramSchedule((Schedule(),) * len(lowered(program)), False)


def tiled(program: Program) -> ProgramSchedule:
    """Tiles that leave a rest on most axes: three values of the last axis, two of the one before."""
    found = []
    for nest in lowered(program):
        names = [a for a, _ in nest.left if a not in nest.scatter]
        found.append(Schedule(names[-1], 3, tuple((a, 2) for a in names[-2:-1])) if names else Schedule())
    return ProgramSchedule(tuple(found), False)


def program_of(text: str, *inputs: torch.Tensor) -> Program:
    return define(text).plan(inputs).program


def run(text: str, *inputs: torch.Tensor, device: str, clamp: bool = False) -> list[torch.Tensor]:
    p = program_of(text, *inputs)
    return SlangEmitter(p, simple(p), clamp, device)(inputs)


def compare(found, wanted, tolerance):
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        assert a.is_contiguous()
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def of_case(case: Case, dtype: str, k: int):
    layer = define(case.text, constants={"t": dtype, **case.constants})
    return layer, case.inputs(Maker(TYPES[dtype], k))


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
        Schedule("n", 64),
    ):
        torch.testing.assert_close(SlangEmitter(p, ProgramSchedule((schedule,), False), False, "cpu")([a, b])[0], a @ b)


def test_nan_wins_in_max_and_min_and_fmax_ignores_it(device):
    text = "def f(float(N,K) A) -> (X, Y, Z) { X(n) max=! A(n,k)\n Y(n) min=! A(n,k)\n Z(n,k) = max(A(n,k), 0.5) }"
    nan = float("nan")
    a = torch.randn(3, 41)
    a[0, 0] = a[1, 40] = a[2, 17] = nan
    a[2, 3] = float("inf")
    x, y, z = run(text, a, device=device)
    assert x.isnan().all()
    assert y.isnan().all()
    assert torch.equal(z.isnan(), a.isnan())
    b, c = torch.tensor([nan, 1.0, nan, 2.0] * 5), torch.tensor([1.0, nan, nan, 3.0] * 5)
    text = "def f(float(N) A, float(N) B) -> (X, Y) { X(i) = fmax(A(i), B(i))\n Y(i) = fmin(A(i), B(i)) }"
    x, y = run(text, b, c, device=device)
    torch.testing.assert_close(x, torch.fmax(b, c), equal_nan=True, rtol=0, atol=0)
    torch.testing.assert_close(y, torch.fmin(b, c), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_integers_floor_and_wrap(dtype, device):
    kind = getattr(torch, dtype)
    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max
    some = [v for v in (low, low + 1, -7, -3, -1, 0, 1, 2, 3, 7, high - 1, high) if v >= low]
    pairs = torch.tensor(list(itertools.product(some, some)), dtype=torch.int64).to(kind)
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    text = f"def f({dtype}(N) A, {dtype}(N) B) -> (Q, R, S, L, H, P) {{ Q(i) = A(i) / B(i)\n R(i) = A(i) % B(i)\n S(i) = A(i) * B(i) - A(i)\n L(i) = min(A(i), B(i))\n H(i) = max(A(i), B(i))\n P(i) = abs(A(i)) + B(i) }}"
    q, r, s, least, most, p = run(text, a, b, device=device)
    x, y = a.tolist(), b.tolist()

    def wrap(v: int) -> int:
        return (v - low) % (high - low + 1) + low

    assert q.tolist() == [wrap(m // n) if n else 0 for m, n in zip(x, y, strict=True)]
    assert r.tolist() == [m % n if n else 0 for m, n in zip(x, y, strict=True)]
    assert s.tolist() == [wrap(m * n - m) for m, n in zip(x, y, strict=True)]
    assert least.tolist() == [min(m, n) for m, n in zip(x, y, strict=True)]
    assert most.tolist() == [max(m, n) for m, n in zip(x, y, strict=True)]
    assert p.tolist() == [wrap(abs(m) + n) for m, n in zip(x, y, strict=True)]


def test_every_half_is_read_and_rounded_as_torch_does(device):
    halves = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(torch.float16)
    (same,) = run("def f(float16(N) A) -> (B) { B(i) = A(i) }", halves, device=device)
    assert torch.equal(same.isnan(), halves.isnan())
    kept = ~halves.isnan()
    assert torch.equal(same[kept].view(torch.int16), halves[kept].view(torch.int16))
    floats = torch.cat([torch.randn(4096) * 10.0**e for e in range(-9, 6)])
    edges = torch.tensor(
        [65504.0, 65519.9, 65520.0, 2.0**-24, 2.0**-25, 1.5 * 2.0**-24, 1.5 * 2.0**-25, 0.0, math.inf, -math.inf]
    )
    floats = torch.cat([floats, edges, -edges])
    text = "def f(float(N) A) -> (B, C) { B(i) = float16(A(i))\n C(i) = float(float16(A(i))) * 2.0 }"
    b, c = run(text, floats, device=device)
    assert torch.equal(b, floats.half())
    assert torch.equal(c, floats.half().float() * 2)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_an_integer_is_rounded_to_a_float(dtype, device):
    low, high = torch.iinfo(getattr(torch, dtype)).min, torch.iinfo(getattr(torch, dtype)).max
    edges = [low, high, 0, -1, 16777215, 16777216, 16777217, -16777217, 16777219, 33554434, 33554435]
    some = torch.cat([torch.randint(low, high, (512,)), torch.tensor(edges)]).to(getattr(torch, dtype))
    (found,) = run(f"def f({dtype}(N) A) -> (B) {{ B(i) = double(float(A(i))) }}", some, device=device)
    assert torch.equal(found, some.float().double())


def test_a_double_is_rounded_to_a_float_and_back(device):
    some = torch.randn(512, dtype=torch.float64)
    edges = [1 + 2.0**-24, 1 + 3 * 2.0**-24, 3.4028235677973366e38, 3.4028235e38, 1e300, math.inf, math.nan]
    edges = torch.tensor(edges, dtype=torch.float64)
    doubles = torch.cat([some, some * 1e30, some * 1e-30, edges, -edges])
    (found,) = run("def f(double(N) A) -> (B) { B(i) = double(float(A(i))) }", doubles, device=device)
    torch.testing.assert_close(found, doubles.float().double(), rtol=0, atol=0, equal_nan=True)


# A function of C's that torch has under another name, or not at all, as torch computes it.
REFERENCES = {
    "exp10": lambda a: torch.pow(10.0, a),
    "cbrt": lambda a: torch.copysign(a.abs().double().pow(1 / 3), a.double()).to(a.dtype),
    "round": lambda a: torch.trunc(a + torch.copysign(torch.full_like(a, 0.5), a)),
    "rint": torch.round,
    "fabs": torch.abs,
    "fdim": lambda a, b: torch.where(a <= b, torch.zeros_like(a), a - b),
    "fma": lambda a, b, c: a * b + c,
}
DOMAINS = {"asin": 1.0, "acos": 1.0, "atanh": 0.95, "lgamma": 0.0, "acosh": 0.0, "log": 0.0, "sqrt": 0.0, "pow": 0.0}
POSITIVE = {"acosh", "log", "log2", "log10", "sqrt", "rsqrt", "pow"}


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_functions(dtype, device):
    """Every built-in at once, on its domain: 1e-5 of floats, and 1e-12 of doubles, where Vulkan has some only."""
    names = [n for n in BUILTINS if device == "cpu" or dtype == "float" or n in _VULKANS_DOUBLES]
    wide = torch.cat([torch.linspace(-4, 4, 801), torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 7.5, 20.0, 1e-6])])
    wide, second = wide.to(TYPES[dtype]), torch.linspace(-3, 3.3, 810).to(TYPES[dtype])
    tolerance = 1e-5 if dtype == "float" else 1e-12
    inputs, lines, expected = {}, [], []
    for n in names:
        x = wide.abs() + (1.0 if n == "acosh" else 1e-3) if n in POSITIVE else wide
        x = x.clamp(-DOMAINS[n], DOMAINS[n]) if DOMAINS.get(n) else x
        x = x.clamp(min=-0.9) if n == "log1p" else x
        inputs[n] = x
        args = [x, second, second.flip(0)][: BUILTINS[n].arity]
        expected.append(REFERENCES.get(n, getattr(torch, BUILTINS[n].torch, None))(*args))
        used = [f"A{n}(i)", "S(i)", f"S({len(second) - 1} - i)"][: BUILTINS[n].arity]
        lines.append(f"O{n}(i) = {n}({', '.join(used)}) where i in 0:N")
    params = ", ".join(f"{dtype}(N) A{n}" for n in names)
    text = f"def f({params}, {dtype}(N) S) -> ({', '.join('O' + n for n in names)}) {{ " + "\n".join(lines) + " }"
    found = run(text, *inputs.values(), second, device=device)
    wrong = {
        name: float(((a - b).abs() / (1 + b.abs())).nan_to_num(0).max())
        for name, a, b in zip(names, found, expected, strict=True)
        if not torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    }
    assert wrong == {}


_VULKANS_DOUBLES = {
    "sqrt",
    "rsqrt",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "fabs",
    "fmax",
    "fmin",
    "fdim",
    "fma",
    "hypot",
}


def test_functions_at_their_edges(device):
    """Zeros, infinities, NaN and what a function is not of: Vulkan leaves much of it undefined, so it is written out."""
    some = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        3.0,
        1e-3,
        30.0,
        -30.0,
        300.0,
        -300.0,
        math.inf,
        -math.inf,
        math.nan,
    ]
    pairs = torch.tensor(list(itertools.product(some, some)))
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    names = [n for n in BUILTINS if n not in ("fma", "lgamma")]
    lines = [f"O{n}(i) = {n}({', '.join(['A(i)', 'B(i)'][: BUILTINS[n].arity])})" for n in names]
    lines += ["Odivide(i) = A(i) / B(i)", "Omodulo(i) = A(i) % B(i)"]
    returns = ", ".join(f"O{n}" for n in [*names, "divide", "modulo"])
    found = run(f"def f(float(N) A, float(N) B) -> ({returns}) {{ " + "\n".join(lines) + " }", a, b, device=device)
    expected = [REFERENCES.get(n, getattr(torch, BUILTINS[n].torch, None))(*[a, b][: BUILTINS[n].arity]) for n in names]
    expected += [a / b, torch.remainder(a, b)]
    wrong = {
        name: [
            (float(x), float(y), float(p), float(q)) for x, y, p, q in zip(a, b, f, e, strict=True) if not close(p, q)
        ]
        for name, f, e in zip([*names, "divide", "modulo"], found, expected, strict=True)
    }
    assert {n: w[:5] for n, w in wrong.items() if w} == {}


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=2e-5, atol=2e-5, equal_nan=True)


def test_floats_modulo_and_special_values(device):
    text = "def f(float(N) A, float s) -> (M, E, D) { M(i) = A(i) % 0.75\n E(i) = exp(A(i))\n D(i) = A(i) / s }"
    inf = float("inf")
    a = torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0, inf, -inf, 88.0, 89.0, -87.0, float("nan")])
    m, e, d = run(text, a, torch.tensor(3.0), device=device)
    torch.testing.assert_close(m, a % 0.75, equal_nan=True)
    torch.testing.assert_close(e, a.double().exp().float(), rtol=2e-5, atol=1e-37, equal_nan=True)
    torch.testing.assert_close(d, a / 3.0, rtol=1e-6, atol=0, equal_nan=True)


def test_constants_are_exact(device):
    text = "def f(double(N) A) -> (B, C) { B(i) = A(i) + 0.1\n C(i) = float(0.1) + (i == 1 ? 1.17e-38 : 16777217.0) where i in 0:N }"
    b, c = run(text, torch.zeros(3, dtype=torch.float64), device=device)
    assert b.tolist() == [0.1] * 3
    assert c.tolist() == (torch.tensor(0.1) + torch.tensor([16777217.0, 1.17e-38, 16777217.0])).tolist()


def test_gathers_are_checked_or_clamped(device):
    text = "def f(float(V) T, int64(N) I) -> (O) { O(i) = i > 0 ? T(I(i)) : 0.0 where i in 0:N }"
    table, good = torch.randn(7), torch.tensor([99, 3, 6, 0])
    torch.testing.assert_close(run(text, table, good, device=device)[0], torch.cat([torch.zeros(1), table[good[1:]]]))
    bad = torch.tensor([0, 3, 7, -1])
    with pytest.raises(errors.IndexRangeError, match="an index of 'T' is not in 0:7"):
        run(text, table, bad, device=device)
    found = run(text, table, bad, device=device, clamp=True)[0]
    torch.testing.assert_close(found, torch.stack([torch.tensor(0.0), table[3], table[6], table[0]]))


def test_names_cannot_clash_with_slangs(device):
    text = "def void(float(uint,out) vector, float(uint) this) -> (return) { return(float3, class) = vector(float3, class) * this(float3) }"
    a, b = torch.randn(3, 5), torch.randn(3)
    torch.testing.assert_close(run(text, a, b, device=device)[0], a * b[:, None])


def test_contents_before_are_used(device):
    p = program_of("def f(float(N) A) -> (O) { O(i) += A(i) }", torch.zeros(4))
    found = SlangEmitter(p, simple(p), False, device)([torch.ones(4)], [torch.arange(4.0)])
    assert found[0].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_many_elements_are_split_over_threads():
    a = torch.randn(1 << 18)
    assert torch.equal(run("def f(float(N) A) -> (B) { B(i) = A(i) * 2 }", a, device="cpu")[0], a * 2)


def test_vulkan_says_which_function_it_lacks():
    p = program_of("def f(double(N) A) -> (B) { B(i) = exp(A(i)) }", torch.zeros(4, dtype=torch.float64))
    with pytest.raises(DeviceError, match="f: Vulkan has no function 'exp' of doubles"):
        SlangEmitter(p, simple(p), False, "vulkan")


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


MATMUL = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


@pytest.mark.usefixtures("vulkan")
def test_a_layer_on_vulkan_trains_and_tunes(tmp_path):
    layer = define(MATMUL, device="vulkan")
    a, b = torch.randn(12, 9, requires_grad=True), torch.randn(9, 70, requires_grad=True)
    assert isinstance(layer.plan([a, b]).forward, SlangEmitter)
    seed = torch.randn(12, 70)
    compare(torch.autograd.grad(layer(a, b), [a, b], seed), [seed @ b.T, a.T @ seed], 1e-4)
    best = layer.autotune(a, b, cache=str(tmp_path / "mm"), generations=1, pop_size=3)
    assert list(layer.tuned) == ["vulkan:12x9,9x70"]
    torch.testing.assert_close(layer(a, b), a @ b)
    assert (
        TuningCache(str(tmp_path / "mm"), device=torch.device("vulkan")).best(layer.key, [(12, 9), (9, 70)]) == best[0]
    )
    with pytest.warns(ComprehensionWarning, match="has no options"):  # the CPU's are others
        define(MATMUL)(a, b, cache=str(tmp_path / "mm"))


@pytest.mark.usefixtures("vulkan")
def test_options_name_axes_on_vulkan_too():
    layer = define(MATMUL, device="vulkan")
    a, b = torch.randn(12, 9), torch.randn(9, 70)
    torch.testing.assert_close(layer(a, b, options=Options(tile={"m": 5, "n": 2}, vectorise="n")), a @ b)
    assert isinstance(layer.plan([a, b], Options("torch")).forward, TorchEmitter)
    with pytest.raises(errors.OptionsError, match="'mm' has no axis 'q'"):
        layer(a, b, options=Options(tile={"q": 5}))


@pytest.mark.usefixtures("vulkan")
def test_a_packed_layer_needs_trust_for_a_gpu(tmp_path):
    op, inputs = tp.script(define(MATMUL, device="vulkan")), (torch.randn(5, 6), torch.randn(6, 7))
    tp.trace(lambda a, b: op(a, b) * 2, *inputs).save(tmp_path / "p.tpk")
    feed, expected = {"a": inputs[0], "b": inputs[1]}, inputs[0] @ inputs[1] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(tp.load(tmp_path / "p.tpk", trust=True).run(feed), expected)
    loaded = tp.load(tmp_path / "p.tpk")
    with pytest.warns(ComprehensionWarning, match="runs on torch's operators: .* only with trust=True"):
        torch.testing.assert_close(loaded.run(feed), expected)
    with warnings.catch_warnings():  # said once
        warnings.simplefilter("error")
        loaded.run(feed)


def test_another_device_is_refused():
    with pytest.raises(
        DeviceError, match="a comprehension is defined for no device 'cuda'; expected 'vulkan' or nothing"
    ):
        define(MATMUL, device="cuda")


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


# -- CUDA, without a card and with one ------------------------------------------------------------------------------


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
        self._entry = NativeEntry(native_library(text, ENTRY), [ctypes.c_uint64] * len(self._names), parallel=False)
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
