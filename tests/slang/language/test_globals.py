"""What lies outside of a function: `static` variables are an element's own; what elements would share is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch

import tracepack as tp
from tracepack.ops import slang
from tracepack.ops.graph.errors import DeviceError


def has_vulkan() -> bool:
    try:
        slang.create_device("vulkan")
    except DeviceError:
        return False
    return True


REFUSED = [
    ("uniform float k; float f(float x) { return k * x; }", "float f(float x) uses the global parameter 'k', for"),
    ("float k = 3; float f(float x) { return k * x; }", "'k', for which a call has no value. Make it a"),
    ("uniform float k; uniform int n; float f(float x) { return k * x + n; }", "the global parameter 'k' and 'n',"),
    ("namespace n { uniform float u; } float f(float x) { return n::u * x; }", "global parameter 'u'"),
    ("cbuffer C { float k; float3 w; } float f(float x) { return k * x + w.y; }", "global parameter 'C'"),
    ("struct P { float k; }; ConstantBuffer<P> c; float f(float x) { return c.k * x; }", "global parameter 'c'"),
    ("struct P { float k; }; ParameterBlock<P> c; float f(float x) { return c.k * x; }", "global parameter 'c'"),
    ("RWStructuredBuffer<float> b; float f(float x) { return b[0] * x; }", "global parameter 'b'"),
    ("ByteAddressBuffer b; float f(float x) { return b.Load<float>(0) * x; }", "global parameter 'b'"),
    ("Texture2D<float> t; float f(float x) { return t[uint2(0, 0)] * x; }", "global parameter 't'"),
    ("[vk::constant_id(0)] const int n; float f(float x) { return n * x; }", "global parameter 'n'"),
    ("groupshared float q[4]; float f(float x) { q[0] += x; return q[0]; }", "uses 'q', which is groupshared, or a"),
    ("groupshared float q; float f(float x) { q = x; return q; }", "uses 'q', which is groupshared"),
    ("float f(float x) { return WaveActiveSum(x); }", "<text>:1: 'WaveActiveSum' has no meaning in a"),
    ("float f(float x) { return x + WaveGetLaneIndex(); }", "'WaveGetLaneIndex' has no meaning"),
    ("float f(float x) { GroupMemoryBarrierWithGroupSync(); return x; }", "'GroupMemoryBarrierWithGroupSync' has no"),
    ("float f(float x) { return ddx(x); }", "'ddx' has no meaning"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "text"), REFUSED)
def test_what_elements_would_share_is_refused(source: str, text: str) -> None:
    module = slang.load(source)
    with pytest.raises(slang.SlangCompileError) as caught:
        module.f(torch.ones(3))
    assert text in str(caught.value)


@pytest.mark.parametrize(("source", "text"), [REFUSED[0], REFUSED[7], REFUSED[11], REFUSED[13]])
def test_on_vulkan_too(source: str, text: str) -> None:
    """There a global parameter is zero, and what threads share depends on the size of their groups."""
    if not has_vulkan():
        pytest.skip("no Vulkan driver")
    module = slang.load(source, device="vulkan")
    with pytest.raises(slang.SlangCompileError) as caught:
        module.f(torch.ones(3))
    assert text in str(caught.value)


def test_a_global_parameter_in_an_import(tmp_path: Path) -> None:
    (tmp_path / "part.slang").write_text("uniform float k; float g(float x) { return k * x; }\n")
    (tmp_path / "whole.slang").write_text(
        "import part;\nfloat f(float x) { return g(x); }\nfloat h(float x) { return 2 * x; }\n"
    )
    module = slang.load(tmp_path / "whole.slang")
    assert module.h(3.0) == 6.0  # the module's other functions work
    with pytest.raises(slang.SlangCompileError, match=r"float f\(float x\) uses the global parameter 'k'"):
        module.f(1.0)


def test_a_global_parameter_in_a_gradient_and_in_a_pipeline() -> None:
    module = slang.load("uniform float k; [Differentiable] float f(float x) { return k * x; }")
    with pytest.raises(slang.SlangCompileError, match="global parameter 'k'"):
        module.f(torch.ones(3, requires_grad=True))
    op = tp.script(module.f)
    with pytest.raises(slang.SlangCompileError, match="global parameter 'k'"):
        tp.trace(lambda x: op(x), torch.ones(3))


STATIC = """
static float total = 0;
static float factor = 3;
static const float powers[3] = { 1, 10, 100 };
static float table[4] = { 1, 2, 3, 4 };
struct State { float a; int b[3]; };
static State state;
struct Counter { static float n = 5; float x; };
float running(float x) { total += x; return total; }
float read_only(float x) { return factor * x * powers[int(x)]; }
float in_table(float x) { table[int(x)] += x; return table[0] + table[1] + table[2] + table[3]; }
float in_struct(float x) { state.a += x; state.b[1] += 2; return state.a + state.b[1]; }
float member(float x) { Counter.n += x; return Counter.n; }
float local(float x) { static float n = 1; n += x; return n; }
void bump(inout float x) { total += 1; x += total; }
float by_call(float x) { bump(x); bump(x); return x; }
[Differentiable] float scaled(float x) { return factor * x * x; }
"""
EXPECTED = {
    "running": lambda x: x,
    "read_only": lambda x: 3 * x * 10**x,
    "in_table": lambda x: 10 + x,
    "in_struct": lambda x: x + 2,
    "member": lambda x: 5 + x,
    "local": lambda x: 1 + x,
    "by_call": lambda x: x + 3,
    "scaled": lambda x: 3 * x * x,
}


@pytest.fixture(scope="module")
def static() -> slang.SlangModule:
    return slang.load(STATIC)


@pytest.mark.parametrize("name", EXPECTED)
def test_static_variables_are_an_elements_own(static: slang.SlangModule, name: str) -> None:
    x = torch.tensor([0.0, 1.0, 2.0, 1.0, 2.0])
    for _ in range(2):  # nor do they last from call to call
        torch.testing.assert_close(static[name](x), EXPECTED[name](x))


@pytest.mark.parametrize("name", ["running", "in_table"])
def test_as_on_vulkan(static: slang.SlangModule, name: str) -> None:
    if not has_vulkan():
        pytest.skip("no Vulkan driver")
    x = torch.tensor([0.0, 1.0, 2.0, 1.0])
    torch.testing.assert_close(static[name](x), slang.load(STATIC, device="vulkan")[name](x))


def test_on_any_number_of_threads(static: slang.SlangModule) -> None:
    x = torch.rand(100_000)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            assert torch.equal(static.running(x), x)
    finally:
        torch.set_num_threads(before)


def test_broadcast_over_rows(static: slang.SlangModule) -> None:
    module = slang.load("static float t = 0; float f(float x, float y) { t += x; return t * y; }")
    x, y = torch.rand(3, 1, 5), torch.rand(4, 1)
    torch.testing.assert_close(module.f(x, y), x * y)


def test_a_static_variable_in_a_gradient(static: slang.SlangModule) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    static.scaled(x).sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach())


def test_static_variables_in_a_packed_file(static: slang.SlangModule) -> None:
    op, file, x = tp.script(static.running), io.BytesIO(), torch.ones(5)
    tp.trace(lambda x: op(x), x).save(file)
    assert tp.load(file.getvalue(), trust=True)(x).tolist() == [1.0] * 5


def test_printing_is_refused() -> None:
    module = slang.load('float f(float x) { printf("%f / %f", x, x); return x; }')
    with pytest.raises(
        slang.SlangCompileError, match=r"float f\(float x\) prints, and a kernel cannot\. Return the value"
    ):
        module.f(1.0)


RESULTS = [
    ("Tuple<float, float> f(float a) { return makeTuple(a, a); }", "'f' returns Tuple<float, float>, for"),
    ("Tuple<float, float>[2] f(float a) { return {}; }", "'f' returns Tuple<float, float>[2], for which"),
    ("Tuple<T, T> f<T>(T x) { return makeTuple(x, x); }", "'f' returns Tuple<float, float>, for which"),
    ("Optional<float> f(float a) { return a; }", "'f' returns Optional<float>, for which"),
    ("DifferentialPair<float> f(float p) { return diffPair(p); }", "'f' returns DifferentialPair<float>, for which"),
    ("String f(float p) { return \"a\"; }", "'f' returns String, for which"),
    ("enum E { A, B }; E f(float a) { return E.A; }", "'f' returns E, for which"),
    ("struct Z {}; Z f(float a) { return {}; }", "'f' returns Z, for which"),
    ("struct S { Tuple<float, float> t; float x; }; S f(float s) { return {}; }", "'f' returns S, for"),
    ("interface I {}; struct A : I { float a; }; I f(float a) { A x = { a }; return x; }", "'f' returns I, for"),
    ("import \"slangpy\"; Tensor<float, 1> f(Tensor<float, 1> t) { return t; }", "'f' returns Tensor<float, 1>, for"),
    ("void f(float a, out Tuple<float, float> t) { t = makeTuple(a, a); }", "'t' has the type Tuple<float, float>"),
    ("float f(Optional<float> a) { return 1; }", "'a' has the type Optional<float>, which takes no torch tensor"),
    ("float f(String a) { return 1; }", "parameter 'a' has the type String, which takes no torch tensor"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "text"), RESULTS)
def test_types_without_a_tensor_are_refused_by_name(source: str, text: str) -> None:
    module = slang.load(source)
    with pytest.raises(slang.SlangArgumentError) as caught:
        module.f(torch.ones(3))
    assert text in str(caught.value)
    with pytest.raises(slang.SlangArgumentError):
        tp.script(module.f)


def test_structs_with_hidden_fields_are_refused() -> None:
    inherits = slang.load("struct B { float z; }; struct S : B { float a; }; float f(S s) { return s.z; }")
    with pytest.raises(slang.SlangArgumentError, match="parameter 's' has the type S, which takes no torch tensor"):
        inherits.f({"a": 1.0, "z": 2.0})
    bits = slang.load("struct S { int a : 4; int b : 4; }; int f(S s) { return s.a; }")
    with pytest.raises(slang.SlangArgumentError, match="parameter 's' has the type S, which takes no torch tensor"):
        bits.f({"a": 1, "b": 2})
