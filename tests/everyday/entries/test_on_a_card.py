"""The functions of every day with their tensors on a card."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

pytest.importorskip("pydantic", reason="a table has a model of pydantic")

from tests.everyday import choices, idioms, labels, lists, tallies, texts
from tests.everyday.case import Case, check
from tests.everyday.loops import appending, branches, carrying, growing, iterators, leaving, nested, pieces, reductions
from tests.everyday.values import filling, first_day, kept_lists, records, several

TABLES = (
    choices, idioms, labels, lists, tallies, texts, appending, branches, carrying, growing, iterators, leaving, nested,
    pieces, reductions, filling, first_day, kept_lists, records, several,
)  # fmt: skip

pytestmark = pytest.mark.gpu


MOVES = "idioms: a model that is where it should be"  # on the CPU; from there its function would move it to the card


def with_tensors() -> Iterator[tuple[str, Case]]:
    for table in TABLES:
        for name, case in table.CASES.items():
            title = f"{table.__name__.split('.')[-1]}: {name}"
            if title != MOVES and any(
                isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(list(case.example))
            ):
                yield title, case


CASES = dict(with_tensors())


def on_card(tree: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.cuda(), tree)


@pytest.mark.parametrize("name", CASES)
def test_on_a_card(name: str) -> None:
    case = CASES[name]
    example, others = on_card(list(case.example)), on_card([list(other) for other in case.others])
    try:
        case.process(*copy.deepcopy(example))
    except (RuntimeError, TypeError) as error:
        pytest.skip(f"the function itself takes no tensor of a card: {str(error).splitlines()[0]}")
    check(Case(case.process, example, others, case.trust))
