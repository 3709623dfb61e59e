"""One trial: a function traced, and held against Python over a sequence of calls, before and after a reload."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch

import tracepack
from tests.campaigns.check import copies, difference

REFUSALS = (
    tracepack.GuardError,
    tracepack.SignatureError,
    tracepack.NodeError,
    tracepack.NonContiguousOutputError,
)


def trial(
    make: Callable[[], Callable[..., Any]],
    *example: Any,
    others: Sequence[tuple[Any, ...]] = (),
    grad: bool = False,
) -> str:
    """Holds a function against its pipelines: ``"right"``, or the text of the refusal.

    Args:
        make: makes the function anew, with whatever state it keeps.
        *example: what it is traced with.
        others: further calls, in this order, after two with the example and before one more; a guard may stop them.
        grad: whether Python runs with gradients.

    Raises:
        AssertionError: a pipeline answers otherwise than Python does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            traced = tracepack.trace(make(), *example)
            file = io.BytesIO()
            traced.save(file)
        except tracepack.TracepackError as error:
            return str(error)
        loaded = tracepack.load(file.getvalue(), trust=True)
        for title, pipeline in (("traced", traced), ("loaded", loaded)):
            process = make()
            for number, call in enumerate([example, example, *others, example]):
                _hold(f"{title}, call {number}", process, pipeline, call, number < 2, grad)
    return "right"


def _hold(title: str, process: Any, pipeline: Any, call: tuple[Any, ...], own: bool, grad: bool) -> None:
    given, handed = copied(call), copied(call)
    try:
        got = pipeline(*given)
    except REFUSALS:
        assert not own, f"{title}: the example is refused"
        return
    with nullcontext() if grad else torch.no_grad():
        wanted = process(*handed)
    found = difference(wanted, got) or difference(handed, given)
    assert not found, f"{title}: {found}; Python gives {wanted}, the pipeline {got}"


def copied(call: Sequence[Any]) -> list[Any]:
    """Copies of arguments, tensors with their strides."""
    return copies(call)


def refused(found: str, text: str, line: str = "") -> None:
    """Asserts that a trial was refused with a text, and the user's line."""
    assert found != "right", "it was accepted"
    assert re.search(text, found), found
    assert line in found, found
