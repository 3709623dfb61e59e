# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Generated code against the torch emitter where they could disagree: NaN, integers, tails, schedules, threads."""

import itertools
from importlib import util

import pytest
import torch

from tracepack.ops.comprehension import ComprehensionWarning, Options, define
from tracepack.ops.comprehension.cpp.emitter import CppEmitter
from tracepack.ops.comprehension.cpp.library import compile_library
from tracepack.ops.comprehension.cpp.tile import lanes_of
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.expr.dtypes import stored
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.loops.description import ProgramSchedule, Schedule
from tracepack.ops.comprehension.loops.fusion import groups
from tracepack.ops.comprehension.program.specialise import specialise
from tracepack.ops.comprehension.run import select as runner
from tracepack.ops.comprehension.torch.emitter import TorchEmitter
from tracepack.ops.kernels import toolchain
from tracepack.ops.kernels.cpu import target

EMITTERS = ["torch", "naive", "conv"]


def program(text: str, *shapes: tuple[int, ...]):
    return specialise(check(parse(text)[0]), list(shapes))


@pytest.mark.parametrize("options", EMITTERS)
def test_nan_wins_in_max_and_min(options):
    layer = define(
        "def f(float(N,K) A) -> (X, Y, Z) { X(n) max=! A(n,k)\n Y(n) min=! A(n,k)\n Z(n,k) = max(A(n,k), 0.5) }"
    )
    a = torch.randn(3, 41)
    a[0, 0] = a[1, 40] = a[2, 17] = float("nan")
    a[2, 3] = float("inf")
    x, y, z = layer(a, options=options)
    assert x.isnan().all()
    assert y.isnan().all()
    assert torch.equal(z.isnan(), a.isnan())


@pytest.mark.parametrize("options", EMITTERS)
def test_fmax_ignores_nan(options):
    layer = define("def f(float(N) A, float(N) B) -> (X, Y) { X(i) = fmax(A(i), B(i))\n Y(i) = fmin(A(i), B(i)) }")
    nan = float("nan")
    a, b = torch.tensor([nan, 1.0, nan, 2.0] * 5), torch.tensor([1.0, nan, nan, 3.0] * 5)
    x, y = layer(a, b, options=options)
    torch.testing.assert_close(x, torch.fmax(a, b), equal_nan=True, rtol=0, atol=0)
    torch.testing.assert_close(y, torch.fmin(a, b), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("options", EMITTERS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_integers_floor_and_wrap(dtype, options):
    kind = getattr(torch, dtype)
    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max
    some = [v for v in (low, low + 1, -7, -3, -1, 0, 1, 2, 3, 7, high - 1, high) if v >= low]
    pairs = torch.tensor(list(itertools.product(some, some)), dtype=torch.int64).to(kind)
    a, b = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()
    layer = define(
        f"def f({dtype}(N) A, {dtype}(N) B) -> (Q, R, S) {{ Q(i) = A(i) / B(i)\n R(i) = A(i) % B(i)\n S(i) = A(i) * B(i) - A(i) }}"
    )
    q, r, s = layer(a, b, options=options)
    x, y = a.tolist(), b.tolist()

    def wrap(v: int) -> int:
        return (v - low) % (high - low + 1) + low

    assert q.tolist() == [wrap(m // n) if n else 0 for m, n in zip(x, y, strict=True)]
    assert r.tolist() == [m % n if n else 0 for m, n in zip(x, y, strict=True)]
    assert s.tolist() == [wrap(m * n - m) for m, n in zip(x, y, strict=True)]


@pytest.mark.parametrize("options", EMITTERS)
def test_floats_modulo_and_special_values(options):
    layer = define(
        "def f(float(N) A, float s) -> (M, E, D) { M(i) = A(i) % 0.75\n E(i) = exp(A(i))\n D(i) = A(i) / s }"
    )
    inf = float("inf")
    a = torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0, inf, -inf, 88.0, 89.0, -87.0, -100.0, -104.0, float("nan")] * 3)
    for divisor in (3.0, 0.0, inf, 1e-39):
        m, e, d = layer(a, divisor, options=options)
        torch.testing.assert_close(m, a % 0.75, equal_nan=True)
        torch.testing.assert_close(e, a.double().exp().float(), rtol=5e-7, atol=1e-44, equal_nan=True)
        torch.testing.assert_close(d, a / torch.tensor(divisor), rtol=3e-7, atol=0, equal_nan=True)


def test_denormals_survive_the_library():
    tiny = torch.full((4,), 1e-40)
    define("def f(float(N) A) -> (B) { B(i) = A(i) + 1.0 }")(tiny)
    assert (tiny * 0.5 > 0).all()


SCHEDULED = [
    ("def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", [(13, 21), (21, 45)]),
    ("def f(float(N,C,H,W) I, float(M,C,R,S) F) -> (O) { O(n,m,h,w) +=! I(n,c,2*h+r,w+s) * F(m,c,r,s) }",
     [(2, 3, 9, 25), (7, 3, 3, 2)]),
    ("def f(float(N,K) X, float(M,K) W) -> (O) { O(n,m) +=! X(n,k) * W(m,k) }", [(11, 37), (29, 37)]),
    ("def f(double(N,K) X, double(K,M) W) -> (O) { O(n,m) max=! X(n,k) - W(k,m) }", [(7, 33), (33, 19)]),
    ("def f(float(N,K) X, float(K,M) W) -> (O) { O(n,m) min=! n > k && X(n,k) > 0.0 ? W(k,m) : X(n,k) where m in 0:M }",
     [(7, 33), (33, 19)]),
    ("def f(float(N,K) A) -> (O) { t(n) max=! A(n,k)\n O(n,k) = A(n,k) - t(n) }", [(9, 83)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shapes"), SCHEDULED)
def test_every_kind_of_schedule(text, shapes):
    """Each vector axis with tiles that leave rests on every side, packed and not, with whole and half vectors."""
    p = program(text, *shapes)
    inputs = [torch.randn(s, dtype=stored(p.tensors[n].dtype)) for n, s in zip(p.inputs, shapes, strict=True)]
    expected = TorchEmitter(p)(inputs)
    nests = [n for g in groups(p, False) for n in g.nests]
    tried = 0
    for axis in [None, *nests[0].extents]:
        others = [a for a, _ in nests[0].left if a != axis]
        tile = tuple((a, 4) for a in others[-2:])
        half = lanes_of(nests[0], target()) // 2
        for vectors, unroll, pack, lanes in ((1, (), False, 0), (3, tile, True, 0), (2, tile, True, half)):
            order = tuple(reversed([a for a, _ in nests[0].left]))
            schedule = Schedule(axis, vectors, unroll, order, pack, lanes=lanes)
            rest = tuple(Schedule(n.left[-1][0], 2) for n in nests[1:])
            found = CppEmitter(p, ProgramSchedule((schedule, *rest), False))(inputs)
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=2e-5)
            tried += 1
    assert tried >= 6


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_gathered_rows_are_asked_for_within_the_index(rows):
    """The prefetch runs past the last row; a wrong index is still found, wherever it is."""
    layer = define("def f(float(V,D) T, int64(N,K) I) -> (O) { O(i,j) +=! T(I(i,k),j) }")
    table, index = torch.randn(50, 24), torch.randint(0, 50, (rows, 5))
    torch.testing.assert_close(layer(table, index, options="conv"), table[index].sum(1))
    for wrong in (50, -1, 1 << 40):
        index[-1, -1] = wrong
        with pytest.raises(errors.IndexRangeError):
            layer(table, index, options="conv")


@pytest.mark.parametrize("options", EMITTERS)
@pytest.mark.parametrize("text", [
    "def f(float(N,K) A, float(N,K) B) -> (O) { O(n) +=! A(n,k) > 0.0 ? A(n,k) * B(n,k) : 0.0 }",
    "def f(float(N,K) A, float(N,K) B) -> (O) { O(k) +=! A(n,k) > 0.0 ? A(n,k) * B(n,k) : 0.0 }",
    "def f(float(N,K) A, float(N,K) B) -> (O) { O(k) *=! A(n,k) > 0.0 ? A(n,k) * B(n,k) : 1.0 }",
    "def f(double(N,K) A, double(N,K) B) -> (O) { O(k) +=! A(n,k) > 0.0 && n > 2 ? A(n,k) * B(n,k) : 0.0 }",
])  # fmt: skip
def test_what_a_condition_leaves_out_does_not_count(text, options):
    """Infinite and undefined values behind a condition leave no trace in the sum."""
    layer, kind = define(text), torch.float64 if "double" in text else torch.float32
    a, b = torch.randn(9, 37, dtype=kind), torch.randn(9, 37, dtype=kind)
    b = torch.where(a > 0, b, torch.where(b > 0, float("inf"), float("nan")))
    used = (a > 0) & ((torch.arange(9) > 2)[:, None] if "n > 2" in text else True)
    values = torch.where(used, a * b, 1.0 if "*=!" in text else 0.0)
    dim = 0 if "O(k)" in text else 1
    expected = values.prod(dim) if "*=!" in text else values.sum(dim)
    torch.testing.assert_close(layer(a, b, options=options), expected, rtol=1e-5, atol=1e-6)


def test_sums_keep_their_order():
    """A reassociated sum spills registers, and differs from one size of tile to another."""
    layer = define("def f(float(N,K) A) -> (O) { O(n) +=! A(n,k) }")
    a = torch.tensor([[1e8, 1.0, -1e8, 1.0, 1e8, 1.0, -1e8, 1.0]])
    total = torch.zeros(())
    for value in a[0]:
        total = total + value
    assert layer(a, options="naive").item() == total.item()


def test_threads_do_not_change_results():
    layer = define("def f(float(N,K) A) -> (O) { s(n) +=! A(n,k)\n O(n,k) = A(n,k) / s(n) }")
    a = torch.rand(300, 200) + 1
    before = torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(layer(a))
    torch.set_num_threads(before)
    assert torch.equal(*found)
    torch.testing.assert_close(found[0], a / a.sum(1, True))


def test_the_torch_emitter_does_not_materialise_the_space():
    """2^33 iterations, as a contraction, and 2^27 that no contraction covers, in windows."""
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
    a, b = torch.randn(2048, 2048), torch.randn(2048, 1)
    torch.testing.assert_close(define(text)(a, b, options="torch"), a @ b, rtol=1e-3, atol=1e-3)
    text = "def f(float(M,K) A, float(N,K) B) -> (C) { C(m,n) max=! A(m,k) - B(n,k) }"
    a, b = torch.randn(512, 64), torch.randn(4096, 64)
    found = define(text)(a, b, options="torch")
    assert torch.equal(found[:, :3], (a[:, None] - b[None, :3]).amax(2))


def test_generated_code_is_tagged_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    p = program("def f(float(N) A) -> (B) { B(i) = A(i) + 17.0 }", (5,))
    schedule = ProgramSchedule((Schedule(),))
    first = CppEmitter(p, schedule)
    assert first.path.parent == tmp_path / "comprehension"
    stamp = first.path.stat().st_mtime_ns
    assert CppEmitter(p, schedule).path.stat().st_mtime_ns == stamp
    assert "-" in target().name


def test_a_compiler_that_refuses(monkeypatch):
    with pytest.raises(
        errors.CompilerError, match=r"the C\+\+ compiler .* refused generated code: kernel.cpp:1:1: error: .*this"
    ):
        compile_library("this is no C++")
    toolchain.find_toolchain.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    assert not toolchain.has_toolchain()
    layer = define("def f(float(N) A) -> (B) { B(i) = A(i) * 3 }")
    monkeypatch.setattr(runner, "_HERE", runner.Artifacts(trusted=True))
    with pytest.warns(
        ComprehensionWarning, match=r"a comprehension runs on torch's operators: no C\+\+ compiler was fo"
    ):
        assert layer(torch.ones(2)).tolist() == [3.0, 3.0]
    assert layer(torch.ones(3)).tolist() == [3.0, 3.0, 3.0]  # said once
    with pytest.raises(errors.CompilerError, match="no C\\+\\+ compiler was found"):
        compile_library("int f;")
    monkeypatch.undo()
    toolchain.find_toolchain.cache_clear()


@pytest.mark.skipif(util.find_spec("ziglang") is None, reason="the package ziglang is not installed")
def test_zig_compiles_where_there_is_no_other(monkeypatch):
    """A product on torch's threads, a reduction across the lanes of a vector, and vectors of the math library."""
    which = toolchain.shutil.which
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: which(name) if str(name).endswith("zig") else None)
    toolchain.find_toolchain.cache_clear()
    try:
        assert toolchain.compiler_version().startswith("zig ")
        a, b = torch.randn(130, 65), torch.randn(65, 97)
        found = define("def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")(a, b, options="conv")
        torch.testing.assert_close(found, a @ b, rtol=1e-4, atol=1e-4)
        assert torch.equal(define("def f(float(M,K) A) -> (C) { C(m) max=! A(m,k) }")(a, options="conv"), a.amax(1))
        found = define("def f(float(M,K) A) -> (C) { C(m,k) = sin(A(m,k)) + log(abs(A(m,k))) }")(a, options="conv")
        torch.testing.assert_close(found, a.sin() + a.abs().log(), rtol=1e-5, atol=1e-5)
        image, kernel = torch.randn(2, 8, 30, 28), torch.randn(16, 8, 3, 3)
        text = "def f(float(N,C,H,W) I, float(M,C,R,S) F) -> (O) { O(n,m,h,w) +=! I(n,c,h+r,w+s) * F(m,c,r,s) }"
        p = program(text, image.shape, kernel.shape)
        for threads in (0, 2):
            schedule = ProgramSchedule((Schedule("w", winograd=True, threads=threads),), False)
            (found,) = CppEmitter(p, schedule)([image, kernel])
            torch.testing.assert_close(found, torch.conv2d(image, kernel), rtol=1e-3, atol=1e-3)
    finally:
        monkeypatch.undo()
        toolchain.find_toolchain.cache_clear()


def test_empty_tensors_are_an_empty_range():
    with pytest.raises(errors.EmptyRangeError):
        define("def f(float(N) A) -> (B) { B(i) = A(i) }")(torch.zeros(0), options=Options("torch"))


@pytest.mark.parametrize("options", EMITTERS)
def test_rows_added_up_by_one_index(options):
    layer = define("def f(float(V,D) T, int64(N) I) -> (O, P) { O(i,j) +=! T(I(i),j)\n P(j) +=! T(I(i),j) }")
    table, index = torch.randn(9, 20), torch.randint(0, 9, (6,))
    found, total = layer(table, index, options=options)
    torch.testing.assert_close(found, table[index])
    torch.testing.assert_close(total, table[index].sum(0))


@pytest.mark.parametrize("options", EMITTERS)
@pytest.mark.parametrize("sizes", [(5, 5), (7, 3), (101, 5), (64, 4), (37, 5)])
def test_guarded_windows_along_columns(sizes, options):
    """GCC 12 drops iterations of such a loop, and reads outside of the tensor, when it converts its conditions."""
    text = """def f(float(H,W) X, float(3) K) -> (O) {
      O(h,w) +=! h+i-1 >= 0 && h+i-1 < H ? X(h+i-1,w) * K(i) : 0.0 where h in 0:H, w in 0:W, i in 0:3
      O(h,w) = fmax(O(h,w), 0.0) }"""
    x, k = torch.randn(sizes, requires_grad=True), torch.randn(3, requires_grad=True)
    expected = torch.conv2d(x[None, None], k.view(1, 1, 3, 1), padding=(1, 0))[0, 0].relu()
    layer, seed = define(text), torch.randn(sizes)
    torch.testing.assert_close(layer(x.detach(), k.detach(), options=options), expected, rtol=1e-4, atol=1e-5)
    found = layer(x, k, options=options)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        torch.autograd.grad(found, [x, k], seed), torch.autograd.grad(expected, [x, k], seed), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("options", EMITTERS)
def test_integer_sums_of_what_conditions_choose(options):
    text = """def f(int32(C,H) X, int32(2) K) -> (O) {
      O(h) +=! (h+i-1 >= 0 ? X(c,h+i-1) : 0) * K(i) where c in 0:C, h in 0:H, i in 0:2 }"""
    x, k = torch.arange(12, dtype=torch.int32).reshape(3, 4), torch.tensor([2, 3], dtype=torch.int32)
    padded = torch.nn.functional.pad(x, (1, 0))
    assert torch.equal(define(text)(x, k, options=options), (2 * padded[:, :4] + 3 * padded[:, 1:]).sum(0).int())
