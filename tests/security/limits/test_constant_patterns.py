"""Patterns that a block takes of a table in it: bounded where the table has all of them, and is only read."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tracepack
from tracepack.ops.runtime.safety.code_patterns import unbounded_pattern

PATTERNS = {"int": r"^\d+$", "float": r"^\d+\.\d+$"}
PAIRS = [(r"^\d+$", "int"), (r"^\d+\.\d+$", "float")]


def of_tuples(text: str) -> str:
    for pattern, label in ((r"^\d+$", "int"), (r"^\d+\.\d+$", "float")):
        if re.match(pattern, text):
            return label
    return "none"


def of_pairs(text: str) -> str:
    for pattern, label in PAIRS:
        if re.match(pattern, text):
            return label
    return "none"


def of_dict(text: str) -> list[str]:
    return [label for label, pattern in PATTERNS.items() if re.search(pattern, text)]


def by_key(text: str, kind: str) -> list[str]:
    return [found for found in re.findall(PATTERNS[kind], text)]  # noqa: C416  # a block


def first(text: str) -> str:
    return next((label for label, pattern in PATTERNS.items() if re.match(pattern, text)), "text")


@pytest.mark.parametrize("process", [of_tuples, of_pairs, of_dict, by_key, first])
def test_patterns_of_a_constant_table_need_no_trust(process: Callable[..., Any]) -> None:
    more = ("float",) if process is by_key else ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = tracepack.trace(process, "12", *more)
    saved = io.BytesIO()
    module.save(saved)
    loaded = tracepack.load(saved.getvalue())
    for text in ("12", "1.5", "", "a", "1.", "12a"):
        assert loaded(text, *more) == process(text, *more)


OPEN = {
    "a pattern that takes long": "for p in ('^(a+)+$', 'b'):\n        x = re.match(p, t)",
    "one of the texts is given": "for p in [t, 'a']:\n        x = re.match(p, t)",
    "a text that is put into the table": "K = ['a']\n    K.append(t)\n    for p in K:\n        x = re.match(p, t)",
    "an item that is set": "K = {'a': 'b'}\n    K['c'] = t\n    for p in K.values():\n        x = re.match(p, t)",
    "another name of the table": "K = ['a']\n    L = K\n    L.append(t)\n    for p in K:\n        x = re.match(p, t)",
    "a list in the table": (
        "K = [['a']]\n    for q in K:\n        q.append(t)\n    for r in K:\n        for p in r:\n"
        "            x = re.match(p, t)"
    ),
    "another text for the name": "for p in ('a', 'b'):\n        p = t\n        x = re.match(p, t)",
    "a text that grows": "for p in ('a', 'b'):\n        p += t\n        x = re.match(p, t)",
    "a name that is bound inside": "for p in ('a', 'b'):\n        (p := t)\n        x = re.match(p, t)",
    "an argument of its name": (
        "def inner(p):\n        return re.match(p, t)\n    for p in ('a', 'b'):\n        x = inner(t)"
    ),
    "another function of the name": (
        "enumerate = [t]\n    K = ['a']\n    for p in enumerate(K):\n        x = re.match(p, t)"
    ),
    "the table itself": "K = ('a',)\n    x = re.match(K + (t,), t)",
    "a default": "K = {'a': 'b'}\n    x = re.match(K.get(t, t), t)",
    "no table at all": "x = re.match(p, t)",
    "a slice of it that is set": "K = ['a']\n    K[:] = [t]\n    for p in K:\n        x = re.match(p, t)",
    "a table that is handed on": "K = ['a']\n    list.append(K, t)\n    for p in K:\n        x = re.match(p, t)",
    "the list of a table": "K = list(('a',))\n    K.append(t)\n    for p in K:\n        x = re.match(p, t)",
    "a compiled pattern": "for p in ('(a+)+$', 'b'):\n        x = re.compile(p).search(t)",
}


def block(body: str) -> str:
    return f"def block(t):\n    x = None\n    {body}\n    return bool(x)\n"


def refusal(text: str) -> str:
    """Why a block needs trust, or is none of the language at all; empty where neither is so."""
    try:
        return unbounded_pattern(text)
    except tracepack.TracepackError as error:
        return str(error)


@pytest.mark.parametrize("name", OPEN)
def test_any_other_use_of_a_table_leaves_its_patterns_unknown(name: str) -> None:
    assert refusal(block(OPEN[name]))


def test_the_same_loops_are_bounded_without_it() -> None:
    assert not refusal(block("K = ['a', 'b']\n    for p in K:\n        x = re.match(p, t)"))
