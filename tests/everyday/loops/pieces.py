"""Loops over the pieces of a tensor: `unbind`, `split` and `chunk`, with as many pieces as there are."""

from __future__ import annotations

import torch

from tests.everyday.case import Case


def rows(x):
    out = []
    for row in x.unbind():
        out.append(row * 2)  # the form is what is tested
    return torch.stack(out)


def columns(x):
    state = torch.zeros(x.shape[0])
    for i, column in enumerate(torch.unbind(x, 1)):
        state = torch.tanh(state + column * i)
    return state


def split(x):
    total = torch.zeros(2)
    for part, i in zip(x.split(2), [3, 1, 2, 5]):  # noqa: B905  # the form is what is tested: the shorter one ends it
        total = total + part.sum(0) * i
    return total


def named(x):
    parts = torch.split(x, 2, dim=-1)
    return torch.stack([part.sum(-1) * i for i, part in enumerate(parts)]), len(parts)


def chunked(x):
    return [part.mean() + part.shape[0] for part in x.chunk(3)]


def by_argument(x, n):
    return [part.sum() * n for part in x.split(split_size=n)], [part.mean() for part in torch.chunk(x, n, dim=0)]


def last_rows(x):
    return max(x, key=lambda row: row.sum().item()), [row + 1 for row in list(x)]


def chosen(x):
    parts = {f"{i}": row * 2 for i, row in enumerate(x[x > 0.5])}
    first, second = x.flatten().topk(2).values
    return [row + 1 for row in x[x[:, 0] > 0.3]], parts, first - second


_SIZES = [1, 2, 3, 4, 6, 8]
_ROWS = ([torch.rand(5, 2)], [[torch.rand(n, 2)] for n in _SIZES])
CASES = {
    "rows": Case(rows, *_ROWS),
    "columns": Case(columns, [torch.rand(2, 3)], [[torch.rand(2, n)] for n in _SIZES]),
    "rows that data chooses": Case(chosen, *_ROWS),
    "split": Case(split, [torch.rand(5, 2)], [*_ROWS[1], [torch.zeros(0, 2)]]),
    "split by columns, with a name": Case(named, [torch.rand(2, 5)], [[torch.rand(3, n)] for n in _SIZES]),
    "chunks": Case(chunked, [torch.rand(5, 2)], [*_ROWS[1], [torch.zeros(0, 2)]]),
    "pieces of a size that is an argument": Case(
        by_argument, [torch.rand(5, 2), 2], [[torch.rand(n, 2), n // 2 + 1] for n in _SIZES]
    ),
    "the largest row, and a list of rows": Case(last_rows, *_ROWS),
}
