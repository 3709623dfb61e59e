"""Functions of torch that give as many tensors as a list has: its length is said to be fixed, and the form holds."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

XS = [torch.rand(3), torch.rand(4)]


@pytest.mark.parametrize(
    "process",
    [
        lambda xs: torch.atleast_1d(xs),
        lambda xs: torch.atleast_2d(xs),
        lambda xs: torch.cat(torch.atleast_3d(xs), 1),
        lambda xs: torch.meshgrid(xs, indexing="ij"),
    ],
)
def test_the_length_is_said_and_stands_in_the_signature(process) -> None:
    said = r"the length is fixed to 2\. A list comprehension, or tracepack\.map\(fn, items\), keeps it free"
    with pytest.warns(UserWarning, match=said) as found:
        mod = loaded(process, XS)
    assert len(found) == 1
    assert mod.signature.startswith("(xs[0]: f32[N], xs[1]: f32[M]) -> ")
    torch.testing.assert_close(mod(XS[::-1]), process(XS[::-1]), rtol=0, atol=0)
    for count in (0, 1, 3):
        words = f"input 'xs': another structure; got list of {count}; expected list of 2"
        with pytest.raises(tracepack.SignatureError, match=words):
            mod([torch.rand(3)] * count)


def test_the_form_takes_lists_of_any_length() -> None:
    others = [([torch.rand(2)] * count,) for count in (0, 1, 3)]
    check(Case(lambda xs: [torch.atleast_2d(x) for x in xs], (XS,), others))
