"""The code of docs/guide.md: each example runs, and its file answers as its function does, at other lengths too."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.everyday.case import Case, check

PAGE = Path(__file__).parents[2] / "docs" / "guide.md"
BLOCKS = re.findall(r"## ([^\n]+)\n(?:(?!\n## ).)*?```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

RECORDS = [{"name": "ann", "score": 0.5, "x": torch.rand(3)}, {"name": "bob", "score": 2.0, "x": torch.rand(5)}]


def boxes(count):
    """Boxes that overlap, and their scores."""
    corners = torch.rand(count, 2)
    return torch.cat([corners, corners + torch.rand(count, 2)], 1), torch.rand(count)


# The title -> the function of its code, an example, and other inputs.
INPUTS = {
    "Labels": ("classify", [torch.rand(2, 3)], [[torch.rand(5, 3)], [torch.rand(1, 3)]]),
    "Look-ups of many keys": ("encode", ["Hello you"], [["hello my world"], ["WORLD"]]),
    "Texts": ("clean", ["  An  Example "], [["Another\tONE"], [""]]),
    "Bytes": ("loudness", [b"\x00\x01\x02\x03"], [[b"\x00\x7f" * 500], [b"ab"]]),
    "Lists of any length": ("prepare", [["One", " Two"]], [[["a", "", "b", "c"]], [["x"]]]),
    "Lists of tensors and of records": (
        "collate",
        [RECORDS],
        [[RECORDS[1:]], [[*RECORDS, {"name": "cid", "score": 1.0, "x": torch.rand(2)}, *RECORDS]]],
    ),
    "Arguments": ("best", [torch.rand(5), 3], [[torch.rand(4)], [torch.rand(7), 1]]),
    "A signature for programs": ("scale", [torch.rand(3, 4), 3.0], [[torch.rand(5, 2)], [torch.rand(1, 4), 0.5]]),
    "Tokenizers": (
        "encode",
        [["where is the cat"], ["the mat"]],
        [[["where", "the cat"], ["the cat is the mat", "mat is the mat on the mat"]]],
    ),
    "Text generation": (
        "generate",
        [torch.randint(50, (2, 5)), 3],
        [[torch.randint(50, (1, 7)), 9], [torch.randint(50, (3, 1)), 1]],
    ),
    "Choices by data": ("verdict", [torch.rand(4)], [[torch.ones(7)], [torch.zeros(2)]]),
    "Branches and loops by data": (
        "parsed",
        ["50%", torch.rand(4)],
        [["", torch.rand(2)], ["-", torch.ones(7) * 99], ["x", torch.ones(3)]],
    ),
    "Runs of tags": (
        "entities",
        [torch.tensor([1, 2, 0, 3]), list("abcd")],
        [[torch.tensor([2, 3, 4, 4, 1, 1]), list("abcdef")], [torch.tensor([0]), ["a"]]],
    ),
    "Plain Python that recording does not follow": (
        "postfix",
        [["a", "+", "b", "*", "c"]],
        [[["a", "*", "b"]], [[]], [["a", "*", "b", "+", "c", "+", "d"]]],
    ),
    "Loops that end by what a tensor holds": (
        "k_means",
        [torch.rand(9, 3), 2],
        [[torch.rand(30, 3), 4], [torch.ones(2, 2), 1], [torch.rand(12, 5), 12]],
    ),
    "Loops that call a model": ("decode", [[5, 7], 8], [[[2], 20], [[], 5], [[4, 9, 9, 1], 3], [[11], 0]]),
    "Boxes": ("nms", [*boxes(5)], [[*boxes(n)] for n in (1, 7, 20)]),
    "Assertions and logging": ("scale", [torch.rand(4)], [[torch.rand(9)], [torch.ones(3)]]),
    "JSON": ("report", [torch.rand(3)], [[torch.rand(5)]]),
    "Dates and money": (
        "order",
        ["2024-01-05 10:00", ["19.99", "5"], 2],
        [["2023-12-30 08:15", ["0.333"], 2], ["1999-12-31 23:59", [], 0], ["2024-02-27 00:00", ["1e3", "-2"] * 3, 3]],
    ),
    "scikit-learn": (
        "judge",
        [torch.randn(2, 3).double()],
        [[torch.randn(9, 3).double()], [torch.randn(1, 3).double()]],
    ),
    "ONNX models": ("label", [torch.rand(2, 3)], [[torch.rand(5, 3)], [torch.rand(1, 3)]]),
    "Quantized models": ("rate", [torch.rand(3, 4)], [[torch.rand(5, 4)], [torch.rand(1, 4)]]),
    "Operators of other packages": ("largest", [boxes(3)[0]], [[boxes(7)[0]], [boxes(1)[0]]]),
    "Packing for a GPU": ("predict", [torch.rand(4, 3)], [[torch.rand(2, 3)]]),
    "Training and saving again": ("score", [torch.rand(4, 3)], [[torch.rand(2, 3)]]),
}


def test_every_example_of_the_page_is_here() -> None:
    assert [title for title, _ in BLOCKS] == list(INPUTS)


@pytest.mark.filterwarnings(
    "ignore:torch.ao.quantization is:DeprecationWarning",
    "ignore:torch.quantize_per:UserWarning",
    "ignore:this machine has no cuda:UserWarning",
)
@pytest.mark.parametrize("title", INPUTS)
def test_an_example_of_the_page(title, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    code, name = dict(BLOCKS)[title], f"<doctest guide {title}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    scope: dict[str, object] = {}
    exec(compile(code, name, "exec"), scope)
    process, example, others = INPUTS[title]
    if title in ("Packing for a GPU", "Operators of other packages"):  # their code says how to load
        mod = scope["mod"]
        assert all(torch.allclose(mod(*given), scope[process](*given)) for given in (example, *others))  # type: ignore[operator]  # they are functions
        return
    trust = title in ("scikit-learn", "ONNX models")
    check(Case(scope[process], example, others, trust))  # type: ignore[arg-type]  # it is a function


def test_the_greedy_loop_of_the_page_keeps_what_one_in_python_keeps() -> None:
    scope: dict[str, Any] = {}
    exec(dict(BLOCKS)["Boxes"], scope)
    for count in range(1, 30):
        some, scores = boxes(count)
        overlap, kept = scope["overlaps"](some), list[int]()
        for index in scores.argsort(descending=True).tolist():
            if all(overlap[index, other] <= 0.5 for other in kept):
                kept.append(index)
        assert scope["mod"](some, scores).tolist() == kept


def test_the_runs_of_the_page_are_those_of_a_decoder_in_python() -> None:
    scope: dict[str, Any] = {}
    exec(dict(BLOCKS)["Runs of tags"], scope)
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
