"""The code of docs/guide.md: the table has a case for each function that it traces, and a block has ten lines."""

from __future__ import annotations

import io
import re
import sys
import tokenize
from typing import Any

import pytest
import torch

from tests.everyday.case import check
from tests.everyday.page.shown import BLOCKS, INPUTS, LOADED, boxes, case_of, scope_of

MOST_LINES = 10


def test_each_function_that_the_page_traces_is_a_case() -> None:
    traced = [
        f"{title}: {name}"
        for title, blocks in BLOCKS.items()
        for code in blocks
        for name in re.findall(r"tracepack\.trace\((\w+)", code)
    ]
    assert traced == list(INPUTS)
    assert "tracepack.trace(lambda" not in "".join(code for blocks in BLOCKS.values() for code in blocks)


@pytest.mark.parametrize("title", BLOCKS)
def test_a_block_of_the_page_has_ten_lines_and_each_holds_one_statement(title) -> None:
    for code in BLOCKS[title]:
        lines = [line for line in code.splitlines() if line.strip() and not re.match(r"(import|from) ", line)]
        assert len(lines) <= MOST_LINES, code
        assert ";" not in [token.string for token in tokenize.generate_tokens(io.StringIO(code).readline)]


@pytest.mark.filterwarnings(
    "ignore:torch.ao.quantization is:DeprecationWarning",
    "ignore:torch.quantize_per:UserWarning",
    "ignore:this machine has no cuda:UserWarning",
)
@pytest.mark.parametrize("name", INPUTS)
def test_functions_of_the_guide(name, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    title = name.partition(":")[0]
    if title in LOADED:
        scope, (example, others) = scope_of(title), INPUTS[name]
        plain = scope[name.rpartition(" ")[2]]
        assert all(torch.allclose(scope["mod"](*given), plain(*given)) for given in (example, *others))
        return
    check(case_of(name))


def test_the_greedy_loop_of_the_page_keeps_what_one_in_python_keeps() -> None:
    scope = scope_of("Boxes")
    for count in range(1, 30):
        some, scores = boxes(count)
        overlap, kept = scope["overlaps"](some), list[int]()
        for index in scores.argsort(descending=True).tolist():
            if all(overlap[index, other] <= 0.5 for other in kept):
                kept.append(index)
        assert scope["mod"](some, scores).tolist() == kept


def test_the_runs_of_the_page_are_those_of_a_decoder_in_python() -> None:
    scope = scope_of("Runs of tags")
    for count in range(1, 30):
        ids, words, found = torch.randint(5, (count,)), list("abcdefghijklmnopqrstuvwxyzäöü"[:count]), list[Any]()
        inside = False
        for word, tag in zip(words, [scope["TAGS"][i] for i in ids.tolist()], strict=True):
            if tag[0] == "B":
                found.append({"label": tag[2:], "text": word})
            elif tag[0] == "I" and inside:
                found[-1]["text"] += f" {word}"
            inside = tag[0] == "B" or (inside and tag[0] == "I")
        assert scope["mod"](ids, words) == found
