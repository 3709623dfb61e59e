"""The campaign of tokenizers: a few of them in every run of the tests, and one that shows that it can fail."""

from __future__ import annotations

import json

import pytest

from tests.fuzz.children import survive
from tests.fuzz.tokenizers.attempts import MEMORY, attempt, made, real
from tracepack.ops.tokenizer.kernel import TokenizerKernel

pytest.importorskip("tokenizers")
EMPTY = {
    "version": "1.0", "truncation": None, "padding": None, "normalizer": {"type": "StripAccents"},
    "pre_tokenizer": None, "post_processor": None, "decoder": None,
    "added_tokens": [{"id": index, "content": content, "single_word": index == 0, "lstrip": False, "rstrip": False,
                      "normalized": True, "special": False} for index, content in enumerate(("\u0301", "aa"))],
    "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
}  # fmt: skip


def lost(sources: list[str]) -> list[str]:
    """What became of tokenizers, each called in a child."""
    calls = survive(len(sources), lambda index: attempt(sources[index], index), still=5, slow=5, memory=MEMORY)
    return [loss.outcome for loss in calls]


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")


def test_a_few_tokenizers_end_no_process():
    known = real()
    assert lost([made(index, known) for index in range(40)]) == []


def test_a_number_makes_one_tokenizer():
    known = real()
    assert [made(index, known) for index in range(9)] == [made(index, known) for index in range(9)]


def test_a_tokenizer_that_would_end_the_process_is_lost_without_its_check(monkeypatch):
    sources = [json.dumps(EMPTY)] * 40  # each is called with other texts
    assert lost(sources) == []
    monkeypatch.setattr(TokenizerKernel, "_check_added", lambda self, tokens: None)
    assert len(lost(sources)) > 0
