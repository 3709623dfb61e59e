"""One function of every day with its inputs, and the check that its pipeline answers as it does."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tracepack
from tests.campaigns.check import difference


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


def check(case: Case) -> None:
    """The loaded file answers as the function does, on the example and on every other input."""
    mod = loaded(case.process, *case.example, trust=case.trust)
    for given in (case.example, *case.others):
        wanted, got = case.process(*given), mod(*given)
        assert difference(wanted, got) == "", f"{given}: {got!r} instead of {wanted!r}"
