"""Generator functions whose items go on to a tokenizer, a model, torch, numpy or Python."""

from __future__ import annotations

import itertools

import numpy as np
import tokenizers
import torch

import tracepack
from tests.everyday.case import Case

WORDS = "the cat a dog".split()
_MADE = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(["[PAD]", *WORDS])}, "[PAD]"))
_MADE.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
_MADE.add_special_tokens(["[PAD]"])
TOKENIZER = tracepack.script(_MADE)
MODEL = torch.nn.Linear(2, 3).eval()
OP = tracepack.script(MODEL, device="cpu")
SIZES = (0, 1, 2, 3, 7, 8)
ROWS = [(torch.arange(2.0 * size).reshape(size, 2) / 3,) for size in SIZES]
TEXTS = [((WORDS * 2)[:size],) for size in SIZES]


def batches(xs, n):
    for i in range(0, len(xs), n):
        yield xs[i : i + n]


def windows(xs, n):
    """Yields overlapping pieces."""
    for i in range(len(xs) - n + 1):
        yield xs[i : i + n]


def pairs(xs):
    for pair in itertools.pairwise(xs):
        a, b = pair
        yield a, b


def rounds(xs, n):
    at = 0
    while at < len(xs):
        yield xs[at : at + n]
        at += n


def collected(xs, n):
    batch = []
    for x in xs:
        batch.append(x)
        if len(batch) == n:
            yield batch
            batch = []
    if batch:
        yield batch


def longer(texts, n):
    for text in texts:
        if len(text) > n:
            yield text


def joined(rows):
    for row in rows:
        yield from row


def sums(x):
    total = 0.0
    for row in x:
        total += row.sum().item()
        yield total


def sentences(text):
    begin = 0
    for i, letter in enumerate(text):
        if letter in ".!?":
            yield text[begin : i + 1].strip()
            begin = i + 1
    if begin < len(text):
        yield text[begin:].strip()


def largest(pieces):
    for piece in pieces:
        yield piece.max().item()


def encoded(x):
    for row in x:
        yield MODEL(row)


def of_tokens(texts):
    return [TOKENIZER(batch, padding=True).input_ids.shape[1] for batch in batches(texts, 2)]


def of_tokens_in_order(texts):
    out = []
    for batch in batches(texts, 3):
        out += TOKENIZER(batch, padding=True).input_ids.float().mean(1).tolist()
    return out


def of_op(x):
    return torch.cat([OP(batch) for batch in batches(x, 2)])


def of_model(x):
    out = []
    for batch in batches(x, 2):
        out.extend(MODEL(batch).argmax(-1).tolist())
    return out


def numbered(x):
    return {i: batch.sum().item() for i, batch in enumerate(batches(x, 2))}


def as_list(xs):
    return list(batches(xs, 2)), sum(len(batch) for batch in batches(xs, 2))


def as_array(x):
    return np.array([batch.mean().item() for batch in batches(x.numpy(), 2)])


def of_pairs(texts):
    return [TOKENIZER(a + " " + b).input_ids.shape[1] for a, b in pairs(texts)]


def in_a_class(x):
    return torch.stack(list(encoded(x)))


class Batches:
    def __init__(self):
        self.size = 2

    def of(self, xs):
        for i in range(0, len(xs), self.size):
            yield xs[i : i + self.size]

    def __call__(self, x):
        return torch.cat([MODEL(batch) for batch in self.of(x)])


def inside(x):
    def pieces(n):
        for i in range(0, len(x), n):
            yield x[i : i + n]

    return [MODEL(piece).sum().item() for piece in pieces(2)]


def left_early(x):
    for i, batch in enumerate(batches(x, 2)):
        if batch.sum().item() > 3:
            return i
    return -1


def first_one(x):
    return next((batch.mean().item() for batch in batches(x, 2) if batch.sum().item() > 3), -1.0)


def scored(pieces):
    out = []
    for piece in pieces:
        out.append(piece.sum().item())  # noqa: PERF401  # as it is written
    return out


CASES = {
    "a tokenizer": Case(of_tokens, TEXTS[3], TEXTS),
    "a tokenizer, in a loop": Case(of_tokens_in_order, TEXTS[4], TEXTS),
    "an op": Case(of_op, ROWS[3], ROWS[1:]),
    "a model, in a loop": Case(of_model, ROWS[3], ROWS),
    "their numbers": Case(numbered, ROWS[3], ROWS),
    "a list": Case(as_list, TEXTS[3], TEXTS),
    "an array": Case(as_array, ROWS[3], ROWS),
    "windows": Case(lambda x: [w.mean().item() for w in windows(x, 2)], ROWS[3], ROWS),
    "pairs": Case(of_pairs, TEXTS[3], TEXTS),
    "rounds": Case(lambda x: [w.mean().item() for w in rounds(x, 2)], ROWS[3], ROWS),
    "a list that is filled": Case(
        lambda texts: [TOKENIZER(batch, padding=True).input_ids.shape[1] for batch in collected(texts, 2)],
        TEXTS[3],
        TEXTS,
    ),
    "a filter": Case(lambda texts: [TOKENIZER(t).input_ids.sum().item() for t in longer(texts, 1)], TEXTS[3], TEXTS),
    "yield from": Case(
        lambda rows: [TOKENIZER(word).input_ids.sum().item() for word in joined(rows)],
        ([["the", "cat"], ["a"]],),
        [([],), ([["a", "dog", "the"]],), ([["a"], [], ["the", "cat"]],)],
    ),
    "a sum": Case(lambda x: [round(total, 3) for total in sums(x)], ROWS[3], ROWS),
    "sentences": Case(
        lambda text: [TOKENIZER(sentence).input_ids.shape[1] for sentence in sentences(text)],
        ("the cat. a dog!",),
        [("a",), ("",), ("the. . a",)],
    ),
    "one of another": Case(lambda x: list(largest(batches(x, 2))), ROWS[3], ROWS),
    "a model in it": Case(in_a_class, ROWS[3], ROWS[1:]),
    "a method": Case(Batches(), ROWS[3], ROWS[1:]),
    "a function inside": Case(inside, ROWS[3], ROWS),
    "left early": Case(left_early, ROWS[3], ROWS),
    "next": Case(first_one, ROWS[3], ROWS),
    "a helper": Case(lambda x: scored(batches(x, 2)), ROWS[3], ROWS),
    "an expression for a helper": Case(lambda x: scored(MODEL(row) for row in x), ROWS[3], ROWS),
    "two": Case(
        lambda x: [a.sum().item() - b.mean().item() for a, b in zip(batches(x, 2), batches(x * 2, 2), strict=True)],
        ROWS[3],
        ROWS,
    ),
}
