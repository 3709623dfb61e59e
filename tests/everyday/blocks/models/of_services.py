"""Caches, windows, retries and cascades around a model, as people write them."""

from __future__ import annotations

import torch

import tracepack
from tests.everyday.blocks.models.of_generation import model


class Encoder(torch.nn.Module):
    """Three numbers for four, without what dropout drops in training."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.drop = torch.nn.Linear(4, 3), torch.nn.Dropout(0.5)
        drawn = torch.Generator().manual_seed(1)
        self.linear.weight.data, self.linear.bias.data = torch.randn(3, 4, generator=drawn), torch.zeros(3)

    def forward(self, x):
        """Rows."""
        return torch.tanh(self.drop(self.linear(x)))


plain = Encoder().eval().requires_grad_(False)
encoder = tracepack.script(Encoder(), device="cpu")


def encode(text):
    """Four numbers of a text."""
    found = [0.0] * 4
    for i, letter in enumerate(text):
        found[i % 4] += ord(letter) % 7 - 3
    return torch.tensor([found])


def embedded(texts):
    """An embedding for each text, each text once."""
    cache = {}
    rows = []
    calls = 0
    for text in texts:
        while text.startswith(" "):
            text = text[1:]  # noqa: PLW2901  # as people write it
        if text not in cache:
            cache[text] = encoder(encode(text))
            calls += 1
        rows.append(cache[text])
    return {"rows": rows, "calls": calls}


def windows(ids: list[int], size: int, stride: int):
    """The best scores over the windows of a long text."""
    scores, start = [], 0
    while True:
        part = ids[start : start + size]
        scores.append(model(torch.tensor([part]))[0].mean(0))
        if start + size >= len(ids):
            break
        start += stride
    return torch.stack(scores).max(0).values


def retried(x, limit: int):
    """Another try with a smaller input while the answer is unsure."""
    tries = 0
    while tries < limit:
        y = encoder(x)
        if y.abs().max() < 0.5:
            return {"y": y, "tries": tries}
        x = x * 0.5
        tries += 1
    return {"y": None, "tries": tries}


def settled(x):
    """A fixed point."""
    last, rounds = None, 0
    while last is None or (x - last).abs().max() > 1e-3:
        last = x
        x = torch.cat([encoder(x), x[:, :1] * 0.5], 1)
        rounds += 1
        if rounds > 50:
            break
    return x, rounds


class Ranker(torch.nn.Module):
    """A service whose model and settings are its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.place = plain, 2

    def score(self, text):
        """The number of a text."""
        return float(self.encoder(encode(text))[0, self.place])

    def rank(self, texts):
        """The best of some texts."""
        best, seen = None, {}
        for text in texts:
            key = text.lower()
            if key in seen:
                continue
            seen[key] = self.score(key)
            if best is None or seen[key] > seen[best]:
                best = key
        return {"best": best, "seen": seen}


rank = Ranker().rank


def cascade(xs):
    """A second model for what the first one is unsure of."""
    found = []
    for x in xs:
        y = encoder(x)
        rounds = 0
        while float(y.max()) < 0.9 and rounds < 5:
            x = x + 1  # noqa: PLW2901  # as people write it
            y = plain(x)
            rounds += 1
        found.append((int(y.argmax()), rounds))
    return found


def handed_on(x, limit: int):
    """Models that are handed on, and kept in a variable."""
    function, k = encoder, 0
    while k < limit:
        ys = list(map(function, [x, x * 2]))
        if float(ys[0].sum() + ys[1].sum()) < 0.3:
            break
        x = x * 0.7
        k += 1
    return x, k


class Weights(torch.nn.Module):
    """Gives its argument, and a part of its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        """Both."""
        return x, self.w[:2] * 1


weights = tracepack.script(Weights(), device="cpu")


def written(x, limit: int):
    """Writes to what a model gave: to its own copy of an argument, and to a new tensor."""
    y, k = x.clone(), 0
    while y.sum() > 1 and k < limit:
        same, two = weights(y)
        same -= 1.0
        two[0] = 5.0
        k += int(two.sum()) // 6
    return y, k
