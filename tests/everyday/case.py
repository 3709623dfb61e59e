"""One function of every day with its inputs, and the check that its pipeline answers as it does."""

from __future__ import annotations

import collections
import copy
import dataclasses
import io
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import tracepack
from tests.campaigns.check import difference
from tracepack.ops.graph.graph import SourceLine
from tracepack.pipeline.rules.advice.instead import both_ways


@dataclass(frozen=True)
class Case:
    """A function, the inputs that it is traced with, and other ones: of other lengths, and with other answers."""

    process: Callable[..., Any]
    example: Sequence[Any]
    others: Sequence[Sequence[Any]]
    trust: bool = False


def loaded(process: Callable[..., Any], *example: Any, trust: bool = False) -> tracepack.Pipeline:
    """The pipeline of a function, saved and loaded."""
    file = io.BytesIO()
    tracepack.trace(process, *example).save(file)
    return tracepack.load(file.getvalue(), trust=trust)


def _as_archived(tree: Any) -> Any:
    """A result of the function with a namedtuple for each dataclass, which is what a file gives."""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type | dict):
        names = [field.name for field in dataclasses.fields(tree)]
        kind = collections.namedtuple(type(tree).__name__, names)  # type: ignore[misc]  # known at run time only
        return kind(*(_as_archived(getattr(tree, name)) for name in names))
    if type(tree) in (list, tuple):
        return type(tree)(map(_as_archived, tree))
    return {key: _as_archived(item) for key, item in tree.items()} if type(tree) is dict else tree


def shown(process: Callable[..., Any], place: int = 0) -> str:
    """What is said of a branch on a line of a function: its form with `tracepack.cond`."""
    code = process.__code__
    line = linecache.getline(code.co_filename, code.co_firstlineno + place).strip()
    return both_ways(SourceLine(PurePath(code.co_filename).name, code.co_firstlineno + place, code.co_name, line))


def check(case: Case) -> None:
    """The loaded file answers as the function does, on the example and on every other input."""
    mod = loaded(case.process, *case.example, trust=case.trust)
    for given in (case.example, *case.others):
        wanted, got = _as_archived(case.process(*copy.deepcopy(given))), mod(*copy.deepcopy(given))
        assert difference(wanted, got) == "", f"{given}: {got!r} instead of {wanted!r}"
