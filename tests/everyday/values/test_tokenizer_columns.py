"""What a tokenizer op has in another form than transformers does: an error shows the form, and that works."""

from __future__ import annotations

import pytest

import tracepack

pytest.importorskip("transformers", reason="transformers is part of the dev requirements")
from tests.pipeline.test_tokenizer_calls import reference, word_piece


def test_what_it_lacks_says_what_to_write():
    op = tracepack.script(word_piece())
    for name, words in (
        ("encode", r"op\(text, truncation=False\)\['input_ids'\]\[0\]"),
        ("tokenize", r"op.convert_ids_to_tokens\(op\(text"),
        ("pad", "padding=True on the texts"),
        ("apply_chat_template", "Write the template as an f-string"),
        ("mask_token_id", "Write convert_tokens_to_ids"),
    ):
        with pytest.raises(tracepack.SignatureError, match=f"test_tokenizer_columns.py.* has no '{name}'. .*{words}"):
            getattr(op, name)
        assert not hasattr(op, name)


ENCODINGS = {
    "word_ids": (lambda batch: batch.word_ids(0), r"Pass return_word_ids=True, and read batch\['word_ids'\]\[i\]"),
    "sequence_ids": (lambda batch: batch.sequence_ids(0), "Pass return_sequence_ids=True"),
    "char_to_token": (lambda batch: batch.char_to_token(0, 1), "Pass return_offsets_mapping=True"),
    "tokens": (lambda batch: batch.tokens(), r"Write op.convert_ids_to_tokens\(batch\['input_ids'\]\[i\]\)"),
    "encodings": (lambda batch: batch.encodings[0], r"Its columns are batch\['input_ids'\]\[i\]"),
    "one encoding": (lambda batch: batch[0], r"got 0. Write batch\['input_ids'\]\[i\]"),
    "another column": (lambda batch: batch.labels, "expected input_ids, attention_mask"),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_what_a_batch_lacks_says_what_to_write_with_the_line(name):
    use, words = ENCODINGS[name]
    op = tracepack.script(reference("WordPiece"))
    with pytest.raises(tracepack.SignatureError, match=f"test_tokenizer_columns.py:.*{words}"):
        tracepack.trace(lambda text: use(op(text)), "hello")


def test_the_words_and_the_texts_of_a_batch_are_columns(reloaded):
    fast = reference("WordPiece")
    op = tracepack.script(fast)

    def process(words, more):
        given = {"is_split_into_words": True, "return_word_ids": True, "return_sequence_ids": True}
        batch = op(words, more, padding="max_length", max_length=30, **given)
        return batch.data, batch.word_ids[0] == 1

    mod = reloaded(tracepack.trace(process, ["the", "cat"], ["mat"]))
    for words, more in ((["the", "cat"], ["mat"]), (["where", "is", "dogs"], ["hello", "cat"])):
        wanted = fast([words], [more], is_split_into_words=True, padding="max_length", max_length=30)
        for found, second in (process(words, more), mod(words, more)):
            for name in ("word_ids", "sequence_ids"):
                column = [-1 if each is None else each for each in getattr(wanted, name)(0)]
                assert found[name].tolist() == [column]
            assert second.tolist() == [each == 1 for each in wanted.word_ids(0)]


def test_the_vocabulary_and_counts_are_constants(reloaded):
    fast = reference("WordPiece")
    op = tracepack.script(fast)

    def process(text):
        ids = tracepack.lookup(op.get_vocab(), text.split(), default=op.unk_token_id)
        room = 10 - op.num_special_tokens_to_add() + op.num_special_tokens_to_add(pair=True)
        return ids.tolist(), op.convert_ids_to_tokens(ids[0].item()), room, op.vocab["the"]

    mod = reloaded(tracepack.trace(process, "the cat"))
    for text in ("the cat", "dog mat unheard the"):
        ids = fast.convert_tokens_to_ids(text.split())
        room = 10 - fast.num_special_tokens_to_add() + fast.num_special_tokens_to_add(pair=True)
        assert mod(text) == (ids, fast.convert_ids_to_tokens(ids[0]), room, fast.get_vocab()["the"])
