"""What a run of a block says when it fails: the user's own line, also of a function that the block calls."""

from __future__ import annotations

import pytest

import tracepack
from tests.everyday.blocks.test_blocks import blocks
from tests.everyday.case import loaded


def inverse(number):
    return 10 / number


def inverses(numbers):
    found = []
    for number in numbers:
        while found and found[-1] > number:
            found.pop()
        found.append(inverse(number))
    return found


def taken(words):
    found, left = [], []
    for word in words:
        while left and left[-1] == word:
            found.append(left.pop())
        left.append(words[len(word)])
    return found


def counted(words):
    depth = {}
    left = []
    for word in words:
        while left and left[-1] != word:
            depth[left.pop()] += 1
        left.append(word)
        depth[word] = 0
        if len(word) > 3:
            raise ValueError(f"{word} is too long")
    return depth


FAILING = {
    "called": (inverses, [5, 4], [0], "inverse: return 10 / number", "ZeroDivisionError: division by zero"),
    "on two lines": (taken, ["a", "a"], ["aa"], "taken: left.append(", "IndexError: list index out of range"),
    "raised": (counted, ["a", "b", "b"], ["aaaa"], "counted: raise ValueError", "ValueError: aaaa is too long"),
}


@pytest.mark.parametrize(("process", "example", "other", "line", "what"), FAILING.values(), ids=FAILING)
def test_the_line_that_fails_is_shown(process, example, other, line, what) -> None:
    mod = loaded(process, example)
    assert len(blocks(mod)) == 1
    with pytest.raises(tracepack.TracepackError) as caught:
        mod(other)
    assert what in str(caught.value)
    assert f" in {line}" in str(caught.value)
    assert "<" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
def test_a_method_that_no_block_has_is_said_when_it_is_traced() -> None:
    def process(words):
        found = []
        for word in words:
            while found and found[-1] == word:
                found.pop()
            found.append(word.format_map({}) if word == "zz" else word)
        return found

    mod = tracepack.trace(process, ["a", "b"])
    assert blocks(mod) == []
