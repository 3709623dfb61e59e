"""Sums, products and extremes over prefixes and suffixes: one pass, torch's results, its gradients."""

import warnings
from dataclasses import replace
from itertools import product
from math import prod

import pytest
import torch
import torch.nn.functional as F

from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.cpp.emitter import CppEmitter
from tracepack.ops.comprehension.expr.ir import Const, integer, op, var
from tracepack.ops.comprehension.loops.description import ProgramSchedule, Schedule
from tracepack.ops.comprehension.loops.lower import lower
from tracepack.ops.comprehension.program.prefixes import in_blocks, scan_of
from tracepack.ops.comprehension.run.first_call import check_first_call
from tracepack.ops.comprehension.torch.emitter import TorchEmitter

EMITTERS = [Options("torch"), Options()]


def exclusive(a):
    return F.pad(a.cumsum(1), (1, -1))


CASES = {
    "sum": ("O(n,i) +=! A(n,j) where i in 0:D, j in 0:i+1", lambda a: a.cumsum(1)),
    "product": ("O(n,i) *=! A(n,j) where i in 0:D, j in 0:i+1", lambda a: a.cumprod(1)),
    "maximum": ("O(n,i) max=! A(n,j) where i in 0:D, j in 0:i+1", lambda a: a.cummax(1).values),
    "minimum of a suffix": (
        "O(n,i) min=! A(n,j) where i in 0:D, j in i:D", lambda a: a.flip(1).cummin(1).values.flip(1)),
    "suffix": ("O(n,i) +=! A(n,j) where i in 0:D, j in i:D", lambda a: a.flip(1).cumsum(1).flip(1)),
    "without itself": ("O(n,i) +=! A(n,j) where i in 0:D, j in 0:i", exclusive),
    "suffix without itself": (
        "O(n,i) +=! A(n,j) where i in 0:D, j in i+1:D", lambda a: exclusive(a.flip(1)).flip(1)),
    "far behind": ("O(n,i) +=! A(n,j) where i in 0:D+3, j in 0:i-3", lambda a: F.pad(a.cumsum(1), (4, -1))),
    "far ahead": (
        "O(n,i) +=! A(n,j) where i in 0:D-20, j in 0:i+8", lambda a: a.cumsum(1)[:, 7:a.shape[1] - 13]),
    "of products": ("O(n,i) +=! A(n,j) * A(n,j) where i in 0:D, j in 0:i+1", lambda a: a.square().cumsum(1)),
    "of sums": ("O(i) +=! A(n,j) where i in 0:D, j in 0:i+1", lambda a: a.sum(0).cumsum(0)),
    "of columns": ("O(i,d) +=! A(j,d) where i in 0:N, j in 0:i+1", lambda a: a.cumsum(0)),
    "extreme of columns": ("O(i,d) max=! A(j,d) where i in 0:N, j in 0:i+1", lambda a: a.cummax(0).values),
    "transposed": ("O(i,n) +=! A(n,j) where i in 0:D, j in 0:i+1", lambda a: a.cumsum(1).T),
    "every second": ("O(n,i) +=! A(n,2*j) where i in 0:D/2, j in 0:i+1", lambda a: a[:, :-1:2].cumsum(1)),
    "normalised": (
        "S(n,i) +=! exp(A(n,j)) where i in 0:D, j in 0:i+1\n O(n,i) = S(n,i) / (A(n,i) + i)",
        lambda a: a.exp().cumsum(1) / (a + torch.arange(a.shape[1]))),
    "added to a sum": (
        "O(n,i) = A(n,i) * 2\n O(n,i) += A(n,j) where i in 0:D, j in 0:i+1", lambda a: 2 * a + a.cumsum(1)),
    "repeated": ("O(m,i) +=! A(0,j) where m in 0:3, i in 0:D, j in 0:i+1", lambda a: a[0].cumsum(0).expand(3, -1)),
    "of a prefix sum": (
        "S(n,i) +=! A(n,j) where i in 0:D, j in 0:i+1\n O(n,i) +=! S(n,j) * S(n,j) where i in 0:D, j in i:D",
        lambda a: a.cumsum(1).square().flip(1).cumsum(1).flip(1)),
}  # fmt: skip
SUMS = [name for name, (body, _) in CASES.items() if "max" not in body and "min" not in body and "*=" not in body]


def layer_of(name, dtype="double"):
    return define(f"def f({dtype}(N,D) A) -> (O) {{ {CASES[name][0]} }}")


def values(*shape):
    return (torch.rand(shape, dtype=torch.double) * 0.1 + 0.95).requires_grad_()


@pytest.mark.parametrize("options", EMITTERS, ids=lambda o: o.preset)
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients(case, options):
    layer = layer_of(case)
    for shape in ((2, 257), (130, 67)) if case in ("sum", "suffix", "of columns") else ((130, 67),):
        a = values(*shape)
        out, expected = layer(a, options=options), CASES[case][1](a)
        torch.testing.assert_close(out, expected)
        seed = torch.randn_like(expected)
        found, wanted = (torch.autograd.grad(t, a, seed) for t in (out, expected))
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


def work(program):
    return sum(nest.iterations for nest in lower(program))


@pytest.mark.parametrize("case", CASES)
def test_steps_grow_with_the_elements_and_not_with_the_pairs(case):
    a = values(130, 1100)
    assert work(layer_of(case).plan([a]).program) <= 4 * a.numel()


@pytest.mark.parametrize("case", SUMS)
def test_so_do_those_of_a_sums_gradient(case):
    a = values(130, 1100)
    forward, backward = layer_of(case).plan([a]).derived(frozenset({0}))
    assert work(forward) <= 5 * a.numel()
    assert work(backward.program) <= 8 * a.numel()


def test_blocks_compute_the_same():
    """As threads of a GPU share out a running total."""
    for case in CASES:
        a = values(3, 1100).detach()
        program = layer_of(case).plan([a]).program
        blocks = in_blocks(program)
        assert not any(scan_of(nest) for nest in blocks.nests)
        assert sum(prod(n for _, n in nest.axes) for nest in blocks.nests) <= 300 * a.numel()
        torch.testing.assert_close(TorchEmitter(blocks)([a]), TorchEmitter(program)([a]))


@pytest.mark.parametrize("rows", [1, 3, 4, 9, 16, 37, 130])
@pytest.mark.parametrize(
    "body", ["O(n,i) +=! A(n,j) where i in 0:D, j in 0:i+1", "O(i,n) +=! A(j,n) where i in 0:D, j in i:D"]
)
def test_every_number_of_rows_and_columns(rows, body):
    """Tiles of several rows, and vectors of columns, with what is left over of both."""
    along = 1 if "n,i" in body else 0
    a = torch.randn(rows, 300) if along else torch.randn(300, rows)
    out = define(f"def f(float({'N,D' if along else 'D,N'}) A) -> (O) {{ {body} }}")(a)
    expected = a.double().cumsum(1) if along else a.double().flip(0).cumsum(0).flip(0)
    torch.testing.assert_close(out, expected.float(), rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("schedule", [
    Schedule("n", 1), Schedule("n", 3), Schedule("n", 1, lanes=4), Schedule(unroll=(("n", 3),)), Schedule("i"),
    Schedule("j", 2), Schedule(unroll=(("j", 2), ("i", 4))), Schedule("n", 2, threads=2),
])  # fmt: skip
def test_any_schedule(schedule):
    """Also one that a file made for other axes: the scanned ones run one by one whatever it says."""
    for body, shape, dim in (("O(n,i) +=! A(n,j)", (37, 200), 1), ("O(i,n) +=! A(j,n)", (200, 37), 0)):
        sizes = "N,D" if dim else "D,N"
        a = torch.randn(shape, dtype=torch.double)
        program = define(f"def f(double({sizes}) A) -> (O) {{ {body} where i in 0:D, j in 0:i+1 }}").plan([a]).program
        (found,) = CppEmitter(program, ProgramSchedule((schedule,), False))([a])
        torch.testing.assert_close(found, a.cumsum(dim))


@pytest.mark.parametrize(("places", "values"), [(80, 80), (80, 60), (60, 80)])
def test_any_offset_stays_in_bounds(places, values):
    """More places than values, and prefixes that begin before the first place or after the last."""
    a = torch.rand(values)
    text = f"def f(float(M) A) -> (O) {{ O(i) +=! A(j) where i in 0:{places}, j in 0:M }}"
    program = define(text).plan([a]).program
    nest, kind = program.nests[0], program.tensors["O"]
    nests, expected, tensors = [], [], dict(program.tensors)
    i, j = torch.arange(places)[:, None], torch.arange(values)
    for suffix, offset in product((False, True), (-300, -80, -79, -3, -1, 0, 1, 5, 79, 80, 300)):
        bound = op(">=" if suffix else "<=", var("j"), op("+", var("i"), integer(offset)))
        chosen = op("?:", bound, nest.value, Const(nest.value.dtype, 0.0))
        name = f"O{len(nests)}"
        tensors[name] = replace(kind, name=name)
        nests.append(replace(nest, target=name, value=chosen))
        expected.append(torch.where(j >= i + offset if suffix else j <= i + offset, a.double(), 0.0).sum(1).float())
    assert all(scan_of(n) for n in nests)
    program = replace(program, nests=tuple(nests), tensors=tensors, outputs=tuple(n.target for n in nests))
    compiled = CppEmitter(program, ProgramSchedule((Schedule(),) * len(nests), False))
    for run in (TorchEmitter(program), compiled, TorchEmitter(in_blocks(program))):
        torch.testing.assert_close(run([a]), expected)


def test_a_long_sum_is_as_exact_as_torchs():
    a = torch.rand(1 << 17)
    layer = define("def f(float(N) A) -> (O) { O(i) +=! A(j) where i in 0:N, j in 0:i+1 }")
    exact = a.double().cumsum(0)
    ours, torchs = ((t.double() - exact).abs().max() for t in (layer(a), a.cumsum(0)))
    assert ours <= 1.01 * torchs + 1e-9


@pytest.mark.parametrize("options", EMITTERS, ids=lambda o: o.preset)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "bfloat16"])
def test_types(dtype, options):
    kind = getattr(torch, dtype)
    a = torch.randint(0, 100, (3, 90)).to(kind) if not kind.is_floating_point else torch.rand(3, 90).to(kind) / 16
    found = define(f"def f({dtype}(N,D) A) -> (O) {{ O(n,i) +=! A(n,j) where i in 0:D, j in 0:i+1 }}")(
        a, options=options
    )
    expected = a.cumsum(1, dtype=kind)
    assert found.dtype == kind
    torch.testing.assert_close(
        found, expected, rtol=0 if not kind.is_floating_point else 2e-2, atol=0 if not kind.is_floating_point else 1e-2
    )
    counted = define(f"def f({dtype}(N,D) A) -> (O) {{ O(n,i) max=! A(n,j) where i in 0:D, j in i:D }}")(
        a, options=options
    )
    assert torch.equal(counted, a.flip(1).cummax(1).values.flip(1))


@pytest.mark.parametrize("options", EMITTERS, ids=lambda o: o.preset)
def test_a_count_of_what_fits(options):
    """Integers added up as floats, of those that fit only."""
    layer = define("def f(int32(N) A) -> (O) { O(i) +=! A(j) > 3 ? 1 : 0 where i in 0:N, j in 0:i+1 }")
    a = torch.randint(0, 8, (300,), dtype=torch.int32)
    assert torch.equal(layer(a, options=options), (a > 3).cumsum(0).int())


@pytest.mark.parametrize("options", EMITTERS, ids=lambda o: o.preset)
def test_nan_stays_in_an_extreme_once_met(options):
    a = torch.randn(2, 100)
    a[0, 40], a[1, 99] = float("nan"), float("nan")
    for sign, expected in (("max", a.cummax(1).values), ("min", a.cummin(1).values)):
        found = define(f"def f(float(N,D) A) -> (O) {{ O(n,i) {sign}=! A(n,j) where i in 0:D, j in 0:i+1 }}")(
            a, options=options
        )
        assert torch.equal(found.isnan(), expected.isnan())
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=0, atol=0)


def test_a_window_is_no_prefix():
    """Bounds on both sides: each place adds its own few."""
    a = torch.randn(2, 200)
    layer = define("def f(float(N,D) A) -> (O) { O(n,i) +=! A(n,j) where i in 0:D-3, j in i:i+4 }")
    program = layer.plan([a]).program
    assert not any(scan_of(nest) for nest in program.nests)
    torch.testing.assert_close(layer(a), a.unfold(1, 4, 1).sum(2), rtol=1e-5, atol=1e-5)


def test_second_derivatives():
    layer = layer_of("of a prefix sum")
    a = values(2, 80)

    def penalty(f):
        (gradient,) = torch.autograd.grad(f(a).sum(), a, create_graph=True)
        return torch.autograd.grad(gradient.square().sum(), a)[0]

    torch.testing.assert_close(penalty(layer), penalty(CASES["of a prefix sum"][1]))


@pytest.mark.parametrize("place", [0, -1])
def test_the_check_of_first_calls_sees_a_wrong_total(place):
    a = torch.rand(1 << 17)
    program = define("def f(float(N) A) -> (O) { O(i) +=! A(j) where i in 0:N, j in 0:i+1 }").plan([a]).program
    found = TorchEmitter(program)([a])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_first_call(program, False, [a], (), found) is None
    found[0][place] *= 1.01
    with pytest.warns(
        ComprehensionWarning, match="the compiled kernel of 'f' does not compute what torch's operators do"
    ):
        assert isinstance(check_first_call(program, False, [a], (), found), TorchEmitter)
