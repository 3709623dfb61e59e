"""Libraries that go another way in an export than in a plain run: that way is held against the plain one.

They are told of the export only where their plain way cannot be exported, mostly since it looks at its data first: to
leave out a mask that hides nothing, or to refuse what is no number. So the body is tried on such data, and a model that
answers otherwise there, or raises an error where the body answers, is refused.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...graph.errors import LoweringError
from ...graph.graph import Body
from ...runtime.checks import input_check
from ...runtime.placement import home_of_body
from ...runtime.plan import Plan
from ...runtime.primitives.control_flow import LimitedRounds
from ...runtime.primitives.random import draws_undone
from ...runtime.safety.card_indices import tried_on_cpu
from ..call import Leaves, separate
from ..convert.layout_guards import grown
from ..patches.plain.askers import Heard
from ..validate import MOST_ROUNDS, MOST_SECONDS
from .flat_results import difference, same_leaves

_FILLS = (0.0, math.nan, math.inf, -math.inf)


def require_plain_way(body: Body, tensors: Leaves, reference: Callable[[], Any], heard: Heard) -> None:
    """Holds a body against its model where libraries were told of the export.

    Args:
        body: the lowered model.
        tensors: the example.
        reference: makes the model in its initial state.
        heard: what was asked of the export.

    Raises:
        LoweringError: they differ; the message has the line of the question.
    """
    if not heard.told:
        return
    until = time.perf_counter() + MOST_SECONDS
    for given in _others(body, tensors):
        found = _differing(body, given, reference)
        if found:
            question, line = next(iter(heard.libraries.values()))
            raise LoweringError(
                "a library goes another way in an export than in a plain run, with other results",
                where=f"op {body.name!r}, {line}",
                got=f"{question}, and {found}",
                fix="Check the data in the traced function, and switch the check in the model off.",
            )
        if time.perf_counter() > until:
            return


def _others(body: Body, tensors: Leaves) -> Iterator[list[Any]]:
    """Other data than the example's: larger, and of values that libraries look for, in one input and in all."""
    kinds = [value.type for value in body.graph.inputs]
    yield [grown(t, kind, body.facts.symbols) for t, kind in zip(tensors, kinds, strict=True)]
    every = range(len(tensors))
    for places in [every] if len(tensors) == 1 else [every, *([at] for at in every)]:
        for fill in _FILLS:
            others = [_filled(t, fill) if at in places else t for at, t in enumerate(tensors)]
            if any(a is not b for a, b in zip(others, tensors, strict=True)):
                yield others
        yield [_begun(t) if at in places else t for at, t in enumerate(tensors)]


def _filled(thing: Any, fill: float) -> Any:
    """A tensor full of a value; one of integers or bools full of 0, and of 1 in place of what is no number."""
    if not isinstance(thing, torch.Tensor) or thing.layout is not torch.strided:
        return thing
    if not _is_whole(thing):
        return torch.full_like(thing, fill)
    return thing if math.isinf(fill) else torch.full_like(thing, 1 if math.isnan(fill) else 0)


def _begun(thing: Any) -> Any:
    """A tensor of floating point whose first element is no number."""
    if not isinstance(thing, torch.Tensor) or thing.layout is not torch.strided:
        return thing
    if _is_whole(thing) or not thing.numel():
        return thing
    copy = thing.detach().clone()
    copy[(0,) * copy.dim()] = math.nan
    return copy


def _is_whole(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex())


def _differing(body: Body, tensors: Leaves, reference: Callable[[], Any]) -> str:
    """How body and model differ; empty where they do not, and where the body refuses what it is given."""

    def run() -> list[Any]:
        input_check(body)(*tensors)
        return list(Plan(body.graph, home=home_of_body(body, tensors)).run(separate(tensors), checked=False))

    with LimitedRounds(MOST_ROUNDS), tried_on_cpu(), draws_undone(run):
        try:
            got = run()
        except Exception:  # no answer is no wrong one
            return ""
        try:
            wanted: Sequence[Any] = pytree.tree_leaves(reference()(*separate(tensors)))
        except Exception as error:
            return f"the model raises {type(error).__name__} where the graph answers"
    return "" if same_leaves(wanted, got) else difference(wanted, got)
