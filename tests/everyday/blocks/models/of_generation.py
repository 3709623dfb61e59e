"""Loops that call a model until what it gives ends them, as people write them."""

from __future__ import annotations

import torch

import tracepack

EOS, BOS = 3, 1


class Words(torch.nn.Module):
    """Gives the scores of the next of twelve words at each place of a text."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        drawn = torch.Generator().manual_seed(seed)
        self.words = torch.nn.Embedding.from_pretrained(torch.randn(12, 8, generator=drawn))
        self.places = torch.nn.Embedding.from_pretrained(torch.randn(64, 8, generator=drawn))
        self.scores = torch.nn.Parameter(torch.randn(8, 12, generator=drawn))

    def forward(self, ids, mask=None):
        """Rows of scores."""
        h = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        h = h if mask is None else h * mask[..., None]
        return torch.sin((h + h.cumsum(1) / 3) * 3) @ self.scores


plain = Words(0).eval().requires_grad_(False)
model = tracepack.script(Words(0), device="cpu")
draft = tracepack.script(Words(1), device="cpu")


def greedy(ids: list[int], limit: int):
    """Greedy decoding."""
    out = list(ids)
    while len(out) < limit:
        logits = model(torch.tensor([out]))
        nxt = int(logits[0, -1].argmax())
        if nxt == EOS:
            break
        out.append(nxt)
    return out


def greedy_without_gradients(ids: list[int], limit: int):
    """The same with the model itself."""
    out = list(ids)
    with torch.no_grad():
        while len(out) < limit:
            nxt = plain(torch.tensor([out]))[0, -1].argmax().item()
            if nxt == EOS:
                break
            out.append(nxt)
    return out


@torch.no_grad()
def greedy_with_a_mask(ids: list[int], limit: int):
    """The same with arguments by their names, under a decorator."""
    out = list(ids)
    while len(out) < limit:
        x = torch.tensor([out])
        nxt = int(model(mask=torch.ones_like(x), ids=x)[0, -1].argmax())
        if nxt == EOS:
            break
        out.append(nxt)
    return out


def answer(prompt: str):
    """A text for a text."""
    tokens = [BOS] + [ord(letter) % 12 for letter in prompt]
    letters = []
    for _ in range(20):
        with torch.inference_mode():
            probs = torch.softmax(plain(torch.tensor(tokens).unsqueeze(0))[0, -1], -1)
        token = probs.argmax().item()
        if token in (EOS, 0):
            break
        tokens.append(token)
        letters.append(chr(97 + token))
    return "".join(letters)


def _step(ids):
    return model(torch.tensor([ids]))[0, -1].log_softmax(-1)


def scored(start: list[int], count: int):
    """Greedy decoding with its score, by a helper."""
    ids, score = list(start), 0.0
    for _ in range(count):
        found = _step(ids)
        nxt = int(found.argmax())
        score += float(found[nxt])
        ids.append(nxt)
        if nxt == EOS:
            break
    return {"ids": ids, "score": score}


def beam(start: list[int], width: int, count: int):
    """Beam search that ends early."""
    beams, done = [(start, 0.0)], []
    for _ in range(count):
        candidates = []
        for ids, score in beams:
            top = _step(ids).topk(width)
            for value, i in zip(top.values.tolist(), top.indices.tolist(), strict=True):
                candidates.append(([*ids, i], score + value))
        candidates = sorted(candidates, key=lambda each: -each[1])[:width]
        done += [each for each in candidates if each[0][-1] == EOS]
        beams = [each for each in candidates if each[0][-1] != EOS]
        if not beams:
            break
    best = max(done + beams, key=lambda each: each[1] / len(each[0]))
    return best[0]


def speculative(ids: list[int], limit: int):
    """Speculative decoding: one model proposes, another one judges."""
    out = list(ids)
    while len(out) < limit:
        proposed = list(out)
        for _ in range(3):
            proposed.append(int(draft(torch.tensor([proposed]))[0, -1].argmax()))
        scores = model(torch.tensor([proposed]))[0]
        k = len(out)
        while k < len(proposed) and int(scores[k - 1].argmax()) == proposed[k]:
            k += 1
        out = proposed[:k]
        if k < len(proposed):
            out.append(int(scores[k - 1].argmax()))
    return out[:limit]


def batch(ids, limit: int):
    """Greedy decoding of rows, each of which ends where it ends."""
    done = torch.zeros(ids.shape[0], dtype=torch.bool)
    while ids.shape[1] < limit:
        nxt = model(ids)[:, -1].argmax(-1)
        nxt = torch.where(done, torch.zeros_like(nxt), nxt)
        ids = torch.cat([ids, nxt[:, None]], 1)
        done = done | (nxt == EOS)
        if done.all():
            break
    return ids


class Cell(torch.nn.Module):
    """A cell with two states."""

    def __init__(self) -> None:
        super().__init__()
        drawn = torch.Generator().manual_seed(5)
        self.w = torch.nn.Parameter(torch.randn(3, 3, generator=drawn))

    def forward(self, x, state=None):
        """The answer, and the states."""
        h, c = (x * 0, x + 1) if state is None else state
        h = torch.tanh(x @ self.w + h)
        return {"y": h * c, "state": (h, c * 0.9)}


cell = tracepack.script(Cell(), device="cpu")


def states(x, limit: int):
    """A recurrent model that runs until its answer says so."""
    out = []
    found = cell(x)
    h, c = found["state"]
    while len(out) < limit:
        found = cell(found["y"], (h, c))
        h, c = found["state"]
        out.append(int(found["y"][0].argmax()))
        if float(found["y"].abs().max()) < 0.4:
            break
    return out, h
