"""Statements of plain Python that become a block of the graph: they answer as they do in Python, and only they do."""

from __future__ import annotations

import re
import warnings

import pytest
import torch

import tracepack
from tests.everyday.blocks import of_algorithms as algorithms
from tests.everyday.blocks import of_numbers as numbers
from tests.everyday.blocks import of_objects as objects
from tests.everyday.blocks import of_records as records
from tests.everyday.blocks import of_texts as texts
from tests.everyday.case import Case, check, loaded
from tracepack.ops.graph.graph import Operator
from tracepack.ops.graph.traverse import walk

EYE = torch.eye(5)
CASES = {
    "shunting yard": Case(
        texts.shunting_yard, [["a", "+", "b", "*", "c"]], [[[]], [["x"]], [["a", "*", "b", "+", "c", "-", "d"]]]
    ),
    "sentences": Case(texts.sentences, [["Hi", "all.", "Bye"]], [[[]], [["a."]], [["a", "b"]], [["a.", "b.", "c"]]]),
    "entities": Case(
        texts.entities, [EYE[[1, 2, 0, 3]], ["J", "D", "in", "P"]],
        [[EYE[[0, 0]], ["a", "b"]], [EYE[[1, 1, 4, 2, 3]], list("abcde")], [EYE[:0], []]],
    ),
    "unique": Case(texts.unique, [["a", "b", "a"]], [[[]], [["x", "x", "x"]], [["c", "a", "c", "b"]]]),
    "records": Case(texts.records, [["a=1", "zz", "b=22"]], [[[]], [["q"]], [["k=3"]]]),
    "masked": Case(texts.masked, ["a1b22"], [[""], ["none"], ["9 8 7"]]),
    "pieces": Case(texts.pieces, [["unaffable", "plays", "xyz"]], [[[]], [["playing"]], [["un", "zz"]]]),
    "before a model": Case(
        texts.pieces_before_a_model, [["unplay", "q"], torch.ones(2, 3)],
        [[[], torch.ones(1, 3)], [["un", "play"], torch.arange(12.0).reshape(4, 3)]],
    ),
    "bracket": Case(texts.bracket, ["(a[b]{c})"], [[""], ["(]"], ["(("], ["x)"]]),
    "cleaned": Case(texts.cleaned, [["a.", "..", "b!,"]], [[[]], [["x"]], [["."]]]),
    "parsed": Case(texts.parsed, [["1,2.5", "x,1", "3"]], [[[]], [["4,4"]], [["bad"]]]),
    "machine": Case(texts.Machine(), [["go", "stop", "go", "pause", "x"]], [[[]], [["stop"]]]),
    "days": Case(numbers.days_until_warmer, [[3, 1, 4, 2, 5]], [[[]], [[1]], [[5, 4, 3]], [[1, 2, 3, 4, 9, 1]]]),
    "tracks": Case(numbers.tracks, [[[1.0, 5.0], [1.5, 5.5], [2.0]]], [[[]], [[[1.0], [], [], [2.0]]]]),
    "merged": Case(numbers.merged, [[(1, 3), (2, 5), (7, 8)]], [[[]], [[(5, 6)]], [[(5, 9), (1, 2), (2, 5)]]]),
    "common": Case(numbers.common, ["abcde", "ace"], [["", ""], ["aaa", "a"], ["xyz", "abc"]]),
    "ordered": Case(numbers.ordered, [[("a", "b"), ("b", "c"), ("a", "c")]], [[[]], [[("x", "y")]]]),
    "sessions": Case(numbers.sessions, [[1, 2, 50, 51, 200]], [[[]], [[5]], [[1, 100, 200]]]),
    "into a model": Case(
        numbers.runs_into_a_model, [["a", "a", "bb"], torch.ones(2, 3)],
        [[[], torch.ones(1, 3)], [["q"], torch.arange(9.0).reshape(3, 3)]],
    ),
    "objects": Case(
        objects.tracks, [[[1.0, 9.0], [1.5], [2.0, 30.0]]], [[[]], [[[1.0], [], [], [5.0]]], [[[1.0, 2.0], [1.1, 2.1]]]]
    ),
    "object of a class": Case(
        objects.undone, [["a", "b", "undo", "nothing", "undo", "c"]], [[[]], [["a"]], [["a", "b", "c", "undo"]]]
    ),
    "named tuples": Case(
        objects.spans, [["B-P", "I-P", "O", "B-L"]], [[[]], [["O", "I-P"]], [["B-P", "I-L", "B-P"]]]
    ),
    "tree": Case(objects.tree, [["a/b", "a/c", "d"]], [[[]], [["x/y/z", "x/y/q"]]]),
    "equal objects": Case(objects.unique, [[[1.0, 1.0], [2.0]]], [[[]], [[[3.0, 3.0, 3.0, 3.5]]]]),
    "chunked": Case(algorithms.chunked, [["a", "b", "c"]], [[[]], [["x"]], [list("abcdef")]]),
    "fibonacci": Case(algorithms.fibonacci, [6], [[0], [12]]),
    "spelled": Case(
        algorithms.spelled, [["helo", "wrld", "zzzzzz"], ["hello", "world"]],
        [[[], ["a"]], [["b"], ["a", "c"]], [["q"], []]],
    ),
    "byte pairs": Case(algorithms.byte_pairs, [["lower", "low"]], [[[]], [["er", "x", ""]]]),
    "nested": Case(
        algorithms.nested, [torch.tensor([1.0, 2.0, 3.0]), ["a.b", "a.c", "d"]],
        [[torch.tensor([]), []], [torch.tensor([4.0]), ["x.y.z"]]],
    ),
    "viterbi": Case(
        algorithms.viterbi, [torch.tensor([[1.0, 2.0], [3.0, 0.0], [1.0, 1.5]]), torch.eye(2)],
        [[torch.ones(1, 2), torch.eye(2)], [torch.arange(18.0).sin().reshape(6, 3), -torch.eye(3)],
         [torch.ones(0, 2), torch.eye(2)]],
    ),
    "columns": Case(algorithms.columns, ['a,"b,c",d'], [[""], ["x"], [",,"]]),
    "centres": Case(
        algorithms.centres, [torch.arange(12.0).cos().reshape(6, 2)], [[torch.ones(2, 2)], [torch.eye(3)]]
    ),
    "hits": Case(algorithms.hits, [["a", "b", "a", "c", "b"]], [[[]], [["x", "x"]]]),
    "reverse Polish": Case(records.rpn, [["1", "2", "+", "3", "*"]], [[[]], [["4"]], [["5", "2", "-"]]]),
    "sections": Case(records.secs, [["a", "#h", "b", "c"]], [[[]], [["#x"]]]),
    "segments": Case(
        records.seg, [torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0])], [[torch.tensor([])], [torch.tensor([1.0, 1.0])]]
    ),
    "keys by data": Case(records.keys, [torch.ones(2)], [[-torch.ones(2)]]),
    "best of a label": Case(
        records.best, [torch.tensor([0.1, 0.9, 0.5]), ["a", "b", "a"]],
        [[torch.tensor([]), []], [torch.tensor([0.3]), ["z"]]],
    ),
    "best object": Case(
        records.bestmax, [torch.tensor([0.1, 0.9, 0.5]), ["a", "b", "a"]],
        [[torch.tensor([]), []], [torch.tensor([0.3]), ["z"]]],
    ),
    "members of an Enum": Case(records.machine, [["go", " stop", "x"]], [[[]], [["  go"]]]),
    "trie": Case(records.trie, [["abc", "abd", "x"], "ab"], [[[], ""], [["q"], "z"]]),
    "None in a list": Case(records.conf, [torch.eye(3)[:2], 0.4], [[torch.ones(3, 3), 0.99], [torch.ones(0, 3), 0.5]]),
    "log lines": Case(records.logs, [["INFO a: x", "bad", "WARN a: y"]], [[[]], [["E b: c"]]]),
    "pairs": Case(records.walrus, [[1, 2, 3]], [[[]], [[5, 6]]]),
    "roman": Case(numbers.roman, [1994], [[0], [3], [48]]),
    "best pair": Case(numbers.best_pair, [torch.ones(3)], [[-torch.ones(3)], [torch.zeros(3)]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_code_that_no_recording_follows_is_run_as_it_is_written(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def blocks(mod) -> list[str]:
    """The texts of the blocks of a pipeline."""
    nodes = [node for node in walk(mod.graph) if node.target == Operator("py.plain_code")]
    return [node.args[0] for node in nodes]


def test_a_block_holds_the_loop_and_no_more_where_a_model_follows() -> None:
    def process(words, x):
        return texts.linear(x) * len(texts.unique(words))

    mod = loaded(process, ["a", "a", "b"], torch.ones(2, 3))
    (text,) = blocks(mod)
    assert "seen.add" in text
    assert "linear" not in text
    assert torch.equal(mod(["a"], torch.ones(1, 3)), texts.linear(torch.ones(1, 3)))


def test_what_can_be_recorded_is_no_block() -> None:
    assert blocks(loaded(lambda words: [word.upper() for word in words if word], ["a", ""])) == []


def test_what_code_cannot_go_on_with_is_the_error_that_it_is_in_python() -> None:
    def process(words, x):
        first, place = 0, 0
        while place < len(words):
            while place < len(words) and words[place] != "a":
                place += 1
            first = place if place < len(words) else "none"
            break
        return x + first

    mod = loaded(process, ["b", "a"], torch.zeros(2))
    assert mod(["a"], torch.zeros(2)).tolist() == [0, 0]
    with pytest.raises(TypeError, match="unsupported operand") as plain:
        process(["b"], torch.zeros(2))
    with pytest.raises(tracepack.NodeError, match=re.escape(str(plain.value))):
        mod(["b"], torch.zeros(2))


TABLE = {"a": 1}


@pytest.mark.filterwarnings("ignore:.* is fixed to")
def test_a_table_from_outside_that_code_changes_is_no_block() -> None:
    def process(words):
        out = []
        for word in words:
            while word and word[-1] == "!":
                word = word[:-1]  # noqa: PLW2901  # the form is what is tested
            TABLE[word] = len(word)
            out.append(word)
        return out

    try:
        assert blocks(tracepack.trace(process, ["a!", "b"])) == []
    finally:
        TABLE.clear()
        TABLE["a"] = 1


def test_a_table_that_is_returned_is_another_one_in_each_run() -> None:
    def process(words):
        found = None
        for word in words:
            while word.endswith("!"):
                word = word[:-1]  # noqa: PLW2901  # the form is what is tested
                found = TABLE
        return {"table": found}

    mod = loaded(process, ["a!"])
    mod(["b!"])["table"]["b"] = 2
    assert mod(["b!"]) == {"table": {"a": 1}}
    assert mod(["b"]) == {"table": None}


@pytest.mark.filterwarnings("ignore")
def test_an_argument_that_is_changed_is_no_block() -> None:
    def process(items):
        while len(items) > 1 and items[-1] == items[-2]:
            items.pop()
        return items

    with pytest.raises(tracepack.RecordError):
        tracepack.trace(process, ["a", "b", "b"])
