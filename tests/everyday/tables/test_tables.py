"""Tables as people go through them: lines of text, columns, rows of arrays; at other lengths, as Python answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import check, loaded
from tests.everyday.tables import array_rows, lines


@pytest.mark.parametrize("name", array_rows.CASES)
def test_rows_of_arrays(name) -> None:
    check(array_rows.CASES[name])


@pytest.mark.parametrize("name", lines.CASES)
def test_lines_that_are_taken_apart(name) -> None:
    check(lines.CASES[name])


@pytest.mark.parametrize("name", lines.RAISING)
def test_another_number_of_values_is_an_error_as_in_python(name) -> None:
    process, example, other, words = lines.RAISING[name]
    mod = loaded(process, example)
    with pytest.raises(ValueError, match="values to unpack|required"):
        process(other)
    with pytest.raises(tracepack.GuardError, match=words):
        mod(other)


def test_an_example_with_too_few_values_is_the_error_of_the_function() -> None:
    with pytest.raises(ValueError, match=r"not enough values to unpack \(expected at least 1, got 0\)"):
        tracepack.trace(lines.command, "")


def _scaled_in_place(table):
    found = table.copy()
    for row in found:
        row /= row.sum()  # noqa: PLW2901 - it writes into the array
    return found


def test_rows_that_a_loop_writes_to_keep_their_number_and_the_form_that_is_shown_does_not() -> None:
    table = np.arange(6.0).reshape(3, 2)
    with pytest.warns(UserWarning, match="the number of rows is fixed to 3. A list comprehension over them, or"):
        mod = loaded(_scaled_in_place, table)
    assert np.array_equal(mod(table + 1), _scaled_in_place(table + 1))
    mod = loaded(lambda table: np.stack([row / row.sum() for row in table]), table)
    assert np.array_equal(mod(np.ones((5, 2))), _scaled_in_place(np.ones((5, 2))))


def _said(process, *example) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tracepack.trace(process, *example)
    return [str(each.message) for each in said]


def test_a_comprehension_that_another_line_fixes_is_said_with_that_line() -> None:
    def process(words):
        kept = [word.upper() for word in words if word]
        found = 0.0 if len(kept) > 1 else "none"
        return found, kept

    lines_said = _said(process, ["a", "b"])
    words = "the length is fixed to 2, because lists of any length were refused: test_tables.py:"
    assert sum(words in each for each in lines_said) == 1
    assert not any("A list comprehension" in each or "int(bool(condition))" in each for each in lines_said)
    assert any('found = 0.0 if len(kept) > 1 else "none"' in each for each in lines_said)


@pytest.mark.parametrize(
    ("process", "example", "other", "words", "form"),
    [
        (
            lambda words: tuple(w for w in words if w),
            ["a", "b"],
            ["c", "", "d"],
            "Instead of tuple [x for x in xs], a list, keeps it free",
            lambda words: [w for w in words if w],
        ),
        (
            lambda rows: [list(column) for column in zip(*rows, strict=False)],
            [[1, 2], [3, 4]],
            [[5, 6]],
            "Instead of zip(*rows) [[row[i] for row in rows] for i in range(len(rows[0]))] keeps it free",
            lambda rows: [[row[i] for row in rows] for i in range(len(rows[0]))],
        ),
    ],
)
def test_a_form_for_a_tuple_or_columns_is_said_and_works(process, example, other, words, form) -> None:
    assert any(words in each for each in _said(process, example))
    assert loaded(form, example)(other) == list(process(other))


@pytest.mark.parametrize("process", [lambda xs: {x for x in xs if x}, lambda xs: frozenset(xs)])
def test_a_set_as_a_result_is_refused_with_the_form_that_works(process) -> None:
    with pytest.raises(tracepack.RecordError, match=r"returns a set, which an archive cannot hold. Return sorted\(it"):
        tracepack.trace(process, [1, 2, 0])
    assert loaded(lambda xs: sorted({x for x in xs if x}), [1, 2, 0])([0, 5, 5, 4]) == [4, 5]


def test_rows_that_are_unpacked_are_said() -> None:
    def process(x):
        first, second = x
        return first - second

    with pytest.warns(UserWarning, match="the number of rows is fixed to 2"):
        mod = loaded(process, torch.ones(2, 3))
    assert mod.signature.startswith("(x: f32[2,N])")
