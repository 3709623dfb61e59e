"""Blocks that call the op of a tokenizer with what they set: texts in, columns of tensors out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import tokenizers
import torch

import tracepack
from tests.everyday.case import Case, check

WORDS = "[PAD] [UNK] the cat a dog good bad".split()
LABELS = ["negative", "neutral", "positive"]


class _Scores(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = torch.nn.Embedding(len(WORDS), 8), torch.nn.Linear(8, 3)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        found = self.words(ids)
        found = found.mean(1) if mask is None else (found * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.out(found)


def _tokenizer() -> Any:
    vocabulary = {word: place for place, word in enumerate(WORDS)}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(["[PAD]"])
    return made


torch.manual_seed(0)
TOKENS, SCORES = tracepack.script(_tokenizer()), tracepack.script(_Scores().eval())


@dataclass
class Found:
    text: str
    label: str
    score: float


def scored(text: str) -> dict[str, Any]:
    batch = TOKENS(text)
    shares = SCORES(batch.input_ids, batch["attention_mask"]).softmax(-1)[0]
    place = int(shares.argmax())
    return {"text": text, "label": LABELS[place], "score": shares[place].item()}


def unsure(texts):
    out = []
    for text in texts:
        row = scored(text)
        if row["score"] < 0.42:
            row["label"] = "unsure"
        out.append(row)
    return out


def first_sure(texts):
    for text in texts:
        row = scored(text)
        if row["score"] > 0.42:
            return row["text"]
    return "none"


def objects(texts):
    out = []
    for text in texts:
        row = scored(text)
        found = Found(row["text"], row["label"], row["score"])
        if found.score < 0.42:
            found.label = "unsure"
        out.append(found)
    return [f"{each.text}: {each.label}" for each in out]


def any_sure(texts):
    return any(scored(text)["score"] > 0.42 for text in texts)


def all_short(texts):
    return all(TOKENS(text).input_ids.shape[1] < 3 for text in texts)


def best_of_each(texts):
    best = {}
    for text in texts:
        row = scored(text)
        if row["label"] not in best or row["score"] > best[row["label"]][1]:
            best[row["label"]] = (text, row["score"])
    return best


def chunks(texts, most=4):
    out, current = [], ""
    for text in texts:
        candidate = f"{current} {text}".strip()
        count = TOKENS(candidate).input_ids.shape[1]
        if current and count > most:
            out.append(current)
            current = text
        else:
            current = candidate
    return [*out, current] if current else out


def until_long(text, most=6):
    while len(TOKENS(text).input_ids[0].tolist()) < most:
        text = f"{text} good"
    return text


def longest_first(texts):
    stack, out = list(texts), []
    while stack:
        text = stack.pop()
        if TOKENS(text).input_ids.shape[1] > 2:
            out.append(text)
    return out


TEXTS = ["the cat", "a good dog", "bad"]
OTHERS = [(["good"],), (["bad bad", "the dog a cat", "x y z", "good cat"],), (["a", "the", "the cat is bad"],)]


PROCESSES = [unsure, first_sure, objects, any_sure, all_short, best_of_each, chunks, longest_first]


@pytest.mark.parametrize("process", PROCESSES, ids=lambda each: each.__name__)
def test_a_block_calls_the_op_of_a_tokenizer(process) -> None:
    check(Case(process, (TEXTS,), OTHERS))


def test_a_text_grows_until_it_has_many_tokens() -> None:
    check(Case(until_long, ("the cat",), [("a",), ("bad bad bad bad bad bad bad",), ("good dog x",)]))


def test_what_a_batch_does_not_hold_is_refused() -> None:
    def process(texts):
        return [text for text in texts if TOKENS(text).offsets.sum() > 1]

    with pytest.raises(tracepack.TracepackError, match="offsets"):
        tracepack.trace(process, TEXTS)
