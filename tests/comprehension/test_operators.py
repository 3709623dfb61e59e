"""The operators of the peer's test-suite: forward and gradient equal to torch's, on sizes, types and emitters."""

import pytest
import torch

from tests.comprehension.operator_cases import CASES, Case, Maker
from tracepack.ops.comprehension import Layer, Options, define

TYPES = {"float": torch.float32, "double": torch.float64, "float16": torch.float16}
# What another order of sums may change, against values of size one.
TOLERANCE = {"float": 2e-5, "double": 1e-11, "float16": 1e-2}


def layer_of(case: Case, dtype: str) -> Layer:
    return define(case.text, constants={"t": dtype, **case.constants})


def as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def compare(found, wanted, tolerance):
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        assert a.is_contiguous()
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def check(case: Case, dtype: str, k: int, options: Options, gradient: bool):
    layer, tensors = layer_of(case, dtype), case.inputs(Maker(TYPES[dtype], k))
    inputs = [x.requires_grad_() if x.is_floating_point() and gradient else x for x in tensors]
    found, wanted = as_list(layer(*inputs, options=options)), as_list(case.reference(*inputs))
    compare([t.detach() for t in found], [t.detach() for t in wanted], TOLERANCE[dtype])
    if not gradient:
        return
    leaves = [x for x in inputs if x.requires_grad]
    seeds = [torch.randn(t.shape, dtype=torch.float64).to(t.dtype) for t in wanted]
    compare(
        torch.autograd.grad(found, leaves, seeds),
        torch.autograd.grad(wanted, leaves, seeds),
        10 * TOLERANCE[dtype],
    )


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_torch_emitter(case):
    for dtype in case.dtypes:
        for k in (0, 3):
            check(case, dtype, k, Options("torch"), case.gradient)


def variants(case: Case):
    """Tiled code, and fused code of the last type at other sizes; both with gradients, half precision without."""
    last = case.dtypes[-1]
    return [
        ("float", 0, Options("conv"), case.gradient),
        (last, 3, Options("pointwise"), case.gradient and last == "double"),
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_compiled_emitter(case):
    for dtype, k, options, gradient in variants(case):
        check(case, dtype, k, options, gradient)


def test_there_are_as_many_as_the_peer_has():
    assert len(CASES) >= 65
    assert len({c.name for c in CASES}) == len(CASES)
