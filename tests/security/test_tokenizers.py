"""The JSON of a tokenizer from a file: bounded before its library sees it, and its panics are errors of ours."""

from __future__ import annotations

import base64
import json
import time

import pytest
import torch

import tracepack
from tests.security.forge import archive_of
from tracepack.ops.graph.graph import Graph, KernelCall, Node, Value
from tracepack.ops.graph.types import STR, STRINGS, TensorType
from tracepack.ops.runtime.safety.tokenizer_json import check_tokenizer
from tracepack.ops.tokenizer.kernel import TokenizerKernel

pytest.importorskip("tokenizers")
BASE = {
    "version": "1.0",
    "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
    "padding": {
        "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
        "pad_token": "[PAD]",
    },
    "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None,
    "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[PAD]": 0, "[UNK]": 1, "hello": 2}, "unk_token": "[UNK]"},
}  # fmt: skip


class Forged(TokenizerKernel):
    """A kernel with any JSON, for writing it to a file."""

    def __init__(self, source: str) -> None:
        self._json = source


def archive(**changes) -> bytes:
    return archive_of_json(json.dumps(changed(**changes)))


def changed(**changes) -> dict:
    data = json.loads(json.dumps(BASE))
    for key, value in changes.items():
        data[key] = {**data[key], **value} if isinstance(data[key], dict) and isinstance(value, dict) else value
    return data


def archive_of_json(source: str, *more, **settings) -> bytes:
    texts = Value(STRINGS)
    made = {name: Value(TensorType("int64", ("N", "L"))) for name in ("input_ids", "attention_mask", "token_type_ids")}
    node = Node(KernelCall(Forged(source)), (texts, *more), settings, made)
    return archive_of(Graph((texts,), (node,), made["input_ids"]))


def calling(**settings) -> bytes:
    return archive_of_json(json.dumps(BASE), **settings)


def replacements(*pairs):
    parts = [{"type": "Replace", "pattern": {"String": old}, "content": new} for old, new in pairs]
    return {"normalizer": {"type": "Sequence", "normalizers": parts}}


def steps(kind, name, *parts):
    return {kind: {"type": "Sequence", name: list(parts)}}


def normalizers(count, *parts):
    return steps("normalizer", "normalizers", *parts * count)


def replaced(old, new):
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
LONG = "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064a\u0647 \u0648\u0633\u0644\u0645"
"""What U+FDFA is by NFKD."""
SPACE = {"id": 9, "content": " ", "single_word": False, "lstrip": False, "rstrip": True, "normalized": False,
         "special": False}  # fmt: skip
LONGER = {
    "a character that NFKD makes long and a replacement puts back":
        (normalizers(7, {"type": "NFKD"}, replaced(LONG, "\ufdfa" * 11)), "its replacements"),
    "two letters whose small ones are longer":
        (normalizers(15, {"type": "Lowercase"}, replaced("\u2c65\u2c65", "\u023a" * 3)), "its replacements"),
    "bytes as characters, whose bytes are characters again":
        (steps("pre_tokenizer", "pretokenizers", *[BYTES] * 22), "its replacements"),
    "the same in a normalizer": (normalizers(22, BYTES), "its replacements"),
    "pieces that begin with what cuts the next":
        (steps("pre_tokenizer", "pretokenizers", *[
            {"type": "Metaspace", "replacement": mark, "prepend_scheme": "always", "split": True}
            for mark in "+ " * 15]), "its replacements"),
    "steps without end":
        (steps("pre_tokenizer", "pretokenizers", *[{"type": "Digits", "individual_digits": True}] * 1000),
         "its pre_tokenizer; got 1001 steps"),
    "a step whose type the library guesses": (steps("normalizer", "normalizers", {"prepend": "x"}), "its normalizer"),
    "a space between any two characters":
        (steps("decoder", "decoders", *[{"type": "BPEDecoder", "suffix": ""}] * 24), "its decoder; got an empty"),
    "another one":
        ({"decoder": {"type": "CTC", "pad_token": "x", "word_delimiter_token": "", "cleanup": True}}, "its decoder"),
    "a text twice, and each piece of one with each of the other":
        ({"post_processor": {"type": "TemplateProcessing", "single": [TEXT, TEXT], "pair": [], "special_tokens": {}}},
         "its template; got a text twice"),
    "a template for one text without it, by which those of a pair would be counted as nothing":
        ({"post_processor": {"type": "TemplateProcessing", "single": [], "pair": [TEXT, {"Sequence": {"id": "B",
         "type_id": 0}}], "special_tokens": {}}}, "its template; got none of the text"),
    "a template of a template":
        (steps("post_processor", "processors", *[{
            "type": "TemplateProcessing", "single": [TEXT], "pair": [], "special_tokens": {}}] * 2), "its template"),
    "a piece that is tried at each place":
        ({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["u", 0.0], ["a" * 1000, -1.0]]}}, "its longest piece"),
    "words of which each part is tried":
        ({"model": {"type": "WordPiece", "max_input_chars_per_word": 1000}}, "its longest word"),
    "a prefix that each part has": ({"model": {"continuing_subword_prefix": "#" * 1000}}, "its continuing_subword"),
    "a space that takes the spaces after it": ({"added_tokens": [SPACE]}, "an added token"),
}  # fmt: skip


def test_of_two_values_of_a_name_none_is_taken():
    """Python reads the last one, and the library keeps the first where the last is null."""
    hostile = json.dumps({"type": "Prepend", "prepend": "x" * 10_000})
    source = json.dumps(BASE).replace('"normalizer": null', f'"normalizer": {hostile}, "normalizer": null')
    with pytest.raises(tracepack.GraphError, match="is refused: its JSON"):
        tracepack.load(archive_of_json(source))


def test_steps_of_known_tokenizers_are_taken():
    """XLM-R's table has texts of 33 bytes, and one space becomes one character of three bytes, twice."""
    trie = (4).to_bytes(4, "little") + b"\0" * 4 + b"x" * 33 + b"\0"
    table = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(trie).decode()}
    mark = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    for changes in (
        {**normalizers(1, table, replaced(" ", "\u2581")), "pre_tokenizer": mark, "decoder": mark},
        {**normalizers(1, {"type": "BertNormalizer"}, {"type": "NFKC"}), "pre_tokenizer": {"type": "BertPreTokenizer"}},
        {"normalizer": {"type": "NFC"}, "pre_tokenizer": BYTES, "decoder": BYTES, "post_processor": BYTES},
    ):
        check_tokenizer(json.dumps(changed(**changes)))


@pytest.mark.parametrize("strategy", ["longest_first", "only_first"])
def test_pieces_of_pairs_are_counted_before_they_are_made(strategy):
    """The library makes each piece of one with each of the other, where nobody asks for any."""
    kernel, other = TokenizerKernel(json.dumps(BASE)), "x " * (5000 if strategy == "longest_first" else 7)
    assert kernel(["hello " * 9], ["x"], truncation=strategy, max_length=8)["input_ids"].shape == (1, 8)
    with pytest.raises(tracepack.SignatureError, match="pieces of texts that are cut are too many"):
        kernel(["hello " * 300_000], [other], truncation=strategy, max_length=8)


def added(content: str, **flags) -> dict:
    """An added token, and a normalizer that removes control characters and accents."""
    token = {"id": 9, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": True}
    cleans = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": False, "strip_accents": True,
              "lowercase": True}  # fmt: skip
    return {"normalizer": cleans, "added_tokens": [{**token, "special": False, **flags}]}


def merging(prefix: str, second: str) -> dict:
    """A tokenizer of pairs of bytes with one merge."""
    vocab = {"a": 0, second: 1, "a" + second: 2, "a" + second.removeprefix(prefix): 3}
    return {"model": {"type": "BPE", "vocab": vocab, "merges": [["a", second]], "continuing_subword_prefix": prefix}}


NOTHING = "its normalizer leaves nothing of an added token"
REFUSED = {
    "a merge whose second part is cut inside of a character": (merging("##", "\u2581a"), "a merge of it"),
    "a merge whose second part is shorter than the prefix": (merging("##", "b"), "a merge of it"),
    "a prefix of characters of several bytes": (merging("\u2581", "\u2581a"), "a merge of it"),
    "an added token of which nothing is left, which is found at every byte": (added("\0"), NOTHING),
    "an added accent": (added("\u0301", single_word=True), NOTHING),
    "an added token of which spaces are left that take others": (added("\0 ", rstrip=True), NOTHING),
    "padding that no memory holds": ({"padding": {"strategy": {"Fixed": 10**12}}}, "its padding"),
    "padding to a multiple of nothing": ({"padding": {"pad_to_multiple_of": 0}}, "its padding; got 0"),
    "padding to a huge multiple": ({"padding": {"pad_to_multiple_of": 10**9}}, "its padding; got 1000000000"),
    "a stride as long as the text": ({"truncation": {"stride": 8}}, "its truncation; got 8 tokens, stride 8"),
    "a stride that is longer": ({"truncation": {"stride": 100}}, "its truncation"),
    "truncation to nothing": ({"truncation": {"max_length": 0}}, "its truncation"),
    "truncation to less than what stands around": (
        {"truncation": {"max_length": 2}, "post_processor": {
            "type": "TemplateProcessing", "pair": [],
            "single": [{"SpecialToken": {"id": "[UNK]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "[UNK]", "type_id": 0}}],
            "special_tokens": {"[UNK]": {"id": "[UNK]", "ids": [1], "tokens": ["[UNK]"]}}}},
        "its truncation",
    ),
    "replacements that double": (replacements(*[("a", "aaaaaaaaaa")] * 4), "its replacements; got 1e"),
    "a replacement of nothing": (replacements(("", "aaaa")), "a pattern of it"),
    "a text a hundred times over": (
        {"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 100,
                            "pair": [], "special_tokens": {}}}, "its template; got 100 parts",
    ),
    "a table of characters that is none": (
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(b"\xff" * 9).decode()}},
        "its table of characters",
    ),
    "no model": ({"model": None}, "its JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*LONGER, *REFUSED])
def test_what_would_end_or_hang_the_process_is_refused_at_load(name):
    changes, text = {**LONGER, **REFUSED}[name]
    with pytest.raises(tracepack.GraphError, match=f"the tokenizer of a file is refused: {text}"):
        tracepack.load(archive(**changes))


def test_nesting_without_end_is_refused():
    source = json.dumps(BASE).replace('"normalizer": null', '"normalizer": ' + "[" * 3000 + "]" * 3000)
    with pytest.raises(tracepack.GraphError, match="is refused: its JSON"):
        tracepack.load(archive_of_json(source))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(", "(?=(a+))b*\\1"])
def test_a_regular_expression_that_nobody_knows_needs_trust(pattern):
    data = archive(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    )
    with pytest.raises(tracepack.TrustError, match="a regular expression that is not known, so its time has no bound"):
        tracepack.load(data)
    if pattern == "(":
        with pytest.raises(tracepack.GraphError, match="the tokenizer cannot be used|tokenizers library panicked"):
            tracepack.load(data, trust=True)


def test_one_that_is_known_needs_none():
    gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    split = {"type": "Split", "pattern": {"Regex": gpt2}, "behavior": "Isolated", "invert": False}
    mod = tracepack.load(archive(pre_tokenizer=split))
    assert mod(["hello", "hello x"]).tolist() == [[2, 0], [2, 1]]


def test_a_panic_of_the_library_is_an_error_of_ours():
    trie = (8).to_bytes(4, "little") + b"\xff" * 8 + b"text"  # its indices point nowhere
    panic = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(trie).decode()}
    with pytest.raises(tracepack.TracepackError):
        tracepack.load(archive(normalizer=panic))(["hello ab"])
    unigram = {"type": "Unigram", "unk_id": 7, "vocab": [["a", -1.0]], "byte_fallback": False}
    with pytest.raises(tracepack.GraphError, match="the tokenizer"):
        tracepack.load(archive_of_json(json.dumps({**BASE, "model": unigram})))(["b"])


def test_merges_with_a_prefix_and_tokens_that_stay_are_taken():
    bytes_apart = {**merging("##", "##b"), "pre_tokenizer": None, "padding": None}
    assert tracepack.load(archive_of_json(json.dumps({**BASE, **bytes_apart})))(["ab"]).tolist() == [[3]]
    assert tracepack.load(archive(**added("H\u00c9LLO")))(["h\u00e9llo"]).tolist() == [[3]]
    assert tracepack.load(archive(**added("\0", normalized=False)))(["hello"]).tolist() == [[2]]


def test_bounds_leave_room_for_real_ones():
    began = time.process_time()
    mod = tracepack.load(
        archive(**replacements(("a", "bb"), ("b", "cc")), truncation={"max_length": 1000, "stride": 9})
    )
    assert torch.equal(mod(["hello", "x y"]), torch.tensor([[2, 0], [1, 1]]))
    assert time.process_time() - began < 60


CALLS = {
    "padding that no memory holds": (
        {"padding": "max_length", "max_length": 10**12},
        "'max_length': .*got 1000000000",
    ),
    "a length below nothing": ({"truncation": "longest_first", "max_length": -1}, "argument 'max_length': .*got -1"),
    "a length of text": ({"max_length": "9"}, "argument 'max_length': .*got '9'"),
    "a huge multiple": ({"pad_to_multiple_of": 10**9}, "argument 'pad_to_multiple_of'"),
    "a multiple of nothing": ({"pad_to_multiple_of": 0}, "argument 'pad_to_multiple_of'"),
    "a stride below nothing": ({"stride": -1}, "argument 'stride'"),
    "a strategy of no name": ({"padding": "twice"}, "argument 'padding': .*got 'twice'"),
    "a strategy that the user writes": ({"padding": True}, "argument 'padding': .*got True"),
    "a side of no name": ({"padding_side": "up"}, "argument 'padding_side'"),
    "a flag that is a number": ({"return_length": 1}, "argument 'return_length'"),
    "an argument of no name": ({"run": True}, "argument 'run'"),
    "a task of no name": ({"task": "eval"}, "argument 'task'"),
    "a task with a length": ({"task": "decode", "max_length": 3}, "argument 'max_length'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_asks_for_too_much_is_refused_at_load(name):
    settings, text = CALLS[name]
    with pytest.raises(tracepack.GraphError, match=f"the tokenizer of a file is refused: its call; got .*{text}"):
        tracepack.load(calling(**settings))
    with pytest.raises(tracepack.GraphError, match=f"the tokenizer of a file is refused: its call; got .*{text}"):
        tracepack.load(calling(**settings), trust=True)


def test_a_call_has_one_text_or_two():
    with pytest.raises(tracepack.GraphError, match="is refused: its call; got a wrong number of arguments; got 3"):
        tracepack.load(archive_of_json(json.dumps(BASE), "a", "b"))


def test_pieces_that_repeat_each_other_are_refused_before_they_are_made():
    settings = {"truncation": "longest_first", "max_length": 1 << 16, "return_overflowing_tokens": True}
    mod = tracepack.load(calling(**settings, stride=(1 << 16) - 1))
    with pytest.raises(tracepack.SignatureError, match="argument 'stride': the pieces of a text repeat too much"):
        mod(["hello"])
    assert tracepack.load(calling(**settings, stride=9))(["hello"]).tolist() == [[2]]


def test_a_stride_costs_nothing_where_nobody_asks_for_the_pieces():
    began = time.process_time()
    mod = tracepack.load(archive(truncation={"max_length": 1 << 15, "stride": (1 << 15) - 1}))
    assert mod([" hello" * 200_000]).shape == (1, 1 << 15)
    assert time.process_time() - began < 60


def test_texts_that_padding_makes_too_long_are_refused_before_they_are_made():
    mod = tracepack.load(calling(padding="max_length", max_length=1 << 17))
    with pytest.raises(tracepack.SignatureError, match="makes too many token ids; got 1000 rows of 131072; exp"):
        mod(["hello"] * 1000)


def test_tokens_that_decode_to_too_much_are_refused_before_they_are_made():
    ids = Value(TensorType("int64", ("N",)))
    source = json.dumps(changed(model={"vocab": {"[PAD]": 0, "[UNK]": 1, "a" * (1 << 20): 2}}))
    text = Value(STR)
    node = Node(KernelCall(Forged(source)), (ids,), {"task": "decode"}, text)
    mod = tracepack.load(archive_of(Graph((ids,), (node,), text)))
    assert len(mod(torch.tensor([2]))) == 1 << 20
    with pytest.raises(tracepack.SignatureError, match="too many token ids to decode; got 1000"):
        mod(torch.full((1000,), 2))


def pairs(dropout) -> dict:
    """A tokenizer of pairs, by which a word of the letter a becomes ever longer pieces."""
    merges = [["a" * 2**n] * 2 for n in range(4)]
    model = {"type": "BPE", "vocab": {"a" * 2**n: n for n in range(5)}, "merges": merges, "dropout": dropout}
    return {**BASE, "truncation": None, "padding": None, "pre_tokenizer": None, "model": model}


def test_dropout_needs_trust():
    """The library tries merges that it left out again after each that it makes."""
    for dropout in (0.5, 0.9999, 1.0, 1, True):
        with pytest.raises(
            tracepack.TrustError, match=r"leaves merges out at random, so its time has no bound; got drop"
        ):
            tracepack.load(archive_of_json(json.dumps(pairs(dropout))))
    for dropout in (None, 0.0):
        ids = tracepack.load(archive_of_json(json.dumps(pairs(dropout))))(["a" * 24])
        assert ids.tolist() == [[4, 3]]
