"""Gradients that Slang loses are mended or refused; what has none is said, never None or zero without a word."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tracepack.ops import slang
from tracepack.ops.slang.launch import gradient_check

MIXED = ["a * x", "a + x", "x + a", "a - x", "x - a", "a / x", "(a * x) * (a + x)"]
OWN = """
[Differentiable][BackwardDerivative(seven)] float own(float x) { return x; }
void seven(inout DifferentialPair<float> x, float d) { x = diffPair(x.p, 7 * d); }
"""


def gradients(function: Any, *inputs: torch.Tensor) -> list[torch.Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leaves = [each.clone().requires_grad_() for each in inputs]
        return list(torch.autograd.grad(function(*leaves).sum(), leaves))


def check(function: Any, reference: Any, *inputs: torch.Tensor, tolerance: float = 1e-4) -> None:
    for found, wanted in zip(gradients(function, *inputs), gradients(reference, *inputs), strict=True):
        torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def mixed() -> slang.SlangModule:
    lines = [f"[Differentiable] float3 f{i}(float a, float3 x) {{ return {body}; }}" for i, body in enumerate(MIXED)]
    return slang.load("\n".join(lines))


@pytest.mark.parametrize("body", MIXED)
def test_a_scalar_with_a_vector_has_the_right_gradient(mixed: slang.SlangModule, body: str) -> None:
    function = mixed[f"f{MIXED.index(body)}"]
    check(function, lambda a, x: eval(body, {"a": a, "x": x}), torch.tensor(1.7), torch.rand(5, 3) + 0.5)


CHOICES = """
[Differentiable] float3 unrolled(float s, float3 v)
{ float3 a = v; [ForceUnroll] for (int i = 0; i < 4; i++) { a = s * a + v; } return a; }
[Differentiable] float3 chosen(float s, float3 v) { return s > 0 ? s * v : v / s; }
[Differentiable] float3 looped(float s, float3 v)
{ float3 a = v; [MaxIters(4)] for (int i = 0; i < 4; i++) { a = s * a + v; } return a; }
[Differentiable] float3 changed(float s, float3 v) { float3 r = v; if (s > 0) { r = s * v; } return r; }
[Differentiable] float hs(float3 a, float3 b) { return dot(a * b, b + a); }
[Differentiable] float3 nested(float s, float3 v) { return hs(s * v, v + s) * (v + s) - s / v; }
"""


def _rounds(s: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    a = v
    for _ in range(4):
        a = s * a + v
    return a


FORMULAS = {
    "unrolled": _rounds,
    "looped": _rounds,
    "chosen": lambda s, v: torch.where(s > 0, s * v, v / s),
    "changed": lambda s, v: torch.where(s > 0, s * v, v),
    "nested": lambda s, v: (s * v * (v + s) * (v + s + s * v)).sum(-1, keepdim=True) * (v + s) - s / v,
}


@pytest.fixture(scope="module")
def choices() -> slang.SlangModule:
    return slang.load(CHOICES)


@pytest.mark.parametrize("name", FORMULAS)
def test_choices_and_loops_of_vectors(choices: slang.SlangModule, name: str) -> None:
    s, v = torch.tensor([2.0, -1.5, 0.3, -0.7, 1.1]), torch.rand(5, 3) + 0.5
    found = gradients(getattr(choices, name), s, v)
    column = s.clone()[:, None].requires_grad_()
    vector = v.clone().requires_grad_()
    wanted = torch.autograd.grad(FORMULAS[name](column, vector).sum(), [column, vector])
    torch.testing.assert_close(found[0], wanted[0][:, 0], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found[1], wanted[1], rtol=1e-4, atol=1e-4)


def test_a_derivative_that_names_its_function_is_kept() -> None:
    module = slang.load(
        """float3 f(float a, float3 x) { return x * a; }  // Slang asks for no [Differentiable] here
        [BackwardDerivativeOf(f)]
        void f_backward(inout DifferentialPair<float> a, inout DifferentialPair<float3> x, float3 d)
        { a = diffPair(a.p, 7.0); x = diffPair(x.p, d * 2); }"""
    )
    found = gradients(module.f, torch.ones(4), torch.rand(4, 3))
    assert found[0].tolist() == [7.0] * 4
    assert found[1].tolist() == [[2.0] * 3] * 4


def test_beside_a_derivative_of_the_users_own() -> None:
    module = slang.load(OWN + "[Differentiable] float3 f(float a, float3 x) { return a * x + float3(own(a)); }")
    a, x = torch.tensor(1.5), torch.rand(4, 3)
    found, of_x = gradients(module.f, a, x)
    torch.testing.assert_close(found, x.sum() + 7 * x.numel())  # the 7 is the user's own, and stays
    torch.testing.assert_close(of_x, torch.full_like(x, 1.5))


def test_under_detach() -> None:
    module = slang.load("[Differentiable] float3 f(float a, float3 x) { return a * x + detach(x) * detach(a); }")
    check(module.f, lambda a, x: a * x + (a * x).detach(), torch.tensor(1.5), torch.rand(4, 3))


def test_with_prefer_recompute() -> None:
    module = slang.load("[Differentiable][PreferRecompute] float3 f(float a, float3 x) { return a * x; }")
    check(module.f, lambda a, x: a * x, torch.tensor(1.5), torch.rand(4, 3))


def test_of_half_scalars() -> None:
    module = slang.load("[Differentiable] half3 f(half a, half3 x) { return a * x; }")
    check(module.f, lambda a, x: a * x, torch.tensor(1.5).half(), torch.rand(4, 3).half(), tolerance=1e-2)


def test_a_part_of_a_vectors_gradient_is_not_lost_in_a_helper() -> None:
    """The scalar is of the vector itself, so nothing that the user passes is a scalar."""
    module = slang.load(
        "[Differentiable] float3 helper(float a, float3 x) { return a * x; }"
        "[Differentiable] float3 f(float3 x) { return helper(dot(x, x), x); }"
    )
    check(module.f, lambda x: (x * x).sum(-1, keepdim=True) * x, torch.rand(4, 3))


def test_a_gradient_that_stays_wrong_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_check, "_wrong", lambda spec, few, ways: ["a"])
    module = slang.load("[Differentiable] float3 f(float a, float3 x) { return a * x * 1.25; }")
    a = torch.tensor(1.5, requires_grad=True)
    for _ in range(2):  # the second time from the disk
        with pytest.raises(slang.SlangGradientError, match=r"gradient of 'a' does not agree .* write vector \* scalar"):
            module.f(a, torch.rand(4, 3)).sum().backward()


@pytest.mark.parametrize(
    "body",
    [
        "x * (x.x > 0.5 ? 1.0 : 2.0)",
        "sin(x * 43758.5) * x",
        "frac(sin(x * 43758.5) * 43758.5)",
        "sin(x * 700) + cos(x.yzx * 90)",
        "(no_diff floor(x * 10)) * x",
        "abs(x - 0.5)",
        "max(x, float3(0.3))",
    ],
)
def test_rough_functions_are_not_called_wrong(body: str) -> None:
    module = slang.load(f"[Differentiable] float3 f(float3 x) {{ return {body}; }}")
    assert len(gradients(module.f, torch.rand(4, 3))) == 1


def test_a_field_of_a_struct_without_a_derivative() -> None:
    module = slang.load("struct Q { float a; float b; }; [Differentiable] float f(Q q) { return q.a * q.b; }")
    a, b = torch.ones(3, requires_grad=True), torch.ones(3)
    text = r"no gradient flows into 'q\.a': its struct is not differentiable\. Write `struct Q : IDifferentiable`"
    with pytest.raises(slang.NotDifferentiableError, match=text):
        module.f({"a": a, "b": b}).sum().backward()
    assert module.f({"a": a.detach(), "b": b}).tolist() == [1.0, 1.0, 1.0]


def test_a_field_that_is_no_diff_has_no_gradient_on_purpose(types: slang.SlangModule) -> None:
    x, label = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    pair = {"x": x, "y": torch.ones(3, 2)}
    types.deep({"pair": pair, "z": torch.ones(3), "label": label}).sum().backward()
    assert label.grad is None
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_function_with_a_forward_derivative_only() -> None:
    module = slang.load("[ForwardDifferentiable] float f(float x) { return x * x; }")
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(
        slang.NotDifferentiableError, match=r"'f' can be differentiated forward only.* Write \[Different"
    ):
        module.f(x).sum().backward()


def shapes(tensors: Sequence[torch.Tensor]) -> list[tuple[int, ...]]:
    return [tuple(each.shape) for each in tensors]


HALVES = """
[Differentiable] half2 f(half2 a, half2 b) { return a * b + half2(1, 2) - a / b; }
[Differentiable] half4 g(half4 a) { return -a * half(2) + max(a, half4(1)); }
[Differentiable] half h(half3 a) { return dot(a, a); }
"""


def test_arithmetic_of_half_vectors() -> None:
    module = slang.load(HALVES)
    a, b = torch.rand(4, 2).half() + 1, torch.rand(4, 2).half() + 1
    one = torch.tensor([1, 2]).half()
    check(module.f, lambda a, b: a * b + one - a / b, a, b, tolerance=1e-2)
    torch.testing.assert_close(module.f(a, b), a * b + one - a / b, rtol=1e-2, atol=1e-2)
    v, u = torch.rand(3, 4).half(), torch.rand(3, 3).half()
    torch.testing.assert_close(module.g(v), -v * 2 + v.clamp(min=1), rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(module.h(u), (u * u).sum(-1), rtol=1e-2, atol=1e-2)
