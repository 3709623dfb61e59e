"""Gradients, modes and transforms, against torch's own derivative of the same formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tracepack.ops import slang
from tracepack.ops.slang.launch import cpu as launch

SHAPES = [
    *(((), ()), ((4,), ()), ((3, 1), (4,)), ((2, 1, 3), (5, 1)), ((1,), (3,)), ((0,), ()), ((2, 0), (1,))),
    *(((2, 3, 4), (4,)), ((3, 4), (3, 1)), ((2, 1, 1, 5), (3, 4, 1)), ((1, 3), (3,))),
]


def formula(a: object, b: object, c: object, x: torch.Tensor) -> torch.Tensor:
    return a * x * x + b * x + c  # type: ignore[operator]  # the callable is untyped here


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_broadcast_gradients_are_summed_back(
    polynomial: slang.SlangModule, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    a, x = torch.randn(left, requires_grad=True), torch.randn(right, requires_grad=True)
    found, expected = polynomial.polynomial(a, 2.0, 3.0, x), formula(a, 2.0, 3.0, x)
    torch.testing.assert_close(found, expected)
    weight = torch.randn(found.shape)
    torch.testing.assert_close(
        torch.autograd.grad((found * weight).sum(), (a, x)), torch.autograd.grad((expected * weight).sum(), (a, x))
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=3))
def test_any_sizes_broadcast_as_torch_does(polynomial: slang.SlangModule, sizes: list[tuple[int, bool, bool]]) -> None:
    left = tuple(1 if one else size for size, one, _ in sizes)
    right = tuple(1 if one else size for size, _, one in sizes)
    a, x = torch.randn(left), torch.randn(right)
    torch.testing.assert_close(polynomial.polynomial(a, 1.0, x, x), formula(a, 1.0, x, x))


def test_gradcheck_in_double(types: slang.SlangModule) -> None:
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(types.cube, (x,))
    a, b = (
        torch.randn(3, dtype=torch.float64, requires_grad=True),
        torch.randn(3, 2, dtype=torch.float64, requires_grad=True),
    )
    assert torch.autograd.gradcheck(lambda a, b: types.mix64(a, b, 0.5), (a, b))


def test_non_contiguous_inputs_and_gradients(polynomial: slang.SlangModule) -> None:
    base = torch.randn(4, 6, requires_grad=True)
    x = base.t()[::2]
    found = polynomial.polynomial(1.0, 2.0, 3.0, x)
    torch.testing.assert_close(found, formula(1.0, 2.0, 3.0, x))
    expanded = torch.ones(()).expand(found.shape)  # a gradient without memory of its own
    found = torch.autograd.grad(found, base, expanded)[0]
    torch.testing.assert_close(found, torch.autograd.grad(formula(1.0, 2.0, 3.0, x).sum(), base)[0])


def test_outputs_are_contiguous(polynomial: slang.SlangModule) -> None:
    assert polynomial.polynomial(1.0, 2.0, 3.0, torch.randn(3, 4).t()).is_contiguous()


def test_a_result_used_twice(polynomial: slang.SlangModule) -> None:
    x = torch.randn(5, requires_grad=True)
    y = polynomial.polynomial(1.0, 0.0, 0.0, x)
    (y * y + polynomial.polynomial(0.0, 1.0, 0.0, y)).sum().backward()
    torch.testing.assert_close(x.grad, (4 * x**3 + 2 * x).detach())


def test_gradients_accumulate_in_grad(polynomial: slang.SlangModule) -> None:
    x = torch.randn(5, requires_grad=True)
    for _ in range(3):
        polynomial.polynomial(0.0, 2.0, 0.0, x).sum().backward()
    assert torch.equal(x.grad, torch.full((5,), 6.0))


def test_no_diff_parameter_has_no_gradient(types: slang.SlangModule) -> None:
    x, k = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    found = torch.autograd.grad(types.held(x, k).sum(), (x, k), allow_unused=True)
    assert found[1] is None
    torch.testing.assert_close(found[0], (2 * k * x).detach())


def test_no_grad_and_inference_mode(polynomial: slang.SlangModule) -> None:
    x = torch.randn(3, requires_grad=True)
    with torch.no_grad():
        assert not polynomial.polynomial(1.0, 2.0, 3.0, x).requires_grad
    with torch.inference_mode():
        found = polynomial.polynomial(1.0, 2.0, 3.0, x)
        assert found.is_inference()
    torch.testing.assert_close(found.clone(), formula(1.0, 2.0, 3.0, x.detach()))


def test_second_derivatives_are_refused(polynomial: slang.SlangModule) -> None:
    x = torch.randn(3, requires_grad=True)
    first = torch.autograd.grad(polynomial.polynomial(1.0, 2.0, 3.0, x).sum(), x, create_graph=True)[0]
    with pytest.raises(slang.SlangError, match="can be differentiated once"):
        first.sum().backward()


def test_vmap_of_a_pointwise_function(polynomial: slang.SlangModule, types: slang.SlangModule) -> None:
    a, x = torch.randn(3), torch.randn(5, 3)
    found = torch.vmap(lambda row: polynomial.polynomial(a, 1.0, 2.0, row))(x)
    torch.testing.assert_close(found, formula(a, 1.0, 2.0, x))
    found = torch.vmap(lambda s, v: types.scaled(v, s), in_dims=(0, 1))(torch.randn(4) * 0 + 2, torch.ones(3, 4))
    torch.testing.assert_close(found, torch.full((4, 3), 2.0))


def test_torch_func_grad_is_refused(polynomial: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangError, match=r"cannot be differentiated by torch\.func"):
        torch.func.grad(lambda x: polynomial.polynomial(1.0, 2.0, 3.0, x).sum())(torch.randn(4))


def test_what_a_function_leaves_keeps_its_gradient(tensors: slang.SlangModule) -> None:
    leaf, index = torch.arange(4.0, requires_grad=True), slang.grid((4,))
    data = leaf * 1
    tensors.tripled_even(index, data)
    assert torch.equal(torch.autograd.grad(data.sum(), leaf)[0], torch.tensor([3.0, 1.0, 3.0, 1.0]))
    x, data = torch.ones(4, requires_grad=True), leaf * 1
    tensors.tripled_even_of(index, x, data)
    found = torch.autograd.grad(data.sum(), (x, leaf))
    assert torch.equal(found[0], torch.tensor([3.0, 0.0, 3.0, 0.0]))
    assert torch.equal(found[1], torch.tensor([0.0, 1.0, 0.0, 1.0]))


@pytest.mark.parametrize("deterministic", [False, True])
def test_whole_tensors_on_threads_give_the_same(
    tensors: slang.SlangModule, monkeypatch: pytest.MonkeyPatch, deterministic: bool
) -> None:
    monkeypatch.setattr(launch, "THREADED_AFTER", 0.0)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: deterministic)
    weight, bias, x = (torch.randn(size, requires_grad=True) for size in ((6, 32), (6,), (10, 32)))
    function = tensors.linear_layer.map(idx=(1,), input=(0,), output=(0,))
    for _ in range(2):  # the first run is on one thread, and timed
        y = torch.empty(10, 6)
        function(torch.arange(6, dtype=torch.int32), weight, bias, x, y)
        expected = torch.nn.functional.linear(x, weight, bias)
        torch.testing.assert_close(y, expected)
        torch.testing.assert_close(
            *(torch.autograd.grad(each.square().sum(), (weight, bias, x)) for each in (y, expected)),
            rtol=1e-4,
            atol=1e-4,
        )


def test_vmap_of_whole_tensors(tensors: slang.SlangModule) -> None:
    t = torch.randn(5, 2, 3)
    torch.testing.assert_close(torch.vmap(lambda one: tensors.total(one))(t), t.sum((1, 2)))


def test_bwds_starts_from_the_given_gradient(polynomial: slang.SlangModule) -> None:
    x = torch.randn(4, requires_grad=True)
    result = torch.empty(4)
    result.grad = torch.full((4,), 3.0)
    polynomial.polynomial.bwds(1.0, 2.0, 0.0, x, _result=result)
    torch.testing.assert_close(x.grad, (3 * (2 * x + 2)).detach())


def test_map_places_axes(polynomial: slang.SlangModule) -> None:
    a, x = torch.randn(3, requires_grad=True), torch.randn(4)
    found = polynomial.polynomial.map(a=(0,), x=(1,))(a=a, b=0.0, c=0.0, x=x)
    expected = a[:, None] * x * x
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), a)[0], torch.autograd.grad(expected.sum(), a)[0])


@pytest.mark.parametrize("threads", [1, 2])
def test_large_dispatches_agree_on_any_number_of_threads(polynomial: slang.SlangModule, threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x = torch.linspace(-1, 1, 300_001, requires_grad=True)
        found = polynomial.polynomial(1.0, 2.0, 3.0, x)
        found.sum().backward()
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(found.detach(), formula(1.0, 2.0, 3.0, x.detach()), rtol=1e-6)
    torch.testing.assert_close(x.grad, (2 * x + 2).detach())
