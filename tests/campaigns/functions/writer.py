"""Writes processing functions as Python source, as people write them: views, writes, sizes, branches, loops, ops.

Every statement is tried on real tensors as it is written, and dropped if torch refuses it, so that whole functions
run. What can only be refused (a branch on data, a write into a tensor from outside) is in a few functions alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests.campaigns.functions.programs import Program
from tests.campaigns.functions.python_statements import PythonStatements
from tests.campaigns.functions.statements import Statements
from tests.campaigns.functions.torch_statements import TorchStatements
from tests.campaigns.functions.words import BOLD_TESTS, TESTS


class Writer(Statements, PythonStatements, TorchStatements):
    """Writes one function, driven by a random source."""

    def __init__(self, choose: random.Random, program: Program) -> None:
        super().__init__(choose, program)
        special: list[Callable[[int], list[str]]] = [
            self.state, self.identity, self.literal, self.number, self.collection, self.effect, self.default, self.layout,
            self.model, self.odd_array, self.grad_mode,
        ]  # fmt: skip
        special += [self.thread] if self.bold and choose.random() < 0.15 else []
        self.special = choose.sample(special, choose.choice([0, 1, 1, 2, 3]))

    def write(self, length: int) -> str:
        """The source of a function of up to so many statements."""
        for _ in range(length):
            self.attempt(self.statement(1), 1)
        self.lines.append(f"    return {self.result()}")
        return "\n".join(self.lines) + "\n"

    def kinds(self) -> list[tuple[int, Callable[[int], list[str]]]]:
        """Kinds of statements without blocks, and how often each is written."""
        kinds: list[tuple[int, Callable[[int], list[str]]]] = [
            (6, self.unary), (5, self.view), (5, self.slice), (6, self.binary), (4, self.inplace), (4, self.store),
            (5, self.size), (3, self.scalar), (3, self.use_size), (2, self.container), (2, self.two), (2, self.unpack),
            (1, self.augmented), (3, self.op), (2, self.random), (2, self.control), (1, self.text), (2, self.array),
        ]  # fmt: skip
        return kinds + [(10, make) for make in self.special]

    def statement(self, depth: int) -> list[str]:
        """A statement, perhaps a block."""
        kinds = self.kinds()
        if depth < 3:
            kinds += [(3, self.branch), (3, self.loop), (1, self.inner)]
            kinds += [(1, self.caught)] if self.bold else []
        make = self.choose.choices([k for _, k in kinds], [w for w, _ in kinds])[0]
        pad = "    " * depth
        return [pad + line for line in make(depth)]

    def block(self, depth: int) -> list[str]:
        """Statements of an inner block, relative to it."""
        pad = "    " * (depth + 1)
        found: list[str] = []
        for _ in range(self.choose.randint(1, 2)):
            found += [line.removeprefix(pad) for line in self.statement(depth + 1)]
        return ["    " + line for line in found]

    def branch(self, depth: int) -> list[str]:
        """A branch, on sizes mostly."""
        known = TESTS + BOLD_TESTS if self.bold else TESTS
        test, tensor, name = self.fill(self.choose.choice(known)), self.tensor(), self.name("b")
        sides = [f"if {test}:", f"    {name} = {tensor} + 1", *self.block(depth), "else:", f"    {name} = {tensor} * 3"]
        return sides + (self.block(depth) if self.choose.random() < 0.4 else [])

    def loop(self, depth: int) -> list[str]:
        """A loop over numbers, rows or sizes."""
        name, tensor = self.name("a"), self.tensor()
        over = self.choose.choice(
            [f"range({self.pick(int, '2')} % 5)", f"range({tensor}.shape[0] % 6)", "range(3)", f"{tensor}.unbind(0)[:3]", f"{tensor}[:3]",
             f"enumerate({tensor})", f"zip({tensor}, {self.tensor()})", f"{tensor}.shape", "torch.arange(2)"]
        )  # fmt: skip
        step = self.choose.choice(
            [f"{name} = {name} + 1", f"{name} = {name} * i", f"{name} += i", f"{name} = {tensor}[i]"]
        )
        return [f"{name} = {self.tensor()}", f"for i in {over}:", f"    {step}", *self.block(depth)]

    def caught(self, depth: int) -> list[str]:
        """A block whose errors are caught."""
        name = self.name("e")
        return [f"{name} = x", "try:", *self.block(depth), "except Exception:", f"    {name} = x + 1"]

    def inner(self, depth: int) -> list[str]:
        """A function inside, called on a tensor."""
        name, tensor = self.name("h"), self.tensor()
        return [f"def {name}(a, b=2):", f"    return a * b + {tensor}.sum()", f"{name}r = {name}({self.tensor()})"]

    def result(self) -> str:
        """What is returned: some variables in some container."""
        scope = self.environment() or {}
        names = [n for n, v in scope.items() if n not in ("self", "state") and _plain(v)]
        count = min(len(names), self.choose.randint(1, 5))
        chosen = [*self.choose.sample(names, count), *names[-2:]]
        items = ", ".join(chosen) or "x"
        named = "{" + ", ".join(f"'{name}': {name}" for name in chosen) + "}"
        first, last = (chosen[0], chosen[-1]) if chosen else ("x", "y")
        return self.choose.choice([
            f"({items},)", f"[{items}]", named, f"({items},)", f"Pair({first}, [{items}])", f"Pair(second={named}, first={last})",
            f"{{'all': ({items},), 'by name': {named}, 3: [Pair({first}, {last})]}}", f"{{f'out{{x.shape[1]}}': {first}, 'k': k}}", first,
        ])  # fmt: skip


class GradientWriter(Writer):
    """Writes a function that is tried with gradients."""

    grad = True

    def kinds(self) -> list[tuple[int, Callable[[int], list[str]]]]:
        """More of what decides about gradients, less of what has none."""
        return [
            (6, self.unary), (4, self.view), (4, self.slice), (6, self.binary), (4, self.inplace), (3, self.store),
            (2, self.size), (2, self.use_size), (1, self.container), (2, self.two), (1, self.unpack), (1, self.augmented),
            (4, self.op), (2, self.control), (1, self.random), (3, self.model), (2, self.layout), (6, self.grad_mode),
            (1, self.effect), (1, self.literal), (1, self.identity), (1, self.state),
        ]  # fmt: skip

    def given(self, program: Program) -> list[Any]:
        """The example, with gradients where it can have them."""
        found = super().given(program)
        return [t.requires_grad_() if isinstance(t, torch.Tensor) and t.is_floating_point() else t for t in found]


def _plain(tree: Any) -> bool:
    """Whether something is what a function may return."""
    if isinstance(tree, list | tuple | dict):
        return all(map(_plain, tree.values() if isinstance(tree, dict) else tree))
    return isinstance(tree, torch.Tensor | np.ndarray | np.generic | int | float | complex | str)
