"""Counts kept in tokenizers, open files, ops and pipelines: a function that keeps one is refused, and gives it back."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

X = torch.ones(2)


class Held:
    """What functions count in."""

    def __init__(self, path: Path) -> None:
        self.words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
        self.files = ExitStack()
        self.file, self.named, self.spooled = map(self.files.enter_context, _files())
        self.log = self.files.enter_context(path.open("w"))
        self.op: Any = tracepack.script(torch.nn.Linear(2, 2), device="cpu")
        self.inner: Any = tracepack.trace(lambda x: x * 2, X)
        self.op.hits, self.op.seen, self.inner.n = 0, [], 0
        self.lines = io.StringIO("1\n" * 3000 + "2\n")

    def shown(self) -> list[Any]:
        """What all of it holds, but for words, which nothing takes out again."""
        files = [each.tell() for each in (self.file, self.named, self.spooled, self.log, self.lines)]
        return [*files, self.words.truncation, self.op.hits, self.op.seen, self.inner.n]


def _files() -> list[Any]:
    return [tempfile.TemporaryFile(), tempfile.NamedTemporaryFile(), tempfile.SpooledTemporaryFile()]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    found = Held(tmp_path / "log")
    with found.files:
        yield found


def of_words(held: Held) -> Callable[[], int]:
    words = held.words

    def count() -> int:
        words.add_tokens([f"t{words.get_vocab_size()}"])
        return int(words.get_vocab_size())

    return count


def of_a_length(held: Held) -> Callable[[], int]:
    words = held.words

    def count() -> int:
        words.enable_truncation(max_length=(words.truncation or {"max_length": 0})["max_length"] + 1)
        return int(words.truncation["max_length"])

    return count


def of_a_file(name: str, data: Any) -> Callable[[Held], Callable[[], int]]:
    def make(held: Held) -> Callable[[], int]:
        file = getattr(held, name)
        return lambda: [file.write(data), file.tell()][1]

    return make


def of_lines(held: Held) -> Callable[[], int]:
    lines = held.lines
    return lambda: 100 * (int(lines.readline()) - 1)


def of_an_op(held: Held) -> Callable[[], int]:
    op = held.op

    def count() -> int:
        op.hits += 1
        return int(op.hits)

    return count


def of_a_list_of_an_op(held: Held) -> Callable[[], int]:
    op = held.op
    return lambda: [op.seen.append(1), len(op.seen)][1]


def of_a_pipeline(held: Held) -> Callable[[], int]:
    inner = held.inner

    def count() -> int:
        inner.n += 1
        return int(inner.n)

    return count


COUNTING = {
    "words": (of_words, r"a tokenizer.*\(the trace has moved a tokenizer on, which nothing sets back\)"),
    "a length": (of_a_length, "a tokenizer"),
    "a file": (of_a_file("file", b"1"), "an open file"),
    "a named file": (of_a_file("named", b"1"), "an open file"),
    "a spooled file": (of_a_file("spooled", b"1"), "an open file"),
    "a file to write to": (of_a_file("log", "1"), "an open file"),
    "lines of a text": (of_lines, "a buffer"),
    "an op": (of_an_op, "ModelOp, 'hits'"),
    "a list of an op": (of_a_list_of_an_op, "ModelOp"),
    "a pipeline": (of_a_pipeline, "Pipeline, 'n'"),
}


@pytest.mark.parametrize("name", COUNTING)
def test_a_function_that_counts_is_refused(name: str, held: Held) -> None:
    count, before = COUNTING[name][0](held), held.shown()
    with pytest.raises(tracepack.RecordError, match=f"the function keeps state in {COUNTING[name][1]}"):
        tracepack.trace(lambda xs: -1 if count() > 60 else len(xs), [1, 2])
    assert held.shown() == before


def test_ops_and_pipelines_with_attributes_are_called(held: Held) -> None:
    op, inner = held.op, held.inner
    mod = tracepack.trace(lambda x: op(x) + inner(x) + op.hits + inner.n, X)
    torch.testing.assert_close(mod(X + 1), op(X + 1) + inner(X + 1))


def test_a_tokenizer_that_each_call_sets_alike_is_no_state(held: Held) -> None:
    words = held.words

    def process(x: torch.Tensor) -> torch.Tensor:
        words.enable_truncation(max_length=3)
        return x * words.get_vocab_size()

    torch.testing.assert_close(tracepack.trace(process, X)(X + 1), (X + 1) * 2)
    assert words.truncation is None
