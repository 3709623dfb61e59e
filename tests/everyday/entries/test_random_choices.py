"""Random functions of choices between numbers and texts, on inputs that take every side, held against Python."""

from __future__ import annotations

import datetime
import linecache
import os
import random
import warnings
from typing import Any

import pytest
import torch

import tracepack

PROGRAMS = 40
INPUTS = 12
NAMES = {"float": ["a", "b", "u"], "int": ["n", "m", "v"], "str": ["s", "t", "w"]}
CONSTANTS = {"float": ["2.5", "0.0", "WEIGHT"], "int": ["3", "0", "LIMIT"], "str": ["'none'", "''"]}
EXPRESSIONS = {
    "float": ["a * 2", "a - b", "-a", "a + n", "b * a + 1.5", "u * WEIGHT"],
    "int": ["n + 1", "-n", "n * 2", "len(s) + 1", "m - n", "n * m + v", "s.count('x')", "v + LIMIT"],
    "str": ["s[:n]", "t[n:]", "s[-2:]", "s + t", "f'{a:.2f} {s}'", "f'{n}-{t}'", "f'{b:>8.1f}'", "s.upper()",
            "t.strip() + 'z'", "s.replace('x', t)", "(s + t)[:m]", "s[:len(t)]"],
}  # fmt: skip


class Writer:
    """Writes one function of ``x, a, n, s, t, values``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def source(self) -> str:
        lines = ["b, m, u, v, w, flag = x.mean().item(), x.shape[0], 1.0, 2, 'w', False"]
        for _ in range(self.random.randint(1, 5)):
            lines += self._statement(0)
        value = f"{self._value('float')} if {self._condition()} else {self._value('float')}"
        lines.append(f"return a, b, n, m, s, t, u, v, w, flag, {value}, {self._joined()}")
        return "\n    ".join(["def process(x, a, n, s, t, values):", *lines]) + "\n"

    def _value(self, kind: str) -> str:
        return self.random.choice(NAMES[kind] + CONSTANTS[kind])

    def _made(self, kind: str) -> str:
        return self._value(kind) if self.random.random() < 0.4 else self.random.choice(EXPRESSIONS[kind])

    def _test(self) -> str:
        kind, chance = self.random.choice(["float", "int", "int", "str"]), self.random.random()
        if chance < 0.15:
            return self.random.choice(["s", "t", "n", "a"])
        if chance < 0.3:
            return f"len({self.random.choice('st')}) {self.random.choice(['<', '>', '=='])} {self._value('int')}"
        if chance < 0.4:
            return f"{self._value(kind)} < {self._value(kind)} <= {self._value(kind)}"
        return f"{self._value(kind)} {self.random.choice(['<', '>', '==', '!=', '>='])} {self._value(kind)}"

    def _joined(self) -> str:
        return f" {self.random.choice(['and', 'or'])} ".join(self._test() for _ in range(self.random.randint(2, 3)))

    def _condition(self) -> str:
        return self._test() if self.random.random() < 0.6 else self.random.choice(["", "not "]) + f"({self._joined()})"

    def _statement(self, depth: int) -> list[str]:
        kind = self.random.choice(list(NAMES))
        name, chance = self.random.choice(NAMES[kind]), self.random.random()
        if chance < 0.25:
            return [f"{name} = {self._made(kind)} if {self._condition()} else {self._made(kind)}"]
        if chance < 0.65:
            lines = [f"if {self._condition()}:", f"    {name} = {self._made(kind)}"]
            more = [f"elif {self._condition()}:", f"    {name} = {self._made(kind)}"] * (chance > 0.45)
            return [*lines, *more, *(["else:", f"    {name} = {self._made(kind)}"] * (chance > 0.55))]
        if chance < 0.8:
            return [f"flag = {self._joined()}"]
        if chance < 0.9 or depth:
            return [f"{name} = {name} {self.random.choice(['or', 'and'])} {self._value(kind)}"]
        return ["for value in values:", *("    " + line for line in self._statement(1)), "    u = u + value"]


def _inputs(choice: random.Random, least: int = 0) -> list[Any]:
    return [
        torch.full((choice.randint(1, 5),), choice.uniform(-3, 3)),
        choice.choice([0.0, -0.0, 2.5, 1.5, float("nan"), choice.uniform(-5, 5)]),
        choice.randint(-2, 6), choice.choice(["", "x", "none", "abcdef"]), choice.choice(["", "x", "zz"]),
        [choice.choice([0.0, 2.5, choice.uniform(-3, 3)]) for _ in range(choice.randint(least, 3))],
    ]  # fmt: skip


def _made(seed: int) -> tuple[Any, str]:
    source, name = Writer(seed).source(), f"choices_{seed}.py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"LIMIT": 4, "WEIGHT": 1.5}
    exec(compile(source, name, "exec"), space)  # written here
    return space["process"], source


@pytest.mark.campaign
def test_random_choices() -> None:
    share = int(os.environ.get("CAMPAIGN_SHARE", datetime.date.today().timetuple().tm_yday))
    right = stopped = 0
    for seed in range(share * PROGRAMS, (share + 1) * PROGRAMS):
        process, source = _made(seed)
        choice = random.Random(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a choice fixes
            try:
                mod = tracepack.trace(process, *_inputs(choice, 2))
            except tracepack.RecordError:
                stopped += INPUTS
                continue
        for _ in range(INPUTS):
            given = _inputs(choice)
            try:
                got = mod(*given)
            except (tracepack.GuardError, tracepack.SignatureError):  # of a loop whose length is fixed
                stopped += 1
                continue
            assert repr(got) == repr(process(*given)), f"{given}:\n{source}"
            right += 1
    assert right > 2 * stopped
