"""The function that is being written, and its variables: each statement is tried on real tensors."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from tests.campaigns.check import default_dtype
from tests.campaigns.functions.programs import Program
from tests.campaigns.functions.surroundings import plain
from tests.campaigns.functions.words import BOLD


class Scope:
    """A function of so many lines that runs on its example."""

    grad = False  # whether it is tried with gradients

    def __init__(self, choose: random.Random, program: Program) -> None:
        self.choose, self.lines = choose, ["def process(x, y, k):"]
        self.program, self.count = program, 0
        self.bold = choose.random() < BOLD
        self._known: tuple[str, dict[str, Any] | None] | None = None

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
        if self._known is None or self._known[0] != source:
            self._known = source, self._run(replace(self.program, source=source))
        return self._known[1]

    def _run(self, program: Program) -> dict[str, Any] | None:
        try:
            with torch.set_grad_enabled(self.grad), warnings.catch_warnings(), default_dtype(program.default):
                warnings.simplefilter("ignore")
                namespace = program.namespace(plain)
                found: dict[str, Any] = namespace["process"](*self.given(program))
                spoilt = namespace["CONST"]._version > 0  # such a function can only be refused
                return None if spoilt and not self.bold else found
        except Exception:
            return None

    def given(self, program: Program) -> list[Any]:
        """The example that statements are tried on."""
        return program.inputs(3)

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
