"""The functions of docs/guide.md as cases: the page has their code, and this table what they are run on.

A function that the page shows and no case takes, or the other way round, is an error of `test_guide`.
"""

from __future__ import annotations

import linecache
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.everyday.case import Case

PAGE = Path(__file__).parents[3] / "docs" / "guide.md"
SECTIONS = re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
BLOCKS: dict[str, list[str]] = defaultdict(list)
"""The blocks of code of each section, by its title: they run one after the other."""
for _title, _text in SECTIONS:
    BLOCKS[_title] += re.findall(r"```python\n(.*?)```", _text, re.DOTALL)

RECORDS = [{"name": "ann", "score": 0.5, "x": torch.rand(3)}, {"name": "bob", "score": 2.0, "x": torch.rand(5)}]


def boxes(count):
    """Boxes that overlap, and their scores."""
    corners = torch.rand(count, 2)
    return torch.cat([corners, corners + torch.rand(count, 2)], 1), torch.rand(count)


# The title and the function of its code -> an example, and other inputs.
INPUTS: dict[str, tuple[list[Any], list[list[Any]]]] = {
    "Labels: classify": ([torch.rand(2, 3)], [[torch.rand(5, 3)], [torch.rand(1, 3)]]),
    "Look-ups of many keys: encode": (["Hello you"], [["hello my world"], ["WORLD"]]),
    "Texts: clean": (["  An  Example "], [["Another\tONE"], [""]]),
    "Bytes: loudness": ([b"\x00\x01\x02\x03"], [[b"\x00\x7f" * 500], [b"ab"]]),
    "Lists of any length: prepare": ([["One", " Two"]], [[["a", "", "b", "c"]], [["x"]]]),
    "Lists of any length: found": ([torch.tensor([0.1, 0.95, 0.6])], [[torch.rand(7)], [torch.zeros(2)]]),
    "Lists of tensors and of records: collate": (
        [RECORDS],
        [[RECORDS[1:]], [[*RECORDS, {"name": "cid", "score": 1.0, "x": torch.rand(2)}, *RECORDS]]],
    ),
    "Arguments: best": ([torch.rand(5), 3], [[torch.rand(4)], [torch.rand(7), 1]]),
    "Arguments: pooled": (
        [torch.rand(3, 4), torch.ones(3)],
        [[torch.rand(5, 4)], [torch.rand(2, 3), torch.tensor([1.0, 0.0])]],
    ),
    "A signature for programs: scale": ([torch.rand(3, 4), 3.0], [[torch.rand(5, 2)], [torch.rand(1, 4), 0.5]]),
    "Tokenizers: encode": (
        [["where is the cat"], ["the mat"]],
        [[["where", "the cat"], ["the cat is the mat", "mat is the mat on the mat"]]],
    ),
    "Text generation: generate": (
        [torch.randint(50, (2, 5)), 3],
        [[torch.randint(50, (1, 7)), 9], [torch.randint(50, (3, 1)), 1]],
    ),
    "Choices by data: verdict": ([torch.rand(4)], [[torch.ones(7)], [torch.zeros(2)]]),
    "Branches and loops by data: parsed": (
        ["50%", torch.rand(4)],
        [["", torch.rand(2)], ["-", torch.ones(7) * 99], ["x", torch.ones(3)]],
    ),
    "Runs of tags: entities": (
        [torch.tensor([1, 2, 0, 3]), list("abcd")],
        [[torch.tensor([2, 3, 4, 4, 1, 1]), list("abcdef")], [torch.tensor([0]), ["a"]]],
    ),
    "Plain Python that recording does not follow: smaller_before": ([[3, 1, 2]], [[[2, 5, 5, 1]], [[]], [[7]]]),
    "Loops that end by what a tensor holds: k_means": (
        [torch.rand(9, 3), 2],
        [[torch.rand(30, 3), 4], [torch.ones(2, 2), 1], [torch.rand(12, 5), 12]],
    ),
    "Loops that end by what a tensor holds: envelope": (
        [np.array([0.0, 1.0, -2.0])],
        [[np.array([3.0, 0, 0, 1, 0.5])]],
    ),
    "Loops that call a model: decode": ([[5, 7], 8], [[[2], 20], [[], 5], [[4, 9, 9, 1], 3], [[11], 0]]),
    "Boxes: nms": ([*boxes(5)], [[*boxes(n)] for n in (1, 7, 20)]),
    "Assertions and logging: scale": ([torch.rand(4)], [[torch.rand(9)], [torch.ones(3)]]),
    "Constants that are cached: smoothed": ([torch.rand(2, 100)], [[torch.rand(3, 80)], [torch.rand(1, 64)]]),
    "Images: fitted": ([torch.rand(3, 40, 30)], [[torch.rand(3, 50, 80)], [torch.rand(1, 7, 7)]]),
    "Random numbers: noisy": ([torch.rand(4), 3], [[torch.rand(7), 12], [torch.rand(1), 0]]),
    "Distributions and special functions: surprise": (
        [torch.rand(4), torch.rand(2, 3)],
        [[torch.rand(9), torch.rand(5, 4)], [torch.rand(2), torch.rand(1, 2)]],
    ),
    "Columns, fractions and statistics: summary": ([torch.rand(3, 2)], [[torch.rand(6, 2)], [torch.rand(1, 3)]]),
    "JSON: report": ([torch.rand(3)], [[torch.rand(5)]]),
    "Dates and money: order": (
        ["2024-01-05 10:00", ["19.99", "5"], 2],
        [["2023-12-30 08:15", ["0.333"], 2], ["1999-12-31 23:59", [], 0], ["2024-02-27 00:00", ["1e3", "-2"] * 3, 3]],
    ),
    "scikit-learn: judge": (
        [torch.randn(2, 3).double()],
        [[torch.randn(9, 3).double()], [torch.randn(1, 3).double()]],
    ),
    "ONNX models: label": ([torch.rand(2, 3)], [[torch.rand(5, 3)], [torch.rand(1, 3)]]),
    "Quantized models: rate": ([torch.rand(3, 4)], [[torch.rand(5, 4)], [torch.rand(1, 4)]]),
    "Operators of other packages: largest": ([boxes(3)[0]], [[boxes(7)[0]], [boxes(1)[0]]]),
    "Packing for a GPU: predict": ([torch.rand(4, 3)], [[torch.rand(2, 3)]]),
    "Training and saving again: score": ([torch.rand(4, 3)], [[torch.rand(2, 3)]]),
}
TRUSTED = ("scikit-learn", "ONNX models")
LOADED = ("Packing for a GPU", "Operators of other packages")
"""The sections whose files need trust, and those whose code says how they are loaded."""


def scope_of(title: str) -> dict[str, Any]:
    """The names that the code of a section makes."""
    scope: dict[str, Any] = {}
    for number, code in enumerate(BLOCKS[title]):
        name = f"<doctest guide {title} {number}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        exec(compile(code, name, "exec"), scope)
    return scope


def case_of(name: str) -> Case:
    """The case of a function of the page; for a section that loads a file itself, the case of what it loads."""
    title, _, function = name.partition(": ")
    return Case(scope_of(title)[function], *INPUTS[name], title in TRUSTED)
