"""Attention as torch's fast paths answer it: where a mask hides numbers that overflow, or all there is."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import nn

import tracepack

HIDDEN = (0.5, math.nan, math.inf, -math.inf, 1e30, -1e30)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class Lengths(nn.Module):
    """Attention whose mask is made of lengths."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, lengths):
        return self.attention(x, x, x, key_padding_mask=torch.arange(x.shape[1])[None] >= lengths[:, None])


def padded(size, length, hidden, lengths):
    """Sequences, what hides their ends, and how long they are."""
    x = torch.rand(size, length, 8, generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor(lengths)
    mask = torch.arange(length)[None] >= lengths[:, None]
    x[mask] = hidden
    return x, mask, lengths


def layer(**options):
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)


def attention(**options):
    return nn.MultiheadAttention(8, 2, batch_first=True, **options)


def causal(x):
    return torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)


CASES = {
    "weights": (attention(), lambda model, x, mask, n: model(x, x, x, key_padding_mask=mask)),
    "weights of heads": (
        attention(), lambda model, x, mask, n: model(x, x, x, key_padding_mask=mask, average_attn_weights=False),
    ),
    "no weights": (attention(), lambda model, x, mask, n: model(x, x, x, key_padding_mask=mask, need_weights=False)[0]),
    "no bias": (attention(bias=False), lambda model, x, mask, n: model(x, x, x, key_padding_mask=mask)),
    "no mask": (attention(), lambda model, x, mask, n: model(x, x, x)),
    "other keys": (attention(), lambda model, x, mask, n: model(x * 2, x, x, key_padding_mask=mask)),
    "both masks": (attention(), lambda model, x, mask, n: model(x, x, x, key_padding_mask=mask, attn_mask=causal(x))),
    "lengths": (Lengths(), lambda model, x, mask, n: model(x, n)),
    "layer": (layer(), lambda model, x, mask, n: model(x, src_key_padding_mask=mask)),
    "norm first": (
        layer(norm_first=True, activation="gelu"), lambda model, x, mask, n: model(x, src_key_padding_mask=mask),
    ),
    "causal layer": (layer(), lambda model, x, mask, n: model(x, causal(x), src_key_padding_mask=mask)),
    "layers": (
        nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False),
        lambda model, x, mask, n: model(x, src_key_padding_mask=mask),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_attention_answers_as_its_fast_path(case) -> None:
    model, call = CASES[case]
    model.eval()
    op = tracepack.script(model, contiguous=True)
    mod = tracepack.trace(lambda x, mask, lengths: call(op, x, mask, lengths), *padded(3, 4, 0.5, (4, 2, 3)))
    forms = ((3, 4, (4, 2, 3)), (2, 5, (0, 5)), (2, 3, (1, 2)), (1, 2, (1,)))
    for hidden, (size, length, lengths) in itertools.product(HIDDEN, forms):
        given = padded(size, length, hidden, lengths)
        with torch.no_grad():
            wanted = call(model, *given)
        torch.testing.assert_close(mod(*given), wanted, equal_nan=True)


def test_attention_without_its_fast_path() -> None:
    model, call = CASES["layers"]
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        op = tracepack.script(model.eval())
        mod = tracepack.trace(lambda x, mask, lengths: call(op, x, mask, lengths), *padded(3, 4, 0.5, (4, 2, 3)))
        given = padded(2, 5, 0.5, (0, 5))
        with torch.no_grad():
            torch.testing.assert_close(mod(*given), call(model, *given), equal_nan=True)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def test_one_tensor_for_several_arguments_is_another_call() -> None:
    model = CASES["weights"][0].eval()
    op = tracepack.script(model, contiguous=True)

    def process(x, y, mask):
        return op(x, x, x, key_padding_mask=mask)[0], op(x, y, y, key_padding_mask=mask)[0]

    x, mask, _ = padded(3, 4, 0.5, (4, 2, 3))
    mod = tracepack.trace(process, x, torch.rand(3, 4, 8), mask)
    for hidden in HIDDEN:
        x, mask, _ = padded(2, 3, hidden, (2, 1))
        y = torch.rand(2, 3, 8)
        with torch.no_grad():
            wanted = model(x, x, x, key_padding_mask=mask)[0], model(x, y, y, key_padding_mask=mask)[0]
        torch.testing.assert_close(mod(x, y, mask), wanted, equal_nan=True)


class Converted(nn.Module):
    """Attention of what a call gives as it is where nothing has to be done, which decides between torch's ways."""

    def __init__(self, way):
        super().__init__()
        self.attention, self.way = nn.MultiheadAttention(8, 2, batch_first=True), way

    def forward(self, x, mask):
        return self.attention(self.way(x), x, x, key_padding_mask=mask, need_weights=False)[0]


@pytest.mark.parametrize("way", [torch.Tensor.float, torch.Tensor.contiguous, torch.Tensor.clone, nn.Identity()])
def test_which_tensors_are_one_object_decides_as_in_the_model(way):
    """The slow way gives 0 where all is masked, and torch's fast one NaN."""
    model = Converted(way).eval()
    x, mask = torch.rand(3, 4, 8), torch.zeros(3, 4, dtype=torch.bool)
    mask[0, -1] = True
    op = tracepack.script(model, device="cpu", contiguous=True)
    mod = tracepack.trace(lambda x, mask: op(x, mask), x, mask)
    mask[1] = True
    strided = x.mT.contiguous().mT
    for given in (x, strided):
        with torch.no_grad():
            wanted = model(given, mask)
        try:
            found = mod(given, mask)
        except tracepack.GuardError:
            assert way is torch.Tensor.contiguous
            assert given is strided
            continue
        torch.testing.assert_close(found, wanted, equal_nan=True)


ATTENTION = nn.MultiheadAttention(8, 2, batch_first=True).eval().requires_grad_(False)


def attended(q, k, mask):
    return ATTENTION(q, k, k, key_padding_mask=mask, need_weights=False)[0]


class Calls(nn.Module):
    def forward(self, q, k, mask):
        return attended(q, k, mask)


@pytest.mark.parametrize("model", [attended, Calls()])
def test_a_function_that_holds_attention_is_another_one_where_a_tensor_comes_twice(model):
    """The graph of two tensors was taken for one that comes twice: 0 in place of NaN where all is masked."""
    x, y, mask = torch.rand(3, 4, 8), torch.rand(3, 4, 8), torch.zeros(3, 4, dtype=torch.bool)
    op = tracepack.script(model, device="cpu", contiguous=True)
    once, twice = tracepack.trace(op, x, y, mask), tracepack.trace(lambda x, mask: op(x, x, mask), x, mask)
    mask[1] = True
    for found in (once(x, y, mask), op(x, y, mask)):
        torch.testing.assert_close(found, attended(x, y, mask), equal_nan=True)
    for found in (twice(x, mask), op(x, x, mask)):
        torch.testing.assert_close(found, attended(x, x, mask), equal_nan=True)


class Asks(nn.Module):
    def forward(self, q, k):
        return q * 2 if q is k else q - k


def test_a_model_that_asks_which_tensors_are_one_object_answers_each_call():
    op, x = tracepack.script(Asks(), device="cpu"), torch.ones(3)
    twice, once = tracepack.trace(lambda x: op(x, x), x), tracepack.trace(lambda x: op(x, x + 1), x)
    assert twice(x).tolist() == [2.0] * 3
    assert once(x).tolist() == [-1.0] * 3
