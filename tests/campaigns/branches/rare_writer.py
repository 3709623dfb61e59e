"""Random functions in which two names hold one thing, and a branch that hardly any data take changes it."""

from __future__ import annotations

import copy
import functools
import itertools
import linecache
import random
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from tests.campaigns.branches import holders
from tests.campaigns.branches.aliases import CHANGES, KINDS, MADE, NAMED, SEEN, lines

MODULES = (copy, functools, itertools, zlib, torch)
ARGUMENTS = ("x", "arr", "ks", "rows", "table", "words", "t", "n")
PLAIN, OF_TENSORS = (0, 0, 8, 2, 1, 3, 2, 4), (5, 3, 1, 0, 0, 0, 0, 1)
"""How often each is chosen."""
OF_CALL = {
    "x": "int(x.sum()) * 37 % 41 == 8", "arr": "int(arr.sum()) * 37 % 41 == 8", "ks": "sum(ks) * 7919 % 43 == 5",
    "rows": "(len(rows) * 31 + sum(map(sum, rows))) * 17 % 43 == 6", "table": "sum(table.values()) * 29 % 41 == 7",
    "words": "(len(words[0]) * 7 + ord(words[0][0]) * 31) % 37 == 5", "t": "(len(t) * 7 + ord(t[0]) * 31) % 37 == 5", "n": "(n * 7919 + 31) % 97 == 5",
}  # fmt: skip
OTHERS_OF_CALL = {
    "ks": "len(set(ks)) == 3 and ks[0] > ks[-1] + 17", "n": "n * n % 101 == 37", "t": "zlib.crc32(t.encode()) % 41 == 5",
    "words": "len(''.join(words)) * 7 % 23 == 4", "x": "x[0, 0].item() > 6.25", "arr": "arr.max() - arr.min() > 14.5",
}  # fmt: skip
LOOPS = {
    "ks": [("k", "k * 37 % 41 == 8"), ("k", "k > 37 and k % 2"), ("i, k", "k * 37 % 41 == 8"), ("i, k", "k * 31 % 37 == 3")], "words": [("w", "zlib.crc32(w.encode()) % 37 == 5")],
    "rows": [("r", "sum(r) * 37 % 41 == 8")], "n": [("j", "(n + j) * 7919 % 97 == 5")],
    "x": [("row", "int(row.sum()) * 37 % 41 == 8")], "t": [("c", "zlib.crc32((c + t).encode()) % 41 == 5")],
}  # fmt: skip
OVER = {"ks": "ks", "words": "words", "rows": "rows", "n": "range(3)", "x": "x", "t": "t"}
COMMON = (
    "n > 2",
    "len(ks) > 1",
    "ks[0] > 0",
    "len(t) > 2",
    "words[0] < 'k'",
    "x.sum() > 0",
    "arr[0] > 0",
    "len(rows) > 1",
)
NUMBERS = ("2", "7", "n", "ks[0]", "len(ks)", "len(t)", "x.shape[0]", "len(words)", "-3", "n * 2")
TEXTS = ("'q'", "t", "words[0]", "t[:1]", "'zz'")


class Writer:
    """Writes one function; a rare condition stands between ``⟦number|`` and ``⟧``.

    Args:
        seed: which one.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names: dict[str, str] = {}
        self.loop: tuple[str, str] | None = None
        self.rare = 0
        self.numeric = self.random.random() < 0.25  # tensors and arrays, or containers of Python
        asked = self.random.choices(
            ARGUMENTS, OF_TENSORS if self.numeric else PLAIN, k=self.random.choice([1, 1, 2, 2, 3])
        )
        asked += ["n"] if self.numeric and self.random.random() < 0.6 else []
        self.arguments = sorted({*asked}, key=ARGUMENTS.index)

    def source(self) -> str:
        """The text of ``process``, with marks."""
        body = [line for _ in range(self.random.choice([1, 1, 2, 2, 3])) for line in self._made()]
        body += [line for _ in range(self.random.choice([1, 1, 2, 2, 3])) for line in self._alias()]
        for _ in range(self.random.choice([1, 1, 1, 2])):
            body += self._rare()
            body += self._change() if self.random.random() < 0.15 else []
            body += self._alias() if self.random.random() < 0.15 else []
        body += self._late()
        body.append(f"return {self._seen()}")
        return "\n    ".join([f"def process({', '.join(self.arguments)}):", *body]) + "\n"

    # -- parts -------------------------------------------------------------------------------------------------------

    def _pick(self, texts: Sequence[str]) -> str | None:
        """A text whose arguments are there and whose variables are known, filled."""
        for text in self.random.sample(texts, len(texts)):
            found = self._filled(text)
            if found is not None:
                return found
        return None

    def _filled(self, text: str) -> str | None:
        while mark := re.search(r"\$(\w)", text):
            part = self._part(mark[1])
            if part is None:
                return None
            text = text[: mark.start()] + part + text[mark.end() :]
        words = {*re.findall(r"\b\w+\b", re.sub(r"'[^']*'", "", text))}
        return text if {*ARGUMENTS} & words <= {*self.arguments} else None

    def _part(self, kind: str) -> str | None:
        if kind == "i":
            return self._pick(NUMBERS) if self.random.random() < 0.7 else self._inner()
        if kind in "wc":
            return self._pick(TEXTS if kind == "w" else COMMON)
        if kind == "R":
            return self._condition()
        if kind == "X":
            return "i" if self.loop is not None and "," in self.loop[0] and self.random.random() < 0.7 else "0"
        known = [name for name, other in self.names.items() if other == kind]
        return self.random.choice(known) if known else None

    def _inner(self) -> str | None:
        """A number that the loop around gives."""
        if self.loop is None:
            return self._pick(NUMBERS)
        return {"k": "k", "i, k": "k", "j": "j", "w": "len(w)", "r": "len(r)", "row": "3", "c": "8"}[self.loop[0]]

    def _condition(self) -> str:
        if self.loop is not None:
            text = self.loop[1]
        else:
            name = self.random.choice([*self.arguments, *(["n", "n"] if "n" in self.arguments else [])])
            text = OF_CALL[name]
            if name in OTHERS_OF_CALL and self.random.random() < 0.3:
                text = OTHERS_OF_CALL[name]
        self.rare += 1
        return f"⟦{self.rare}|{text}⟧"

    def _new(self, kind: str, value: str) -> list[str]:
        name = f"{'abcdefghmpqsuvyz'[len(self.names) % 16]}{'' if len(self.names) < 16 else len(self.names)}"
        self.names[name] = kind
        return [f"{name} = {value}"]

    def _made(self) -> list[str]:
        often = (1, 0, 0, 1, 0, 0, 1, 8, 6, 0) if self.numeric else (6, 4, 2, 3, 1, 1, 2, 0, 0, 1)
        kind = self.random.choices(KINDS[:-1], often)[0]
        value = self._pick(lines(MADE[kind]))
        return self._made() if value is None else self._new(kind, value)

    def _alias(self) -> list[str]:
        kinds = sorted({*self.names.values()})
        kind = self.random.choice([*kinds, *kinds, *kinds, *"LNEPI"])
        value = self._pick(lines(NAMED[kind]))
        return [] if value is None else self._new(kind, value)

    def _change(self) -> list[str]:
        kinds = [*self.names.values()]
        for _ in range(9):
            kind = self.random.choice(kinds)
            if (kind != "I" or self.random.random() < 0.2) and (found := self._pick(lines(CHANGES[kind]))):
                return [found]
        return ["pass"]

    def _changes(self) -> list[str]:
        found = self._change()
        if self.random.random() < 0.15:
            found += self._change()
        if self.random.random() < 0.08:
            known = self.names.copy()
            found = self._alias() + found  # a name that this branch alone sets
            self.names = known
        return found

    def _late(self) -> list[str]:
        """What follows the rare branches: changes that all data make."""
        return self._change() if self.random.random() < 0.25 else []

    def _seen(self) -> str:
        names = [name for name in self.names if self.random.random() < 0.85] or [*self.names]
        found = [self.random.choice(lines(SEEN[self.names[name]])).replace("$0", name) for name in names]
        if len(found) == 1 and self.random.random() < 0.5:
            return found[0]
        shape = self.random.choice(["({},)", "[{}]", "({},)"])
        return shape.format(", ".join(found))

    # -- rare branches -----------------------------------------------------------------------------------------------

    def _rare(self) -> list[str]:
        shapes: list[Callable[[], list[str]]] = [
            self._branch, self._branch, self._branch, self._nested, self._in_loop, self._in_loop, self._in_loop, self._early,
            self._caught, self._expression, self._in_helper, self._in_function, self._other_side, self._while, self._matched,
            self._in_loop_over_names, self._rebound,
        ]  # fmt: skip
        return self.random.choice(shapes)()

    def _branch(self) -> list[str]:
        found = [f"if {self._condition()}:", *_deeper(self._changes())]
        if self.random.random() < 0.25:
            found += ["else:", *_deeper(self._change())]
        return found

    def _other_side(self) -> list[str]:
        one, rare = self._change() if self.random.random() < 0.3 else ["pass"], self._condition()
        if self.random.random() < 0.5:
            return [f"if not {rare}:", *_deeper(one), "else:", *_deeper(self._changes())]
        common = self._pick(COMMON)
        return [f"if {common or 'True'}:", *_deeper(one), f"elif {rare}:", *_deeper(self._changes())]

    def _nested(self) -> list[str]:
        return [f"if {self._pick(COMMON) or '1 < 2'}:", *_deeper(self._branch())]

    def _rebound(self) -> list[str]:
        """A name that a rare branch binds to what another one holds, and a change after it."""
        pairs = [(a, b) for a in self.names for b in self.names if a != b and self.names[a] == self.names[b] != "I"]
        if not pairs:
            return self._branch()
        a, b = self.random.choice(pairs)
        form = self.random.choice(
            ["if {r}:\n    {a} = {b}", "{a} = {b} if {r} else {a}", "if {r}:\n    {a}, {b} = {b}, {a}"]
        )
        return [*form.format(r=self._condition(), a=a, b=b).split("\n"), *self._change()]

    def _early(self) -> list[str]:
        return [f"if {self._condition()}:", *_deeper([*self._changes(), f"return {self._seen()}"])]

    def _caught(self) -> list[str]:
        rare, end = self._condition(), self.random.random()
        found = [
            "try:",
            f"    if {rare}:",
            "        raise ValueError('rare')",
            "except ValueError:",
            *_deeper(self._changes()),
        ]
        return found + (["finally:", *_deeper(self._change())] if end < 0.2 else [])

    def _expression(self) -> list[str]:
        change = next((c for c in (self._change()[0] for _ in range(9)) if re.fullmatch(r"[\w.\[\]']+\(.*\)", c)), "0")
        form = self.random.choice(
            ["{r} and {c}", "{c} if {r} else None", "_ = [{c} for _ in range(1) if {r}]", "not {r} or {c}"]
        )
        return [form.format(r=self._condition(), c=change)]

    def _in_helper(self) -> list[str]:
        texts = ["grow_if($L, $i, $R)", "$O.put_if($i, $R)", "grow_if($E['u'], $i, $R)", "grow_if($N[0], $i, $R)",
                 "grow_if($L, v=$i, rare=$R).append($i)"]  # fmt: skip
        found = self._pick(texts)
        return self._branch() if found is None else [found]

    def _in_function(self) -> list[str]:
        change = self._changes()
        if any(re.match(r"\w+ (.?)= ", line) for line in change):
            return self._branch()
        return ["def change():", f"    if {self._condition()}:", *_deeper(_deeper(change)), "change()"]

    def _matched(self) -> list[str]:
        asked = self.random.choice(self.arguments)
        return [f"match {asked}:", f"    case _ if {self._condition()}:", *_deeper(_deeper(self._changes()))]

    def _while(self) -> list[str]:
        rare = self._condition()
        return ["i = 0", "while i < 3:", "    i += 1", f"    if {rare}:", *_deeper(_deeper(self._changes()))]

    def _in_loop(self) -> list[str]:
        names = [name for name in self.arguments if name in LOOPS]
        if not names:
            return self._branch()
        name = self.random.choice(names)
        before, self.loop = self.loop, self.random.choice(LOOPS[name])
        over = f"enumerate({OVER[name]})" if "," in self.loop[0] else OVER[name]
        head = [f"for {self.loop[0]} in {over}:"]
        body = self._changes() if self.random.random() < 0.1 else []
        body += self.random.choice([self._branch, self._branch, self._branch, self._other_side, self._left])()
        if self.random.random() < 0.15:
            body = _with_alias(self, body)
        self.loop = before
        return head + _deeper(body)

    def _left(self) -> list[str]:
        """A branch that leaves the round or the loop."""
        rare, end = self._condition(), self.random.choice(["continue", "break"])
        if self.random.random() < 0.5:
            return [f"if not {rare}:", "    continue", *self._changes()]
        return [
            f"if {rare}:",
            *_deeper([*self._changes(), end]),
            *(self._change() if self.random.random() < 0.3 else []),
        ]

    def _in_loop_over_names(self) -> list[str]:
        """A loop over what a container holds, which a rare branch changes inside."""
        text = self._pick(["for r in $N:", "for r in $E.values():", "for r in [$L, $L]:", "for r in ($L, $L):", "for _, r in $E.items():"])  # fmt: skip
        if text is None:
            return self._in_loop()
        known, self.names = self.names, {**self.names, "r": "L"}
        change = next((c for c in (self._change() for _ in range(9)) if re.search(r"\br\b", c[0])), ["r.append(3)"])
        self.names = known
        return [text, *_deeper([f"if {self._condition()}:", *_deeper(change)])]


def _with_alias(writer: Writer, body: list[str]) -> list[str]:
    """A round that gives a thing another name first."""
    known = writer.names.copy()
    found = writer._alias() + body
    writer.names = known
    return found


def _deeper(body: list[str]) -> list[str]:
    return ["    " + line for line in body]


def plain(marked: str) -> str:
    """A text without marks."""
    return re.sub(r"⟦\d+\|(.*?)⟧", lambda mark: mark[1] if mark[1].isidentifier() else f"({mark[1]})", marked)


def telling(marked: str) -> str:
    """A text that tells ``met`` which conditions hold."""
    return re.sub(r"⟦(\d+)\|(.*?)⟧", r"met(\1, \2)", marked)


def made(source: str, name: str, **more: Any) -> Callable[..., Any]:
    """The function of a text, whose lines errors can show."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {**vars(holders), **{module.__name__: module for module in MODULES}, "np": numpy, **more}
    exec(compile(source, name, "exec"), space)  # written here
    function: Callable[..., Any] = space["process"]
    return function
