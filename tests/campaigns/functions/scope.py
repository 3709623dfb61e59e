"""The function that is being written, and its variables: each statement is tried on real tensors."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from tests.campaigns.functions.programs import Program
from tests.campaigns.functions.words import BOLD


class Scope:
    """A function of so many lines that runs on its example."""

    def __init__(self, choose: random.Random, program: Program) -> None:
        self.choose, self.lines = choose, ["def process(x, y, k):"]
        self.program, self.count = program, 0
        self.bold = choose.random() < BOLD

    def attempt(self, block: list[str], depth: int) -> None:
        """Adds statements if the function still runs with them."""
        before = list(self.lines)
        self.lines += block
        if not self.runs():
            self.lines = before

    def runs(self) -> bool:
        """Whether the function so far runs on its example."""
        return self.environment() is not None

    def environment(self) -> dict[str, Any] | None:
        """The variables at the end of the function so far, or None where it fails."""
        source = "\n".join([*self.lines, "    return locals()"])
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = replace(self.program, source=source)
                function = program.function()
                found: dict[str, Any] = function(*program.inputs(3))
                spoilt = function.__globals__["CONST"]._version > 0  # such a function can only be refused
                return None if spoilt and not self.bold else found
        except Exception:
            return None

    def name(self, prefix: str) -> str:
        """A new variable."""
        self.count += 1
        return f"{prefix}{self.count}"

    def pick(self, kind: type | tuple[type, ...], other: str) -> str:
        """A variable of a kind, the newer the likelier."""
        scope = self.environment() or {}
        names = [n for n, v in scope.items() if isinstance(v, kind) and (kind is bool or not isinstance(v, bool))]
        if not names:
            return other
        return names[max(self.choose.randrange(len(names)), self.choose.randrange(len(names)))]

    def tensor(self) -> str:
        """A tensor variable."""
        return "CONST" if self.choose.random() < 0.03 else self.pick(torch.Tensor, "x")

    def fill(self, template: str) -> str:
        """A template with variables in place of its capitals."""
        out, tensor = template, self.tensor()
        for word, value in (
            ("OTHER", self.tensor), ("MASK", lambda: f"({tensor} > 0)"), ("INDEX", lambda: f"{tensor}.argmax(0)"),
        ):  # fmt: skip
            out = out.replace(word, value()) if word in out else out
        out = _capital(out, "N", lambda: self.pick(int, "x.shape[0]"))
        out = _capital(out, "S", lambda: self.pick(float, "0.5"))
        return _capital(out, "T", lambda: tensor).replace("self", tensor)

    def operand(self) -> str:
        """The right side of an operation."""
        return self.choose.choice(
            [self.tensor, self.tensor, lambda: self.pick((int, float), "2"), lambda: self.choose.choice(["2", "0.5"]),
             lambda: "k"]
        )()  # fmt: skip


def _capital(text: str, letter: str, value: Callable[[], str]) -> str:
    """The text with a lone capital letter replaced; every place gets the same value."""
    pattern = rf"(?<![\w.]){letter}(?!\w)"
    if not re.search(pattern, text):
        return text
    found = value()
    return re.sub(pattern, lambda _: found, text)
