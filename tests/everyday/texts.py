"""Texts, and lists of texts of any length, as people write them."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import tokenizers
import torch

import tracepack
from tests.everyday.case import Case

SPACES = re.compile(r"\s+")
WORD = re.compile(r"\w+")
DATE = re.compile(r"(?P<year>\d+)-(?P<month>\d+)-(?P<day>\d+)$")
PRICES = {"cat": 3, "dog": 5}
VOCABULARY = {"hello": 1, "world": 2, "abc": 3}
STOP = {"a", "the"}

WORDS = {"[PAD]": 0, "[UNK]": 1, "hello": 2, "world": 3, "one": 4}
TOKENIZER = tokenizers.Tokenizer(tokenizers.models.WordLevel(WORDS, unk_token="[UNK]"))
TOKENIZER.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()

TEXT = "  Hello the World "
OTHERS = [["abc"], [""], ["A  b\tc, Straße 42"], ["ÄÖü … \uff46\uff55\uff4c\uff4c"]]
TEXTS = ["Hello", "the World"]
LISTS = [[["one"]], [["A", "b", " c ", "", "abc"]], [[]]]


def cleaned(text):
    text = unicodedata.normalize("NFKC", text).lower()
    text = re.sub(r"[^a-z0-9 ]", "", text)
    return SPACES.sub(" ", text).strip()


def encoded(text):
    return torch.tensor([VOCABULARY.get(word, 0) for word in text.lower().split()], dtype=torch.int64)


def prefixed(texts):
    return [f"query: {text}" for text in texts]


def one(process):
    return Case(process, [TEXT], OTHERS)


def many(process):
    return Case(process, [TEXTS], LISTS)


class Shown:
    @staticmethod
    def bool(match):
        return "none" if match is None else match.group()


def data(process):
    return Case(process, [b"ab\ncd"], [[b"xx"], ["é中 ".encode()], [b"\x00\xff" * 50]])


def first_words(texts):
    found = []
    for text in texts:
        match = re.match(r"(\w+)", text)
        if match is None:
            found.append("?")
        else:
            found.append(match.group(1))
    return found


def number_or_word(text):
    if re.search(r"\d", text):
        return "number"
    return "word"


def token_ids(text):
    return [VOCABULARY.get(word, 0) for word in text.lower().split()][:4] or [0]


def decoding():
    tok = tracepack.script(TOKENIZER)

    def process(texts):
        batch = tok([text.lower() for text in texts], padding=True)
        return [tok.decode(row) for row in batch.input_ids]

    return process


def padded(texts):
    ids = [token_ids(text) for text in texts]
    longest = max(len(each) for each in ids)
    return torch.tensor([each + [0] * (longest - len(each)) for each in ids])


def shortened(text):
    words = text.split()
    return " ".join(words[:2]) + ("..." if len(words) > 2 else "")


def asserted(lines):
    # here, since pytest rewrites the assertions of its own files
    names = []
    for line in lines:
        match = re.match(r"(\w+):", line)
        assert match, f"no name in {line}"
        names.append(match[1])
    return names


CASES = {
    "padded by hand": Case(padded, [TEXTS], LISTS[:2]),
    "shortened": one(shortened),
    "a rule": one(lambda s: "-" * len(s)),
    "parts of constants": Case(lambda n: ("abcdef"[n:], "abcdef"[:n], [1, 4, 5][n:]), [2], [[0], [-2], [1], [9]]),
    "groups of a match": Case(
        lambda s: re.search(r"([0-9]{4})-([0-9]{2})", s).groups(), ["on 2024-01"], [["1999-12"], ["x 2001-10 y"]]
    ),
    "named groups": Case(
        lambda s: re.match(r"(?P<key>\w+)\s*=\s*(?P<value>\S+)", s).groupdict(), ["a=1"], [["key = value x"], ["k =="]]
    ),
    "a name and a number of groups": Case(
        lambda s: (re.fullmatch(DATE, s)["year"], re.fullmatch(DATE, s).group(2)), ["2024-01-05"], [["1999-12-31"]]
    ),
    "where a match lies": Case(
        lambda s: (re.search("[0-9]+", s).span(), re.search("([a-z])[0-9]", s).start(1)), ["ab12"], [["x1"], ["--y7"]]
    ),
    "the text around a match": Case(
        lambda s: s[: re.search("[0-9]", s).start()] + s[re.search("[0-9]", s).end() :], ["ab12"], [["x1"], ["--y7"]]
    ),
    "matches": one(lambda s: [m.group().upper() for m in re.finditer(r"\w+", s)]),
    "where matches lie": one(lambda s: [(m.start(), m.end()) for m in WORD.finditer(s)]),
    "how many were replaced": one(
        lambda s: (re.subn(r"\w", "#", s), re.subn(r"\w", "#", s, count=2), WORD.subn("", s))
    ),
    "escaped": one(lambda s: re.escape(s)),
    "translated": one(lambda s: s.translate(str.maketrans({"l": "1", "e": None, "c": "see"}))),
    "codes": one(lambda s: [ord(c) for c in s]),
    "a tensor of codes": one(lambda s: torch.tensor([ord(c) - 32 for c in s], dtype=torch.int64)),
    "shifted": one(lambda s: "".join(chr(ord(c) + 1) for c in s)),
    "an entry or None": Case(lambda s: 0 if PRICES.get(s) is None else PRICES.get(s) + 1, ["dog"], [["cat"]]),
    "lower": one(lambda s: s.lower()),
    "strip and upper": one(lambda s: s.strip().upper()),
    "replace": one(lambda s: s.replace("l", "L", 1)),
    "prefix": one(lambda s: "query: " + s),
    "suffix": one(lambda s: s + "!"),
    "f-string": one(lambda s: f"query: {s!r:>30}|{s:<20}|"),
    "filled in by names": one(lambda s: "%(a)s|%(n)5d" % {"a": s, "n": len(s)}),  # noqa: UP031  # it is what is tested
    "formatted by a dict": one(lambda s: "{a!r}: {n}".format_map({"a": s, "n": len(s)})),
    "width of run time": one(lambda s: f"{s:{len(s) + 3}}|"),
    "slices": one(lambda s: (s[:5], s[-3:], s[::-1])),
    "length": one(lambda s: {"n": len(s), "short": len(s) < 5}),
    "contains": one(lambda s: {"has": "W" in s, "lacks": "W" not in s}),
    "compared": one(lambda s: {"same": s == "abc", "other": s != "abc", "before": s < "b"}),
    "questions": one(lambda s: (s.startswith("  "), s.endswith(("c", " ")), s.isalpha(), s.count("l"), s.find("l"))),
    "partition": one(lambda s: s.partition(" ")),
    "split": one(lambda s: s.split()),
    "split by a keyword": one(lambda s: s.split(sep=" ", maxsplit=1)),
    "last part": one(lambda s: s.rsplit(" ", 1)[-1]),
    "repeat": one(lambda s: s * 2),
    "affixes": one(lambda s: s.removeprefix("  ").removesuffix(" ")),
    "cleaned": one(cleaned),
    "found": one(lambda s: re.findall(r"\w+", s)),
    "split by a pattern": one(lambda s: SPACES.split(s)),
    "pieces of a pattern": one(lambda s: "-".join(part for part in re.split(r"[^a-z0-9]+", s.lower()) if part)),
    "pieces of a compiled pattern": one(lambda s: [part.upper() for part in SPACES.split(s)]),
    "pieces of a plain text": one(lambda s: [part + s for part in "a b".split(f"{s[:0]} ")]),
    "words": one(lambda s: [word.capitalize() for word in s.split()]),
    "words in a text": one(lambda s: " ".join(word.title() for word in s.split())),
    "words that stay": one(lambda s: [word for word in s.split() if word not in STOP]),
    "lengths": one(lambda s: torch.tensor([len(word) for word in s.split()], dtype=torch.int64)),
    "sum of lengths": one(lambda s: sum(len(word) for word in s.split())),
    "any word": one(lambda s: any(word == "abc" for word in s.split())),
    "sorted": one(lambda s: sorted(s.split(), reverse=True)),
    "numbered": one(lambda s: {word: index for index, word in enumerate(s.split())}),
    "pairs": one(lambda s: list(zip(s.split(), s.upper().split(), strict=True))),
    "token ids": one(encoded),
    "rows of a tokenizer decoded": many(decoding()),
    "text of a list": one(lambda s: f"{s.split()}"),
    "prefixes": many(prefixed),
    "lower of each": many(lambda texts: [text.lower() for text in texts]),
    "mapped by a builtin": many(lambda texts: tracepack.map(len, texts)),
    "mapped by a method": many(lambda texts: tracepack.map(str.strip, texts)),
    "mapped": many(lambda texts: tracepack.map(lambda text: text.strip().lower(), texts)),
    "words of each": many(lambda texts: [[word.lower() for word in text.split()] for text in texts]),
    "ids of each": many(lambda texts: tracepack.map(lambda text: tracepack.lookup(VOCABULARY, text.split(), 0), texts)),
    "joined": many(lambda texts: "\n".join(texts)),
    "length of a list": many(lambda texts: len(texts) * 2),
    "numbered lines": many(lambda texts: [f"{i}: {text}" for i, text in enumerate(texts, 1)]),
    "one more": many(lambda texts: ["first", *texts, "last"]),
    "is it there": many(lambda texts: "abc" in texts),
    "longest first": many(lambda texts: sorted(texts)),
    "two conditions": many(lambda texts: [text for text in texts if text and text[0] != "A" if len(text) < 4]),
    "characters": many(lambda texts: [[c for c in text if c != "e"] for text in texts]),
    "backwards": many(lambda texts: list(reversed(texts))),
    "counted": many(lambda texts: (texts.count("b"), len([text for text in texts if text.islower()]))),
    "stacked": Case(
        lambda texts: torch.stack([torch.tensor([len(text), 1]) for text in texts]), [TEXTS], [[["a"]], [["b"] * 5]]
    ),
    "shortest first": many(lambda texts: sorted(texts, key=len)),
    "by a method": many(lambda texts: sorted(texts, key=str.lower, reverse=True)),
    "by a function": many(lambda texts: sorted(texts, key=lambda text: (len(text), text.upper()))),
    "filtered": many(lambda texts: list(filter(None, texts))),
    "filtered by a function": many(lambda texts: list(filter(lambda text: len(text) > 1, texts))),
    "methods mapped": many(lambda texts: list(map(str.strip, texts))),
    "one of two for each": many(lambda texts: ["short" if len(text) < 4 else "long" for text in texts]),
    "longest": Case(lambda texts: max(texts, key=len), [TEXTS], LISTS[:2]),
    "first of the shortest": Case(lambda texts: min(texts, key=len), [TEXTS], LISTS[:2]),
    "texts with a match": many(lambda texts: [text for text in texts if re.search("[a-e]", text)]),
    "texts without a match": many(lambda texts: [text for text in texts if not SPACES.search(text)]),
    "one of two by a match": many(lambda texts: ["word" if re.fullmatch(r"\w+", text) else "text" for text in texts]),
    "matches in a loop": many(first_words),
    "a verdict by a match": one(number_or_word),
    "whether there is a match": one(lambda s: {"digit": re.search(r"\d", s) is not None, "no": WORD.match(s) is None}),
    "a match as a flag": one(lambda s: bool(re.fullmatch(r"\s*\w+", s.strip()))),
    "a match for a function of that name": Case(lambda s: Shown.bool(re.search("[a-z]", s)), ["ab"], [["1b"], ["xyz"]]),
    "matches as flags": one(lambda s: [bool(WORD.fullmatch(word)) for word in s.split()]),
    "any match": one(lambda s: any(re.search(pattern, s) is not None for pattern in (r"\d", "[A-C]"))),
    "accents dropped": one(
        lambda s: "".join(c for c in unicodedata.normalize("NFD", s) if not unicodedata.combining(c))
    ),
    "bytes of a text": one(lambda s: list(s.encode())),
    "number of bytes": one(lambda s: len(s.encode("utf-16"))),
    "ids of bytes": one(lambda s: torch.tensor([b + 3 for b in s.encode()], dtype=torch.int64)),
    "only ascii": one(lambda s: unicodedata.normalize("NFKD", s).encode("ascii", "ignore").decode()),
    "bytes of each": many(lambda texts: [torch.tensor(list(t.encode()), dtype=torch.int64) for t in texts]),
    "bytes that are a text": data(lambda b: b.decode("utf-8", errors="replace").title()),
    "lines of bytes": data(lambda b: [line.strip() for line in b.decode("latin-1").splitlines()]),
    "numbers of bytes": Case(
        lambda b: torch.frombuffer(bytearray(b), dtype=torch.int16).float() / 32768,
        [b"abcdef"],
        [[b"\x00\xff"], [b"xyz" * 4]],
    ),
    "array of bytes": data(lambda b: torch.from_numpy(np.frombuffer(b, dtype=np.uint8).astype(np.float32)) / 255),
    "bytes one by one": data(lambda b: (len(b), b[0], b[-1], sum(b), [c for c in b if c > 64], b[1:3] == b"xx")),
    "bytes in a record": Case(
        lambda record: f"{record['name']}: {record['data'].decode()}",
        [{"name": "a", "data": b"xyz"}],
        [[{"name": "b", "data": b""}]],
    ),
    "letters backwards": one(lambda s: "".join(reversed(s))),
    "a text for each of a list": Case(
        lambda q, docs: ([a + b for a, b in zip([q.strip()] * len(docs), docs, strict=True)], len(docs) * [len(q), 0]),
        ["a ", ["b", "c"]],
        [["dd", ["e"]], ["d", []], ["", ["x"] * 5]],
    ),
    "two lists": Case(
        lambda a, b: [f"{x} {y}" for x, y in zip(a, b, strict=True)], [["a", "b"], ["c", "d"]], [[["a"], ["b"]]]
    ),
}
