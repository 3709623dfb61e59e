"""Arguments that may be missing: the form that an error shows for None works as it is written."""

from __future__ import annotations

import re

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check


def masked(x, mask):
    return (x * mask).sum()


def masked_or_not(x, mask):
    if mask.numel():
        x = x * mask
    return x.sum()


@pytest.mark.parametrize(
    ("example", "made"),
    [
        ((torch.rand(3), torch.rand(3)), "torch.empty(0)"),
        ((torch.rand(3, 2), torch.ones(3, 2, dtype=torch.bool)), "torch.empty(0, 0, dtype=torch.bool)"),
    ],
)
def test_an_empty_tensor_stands_for_none(example, made) -> None:
    mod = tracepack.trace(masked, *example)
    form = f"Pass an empty tensor that stands for None, {made}, for which the function asks: `if mask.numel():`."
    form += " Or give the parameter the default None, and trace anew: calls may then leave it out."
    with pytest.raises(tracepack.SignatureError, match=re.escape(form)):
        mod(example[0], None)
    missing = eval(made, {"torch": torch})
    check(Case(masked_or_not, example, [(example[0], missing), (example[0] * 2, example[1])]))


def test_the_default_none_leaves_a_tensor_out() -> None:
    def masked_where_given(x, mask=None):
        return x if mask is None else x * mask

    check(Case(masked_where_given, (torch.rand(3), torch.rand(3)), [(torch.rand(3), None), (torch.rand(3),)]))


def test_no_empty_tensor_stands_for_a_number() -> None:
    mod = tracepack.trace(masked, torch.rand(3), torch.tensor(2.0))
    with pytest.raises(tracepack.SignatureError) as caught:
        mod(torch.rand(3), None)
    assert "empty" not in str(caught.value)
