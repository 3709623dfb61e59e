# ruff: noqa: F841 - some lines are there for what they raise
"""Functions that leave a loop early on some inputs, or change what an expression after it reads."""

from __future__ import annotations

import numpy as np
import torch


def clamped(xs, x):
    for v in xs:
        k = v
        while k > 100:
            k -= 100
        if v > 1000:
            return -1.0
    s = x.clamp_(0).sum().item()
    return s


def counted(xs, x):
    out = [0, 0, 0]
    m = x.max().item()
    for v in xs:
        k = v
        while k > 100:
            out[0] += 1
            k -= 100
        if v > 1000:
            return {"r": "early", "n": 0.0}
    s = torch.tensor(out).sum().item()
    return {"r": "late", "n": float(s)}


def mean_of(xs, x):
    out = [0, 0, 0]
    m = x.max().item()
    for v in xs:
        k = v
        while k > 100:
            out[0] += 1
            k -= 100
        if v > 1000:
            return {"r": "early", "n": 0.0}
    s = float(np.mean(out))
    return {"r": "late", "n": s}


def gathered(xs, x):
    acc = [0.0]
    y = x * 2
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            acc.append(1.0)
        if v > 1000:
            return acc
    return (y.sum() + torch.tensor(acc).sum()).item()


def tallied(xs, x):
    counts = {"a": 0, "b": 0}
    y = x * 2
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            counts["a"] += 1
        if v > 1000:
            return [0.0]
    return np.array([*counts.values()]).astype(float).tolist()


def under_another_name(xs, x):
    out = [0, 0]
    same = out
    y = x * 2
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            same[0] += 1
        if v > 1000:
            return 0.0
    return torch.tensor(out).sum().item() * 1.0


def failing(xs, x):
    for v in xs:
        k = v
        while k > 100:
            k -= 100
        if v > 1000:
            return -1.0
    return x[1].item() if len(x) > 5 else x.reshape(1, -1).sum().item()


def of_a_flag(xs, x):
    out = []
    for v in xs:
        k = 0
        while k < 2:
            k += 1
        try:
            out.append(float(x[v > 100]) if v > 50 else float(x[0]))
        except Exception:
            out.append(-1.0)
    return out


def pure(xs, x):
    for v in xs:
        k = v
        while k > 100:
            k -= 100
        if v > 1000:
            return -1.0
    return x.sum().item()


def written_first(xs, x):
    total = x.clamp_(0).sum().item()
    for v in xs:
        k = v
        while k > 100:
            k -= 100
        if v > 1000:
            return -1.0
        total += float(x[1]) + k
    return total


def raised_first(xs, x):
    for v in xs:
        k = v
        while k > 100:
            k -= 100
        if v > 1000:
            raise ValueError(f"{v} is too large")
    x[0] = 5
    return x.sum().item()


def changed_by_a_helper(xs, x):
    out = [0]

    def add(v):
        out[0] += v

    y = x * 2
    for v in xs:
        k = v
        while k > 100:
            add(1)
            k -= 100
        if v > 1000:
            return 0.0
    return (torch.tensor(out).sum() + y.sum()).item()


def filled_by_a_function(xs, x):
    out = [0]
    y = x * 2
    for v in xs:
        k = v
        while k > 100:
            push(out, 1)
            k -= 100
        if v > 1000:
            return 0.0
    return (torch.tensor(out).sum() + y.sum()).item()


def push(items, item):
    items.append(item)


class Cum(torch.nn.Module):
    """Adds up what it is given."""

    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.zeros(()))

    def forward(self, x):
        self.s.add_(x.sum())
        return x + self.s


def with_state(op):
    def f(xs, x):
        for v in xs:
            try:
                k = 10 // v
            except ZeroDivisionError:
                return -1.0
        s = op(x).sum().item()
        return s

    return f
