"""The models that random functions call as ops: those that are the same in every call, and those that keep something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Affine(torch.nn.Module):
    """One tensor of any kind."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1


class Parts(torch.nn.Module):
    """Several results in containers."""

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        return {"sum": x.sum(-1), "parts": (x + 1, x != 0)}


class Mixed(torch.nn.Module):
    """Two tensors, broadcast."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.where(a > 0, a, b) - a


class Scored(torch.nn.Module):
    """Weights, and a choice that a model makes on numbers."""

    def __init__(self) -> None:
        super().__init__()
        weights = torch.arange(12.0, dtype=torch.float32).reshape(3, 4) / 7 - 0.8
        self.linear = torch.nn.Linear(4, 3, dtype=torch.float32)
        bias = torch.tensor([0.5, -0.5, 0.0], dtype=torch.float32)
        self.linear.load_state_dict({"weight": weights, "bias": bias})

    def forward(self, x: torch.Tensor, scale: float = 0.5) -> torch.Tensor:
        return self.linear(x.float()).softmax(-1) * scale


class Asks(torch.nn.Module):
    """A branch on strides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.is_contiguous() else x * 3


class Strides(torch.nn.Module):
    """Strides as numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.stride(0) + x.stride()[-1]


class Inner(torch.nn.Module):
    """A write into what may or may not be a copy of its own tensor."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = (x + 0).transpose(0, -1)
        z = y.contiguous()
        z.mul_(2)
        return y + z


class Flat(torch.nn.Module):
    """The same by reshape."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * 1
        y = x.transpose(0, -1).reshape(-1)
        y.add_(1)
        return x * 2


class Outer(torch.nn.Module):
    """A write that reaches the input, or not."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.contiguous()
        y.add_(1)
        return x * 2


class Images(torch.nn.Module):
    """Channels last."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x[None, :, :, None].to(memory_format=torch.channels_last)
        return torch.relu(y).mean((0, 3)) + y.stride(1)


class Means(torch.nn.Module):
    """Tensors of the default dtype."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / x.shape[0] + torch.ones(1)


class Halves(torch.nn.Module):
    """Numbers that take the default dtype where the tensor is of whole numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 0.5 - x.abs().sqrt()


class Blocks(torch.nn.Module):
    """Gradients that are off in a part, of what has none anyway."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            offsets = torch.arange(x.shape[0], dtype=torch.float32)
        return x * 3 + offsets.sum()


class Signs(torch.nn.Module):
    """Literals below zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (-1) ** x.shape[0] + -2 * x.shape[-1] - -1.5 * x


class Counts(torch.nn.Module):
    """A counter in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("runs", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.runs += 1
        return x * self.runs


class Averages(torch.nn.Module):
    """A moving average in a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros((), dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.mean.mul_(0.5).add_(x.float().mean() * 0.5)
        return x - self.mean


class Sums(torch.nn.Module):
    """A buffer that is set anew."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros((), dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.total.clone()
        self.total = self.total + x.shape[0]
        return x.float() + before


class Spoils(torch.nn.Module):
    """A write to a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1, dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.weight.add_(1)
        return x * self.weight


class Plainly(torch.nn.Module):
    """A write to a plain tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = [torch.zeros((), dtype=torch.float32)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.kept[0] += 1
        return x + self.kept[0]


class Leaving(torch.nn.Module):
    """An attribute that a call leaves."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros((), dtype=torch.float32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last = x * 2
        return x + 1


class Hooked(Affine):
    """A model with a hook, which fills a dict."""


def _scripted() -> torch.nn.Module:
    found: torch.nn.Module = torch.jit.script(Mixed())
    return found


FREE: dict[str, Callable[[], torch.nn.Module]] = {
    "affine": Affine, "parts": Parts, "mixed": Mixed, "scored": Scored, "asks": Asks, "strides": Strides,
    "inner": Inner, "flat": Flat, "outer": Outer, "images": Images, "means": Means, "halves": Halves,
    "blocks": Blocks, "signs": Signs, "scripted": _scripted,
}  # fmt: skip
STATEFUL: dict[str, Callable[[], torch.nn.Module]] = {
    "counts": Counts, "averages": Averages, "sums": Sums, "spoils": Spoils, "plainly": Plainly, "leaving": Leaving,
    "hooked": Hooked,
}  # fmt: skip
