"""The operators of a Slang function called by hand, `.bwds` with tensors of other sizes, and tensors of odd kinds.

Kernels read tensors by their address, so nothing that reaches one may have other sizes than it takes for granted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tracepack.ops import slang

SOURCE = """
import "slangpy";
[Differentiable] float by_hand(float a, float b) { return a * b; }
float plain(float a) { return a; }
[Differentiable] void whole(int i, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y) { y[i] = 3 * x[i]; }
"""


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(SOURCE)


def backward(module: slang.SlangModule, name: str, *arguments: Any) -> Callable[..., Any]:
    """The backward operator of the form that a call with these arguments has."""
    getattr(module, name)(*arguments)
    function = getattr(module, name)
    operator = function.kernel().operator.removeprefix("tracepack::")
    return lambda *rest: getattr(torch.ops.tracepack, f"{operator}_backward")(*arguments, *rest)


ONES = torch.ones(3)
NOT_THEIRS = "the gradients are not those of the outputs; got "


def test_right_arguments_give_the_gradients(module: slang.SlangModule) -> None:
    a, b = torch.rand(3), torch.rand(3)
    run = backward(module, "by_hand", a, b)
    torch.testing.assert_close(run([ONES], [0, 1]), [b, a])
    torch.testing.assert_close(run([torch._neg_view(ONES)], [1]), [-a])
    torch.testing.assert_close(run([torch.arange(6.0)[::2]], [0]), [b * torch.tensor([0.0, 2, 4])])


@pytest.mark.parametrize(
    ("gradients", "needs", "message"),
    [
        ([ONES], [5], "an argument has no gradient; got 5; expected (0, 1)"),
        ([ONES], [-1], "an argument has no gradient; got -1; expected (0, 1)"),
        ([], [0], f"{NOT_THEIRS}[]; expected ['torch.float32 (3,) on cpu']"),
        ([ONES, ONES], [0], f"{NOT_THEIRS}['torch.float32 (3,) on cpu', 'torch.float32 (3,) on cpu']; expected ["),
        ([ONES[:1]], [0], f"{NOT_THEIRS}['torch.float32 (1,) on cpu']; expected ['torch.float32 (3,) on cpu']"),
        ([ONES.double()], [0], f"{NOT_THEIRS}['torch.float64 (3,) on cpu']; expected ['torch.float32 (3,) on cpu']"),
        ([ONES.to_sparse()], [0], f"{NOT_THEIRS}['torch.float32 (3,) on cpu, torch.sparse_coo']; expected ["),
        ([ONES.to("meta")], [0], "the gradient of an output is on another device than the arguments; got meta; exp"),
    ],
)
def test_gradients_and_places_that_are_none_of_the_functions_are_refused(
    module: slang.SlangModule, gradients: list[torch.Tensor], needs: list[int], message: str
) -> None:
    run = backward(module, "by_hand", torch.rand(3), torch.rand(3))
    with pytest.raises(slang.SlangArgumentError, match=re.escape(message)):
        run(gradients, needs)


def test_a_function_without_a_derivative_says_so(module: slang.SlangModule) -> None:
    with pytest.raises(slang.NotDifferentiableError, match="a gradient was asked of 'plain', which is not different"):
        backward(module, "plain", torch.rand(3))([ONES], [0])


def test_gradients_of_whole_tensors_are_held_to_their_sizes(module: slang.SlangModule) -> None:
    run = backward(module, "whole", torch.arange(3, dtype=torch.int32), torch.rand(3), torch.empty(3))
    torch.testing.assert_close(run([ONES], [1]), [3 * ONES])
    with pytest.raises(slang.SlangArgumentError, match=r"got \['torch.float32 \(1,\) on cpu'\]; expected \['torch.flo"):
        run([ONES[:1]], [1])
    with pytest.raises(slang.SlangArgumentError, match=r"an argument has no gradient; got 0; expected \(1, 2\)"):
        run([ONES], [0])


def test_bwds_refuses_a_result_of_other_sizes(module: slang.SlangModule) -> None:
    a, result = torch.rand(3, requires_grad=True), torch.rand(1)
    result.grad = torch.ones(1)
    with pytest.raises(slang.SlangArgumentError, match=r"got \['torch.float32 \(1,\) on cpu'\]; expected \['torch.flo"):
        module.by_hand.bwds(a, 2.0, _result=result)
    assert a.grad is None


def test_a_tensor_whose_sign_is_a_view_is_read_with_it(module: slang.SlangModule) -> None:
    """torch's `conj().imag` changes no memory; of one element it is contiguous, too."""
    imaginary = torch.complex(torch.rand(1), torch.tensor([0.25])).conj().imag
    assert imaginary.is_neg()
    assert imaginary.is_contiguous()
    assert module.by_hand(imaginary, 2.0).tolist() == [-0.5]
    a = torch.rand(1, requires_grad=True)
    (found,) = torch.autograd.grad(module.by_hand(a, 2.0), a, torch._neg_view(torch.ones(1)))
    assert found.tolist() == [-2.0]


def test_a_tensor_on_meta_beside_others_is_refused(module: slang.SlangModule) -> None:
    """torch asks the kernel for fake tensors only: what came back had never been computed."""
    a = torch.rand(3)
    for arguments in ((a, a.to("meta")), (a.to("meta"), a)):
        with pytest.raises(slang.SlangArgumentError, match=r"the tensor for 'b' is on another device than the others;"):
            module.by_hand(*arguments)
    assert module.by_hand(a.to("meta"), a.to("meta")).is_meta
