"""An entry of a table that a key of the recording asks for is the table's own: a change of either shows in both."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import loaded

EXAMPLE = (1, "2024-01-05", [1, 2])
OTHERS = [(0, "2024-02-29", [400]), (2, "2024-02-29", [400, 1, 2]), (2, "2023-02-29", [3])]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def array_changed_later(i, when, xs):
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    row = table[i]
    if when[5:] == "02-29":
        table += 1
    return row


def row_changed_in_rounds(i, when, xs):
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    row = table[i]
    for item in xs:
        if item * 7 + 3 == 2803:
            row[item % 2] = 9
    return table


def list_changed_by_the_table(i, when, xs):
    table = [[1], [2], [3]]
    row = table[i]
    if when[5:] == "02-29":
        table[i].append(1)
    return row


def list_of_a_dict(i, when, xs):
    table = {"2024": [1], "2023": [2]}
    row = table.get(when[:4], [])
    if when[5:] == "02-29":
        row.append(i)
    return row, table


def row_or_a_copy(i, when, xs):
    table = np.zeros((3, 2))
    row = table[i].copy() if when[5:] != "02-29" else table[i]
    table += 1
    return row


def changed_row_or_copy(i, when, xs):
    table = np.zeros((3, 2))
    row = table[i]
    other = row.copy() if when[5:] != "02-29" else row
    other += 1
    return table


def tensor_changed_later(i, when, xs):
    table = torch.zeros(3, 2)
    row = table[i]
    if when[5:] == "02-29":
        table += 1
    return row


def column_changed(i, when, xs):
    table = np.zeros((3, 2))
    column = table[:, i % 2]
    column += 1
    return table, column.copy()


PROCESSES = [
    array_changed_later, row_changed_in_rounds, list_changed_by_the_table, list_of_a_dict, row_or_a_copy,
    changed_row_or_copy, tensor_changed_later, column_changed,
]  # fmt: skip


@pytest.mark.parametrize("process", PROCESSES)
def test_an_entry_and_its_table_are_one(process) -> None:
    held(process)


@pytest.mark.parametrize("process", PROCESSES)
def test_an_entry_and_its_table_where_no_block_can_stand(process, no_blocks) -> None:
    held(process)


def held(process) -> None:
    """Checks a function on data that lead to its rare side; a refusal at trace or at run is right, too."""
    try:
        mod = loaded(process, *copy.deepcopy(EXAMPLE))
    except tracepack.RecordError:
        return
    for given in (EXAMPLE, *OTHERS):
        try:
            found = mod(*copy.deepcopy(given))
        except tracepack.TracepackError:
            continue
        assert difference(process(*copy.deepcopy(given)), found) == "", given


def test_a_changed_entry_is_refused_with_its_line(no_blocks) -> None:
    def process(x):
        table = np.zeros((3, 2))
        row = table[int(x.argmax())]
        row += 1
        return table

    with pytest.raises(
        tracepack.RecordError, match=r"row \+= 1: an array .*which other code may know, is changed. Copy"
    ):
        tracepack.trace(process, torch.tensor([0.2, 0.7, 0.1]))
