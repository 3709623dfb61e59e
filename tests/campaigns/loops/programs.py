"""Random functions of plain loops: over lists, rows, pieces, letters and ranges, one in another, that fill lists."""

from __future__ import annotations

import itertools
import linecache
import random
import re
from collections.abc import Callable
from typing import Any

import torch

Names = list[tuple[str, str]]
"""Variables in reach, each with its kind: T a tensor, S a text, N a whole number, P a piece of a tensor."""

ARGUMENTS = ("x", "xs", "words", "nums", "n")
OUTER = [
    ("row", "T", "row in x"), ("i", "N", "i in range(x.shape[0])"), ("j", "N", "j in range(1, n + 1)"),
    ("w", "S", "w in words"), ("k", "N", "k in nums"), ("q", "T", "q in xs"), ("part", "P", "part in x.split(2)"),
    ("e", "N", "e, w in enumerate(words)"), ("z", "N", "z, row in enumerate(x.unbind())"),
    ("u", "N", "w, u in zip(words, nums)"), ("col", "T", "col in x.t().chunk(3)"),
    ("p", "S", "h, p in itertools.pairwise(words)"), ("r", "N", "r in itertools.chain(nums, [5])"),
    ("d", "S", "d in itertools.islice(words, 1, 3)"),
]  # fmt: skip
INNER = {
    "T": ("v", "N", "v in ({} * 4).round().flatten().int().tolist()"), "S": ("ch", "S", "ch in {}"),
    "N": ("m", "N", "m in range({})"), "P": ("pr", "T", "pr in {}"),
}  # fmt: skip
BESIDE = {"e": ("w", "S"), "u": ("w", "S"), "z": ("row", "T"), "p": ("h", "S")}
CONSTANTS = {"T": "x[0]", "S": "'z'", "N": "2"}
STATEMENTS = """t = t + {T}.sum() | t = t * 0.5 + {T}.mean() * {N} | c += {N} | c = c * 2 + {N} | s += {S} | g = {N} | c = max(c, {N})
    out.append({N}) | out.append(out[-1] + {N}) | out.append(len(names)) | out = out + [{N}] | out += [{N}, c] | out.extend([{N}])
    out = [{N}] + out | out.insert(0, {N}) | out.sort() | out.reverse() | out = [] | out = out[-2:] | other = out
    names.append({S}) | names.append({S} + s) | names = names + [{S}] | rows.append({T} * 2) | c += len(out) + len(rows)
    c += sum(y for y in nums if y > {N}) | s += '.'.join(y for y in words if y != {S}) | names += [*(y for y in words if y > {S})]
    c += next((len(y) for y in words if y < {S}), 7) | names.append(next((y for y in words if len(y) > 1), 'q'))
    inner = [] | inner.append({N}) | out += inner | out.append(sum(inner)) | c += out.count({N}) | other.append({N})"""
CONDITIONS = """{N} > 1 | c % 2 == 0 | len({S}) > 1 | {T}.sum() > 0 | len(out) > 2 | out | not names | n > 2 | {S} not in names
    any(y == {S} for y in words if len(y) > 1) | {N} in out | out and out[-1] != {N} | {N} % 2 == 0"""
AFTER = "out.append(7) | names.reverse() | c += len(out) | other = (out, c) | rows.append(x[0]) | out.insert(0, 3)"


def _lines(table: str) -> list[str]:
    return [each.strip() for line in table.splitlines() for each in line.split("|")]


class Writer:
    """Writes one function.

    Args:
        seed: which one.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def source(self) -> str:
        """The text of ``process``, which takes those of ``x, xs, words, nums, n`` that it uses."""
        choice = self.random
        begin = choice.choice(["[]", "[]", "[]", "[0]"])
        lists = [f"out = {begin}", "names = []", "rows = []", "inner = []", "other = []"]
        lines = ["t, c, g, s = torch.zeros(()), 0, 0, ''", *choice.sample(lists, len(lists)), *self._loop([], 0)]
        if choice.random() < 0.3:
            lines += self._loop([], 0)
        lines += [self._filled(choice.choice(_lines(AFTER)), []) for _ in range(choice.choice([0, 0, 1, 2]))]
        lines.append("return t, c, g, s, out, names, rows, other")
        used = [name for name in ARGUMENTS if any(re.search(rf"\b{name}\b", line) for line in lines)]
        return "\n    ".join([f"def process({', '.join(used)}):", *lines]) + "\n"

    def _filled(self, text: str, names: Names) -> str:
        for kind, constant in CONSTANTS.items():
            while "{" + kind + "}" in text:
                known = [name for name, other in names if other == kind] or [constant]
                text = text.replace("{" + kind + "}", self.random.choice(known), 1)
        return text

    def _statement(self, names: Names) -> list[str]:
        return [self._filled(self.random.choice(_lines(STATEMENTS)), names)]

    def _loop(self, names: Names, depth: int) -> list[str]:
        heads = [(name, kind, text) for name, kind, text in OUTER if name not in dict(names)]
        if depth:
            found = [(INNER[kind], each) for each, kind in names if INNER[kind][0] not in dict(names)]
            heads += [(name, kind, text.format(each)) for (name, kind, text), each in found] * 3
        name, kind, text = self.random.choice(heads)
        names = [*names, (name, kind), *([BESIDE[name]] if name in BESIDE else [])]
        body: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            body += self._part(names, depth)
        return [f"for {text}:", *("    " + line for line in body)]

    def _part(self, names: Names, depth: int) -> list[str]:
        chance = self.random.random()
        if chance < 0.3 and depth < 2:
            return self._loop(names, depth + 1)
        if chance > 0.6:
            return self._statement(names)
        condition = self._filled(self.random.choice(_lines(CONDITIONS)), names)
        if chance > 0.5:
            return [f"if {condition}:", "    continue"]
        one, two = (["    " + line for line in self._statement(names)] for _ in range(2))
        return [f"if {condition}:", *one, *(["else:", *two] if chance > 0.4 else [])]


def made(source: str, seed: int) -> Callable[..., Any]:
    """The function of a text, whose lines errors can show."""
    name = f"loops_{seed}.py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"torch": torch, "itertools": itertools}
    exec(compile(source, name, "exec"), space)  # written here
    function: Callable[..., Any] = space["process"]
    return function


def inputs(process: Callable[..., Any], seed: int, which: int) -> list[Any]:
    """The example of a function, where `which` is 0, or other data: of other lengths, and empty."""
    choice, generator = random.Random(f"{seed} {which}"), torch.Generator().manual_seed(seed * 7 + which)
    rows, words, items, n = [(3, 3, 2, 3), (3, 3, 2, 3), (1, 1, 1, 1), (5, 4, 3, 0), (4, 0, 0, 2)][which]
    given = [
        torch.randn(rows, 3, generator=generator),
        [torch.randn(3, generator=generator) for _ in range(items)],
        [choice.choice(["a", "bb", "abc", "z", ""] if which else ["a", "bb", "abc"]) for _ in range(words)],
        [choice.randint(0 if which else 1, 4) for _ in range(words)],
        n,
    ]
    used = process.__code__.co_varnames[: process.__code__.co_argcount]
    return [each for name, each in zip(ARGUMENTS, given, strict=True) if name in used]
