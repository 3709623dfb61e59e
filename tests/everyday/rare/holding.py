"""Holds a pipeline against its function on data that lead to a rare side."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch

import tracepack
from tests.everyday.case import loaded


def held(process: Callable[..., Any], example: Sequence[Any], others: Sequence[Sequence[Any]]) -> None:
    """Checks a function on its example and other inputs; a refusal at trace is right, too, and one at run of others."""
    try:
        mod = loaded(process, *copy.deepcopy(example))
    except tracepack.RecordError:
        return
    assert same(mod(*copy.deepcopy(example)), process(*copy.deepcopy(example)))
    for given in others:
        try:
            found = mod(*copy.deepcopy(given))
        except tracepack.TracepackError:
            continue
        assert same(found, process(*copy.deepcopy(given))), given


def same(found, wanted) -> bool:
    if isinstance(wanted, torch.Tensor):
        return found.dtype == wanted.dtype and torch.equal(found, wanted)
    if isinstance(wanted, list | tuple):
        return type(found) is type(wanted) and len(found) == len(wanted) and all(map(same, found, wanted))
    return type(found) is type(wanted) and found == wanted
