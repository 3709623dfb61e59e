"""Text ops: the tokenizer in the pipeline, against the `tokenizers` package itself."""

from __future__ import annotations

import sys

import pytest
import tokenizers
import torch
from torch import nn

import tracepack

WORDS = {"[PAD]": 0, "[UNK]": 1, "the": 2, "cat": 3, "sat": 4, "on": 5, "a": 6, "mat": 7}


@pytest.fixture
def made():
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return tokenizer


def padded(made, texts):
    rows = [made.encode(text).ids for text in texts]
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def test_it_answers_as_the_tokenizers_package(made, reloaded):
    embedding = nn.EmbeddingBag(8, 5, mode="sum", padding_idx=0)
    tok, embed = tracepack.tokenizer(made), tracepack.script(embedding, name="embed")

    def process(texts):
        batch = tok(texts)
        return embed(batch["input_ids"]), batch["attention_mask"].sum(1)

    mod = tracepack.trace(process, ["the cat", "a mat on the mat"])
    for pipeline in (mod, reloaded(mod)):
        for texts in (["the cat sat"], ["a dog", "the cat sat on a mat", "mat"], ["on"] * 7):
            vectors, lengths = pipeline(texts)
            assert torch.equal(vectors, embedding(padded(made, texts)))
            assert lengths.tolist() == [len(made.encode(text).ids) for text in texts]


def test_one_string_is_a_batch_of_one(made, reloaded):
    tok = tracepack.script(made)
    mod = reloaded(tracepack.trace(lambda text: tok(text)["input_ids"], "the cat"))
    assert mod("a mat on a cat").tolist() == [[6, 7, 5, 6, 3]]


def test_truncation_and_padding_of_the_source_are_kept(made, tmp_path, reloaded):
    made.save(str(tmp_path / "tokenizer.json"))
    tok = tracepack.tokenizer(tmp_path / "tokenizer.json", max_length=2)
    mod = reloaded(tracepack.trace(lambda texts: tok(texts)["input_ids"], ["the cat"]))
    assert mod(["the cat sat on a mat", "mat"]).tolist() == [[2, 3], [7, 0]]


def test_a_tokenizer_of_transformers_is_taken(made, reloaded):
    transformers = pytest.importorskip("transformers", reason="transformers is part of the dev requirements")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]")
    tok = tracepack.script(fast)
    mod = reloaded(tracepack.trace(lambda texts: tok(texts)["input_ids"], ["the cat"]))
    texts = ["the cat sat", "a"]
    assert torch.equal(mod(texts), torch.tensor(fast(texts, padding=True)["input_ids"]))


def test_bad_text_is_named(made):
    tok = tracepack.tokenizer(made)
    mod = tracepack.trace(lambda texts: tok(texts)["input_ids"], ["the cat", "a"])
    with pytest.raises(tracepack.SignatureError, match="input 'texts': not a list of strings; got int"):
        mod(3)
    with pytest.raises(tracepack.SignatureError, match="input 'texts': not a list of strings; got a list with int"):
        mod(["a", 3])


def test_a_string_that_python_changes_stays_free(made):
    tok = tracepack.tokenizer(made)
    mod = tracepack.trace(lambda text: tok(text.lower())["input_ids"], "THE CAT")
    for text in ("THE CAT", "A MAT", "the the cat"):
        assert torch.equal(mod(text), tok(text.lower())["input_ids"])


def test_what_is_no_tokenizer_is_refused(made, tmp_path):
    (tmp_path / "bad.json").write_text("{")
    for source in (tmp_path / "bad.json", tmp_path / "none.json", 3):
        with pytest.raises(
            tracepack.ScriptError, match="cannot read a tokenizer; got .* expected a tokenizers.Tokenizer"
        ):
            tracepack.tokenizer(source)
    with pytest.raises(tracepack.ScriptError, match=r"the tokenizer has no such padding token; got '<pad>'"):
        tracepack.tokenizer(made, pad_token="<pad>")


def test_without_the_package_the_extra_is_named(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(
        tracepack.MissingExtraError, match=r"text ops need the package 'tokenizers'. Install it with: pip"
    ):
        tracepack.tokenizer("tokenizer.json")


def test_a_column_that_nobody_asked_for_is_named_with_what_to_ask(made):
    tok = tracepack.tokenizer(made)
    with pytest.raises(
        KeyError, match=r"the batch of a tokenizer op has no 'offset_mapping'. Pass return_offsets_mapp"
    ):
        tracepack.trace(lambda texts: tok(texts)["offset_mapping"], ["the cat"])
    batch = tok(["the cat"])
    with pytest.raises(
        tracepack.SignatureError, match="no 'labels'; expected one of input_ids|no 'labels'; expected inp"
    ):
        batch["labels"]
    assert batch.get("labels") is None
