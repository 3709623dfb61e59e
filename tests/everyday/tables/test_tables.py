"""Tables as people go through them: lines of text, columns, rows of arrays; at other lengths, as Python answers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded, shown
from tests.everyday.tables import array_rows, fallible, lines


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


def test_rows_that_a_loop_writes_to_are_those_of_a_copy() -> None:
    mod = loaded(_scaled_in_place, np.arange(1.0, 7.0).reshape(3, 2))
    for table in (np.ones((5, 2)), np.ones((1, 3))):
        assert np.array_equal(mod(table.copy()), _scaled_in_place(table.copy()))


@pytest.mark.usefixtures("no_blocks")
def test_rows_that_a_loop_writes_to_keep_their_number_and_the_form_that_is_shown_does_not() -> None:
    table = np.arange(6.0).reshape(3, 2)
    with pytest.warns(
        UserWarning,
        match="a size is fixed to 3, because the function goes through .* A list comprehension over them, or",
    ):
        mod = loaded(_scaled_in_place, table)
    assert np.array_equal(mod(table + 1), _scaled_in_place(table + 1))
    mod = loaded(lambda table: np.stack([row / row.sum() for row in table]), table)
    assert np.array_equal(mod(np.ones((5, 2))), _scaled_in_place(np.ones((5, 2))))


def test_a_function_along_an_axis_is_refused_with_the_form_that_works() -> None:
    table = np.arange(6.0).reshape(3, 2)
    form = r"Write np.array\(\[function\(row\) for row in table\]\), or table.T for the columns"
    with pytest.raises(tracepack.RecordError, match=form):
        tracepack.trace(lambda table: np.apply_along_axis(np.ptp, 1, table), table)
    mod = loaded(lambda table: np.array([np.ptp(row) for row in table]), table)
    assert np.array_equal(mod(np.ones((5, 2))), np.zeros(5))


def _said(process, *example) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tracepack.trace(process, *example)
    return [str(each.message) for each in said]


@pytest.mark.usefixtures("no_blocks")
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
            "Instead of tuple(…) [x for x in xs], a list, keeps it free",
            lambda words: [w for w in words if w],
        ),
        (
            lambda rows: [list(column) for column in zip(*rows, strict=False)],
            [[1, 2], [3, 4]],
            [[5, 6]],
            "Instead of zip(*…) [[row[i] for row in rows] for i in range(len(rows[0]))] keeps it free",
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


@pytest.mark.parametrize("name", fallible.CASES)
def test_choices_whose_sides_may_fail(name) -> None:
    check(fallible.CASES[name])


def test_a_side_that_is_not_chosen_is_not_run() -> None:
    mod = loaded(lambda n, k: n // k if k > 0 else 0, 7, 2)
    assert (mod(9, 3), mod(9, 0), mod(9, -1)) == (3, 0, 0)
    mod = loaded(lambda n, k: n // k if k > -2 else 0, 7, 2)
    with pytest.raises(tracepack.TracepackError, match="ZeroDivisionError|by zero"):
        mod(9, 0)


def test_a_side_that_fails_on_the_example_in_torch_is_recorded_on_other_data() -> None:
    mod = loaded(lambda x, i: x[i].item() if i < len(x) else 0.0, torch.ones(2), 5)
    assert mod(torch.ones(3), 5) == 0.0
    assert mod(torch.tensor([1.0, 2.0, 3.0]), 2) == 3.0


def test_sides_of_different_types_go_both_ways() -> None:
    for example in ("abc", ""):
        mod = loaded(lambda text: text[0] if text else 0, example)
        assert [mod("x"), mod("")] == ["x", 0]


def first(x: torch.Tensor) -> torch.Tensor:
    return x


def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x, x.sum()


def test_a_condition_that_is_a_key_has_a_line_also_where_the_table_lacks_it() -> None:
    table = {True: first}
    form = r"because it was used as a key\. A branch goes both ways: first\(x\) if condition else second\(x\)$"
    for example in (1, 7):
        with pytest.warns(UserWarning, match=f"a condition on a number is fixed to {example > 3}, {form}"):
            tracepack.trace(lambda x, n: table.get(bool(n > 3), both)(x), torch.ones(2), example)
    mod = loaded(lambda x, n: first(x) if n > 3 else both(x), torch.ones(2), 1)
    assert torch.equal(mod(torch.ones(3), 7), torch.ones(3))
    assert mod(torch.ones(3), 1)[1] == 3


def test_a_side_that_changes_something_leaves_the_way_of_the_example() -> None:
    seen: list[int] = []

    def process(n):
        return seen.append(n) or n * 2 if n > 2 else n

    with pytest.warns(UserWarning, match="a condition on a number is fixed to True"):
        mod = loaded(process, 3)
    assert mod(5) == 10
    with pytest.raises(tracepack.GuardError, match="a branch was taken on it"):
        mod(1)


def _product(n):
    return n * _product(n - 1) if n > 1 else 1


@pytest.mark.usefixtures("no_blocks")
def test_a_function_that_calls_itself_keeps_the_way_of_the_example() -> None:
    with pytest.warns(UserWarning, match="a condition on a number is fixed to True"):
        mod = loaded(_product, 4)
    assert mod(4) == 24
    with pytest.raises(tracepack.GuardError, match="a branch was taken on it"):
        mod(3)


def test_a_condition_that_may_fail_after_the_first_has_a_form_that_works() -> None:
    form = "tracepack.cond(tracepack.cond(len(found) > 1, lambda: found[0] != 0, lambda: False), lambda: found[1] / fo"
    assert form in shown(fallible.with_and, 2)

    def process(words):
        found = fallible.numbers(words)
        several = tracepack.cond(len(found) > 1, lambda: found[0] != 0, lambda: False)
        return tracepack.cond(several, lambda: found[1] / found[0], lambda: 0.0)

    mod = loaded(process, ["1", "2"])
    for words in (["5"], ["", "x"], ["0", "3"], ["4", "2", "1"]):
        assert mod(words) == fallible.with_and(words)


def _spread(words):
    found = fallible.numbers(words)
    if len(found) > 1:
        mean = sum(found) / len(found)
        spread = sum((n - mean) ** 2 for n in found) / (len(found) - 1)
    else:
        mean = 0.0
        spread = -1.0
    return mean, spread


def test_sides_of_several_lines_are_said_as_functions_which_work() -> None:
    said = "mean, spread = tracepack.cond(len(found) > 1, side, other), where def side(): has the lines of the branch"
    assert f"{said}, def other(): those of else, and both return" in shown(_spread, 2)
    check(Case(_spread, [["1", "2"]], [[["x"]], [["4"]], [["1", "5", "9", "y"]]]))

    def process(words):
        found = fallible.numbers(words)

        def side():
            mean = sum(found) / len(found)
            spread = sum((n - mean) ** 2 for n in found) / (len(found) - 1)
            return mean, spread

        def other():
            mean = 0.0
            spread = -1.0
            return mean, spread

        mean, spread = tracepack.cond(len(found) > 1, side, other)
        return mean, spread

    mod = loaded(process, ["1", "2"])
    for words in (["x"], ["4"], ["1", "5", "9", "y"]):
        assert mod(words) == _spread(words)


def test_choices_of_numbers_and_of_tensors_by_a_list_are_recorded_together() -> None:
    def process(words):
        kept = [word for word in words if word]
        first = kept[0] if kept else "none"
        return first, torch.ones(2) if len(kept) > 1 else torch.zeros(1)

    check(Case(process, [["1", "2"]], [[["1"]], [["", "3", "4"]], [[""]]]))


def test_a_choice_for_which_a_list_of_any_length_was_refused_is_recorded_anew() -> None:
    def process(words):
        kept = [word for word in words if word]
        return torch.ones(2) if len(kept) > 1 else torch.zeros(1)

    mod = loaded(process, ["1", "2"])
    for words in ([], ["", "4"], ["1", "", "9"]):
        assert torch.equal(mod(words), process(words))


SHORT_TABLE = {"a": "x", "b": "y"}


@pytest.mark.parametrize("example", ["nothing", "a"])
def test_a_key_that_the_table_may_lack_goes_both_ways(example) -> None:
    def asked(key):
        return tracepack.cond(key in SHORT_TABLE, lambda: SHORT_TABLE[key], lambda: "")

    for mod in (tracepack.trace(lambda key: SHORT_TABLE.get(key, ""), example), tracepack.trace(asked, example)):
        assert [mod(key) for key in ("a", "b", "c")] == ["x", "y", ""]


ITEMS = [{"a": 1.0, "name": "x"}, {"a": 2.0, "name": "y"}, {"a": 3.0, "name": "z"}]


def copied(i, score):
    found = ITEMS[i].copy()
    found.update(score=score)
    found["name"] += "!"
    return found


@pytest.mark.parametrize(
    "process",
    [
        lambda i, score: dict(ITEMS[i], score=score),
        lambda i, score: {**ITEMS[i], "score": score},
        lambda i, score: ITEMS[i] | {"score": score},
        copied,
    ],
    ids=["dict", "a display", "or", "copy"],
)
def test_a_record_of_a_table_with_one_more_field(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Case(process, [0, 1.0], [[2, 5.0], [1, 0.5]]))
    assert ITEMS[0] == {"a": 1.0, "name": "x"}
