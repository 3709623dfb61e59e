"""Forged nodes on texts, tables and lists: each is refused at load, or bounded when it runs."""

from __future__ import annotations

import re
import time

import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, tensor
from tracepack.ops.graph.graph import Graph, Value
from tracepack.ops.graph.types import ANY, STR
from tracepack.ops.runtime.primitives.tables import to_dict
from tracepack.ops.runtime.safety.patterns import is_linear

X = torch.arange(4.0)
LONG = "a" * (1 << 20)


def one(name: str, *args, kind=STR) -> bytes:
    """The archive of one node over a text; ``TEXT`` among the arguments stands for the input."""
    text = Value(kind)
    node = apply(name, *(text if arg is TEXT else arg for arg in args))
    return archive_of(Graph((text,), (node,), node.output))


TEXT = object()
GROWING = {
    "a wide format": ("py.format", TEXT, ">999999999"),
    "a precise format": ("py.format", 1.5, ".99999f"),
    "a format of a width that runs": ("py.format", 1.5, TEXT),
    "a wide percent": ("py.mod", "%999999999s", TEXT),
    "ljust": ("py.str_ljust", TEXT, 10**12),
    "zfill": ("py.str_zfill", TEXT, 10**12),
    "center": ("py.str_center", TEXT, 10**12),
    "replace": ("py.str_replace", TEXT, "", LONG),
    "expandtabs": ("py.str_expandtabs", "\t" * 1000, 1 << 20),
    "join": ("py.str_join", LONG, ["a"] * 60_000),
    "repeat": ("py.mul", TEXT, 10**12),
    "substitute": ("py.re_sub", "a", 0, "b" * 10_000, TEXT, 0),
    "normalize": ("py.join_texts", *[TEXT] * 40),
    "json": ("py.json_dumps", TEXT, 10**9),
}


@pytest.mark.parametrize("name", GROWING)
def test_a_text_that_would_fill_the_memory_is_refused(name) -> None:
    mod = tracepack.load(one(*GROWING[name]))
    began = time.monotonic()
    with pytest.raises(tracepack.GuardError, match=r"grows too large|cannot be used|too large an indent"):
        mod(LONG if name != "a format of a width that runs" else ">999999999")
    assert time.monotonic() - began < 60


WRONG = {
    "lower of a number": ("py.str_lower", 7),
    "a table that is a text": ("py.lookup", TEXT, 0),
    "a table of many keys that is a text": ("py.lookup_all", TEXT, [0]),
    "tolist of a text": ("py.tolist", TEXT),
    "a normal form": ("py.normalize", "NFX", TEXT),
    "a table": ("py.str_translate", TEXT, ["a" * 100]),
    "a match": ("py.re_start", TEXT),
    "a character": ("py.ord", 3),
    "base64 of a text": ("py.b64encode", TEXT),
    "base64 of a number": ("py.b64decode", 7),
    "letters of base64": ("py.b64decode", TEXT, "abc"),
    "letters of base64 that are none": ("py.b64decode", TEXT, 7),
    "hexadecimal digits of a text": ("py.hex", TEXT),
    "hexadecimal digits that are none": ("py.from_hex", TEXT),
    "a function of a text": ("py.text", "textwrap.wrap", TEXT, 9),
    "a page of a number": ("py.text", "html.escape", 7, True),
    "an option of a text": ("py.text", "urllib.parse.quote", TEXT, ["/"]),
    "bytes of a text": ("py.bytes", TEXT),
    "bytes of a number": ("py.bytes", 7),
    "bytes of a list of texts": ("py.bytes", ["a"]),
    "bytes of numbers that are none": ("py.bytes", [256]),
    "bytes of large numbers": ("py.bytes", [-(1 << 62)]),
    "a format of bytes": ("py.pack", "<s", TEXT),
    "a format of bytes that is a number": ("py.pack", 7, 7),
    "a format of many bytes": ("py.pack", "999999999x"),
    "a format of more bytes than there can be": ("py.pack", "999999999q" * 99),
    "a text in a format": ("py.pack", "<f", TEXT),
    "a number beyond a format": ("py.pack", "<B", 256),
    "numbers of a text": ("py.unpack", "<f", TEXT),
    "a digest": ("py.digest", "shake_128", TEXT),
    "a digest of a text": ("py.digest", "md5", TEXT),
    "a checksum": ("py.checksum", "compress", TEXT),
    "a function of dates": ("py.date", "now", TEXT),
    "a kind of date": ("py.date", "fromisoformat", "type", TEXT),
    "a field of a date": ("py.date", "get", TEXT, "year"),
    "a date of a text": ("py.date", "make", "date", TEXT),
    "a width of a date": ("py.date", "strptime", TEXT, "%99999d"),
    "a zero in a format of a date": ("py.date", "strptime", TEXT, "%Y\0"),
    "the zone of the machine": ("py.date", "strptime", TEXT, "%Z"),
    "a function of decimal numbers": ("py.decimal", "__reduce__", TEXT),
    "a decimal number of a list": ("py.decimal", "make", ["1"]),
    "a sum with a text": ("py.decimal", "add", TEXT, 1),
    "a way to round": ("py.decimal", "quantize", TEXT, 1, "up"),
    "a way to match": ("py.re_found", "finditer", "a", 0, TEXT),
}


@pytest.mark.parametrize("name", WRONG)
def test_operands_of_a_wrong_type_are_refused(name) -> None:
    with pytest.raises(tracepack.GuardError):
        tracepack.load(one(*WRONG[name]))("text")


def test_only_numbers_and_texts_are_formatted() -> None:
    x = tensor()
    node = apply("py.format", [x], "", "s")
    mod = tracepack.load(archive_of(Graph((x,), (node,), node.output)))
    with pytest.raises(tracepack.GuardError, match="only numbers and texts can be formatted; got Tensor"):
        mod(torch.ones(2))


@pytest.mark.parametrize("name", ["py.str_format", "py.str_format_map", "py.str___class__", "py.re_compile", "py.eval"])
def test_methods_outside_of_the_list_are_unknown(name) -> None:
    with pytest.raises(tracepack.UnknownOperatorError, match="not on the list of allowed operators"):
        tracepack.load(one(name, TEXT))


ENDLESS = [
    r"(a+)+$",
    r"(a|aa)+b",
    r"(a*)*b",
    r"a?" * 20 + "a" * 20,
    r"\w+@\w+",
    r"(\w+)\1",
    r"(?=a+)b",
    r"(a{1,60}){1,60}",
]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_a_pattern_whose_time_has_no_bound_needs_trust(pattern) -> None:
    data = one("py.re_sub", pattern, 0, "", TEXT, 0)
    with pytest.raises(tracepack.TrustError, match="takes a time that has no bound"):
        tracepack.load(data)
    assert tracepack.load(data, trust=True)("xyz") == "xyz"
    with pytest.raises(tracepack.TrustError):
        tracepack.load(one("py.re_found", "search", pattern, 0, TEXT))


@pytest.mark.parametrize(
    "pattern", [r"\s+", r"[^a-z0-9]+", r"\d{4}-\d\d", r"https?://\S+", r"(?i)hello|bye", r"#(\w+)"]
)
def test_a_pattern_that_takes_linear_time_needs_none(pattern) -> None:
    assert is_linear(pattern, 0)
    text = ("ab 12 #" + " " * 10) * 5000
    mod = tracepack.load(one("py.re_sub", pattern, 0, "", TEXT, 0))
    assert mod(text) == re.sub(pattern, "", text)


AT_ONE_PLACE = [
    r"(\w+)@(\w+)$",
    r"\s*\w+\s*=\s*\S+",
    r"(\d+)-(\d+)-(\d+)",
    r"[^=]+=.*",
    r"[a-z]+[A-Z]+[0-9]*!",
    r"a+\n",
    r"(\w+): .*$",
    r"[^:]+?: (.*)",
    r"\w+=?\w",
    r"\w+é\w",
    r"(?i)a+A",
    r"[^a]+[^b]",
]
ENDLESS_ALSO_THERE = [
    *(pattern for pattern in ENDLESS if "@" not in pattern), r"(?a:\w+)é",
    r"[^=]+\s+[a-z]*", r"\w+\b\w+!", r".+=.+=", r"(.*): (.*)$", r"(?i)a+b+$",
    r"(.*)(a|b+)$", r"(.*)(?:=\w+)?!", r"(?m)^\w+é(\w+ )*$",
]  # fmt: skip


@pytest.mark.parametrize("pattern", AT_ONE_PLACE)
def test_a_repetition_that_ends_where_other_characters_begin_takes_linear_time_at_one_place(pattern) -> None:
    assert not is_linear(pattern, 0)
    text = "a" * 100_000 + " " * 100_000 + "a" * 100_000
    for kind in ("match", "fullmatch"):
        mod = tracepack.load(one("py.re_found", kind, pattern, 0, TEXT))
        assert mod(text) is bool(getattr(re, kind)(pattern, text))
        mod = tracepack.load(one(f"py.re_{kind}", pattern, 0, TEXT))
        found, wanted = mod(text), getattr(re, kind)(pattern, text)
        assert (found and found.regs) == (wanted and wanted.regs)
    with pytest.raises(tracepack.TrustError, match="takes a time that has no bound"):
        tracepack.load(one("py.re_found", "search", pattern, 0, TEXT))


ANCHORED = [r"^(?P<level>INFO|WARN|ERROR) (?P<place>\w+): (?P<text>.*)$", r"\A#?\w+$", r"^[^:]+: .*$", r"^(.*?): .*"]


@pytest.mark.parametrize("pattern", ANCHORED)
def test_a_pattern_that_only_matches_at_the_start_takes_linear_time_everywhere(pattern) -> None:
    text = "WARN a: " + "b:" * 100_000 + "\n!"
    mod = tracepack.load(one("py.re_sub", pattern, 0, "", TEXT, 0))
    assert mod(text) == re.sub(pattern, "", text)


def test_a_pattern_that_matches_at_the_start_of_each_line_is_tried_at_many_places() -> None:
    with pytest.raises(tracepack.TrustError, match="takes a time that has no bound"):
        tracepack.load(one("py.re_sub", r"^(.*?): .*", int(re.MULTILINE), "", TEXT, 0))


def test_what_fullmatch_repeats_last_has_to_reach_the_end() -> None:
    tracepack.load(one("py.re_found", "match", "(.*): (.*)", 0, TEXT))
    with pytest.raises(tracepack.TrustError, match="takes a time that has no bound"):
        tracepack.load(one("py.re_found", "fullmatch", "(.*): (.*)", 0, TEXT))


@pytest.mark.parametrize("pattern", ENDLESS_ALSO_THERE)
def test_other_repetitions_need_trust_at_one_place_too(pattern) -> None:
    for kind in ("match", "fullmatch"):
        with pytest.raises(tracepack.TrustError, match="takes a time that has no bound"):
            tracepack.load(one("py.re_found", kind, pattern, 0, TEXT))


@pytest.mark.parametrize(
    "args", [(TEXT, 0, "", "a", 0), ("(", 0, "", TEXT, 0), ("a", TEXT, "", "a", 0), ("a" * 2000, 0, "", TEXT, 0)]
)
def test_a_pattern_that_is_no_constant_or_no_pattern_is_refused_at_load(args) -> None:
    with pytest.raises(tracepack.GraphError, match="no constant pattern|is malformed"):
        tracepack.load(one("py.re_sub", *args))


def test_a_look_up_hands_out_no_memory_of_an_input_as_its_own() -> None:
    x = tensor()
    taken = apply("py.lookup", [x], 0, output=tensor())
    written = apply("torch.Tensor.add_", taken.output, 1, output=tensor())
    mod = tracepack.load(archive_of(Graph((x,), (taken, written), written.output)))
    assert "(written)" in mod.signature


def test_a_loop_over_lists_of_different_lengths_is_refused() -> None:
    text, item, other = Value(ANY), Value(ANY), Value(ANY)
    loop = apply("map", Graph((item, other), (), item), (text, [1]), ())
    mod = tracepack.load(archive_of(Graph((text,), (loop,), loop.output)))
    with pytest.raises(tracepack.GuardError, match=r"the lists of a loop have different lengths; got \[2, 1\]"):
        mod(["a", "b"])


def test_a_long_run_of_combining_marks_is_not_normalised():
    x = tensor()
    marks = apply("py.mul", "\u0301\u0323", 400_000)
    node = apply("py.normalize", "NFC", marks.output)
    with pytest.raises(tracepack.GuardError, match="too many combining marks follow each other"):
        tracepack.load(archive_of(Graph((x,), (marks, node), node.output)))(torch.ones(1))


def test_lists_are_added_up_in_one_pass():
    for start in ([], (), ["x"]):
        part = [[1, 2]] if isinstance(start, list) else [(1, 2)]
        few = apply("py.mul", part, 3)
        total = apply("py.total", few.output, start)
        assert tracepack.load(archive_of(Graph((tensor(),), (few, total), total.output)))(X) == sum(part * 3, start)
    many = apply("py.mul", [[1]], 300_000)
    total = apply("py.total", many.output, [])
    size = apply("py.len", total.output)
    began = time.process_time()
    assert tracepack.load(archive_of(Graph((tensor(),), (many, total, size), size.output)))(X) == 300_000
    assert time.process_time() - began < 10
    wrong = apply("py.total", [(1,)], [])
    with pytest.raises(tracepack.NodeError, match="can only concatenate list, not tuple"):
        tracepack.load(archive_of(Graph((tensor(),), (wrong,), wrong.output)))(X)


def test_keys_of_one_hash_make_no_dict():
    """Tuples of -1 and -2 all have one hash, so that each is compared with all before it."""
    nodes, columns = [], []
    for place in range(15):
        ones, twos = (apply("py.mul", [number], 1 << place) for number in (-1, -2))
        both = apply("py.add", ones.output, twos.output)
        column = apply("py.mul", both.output, 1 << (14 - place))
        nodes += [ones, twos, both, column]
        columns.append(column.output)
    keys = apply("py.zip", *columns)
    made = apply("py.dict", keys.output, keys.output)
    mod = tracepack.load(archive_of(Graph((tensor(),), (*nodes, keys, made), made.output)))
    began = time.process_time()
    with pytest.raises(tracepack.GuardError, match="too many keys of a dict have one hash"):
        mod(X)
    assert time.process_time() - began < 10


def test_a_large_dict_of_usual_keys_is_made():
    for keys in (
        [*range(5000)],
        [f"word {n % 700}" for n in range(5000)],
        [(n, n % 9) for n in range(5000)],
        [-1, -2] * 900,
    ):
        assert to_dict(keys, keys) == dict(zip(keys, keys, strict=True))
