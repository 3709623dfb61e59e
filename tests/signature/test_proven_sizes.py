"""Letters of the signature in the sizes of results: where they follow from those of inputs, and nowhere else."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import tracepack

X, Y = torch.rand(2, 5), torch.rand(2, 5, 4)
LINEAR = tracepack.script(torch.nn.Linear(4, 3), device="cpu")

CONV = torch.nn.Conv2d(3, 4, 3)


def pooled(x, lengths):
    mask = torch.arange(x.shape[1])[None] < lengths[:, None]
    return (x * mask[..., None]).sum(1) / lengths[:, None]


def overlaps(boxes, others):
    low = torch.max(boxes[:, None, :2], others[:, :2])
    return (torch.min(boxes[:, None, 2:], others[:, 2:]) - low).clamp(min=0).prod(2)


CASES = {
    "sizes that are equal by chance": (overlaps, (torch.rand(4, 4), torch.rand(4, 4)), "f32[N,?]"),
    "a model": (lambda x: LINEAR(x).softmax(-1), (Y,), "f32[N,M,3]"),
    "a product": (lambda x, y: x @ y, (X, torch.rand(5, 3)), "f32[N,K]"),
    "a mean over rows": (lambda x: x.mean(0), (X,), "f32[M]"),
    "turned": (lambda x: x.t().contiguous(), (X,), "f32[M,N]"),
    "twice the size": (lambda x: torch.cat([x, x], 1), (X,), "f32[N,2*M]"),
    "pooled": (pooled, (Y, torch.tensor([3, 5])), "f32[N,K]"),
    "the first columns": (lambda x: (x[:, :2], x[:, -2:] * 2, x[:, 0]), (X,), "(f32[N,?], f32[N,?], f32[N])"),
    "the first columns of a fixed size": (lambda x: LINEAR(x)[..., :2], (Y,), "f32[N,M,2]"),
    "rows of a loop": (lambda x: torch.stack([row * 2 for row in x]), (X,), "f32[N,M]"),
    "numbers of a loop": (lambda x: torch.tensor([float(row.sum()) for row in x]), (X,), "f32[N]"),
    "rows of two": (lambda x, y: torch.stack([a + b for a, b in zip(x, y, strict=True)]), (X, X.clone()), "f32[?,?]"),
    "chosen rows": (lambda x: torch.stack([row for row in x if row.sum() > 0]), (X,), "f32[?,?]"),
    "rows side by side": (lambda x: torch.stack([row * 2 for row in x], 1), (X,), "f32[M,?]"),
    "channels": (CONV, (torch.rand(2, 3, 9, 8),), "f32[N,4,?,?]"),
    "pooled channels": (lambda x: CONV(x).relu().mean((2, 3)), (torch.rand(2, 3, 9, 8),), "f32[N,4]"),
    "padded": (lambda x: torch.nn.functional.pad(CONV(x), (1, 1, 1, 1)), (torch.rand(2, 3, 9, 8),), "f32[N,4,?,?]"),
    "the best three": (lambda x: x.topk(3, -1).values, (X,), "f32[N,3]"),
    "at most four and five": (lambda x: torch.cat([x[:, :4], x[:, :5]], 1), (torch.rand(2, 7),), "f32[N,?]"),
    "at most four of two": (
        lambda x, y: torch.cat([x[:, :4], y[:, :4]], 1),
        (torch.rand(2, 7), torch.rand(2, 9)),
        "f32[N,?]",
    ),
    "at most 100 of many": (lambda x: x[:, :100], (torch.rand(2, 150),), "f32[N,?]"),
    "at least 100": (lambda x: x[:, :100] @ torch.ones(100, 5), (torch.rand(2, 150),), "f32[N,5]"),
    "several": (
        lambda x, d: {"a": [x.exp(), x.sum(1)], "b": d["k"].t()},
        (Y, {"k": torch.rand(3, 2)}),
        "{'a': [f32[N,M,K], f32[N,K]], 'b': f32[P,L]}",
    ),
    "at most 100": (lambda x: x[:, :100], (X,), "f32[N,?]"),
    "the last 100": (lambda x: x[:, -100:], (X,), "f32[N,?]"),
    "as many as an argument says": (lambda x, n: x[:, :n], (X, 3), "f32[N,?]"),
    "sizes that broadcast": (lambda x, y: x * y, (X, torch.rand(2, 5)), "f32[N,?]"),
    "a size of one": (lambda x, y: x * y, (X, torch.rand(2, 1)), "f32[N,?]"),
    "rows that follow from two sizes": (lambda x, y: x.reshape(-1, y.shape[1]), (X, X.clone()), "f32[?,?]"),
    "unflattened": (lambda x, y: x.flatten().unflatten(0, (-1, y.shape[0])), (X, X.clone()), "f32[?,?]"),
    "data": (lambda x: x[x > 0.5], (X,), "f32[?]"),
    "rows by data": (lambda x: x[:, 0].nonzero(), (X,), "i64[?,1]"),
    "all of them": (lambda x: x.flatten(), (X,), "f32[?]"),
    "beside a text of data": (lambda x: (x * 2, f"{x.mean():.2f}"), (X,), "(f32[N,M], str)"),
    "beside a list": (lambda x: (x * 2, [str(v) for v in x.flatten().tolist()]), (X,), "(f32[N,M], strings)"),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes_of_results(name) -> None:
    process, examples, wanted = CASES[name]
    mod = tracepack.trace(process, *examples)
    assert mod.signature.partition(" -> ")[2] == wanted


def test_the_letters_hold_for_other_sizes() -> None:
    mod = tracepack.trace(pooled, Y, torch.tensor([3, 5]))
    assert [field.shape for field in mod.outputs] == [("N", "K")]
    assert mod(torch.rand(3, 7, 9), torch.tensor([7, 1, 2])).shape == (3, 9)


def test_what_torch_logs_of_such_a_run_stays_unseen() -> None:
    code = """
import torch, tracepack
tracepack.trace(lambda x: (x.clone().addcmul_(x, x[:1]), x.reshape(-1, 1)), torch.rand(6, 2))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


class Heads(torch.nn.Module):
    """Takes a mask for each head of each row: one size is twice another."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, attn_mask=mask)[0].contiguous()


def test_a_size_that_no_run_can_change_alone_is_no_number() -> None:
    op = tracepack.script(Heads())
    mod = tracepack.trace(lambda x, mask: op(x, mask), torch.rand(2, 3, 8), torch.rand(4, 3, 3) > 2)
    assert mod(torch.rand(4, 3, 8), torch.rand(8, 3, 3) > 2).shape == (4, 3, 8)
    assert mod.outputs[0].shape[0] != 2
