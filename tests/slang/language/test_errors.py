"""Each mistake gives its own error, whose text says what, where, got, expected and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tracepack import ops
from tracepack.ops import slang
from tracepack.ops.graph.errors import DeviceError, MissingExtraError, TracepackError
from tracepack.ops.kernels import toolchain
from tracepack.ops.script import script
from tracepack.ops.slang.compile import native_library
from tracepack.ops.slang.compile import slangc as compiler


def test_compile_error_has_message_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.slang"
    path.write_text("float f(float x) {\n    return y;\n}\n")
    with pytest.raises(slang.SlangCompileError, match=r"undefined identifier .y") as caught:
        slang.load(path)
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert str(caught.value).startswith(f"{path}:2: Slang does not compile: undefined identifier 'y'")
    assert "return y" in caught.value.log


def test_compile_error_in_text_and_in_an_import(tmp_path: Path) -> None:
    with pytest.raises(slang.SlangCompileError, match="<text>:1: Slang does not compile"):
        slang.load("float f( { }")
    (tmp_path / "part.slang").write_text("\nfloat g() { return nothing; }\n")
    (tmp_path / "whole.slang").write_text("import part;\nfloat f() { return g(); }\n")
    with pytest.raises(slang.SlangCompileError) as caught:
        slang.load(tmp_path / "whole.slang")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "part.slang"), 2)


def test_functions_named_by_a_word_of_slangs() -> None:
    """Asked for one of them, the compiler crashed, and with it the load of the whole module."""
    source = "float dyn(float x) { return 2 * x; } float f(float x) { return dyn(x); }"
    module = slang.load(source)
    assert (module.dyn(3.0), module.f(4.0)) == (6.0, 8.0)
    with pytest.raises(
        slang.SlangCompileError, match="'sample', which is a word of Slang's own.* Give it another name"
    ):
        slang.load("float sample(float x) { return x; } int sample(int x) { return x; }")


def test_missing_file() -> None:
    with pytest.raises(slang.SlangError, match=r"no Slang file at nowhere\.slang"):
        slang.load("nowhere.slang")


def test_unknown_function_lists_the_known(polynomial: slang.SlangModule) -> None:
    with pytest.raises(slang.UnknownFunctionError, match=r"no function 'cubic' .*; expected one of \['polynomial'\]"):
        _ = polynomial.cubic
    assert not hasattr(polynomial, "cubic")


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((1.0,), {}, "parameter 'b' is missing"),
        ((1.0, 2.0, 3.0, 4.0, 5.0), {}, "too many arguments; got 5; expected at most 4"),
        ((), {"a": 1.0, "b": 1.0, "c": 1.0, "y": 1.0}, "no parameter 'y'; expected one of ['a', 'b', 'c', 'x']"),
        ((1.0, 2.0, 3.0, 4.0), {"a": 1.0}, "parameter 'a' was given twice"),
        ((1.0, 2.0, 3.0, object()), {}, "parameter 'x' cannot take this; got object; expected a tensor"),
    ],
)
def test_wrong_arguments_name_the_parameter_and_the_signature(
    polynomial: slang.SlangModule, args: tuple[object, ...], kwargs: dict[str, object], text: str
) -> None:
    with pytest.raises(slang.SlangArgumentError) as caught:
        polynomial.polynomial(*args, **kwargs)
    assert text in str(caught.value)
    assert "float polynomial(float a, float b, float c, float x)" in str(caught.value)


def test_wrong_dtype_says_which_is_wanted(polynomial: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangDtypeError) as caught:
        polynomial.polynomial(1.0, 2.0, 3.0, torch.ones(3, dtype=torch.float64))
    assert str(caught.value) == (
        "[Differentiable] float polynomial(float a, float b, float c, float x): "
        "the tensor for 'x' has the wrong dtype; got torch.float64 (double); expected torch.float32 (float). "
        "Convert it with .to(torch.float32)."
    )


def test_wrong_sizes(polynomial: slang.SlangModule, types: slang.SlangModule, tensors: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangShapeError, match=r"do not broadcast; got a \(3,\), x \(4,\)"):
        polynomial.polynomial(torch.ones(3), 1.0, 1.0, torch.ones(4))
    with pytest.raises(slang.SlangShapeError, match=r"'v' has the wrong sizes; got \(5, 2\); expected \(\.\.\., 3\)"):
        types.scaled(torch.ones(5, 2), 1.0)
    with pytest.raises(slang.SlangShapeError, match=r"'t' has the wrong sizes; got \(2,\); expected \(\.\.\., n, n\)"):
        tensors.total(torch.ones(2))


def test_struct_without_a_field(types: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangArgumentError, match=r"'p' has no field 'y'; got a dict of .*'x'"):
        types.combine({"x": torch.ones(2)})


def test_a_number_that_is_not_whole(types: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangDtypeError, match=r"the number for 'b' is not whole; got 1\.5; expected int"):
        types.add_i32(torch.ones(2, dtype=torch.int32), 1.5)


def test_a_number_that_does_not_fit(types: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangDtypeError, match="'b' does not fit; got 300; expected int8_t, -128 to 127"):
        types.add_i8(torch.ones(2, dtype=torch.int8), 300)
    with pytest.raises(slang.SlangDtypeError, match="'b' does not fit; got -1; expected uint, 0 to 4294967295"):
        types.add_u32(torch.ones(2, dtype=torch.uint32), -1)


def test_a_tensor_to_fill_of_another_dtype_or_size(types: slang.SlangModule, polynomial: slang.SlangModule) -> None:
    x = torch.ones(4)
    with pytest.raises(
        slang.SlangDtypeError, match=r"'s' has the wrong dtype; got torch\.int32; expected torch\.float32"
    ):
        types.sincos_of(x, torch.empty(4, dtype=torch.int32))
    with pytest.raises(slang.SlangShapeError, match=r"'s' has the wrong sizes; got \(1,\); expected \(4,\)"):
        types.sincos_of(x, torch.empty(1))
    with pytest.raises(slang.SlangDtypeError, match="'_result' has the wrong dtype"):
        polynomial.polynomial(1.0, 2.0, 3.0, x, _result=torch.empty(4, dtype=torch.float64))


def test_calls_that_would_write_the_same_element(tensors: slang.SlangModule) -> None:
    index, x, y = torch.arange(3, dtype=torch.int32), torch.randn(4, 1, 5), torch.zeros(1, 1, 3)
    with pytest.raises(slang.SlangShapeError, match=r"would write the same element of 'output'; got \(1, 1\)"):
        tensors.linear_layer(index, torch.randn(3, 5), torch.randn(3), x, y)


def test_tensors_on_several_devices(polynomial: slang.SlangModule) -> None:
    operation = polynomial.polynomial.operation(torch.ones(2), 1.0, 1.0, torch.ones(2))
    text = "'x' is on another device than the others; got meta; expected cpu"
    with pytest.raises(slang.SlangArgumentError, match=text):
        operation.run([torch.ones(2), 1.0, 1.0, torch.ones(2, device="meta")])


def test_no_overload_and_no_generic_fits(types: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangArgumentError, match="no overload of 'twice' takes these arguments"):
        types.twice(torch.ones(2, dtype=torch.float64))
    with pytest.raises(slang.SlangArgumentError, match="generic function 'product' does not take these types"):
        types.product(torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.bool))


def test_a_generic_function_is_scripted_with_its_types_only(types: slang.SlangModule) -> None:
    text = (
        r"the generic function 'product' has no kernel before its types are known. Name them, .*\[\"product<float>\"\]"
    )
    with pytest.raises(slang.SlangArgumentError, match=text):
        script(types.product)
    x = torch.rand(3)
    assert torch.equal(script(types["product<float>"])(x, x), x * x)


def test_gradient_of_a_function_without_differentiable(types: slang.SlangModule) -> None:
    x = torch.ones(3, requires_grad=True)
    y = types.plain(x)
    with pytest.raises(
        slang.NotDifferentiableError, match=r"'plain', which is not differentiable.*Write \[Differentiable\]"
    ):
        y.sum().backward()
    with pytest.raises(slang.NotDifferentiableError):
        types.plain.bwds(x, _result=y)


def test_bwds_without_an_incoming_gradient(polynomial: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangArgumentError, match="'_result' has no gradient to start from"):
        polynomial.polynomial.bwds(1.0, 2.0, 3.0, torch.ones(3), _result=torch.ones(3))


def test_bad_devices(polynomial: slang.SlangModule) -> None:
    with pytest.raises(DeviceError, match="no such device for Slang; got 'quantum'"):
        slang.load("float f(float x) { return x; }", device="quantum")
    with pytest.raises(DeviceError, match="unknown device 'tpu' for Slang"):
        slang.create_device("tpu")


@pytest.mark.parametrize("named", ["vulkan:1", torch.device("vulkan", 7), "cpu:1"])
def test_the_number_of_a_device_that_slang_does_not_choose(named: Any) -> None:
    """It ran on the first device, whatever its number was."""
    kind, _, number = str(named).partition(":")
    text = f"no such device for Slang; got '{kind}:{number}'; expected '{kind}'"
    with pytest.raises(DeviceError, match=text):
        slang.load("float f(float x) { return x; }", device=named)
    with pytest.raises(DeviceError, match=text):
        slang.create_device(kind, index=int(number))


def test_the_number_of_a_card_that_the_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    slang.load("float f(float x) { return x; }", device="cuda:1")
    with pytest.raises(DeviceError, match="got 'cuda:2'; expected one of cuda:0, cuda:1"):
        slang.load("float f(float x) { return x; }", device="cuda:2")


def test_no_slangpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tracepack\[slang\]'"):
        compiler.package_directory()


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    monkeypatch.setattr(toolchain.util, "find_spec", lambda name: None)
    text = r"Install g\+\+ or clang\+\+, .*pip install ziglang\), or set CXX\. With a Vulkan driver, .*device='vulkan'"
    monkeypatch.setattr(native_library, "find_toolchain", toolchain.find_toolchain.__wrapped__)
    with pytest.raises(slang.CompilerNotFoundError, match=text):
        native_library.slang_toolchain()
    with pytest.raises(slang.CompilerNotFoundError, match=text):
        slang.create_device("cpu")


def test_right_gradients_are_not_complained_about() -> None:
    module = slang.load("[Differentiable] float3 f(float a, float3 x) { return max(x * a, float3(0)) + float3(a); }")
    a, x = torch.tensor(2.0, requires_grad=True), torch.randn(5, 3)
    module.f(a, x).sum().backward()
    expected = torch.autograd.grad((torch.relu(x * a) + a).sum(), a)[0]
    torch.testing.assert_close(a.grad, expected)


def test_all_are_tracepack_errors() -> None:
    found = [getattr(slang, name) for name in slang.__all__ if name.endswith("Error")]
    assert len(found) == 10
    assert all(issubclass(each, TracepackError) for each in found)
    assert ops.__doc__


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return foo;", "undefined identifier 'foo'."),
        ("return x.y;", "member not found: 'y' is not a member of 'float'."),
        ("return x", "unexpected token: unexpected '}', expected ';'."),
        (
            "return max(x, float3(1));",
            "type mismatch in expression: expected an expression of type 'float', got '",
        ),
    ],
)
def test_a_compile_error_keeps_what_the_compiler_named(body: str, said: str) -> None:
    with pytest.raises(slang.SlangCompileError) as got:
        slang.load(f"\nfloat f(float x) {{ {body} }}")
    assert str(got.value).startswith(f"<text>:2: Slang does not compile: {said}")


def test_a_bracket_that_stays_open_is_the_users() -> None:
    with pytest.raises(
        slang.SlangCompileError, match=r"^<text>:3: .* The text ends too early: is a bracket still open\?"
    ):
        slang.load("float f(float x) {\n return x;\n")


def test_cuda_without_cuda_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match="this machine has no CUDA device for Slang; got 'cuda:1'"):
        slang.load("float f(float x) { return x; }", "cuda:1")
    with pytest.raises(DeviceError, match="no Slang kernels on meta"):
        slang.load("float f(float x) { return x; }", "meta")


def test_a_tensor_type_without_its_elements() -> None:
    """As SlangPy's pages print it: the angle brackets were lost on the way."""
    text = r"^<text>:2: .*used without argument\. Write its elements and its number of axes, IDiffTensor<float, 1>"
    with pytest.raises(slang.SlangCompileError, match=text):
        slang.load('import "slangpy";\n[Differentiable] float f(int i, IDiffTensor x) { return x[i]; }')


@pytest.mark.parametrize(
    ("text", "name", "types"),
    [
        ("T mul<T : IFloat>(T x, T y) { return x - y; }", "mul", "float, float"),
        ("T max<T : IFloat>(T a, T b) { return a + b; }", "max", "float, float"),
        ("[Differentiable] T sin<T : IFloat>(T x) { return x * x; }", "sin", "float"),
    ],
)
def test_a_generic_that_slang_would_take_for_its_own_says_which_name_to_change(
    text: str, name: str, types: str
) -> None:
    module = slang.load(text)
    own = rf"Slang has generic functions '{name}' of its own, and "
    with pytest.raises(slang.SlangCompileError, match=rf"{own}takes its own for {types}\. Give yours another name"):
        getattr(module, name)(*[torch.rand(3)] * (types.count(",") + 1))
    with pytest.raises(slang.SlangCompileError, match=rf"{own}finds no {name}<float> among them\. Give yours another"):
        module[f"{name}<float>"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T mul<T : __BuiltinFloatingPointType>(T a, T b) { return a * b + T(1.0); }", lambda a, b: a * b + 1),
        ("T max<T : __BuiltinFloatingPointType>(T x, T y) { return x - y; }", lambda a, b: a - b),
        ("float max(float a, float b) { return a - b; }", lambda a, b: a - b),
        ("T clamp<T : IFloat>(T x, T y) { return x - y; } T clamp<T : IFloat>(T x) { return x; }", lambda a, b: a - b),
    ],
)
def test_a_function_named_as_one_of_slangs_is_the_users_where_slang_finds_it(text: str, expected: Any) -> None:
    module, a, b = slang.load(text), torch.rand(3), torch.rand(3)
    (name,) = dir(module)
    torch.testing.assert_close(getattr(module, name)(a, b), expected(a, b))
