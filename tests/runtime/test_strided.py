"""`as_strided`: as torch has it inside a tensor's own memory, refused outside of it."""

from __future__ import annotations

import re

import pytest
import torch

import tracepack

OUTSIDE = "as_strided reaches outside of its tensor; got elements {} of the memory; expected {}. Call it on the tensor"


def windows(x: torch.Tensor) -> torch.Tensor:
    return x.as_strided((x.numel() - 2, 3), (1, 1))


def written(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    torch.as_strided(y, (2, 2), (3, 1), storage_offset=1).mul_(10)
    return y


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.as_strided_((3, 2), (1, 3))
    return y + 1


INSIDE = {
    "windows": windows,
    "a write through the view": written,
    "in place": in_place,
    "copy": lambda x: torch.as_strided_copy(x, (2, 3), (3, 1)),
    "scatter": lambda x: x.as_strided_scatter(torch.zeros(2, 2), (2, 2), (3, 1), 1),
    "nothing": lambda x: x.as_strided((0, 4), (100, 100)),
    "the operator itself": lambda x: torch.ops.aten.as_strided(x, (2,), (4,)),
}


@pytest.mark.parametrize("name", INSIDE)
def test_inside_its_tensor_it_is_torchs(name, reloaded):
    function = INSIDE[name]
    mod = tracepack.trace(function, torch.rand(6))
    for pipeline in (mod, reloaded(mod)):
        for x in (torch.rand(6), torch.rand(9)):
            assert torch.equal(pipeline(x), function(x.clone()))


def test_a_model_may_use_it(reloaded):
    class Windows(torch.nn.Module):
        def forward(self, x):
            return x.as_strided((x.size(0) - 2, 3), (x.stride(0), x.stride(0))) * 2

    op = tracepack.script(Windows(), device="cpu")
    mod = reloaded(tracepack.trace(lambda x: op(x), torch.rand(8)))
    for count in (8, 5):
        x = torch.rand(count)
        assert torch.equal(mod(x), x.unfold(0, 3, 1) * 2)


def test_outside_of_its_tensor_it_is_refused():
    whole, words = torch.arange(10.0), re.escape(OUTSIDE.format("0 to 3", "elements 5 to 9, where the tensor lies"))
    with pytest.raises(tracepack.RecordError, match=words) as caught:
        tracepack.trace(lambda x: x[5:].as_strided((4,), (1,), 0), whole)
    assert "test_strided.py:" in str(caught.value)

    class Reach(torch.nn.Module):
        def forward(self, x):
            return x[5:].as_strided((4,), (1,), 0)

    op = tracepack.script(Reach(), device="cpu", name="reach")
    with pytest.raises(tracepack.LoweringError, match=words) as caught:
        tracepack.trace(lambda x: op(x), whole)
    assert "op 'reach', node aten.as_strided.default" in str(caught.value)


def test_a_run_whose_tensor_is_too_small_or_lies_elsewhere_is_stopped(reloaded):
    mod = reloaded(tracepack.trace(lambda x: x.as_strided((4,), (1,), 0), torch.rand(6)))
    neighbours = torch.arange(12.0)
    for x, got, lies in (
        (torch.rand(3), "0 to 3", "elements 0 to 2, where the tensor lies"),
        (torch.rand(0), "0 to 3", "none: it is empty"),
        (neighbours[6:], "0 to 3", "elements 6 to 11, where the tensor lies"),  # torch itself would read what is before
    ):
        with pytest.raises(tracepack.GuardError, match=re.escape(OUTSIDE.format(got, lies))) as caught:
            mod(x)
        assert "node torch.Tensor.as_strided (test_strided.py:" in str(caught.value)


def test_every_as_strided_of_the_allow_list_is_the_one_that_checks():
    from tracepack.ops.graph.operators.names import allowed
    from tracepack.ops.runtime.primitives.callables import resolve
    from tracepack.ops.runtime.primitives.views import CHECKED

    names = {name for name in allowed() if "as_strided" in name}
    assert names == set(CHECKED)
    for name in names:
        assert resolve(name).__module__ == "tracepack.ops.runtime.primitives.views"
