"""Loops that ask a tokenizer or a model in a condition, or put what it gives where it belongs in a list of None."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check
from tests.everyday.texts import TOKENIZER

TOKENS = tracepack.script(TOKENIZER)
LABELS = ["low", "middle", "high"]


class _Scores(torch.nn.Module):
    def forward(self, ids):
        return torch.nn.functional.one_hot(ids.sum(1) % 3, 3).float() * ids.shape[1]


SCORES = tracepack.script(_Scores())


def _chunks(texts, limit):
    found, current = [], ""
    for text in texts:
        candidate = (current + " " + text).strip()
        if current and TOKENS(candidate).input_ids.shape[1] > limit:
            found.append(current)
            current = text
        else:
            current = candidate
    if current:
        found.append(current)
    return found


def _longest(texts, limit):
    found = _chunks(texts, limit)
    if not found:
        return "none"
    return max(found, key=len)


_TEXTS = (["the cat", "a dog", "good"], 3)
_OTHERS = [(["a"], 3), ([], 5), (["the cat is", "on", "a", "dog good bad"], 4), (["", "the cat", "", "a dog"], 2)]


@pytest.mark.parametrize("process", [_chunks, _longest])
def test_an_op_behind_and_leaves_a_loop_any_length(process) -> None:
    check(Case(process, _TEXTS, _OTHERS))


def _labelled(texts):
    found = [None] * len(texts)
    for place, text in enumerate(texts):
        found[place] = LABELS[SCORES(TOKENS(text).input_ids).argmax(-1).item()]
    return found


def _with_gaps(texts):
    found = [None] * len(texts)
    for place, text in enumerate(texts):
        if text != "a":
            found[place] = {"text": text, "score": SCORES(TOKENS(text).input_ids).max().item()}
    return {"found": found, "count": len(found)}


def _in_batches(texts, size=2):
    found = [None] * len(texts)
    for start in range(0, len(texts), size):
        ids = TOKENS(texts[start : start + size], padding=True).input_ids
        for place, label in enumerate(SCORES(ids).argmax(-1).tolist()):
            found[start + place] = LABELS[label]
    return found


def _named(texts):
    labels = [LABELS[SCORES(TOKENS(text).input_ids).argmax().item()] if len(text) > 1 else None for text in texts]
    for place, text in enumerate(texts):
        if text == "a":
            labels[place] = "short"
        elif text == "the dog":
            labels[place] = None
    return labels


@pytest.mark.parametrize("process", [_labelled, _with_gaps, _in_batches, _named])
def test_a_list_of_none_is_filled_by_ops(process) -> None:
    check(Case(process, [["the cat", "dog"]], [[["a"]], [[]], [["a", "the dog", "cat dog a", "the dog a", ""]]]))


def _asked_between(texts):
    found = [None] * len(texts)
    for place, text in enumerate(texts):
        if place > 0 and found[place - 1] is None:
            found[place] = "b"
        else:
            found[place] = LABELS[SCORES(TOKENS(text).input_ids).argmax(-1).item()]
    return found


def test_a_block_asks_for_the_items_of_a_list_of_none() -> None:
    check(Case(_asked_between, [["the cat", "dog"]], [[["a"]], [[]], [["a", "the dog", "cat dog a", ""]]]))


@pytest.mark.usefixtures("no_blocks")
def test_what_asks_for_the_items_of_a_list_of_none_is_told_how_to_begin() -> None:
    words = r"may be None is asked for more than its length. .*: found = \[''\] \* len\(texts\) in place of \[None\]"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(_asked_between, ["the cat", "dog"])


def _put_too_early(texts, first):
    found = [first] * len(texts)
    for place, text in enumerate(texts):
        row = [text]
        found[place] = row
        if SCORES(TOKENS(text).input_ids).max().item() > 2:
            row.append("long")
    return found


def test_a_block_changes_a_list_after_it_was_put_into_another() -> None:
    check(Case(_put_too_early, [["a", "dog"], 0], [[["a"], 0], [[], 0], [["a", "the dog", "cat dog a", ""], 0]]))


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("first", [None, 0])
def test_a_list_that_changes_after_it_was_put_into_another_is_refused(first) -> None:
    words = r"a list is changed after it was put into a list of any length. Put it there after its last change"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda texts: _put_too_early(texts, first), ["a", "dog"])


@dataclass
class _Result:
    text: str
    label: str
    score: float


def _result(text):
    found = SCORES(TOKENS(text).input_ids)[0]
    place = int(found.argmax())
    return _Result(text, LABELS[place], found[place].item())


def _mean(texts):
    found = [_result(text) for text in texts if text]
    return sum(each.score for each in found) / len(found) if found else 0.0


def _best(texts):
    found = [_result(text) for text in texts if text.strip()]
    if not found:
        return "none"
    return max(found, key=lambda each: each.score).label


def _mean_if_any(texts):
    found, mean = [_result(text) for text in texts if text], 0.0
    if found:
        mean = sum(each.score for each in found) / len(found)
    return mean


@pytest.mark.parametrize("process", [_mean, _best, _mean_if_any])
def test_a_list_of_objects_is_asked_whether_it_is_empty(process) -> None:
    check(Case(process, [["the cat", "a"]], [[[]], [[""]], [["a dog", "", "the cat is"]]]))
