"""What a reorder_function gives, and what a named backward declares, is checked before generated code reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.comprehension.program.cases import REORDER
from tracepack.ops.comprehension import ComprehensionModule, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.kernel import ComprehensionKernel
from tracepack.ops.comprehension.layer import Layer

TAKES = (
    r"the reorder_function does not give what the backward 'convolution_grad' takes; got {}; "
    r"expected a list of 1: 'O_grad'{}\. Return the gradients that it takes, in its order, out of those that are "
    r"given: lambda g: \[g\[0\]\]\."
)
NOT_TAKEN: dict[str, tuple[Callable[[list[torch.Tensor]], Any], str, str]] = {
    "all": (lambda g: g, "2 of them", ""),
    "three": (lambda g: [g[1]] * 3, "3 of them", ""),
    "none": (lambda g: [], "0 of them", ""),
    "double": (
        lambda g: [g[1].double()],
        r"a tensor torch\.float64 \(2, 4, 4, 6\) for 'O_grad'",
        r", here torch\.float32 \(2, 4, 4, 6\)",
    ),
    "text": (lambda g: ["x"], "str for 'O_grad'", ""),
    "nothing inside": (lambda g: [None], "NoneType for 'O_grad'", ""),
    "a generator": (lambda g: iter(g[1:]), "list_iterator", ""),
    "a tensor": (lambda g: g[1], r"a tensor torch\.float32 \(2, 4, 4, 6\)", ""),
    "a dict": (lambda g: {"O_grad": g[1]}, "dict", ""),
    "elsewhere": (
        lambda g: [g[1] if g[1].is_meta else g[1].to("meta")],
        "a tensor on meta for 'O_grad'",
        ", on cpu",
    ),
    "smaller when it counts": (
        lambda g: [g[1] if g[1].is_meta else g[1][:1]],
        r"a tensor torch\.float32 \(1, 4, 4, 6\) for 'O_grad'",
        r", here torch\.float32 \(2, 4, 4, 6\)",
    ),
}


@pytest.fixture(scope="module")
def layer() -> Layer:
    return define(REORDER, training=True, name="convolution", backward="convolution_grad")


@pytest.fixture
def inputs() -> list[torch.Tensor]:
    return [torch.randn(s, requires_grad=True) for s in ((2, 3, 6, 7), (4, 3, 3, 2), (4,))]


def gradients(layer: Layer, inputs: list[torch.Tensor], reorder: Any, seed: torch.Tensor) -> Any:
    outputs = layer(*inputs, reorder_function=reorder)
    return torch.autograd.grad(outputs[1], inputs, seed)


@pytest.mark.parametrize("first", [True, False], ids=["first", "after a right one"])
@pytest.mark.parametrize("case", NOT_TAKEN)
def test_other_gradients_than_the_backward_takes(
    layer: Layer, inputs: list[torch.Tensor], case: str, first: bool
) -> None:
    reorder, got, more = NOT_TAKEN[case]
    own = define(REORDER, training=True, name="convolution", backward="convolution_grad") if first else layer
    seed = torch.ones(2, 4, 4, 6)
    expected = torch.autograd.grad(torch.conv2d(*inputs), inputs, seed)
    if not first:
        found = gradients(own, inputs, lambda g: [g[1]], seed)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(errors.DerivativeError, match=TAKES.format(got, more)):
        gradients(own, inputs, reorder, seed)
    assert torch.equal(seed, torch.ones_like(seed))


def test_gradients_that_are_not_contiguous(layer: Layer, inputs: list[torch.Tensor]) -> None:
    seed = torch.randn(2, 4, 4, 6)
    expected = torch.autograd.grad(torch.conv2d(*inputs), inputs, 2 * seed)
    found = gradients(layer, inputs, lambda g: ((g[1].mT.contiguous() * 2).mT,), seed)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_functions_that_give_other_sizes_at_each_call() -> None:
    text = """
    def f(float(N) X) -> (A, B) { A(n) = 2 * X(n)  B(m) = 3 * X(m) where m in 0:4 }
    def f_grad(float(N) X, float(K) G) -> (X_grad) {
        X_grad(n) = 0 * X(n)
        X_grad(k) += G(k)
    }
    """
    own = define(text, name="f", backward="f_grad")
    x = torch.rand(6, requires_grad=True)
    for place, expected in ((0, [1.0] * 6), (1, [1.0] * 4 + [0.0] * 2), (0, [1.0] * 6)):
        outputs = own(x, reorder_function=lambda g, place=place: [g[place]])
        assert torch.autograd.grad(outputs[place].sum(), x)[0].tolist() == expected


def test_a_selection_of_another_number_is_refused_where_it_is_defined(layer: Layer) -> None:
    for given, names in ((lambda g: g, ["tmp", "O"]), (lambda g: [], []), (lambda g: [g[1], g[1]], ["O", "O"])):
        text = TAKES.format(rf"{len(names)} of them, of {names}".replace("[", r"\[").replace("]", r"\]"), "")
        with pytest.raises(errors.DerivativeError, match=text):
            define(REORDER, training=True, name="convolution", backward="convolution_grad", reorder_function=given)
    description = layer.kernel().description() | {"reorder": ["tmp", "O"]}
    with pytest.raises(errors.DerivativeError, match="got 2 of them"):
        ComprehensionKernel.build(description, layer.kernel().assets())


def test_a_layer_without_a_backward_has_nothing_to_reorder() -> None:
    own, x = define("def f(float(N) X) -> (O) { O(n) = 2 * X(n) }"), torch.rand(3, requires_grad=True)
    with pytest.raises(errors.DerivativeError, match=r"'f' has no backward to reorder gradients for\. Name it"):
        own(x, reorder_function=lambda g: g)


@pytest.mark.parametrize(("x", "seed", "name"), [("double", "float", "X"), ("float", "double", "O_grad")])
def test_a_backward_of_other_types_is_refused(x: str, seed: str, name: str) -> None:
    text = f"""
    def f(float(N) X) -> (O) {{ O(n) = 2 * X(n) }}
    def f_grad({x}(N) X, {seed}(N) O_grad) -> (X_grad) {{ X_grad(n) = float(2 * O_grad(n) + 0 * X(n)) }}
    """
    own = define(text, name="f", backward="f_grad")
    message = rf"the backward 'f_grad' takes '{name}' as another type; got torch\.float64; expected torch\.float32"
    with pytest.raises(errors.DerivativeError, match=message):
        own(torch.rand(3, requires_grad=True))


@pytest.mark.parametrize("dtype", ["float", "double", "int32"])
def test_the_gradient_of_integers_is_zero_in_any_type(dtype: str) -> None:
    text = f"""
    def f(float(N) X) -> (O, I) {{ O(n) = 2 * X(n)  I(n) = int32(X(n)) }}
    def f_grad(float(N) X, float(N) O_grad, {dtype}(N) I_grad) -> (X_grad) {{
        X_grad(n) = 2 * O_grad(n) + float(I_grad(n))
    }}
    """
    x = torch.rand(70, requires_grad=True)
    outputs = define(text, name="f", backward="f_grad")(x)
    assert torch.autograd.grad(outputs[0].sum(), x)[0].tolist() == [2.0] * 70


def test_the_backward_operator_checks_what_it_is_given(layer: Layer, inputs: list[torch.Tensor]) -> None:
    own = define(
        REORDER, training=True, name="convolution", backward="convolution_grad", reorder_function=lambda g: [g[1]]
    )
    backward = getattr(torch.ops.tracepack, own.operator.split("::")[1] + "_backward")
    plain = [x.detach() for x in inputs]
    right = [torch.randn(2, 4, 4, 6), torch.randn(2, 4, 4, 6)]
    expected = torch.autograd.grad(torch.conv2d(*inputs), inputs, right[1])
    torch.testing.assert_close(tuple(backward(plain, right, [0, 1, 2])), expected, rtol=1e-4, atol=1e-4)
    message = "convolution: the gradients are not those of the outputs; got"
    for wrong in ([], right[:1], [right[0], right[1][:1]], [right[0], right[1].double()], [*right, right[0]]):
        with pytest.raises(errors.DerivativeError, match=message):
            backward(plain, wrong, [0, 1, 2])
    with pytest.raises(errors.ComprehensionInputError, match="input 'I' of 'convolution' has another type"):
        backward([plain[0].double(), *plain[1:]], right, [0])
    with pytest.raises(errors.ComprehensionInputError, match="'convolution' takes 3 inputs; got 2"):
        backward(plain[:2], right, [0])

    for place in (3, -1):
        with pytest.raises(errors.DerivativeError, match=f"an input has no such place; got {place}; expected 0 to 2"):
            backward(plain, right, [place])
    with pytest.raises(errors.DerivativeError, match="the gradients are not those of the outputs; got .*sparse_coo"):
        backward(plain, [right[0], right[1].to_sparse()], [0])


def test_the_operators_refuse_a_tensor_on_meta_beside_others(layer: Layer, inputs: list[torch.Tensor]) -> None:
    """torch asks for sizes only then, and what came back had never been computed."""
    plain, right = [x.detach() for x in inputs], [torch.randn(2, 4, 4, 6)] * 2
    name = layer.operator.split("::")[1]
    message = r"the inputs of 'convolution' are on several devices; got \['cpu', 'meta'\]"
    with pytest.raises(errors.ComprehensionInputError, match=message):
        getattr(torch.ops.tracepack, name)(plain[0].to("meta"), *plain[1:])
    with pytest.raises(errors.ComprehensionInputError, match=message):
        getattr(torch.ops.tracepack, f"{name}_backward")(plain, [right[0], right[1].to("meta")], [0])


READING: dict[str, Callable[[list[torch.Tensor]], Any]] = {
    "a branch": lambda g: [g[1] if g[1].sum() > 0 else g[0]],
    "a number": lambda g: [g[1] * g[1].sum().item() / g[1].sum()],
    "an array": lambda g: [torch.from_numpy(g[1].numpy().copy())],
    "places": lambda g: [g[1][g[1].isfinite()].reshape(g[1].shape)],
}


@pytest.mark.parametrize("case", READING)
def test_a_function_of_a_call_may_read_values(inputs: list[torch.Tensor], case: str) -> None:
    own = define(REORDER, training=True, name="convolution", backward="convolution_grad")
    seed = torch.rand(2, 4, 4, 6)
    expected = torch.autograd.grad(torch.conv2d(*inputs), inputs, seed)
    torch.testing.assert_close(gradients(own, inputs, READING[case], seed), expected, rtol=1e-4, atol=1e-4)


def test_a_function_that_reads_values_is_held_to_the_sizes_that_it_gave_first(
    layer: Layer, inputs: list[torch.Tensor]
) -> None:
    with pytest.raises(errors.DerivativeError, match=TAKES.format(r"a tensor torch\.float32 \(1, .*", ".*")):
        gradients(layer, inputs, lambda g: [g[1][:1] if g[1].sum() < 0 else g[1]], -torch.ones(2, 4, 4, 6))


def test_the_users_own_error_is_named(layer: Layer, inputs: list[torch.Tensor]) -> None:
    message = "the reorder_function fails on ones of the outputs' sizes; got IndexError: list index out of range"
    with pytest.raises(errors.DerivativeError, match=message):
        layer(*inputs, reorder_function=lambda g: [g[7]])


def test_compiled_code_counts_its_tensors() -> None:
    own = define("def f(float(N) X, float(N) Y) -> (O) { O(n) = X(n) + Y(n) }")
    x = torch.ones(5)
    run = own.plan([x, x]).forward
    assert run([x, x])[0].tolist() == [2.0] * 5
    for count in (0, 1, 3, 4):
        with pytest.raises(errors.ComprehensionInputError, match=f"compiled code of 'f' takes 2 tensors; got {count}"):
            run([x] * count)


def test_a_module_counts_its_inputs() -> None:
    fc = define("def fc(float(N, K) X, float(M, K) W) -> (O) { O(n, m) +=! X(n, k) * W(m, k) }")
    module, x = ComprehensionModule(fc, {"W": torch.ones(3, 4)}), torch.ones(2, 4)
    assert module(x).tolist() == [[4.0] * 3] * 2
    for given in ((), (x, x)):
        message = rf"the module of 'fc' takes 1 inputs; got {len(given)}; expected \['X'\]"
        with pytest.raises(errors.ComprehensionInputError, match=message):
            module(*given)


@pytest.mark.parametrize("given", ["x", 5, [None], ["x"]])
def test_outputs_that_are_no_tensors(given: Any) -> None:
    own, x = define("def f(float(N) X) -> (O) { O(n) = 2 * X(n) }"), torch.ones(3)
    kind = type(given[0] if isinstance(given, list) else given).__name__
    with pytest.raises(errors.ComprehensionInputError, match=rf"^f: outputs= are no tensors; got \['{kind}'\]"):
        own(x, outputs=given)
    target = torch.zeros(3)
    assert own(x, outputs=(target,)) is target
    assert target.tolist() == [2.0] * 3
