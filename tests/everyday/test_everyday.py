"""The functions that people write on the first day: the file answers as the function, at other lengths and values."""

from __future__ import annotations

import re
import warnings
from contextlib import nullcontext, suppress

import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday import choices, idioms, labels, lists, tallies, texts
from tests.everyday.case import check, loaded
from tests.everyday.loops import (
    appending,
    branches,
    carrying,
    growing,
    iterators,
    leaving,
    nested,
    pieces,
    reductions,
)
from tests.everyday.rounds import conditional, first_week
from tests.everyday.values import filling, first_day, kept_lists, records, several
from tests.everyday.values import growing as growing_dicts


@pytest.mark.parametrize("name", labels.CASES)
def test_labels_and_look_ups(name) -> None:
    check(labels.CASES[name])


@pytest.mark.parametrize("name", texts.CASES)
def test_texts_and_lists_of_texts(name) -> None:
    check(texts.CASES[name])


@pytest.mark.parametrize("name", idioms.CASES)
def test_idioms(name) -> None:
    check(idioms.CASES[name])


@pytest.mark.parametrize("name", lists.CASES)
def test_lists_of_any_length(name) -> None:
    check(lists.CASES[name])


@pytest.mark.parametrize("name", choices.CASES)
def test_choices_among_constants(name) -> None:
    check(choices.CASES[name])


@pytest.mark.parametrize("name", appending.CASES)
def test_loops_that_append(name) -> None:
    check(appending.CASES[name])


@pytest.mark.parametrize("name", filling.CASES)
def test_loops_that_fill_a_dict_and_sets(name) -> None:
    check(filling.CASES[name])


@pytest.mark.parametrize("name", several.CASES)
def test_comprehensions_with_several_loops_and_sets(name) -> None:
    check(several.CASES[name])


@pytest.mark.parametrize("name", growing_dicts.CASES)
def test_loops_that_read_the_dicts_and_sets_they_fill(name) -> None:
    check(growing_dicts.CASES[name])


@pytest.mark.usefixtures("no_blocks")
def test_a_list_of_a_dict_that_has_another_name_keeps_the_length() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the length and the texts are fixed
        mod = loaded(growing_dicts.kept_elsewhere, ["a", "a"])
    assert mod(["a", "a"]) == growing_dicts.kept_elsewhere(["a", "a"]) == [1, 2]
    with pytest.raises(tracepack.GuardError, match="the length of the list was read"):
        mod(["a", "a", "a"])


@pytest.mark.parametrize("name", first_day.CASES)
def test_what_else_is_written_on_the_first_day(name) -> None:
    check(first_day.CASES[name])


@pytest.mark.parametrize("process", first_day.ASSERTED)
def test_a_denied_assertion_is_checked_in_every_run(process) -> None:
    mod = loaded(process, torch.tensor([1.0, 2.0]))
    assert difference(process(torch.ones(3)), mod(torch.ones(3))) == ""
    with pytest.raises(tracepack.GuardError, match="an assertion of the function fails"):
        mod(torch.tensor([1.0, torch.nan, 9.0]))


def test_a_dict_of_constants_that_branches_keeps_its_named_results() -> None:
    def process(x, n):
        return {label: x[i] * 2 if n > 2 else x[i] for i, label in enumerate(["cat", "dog", "fox"])}

    mod = loaded(process, torch.arange(3.0), 3)
    assert [field.name for field in mod.outputs] == ["out['cat']", "out['dog']", "out['fox']"]
    for n in (1, 5):
        assert difference(process(torch.arange(1.0, 4.0), n), mod(torch.arange(1.0, 4.0), n)) == ""


@pytest.mark.parametrize("process", first_day.CAUGHT)
@pytest.mark.usefixtures("no_blocks")
def test_an_error_that_the_function_catches_is_said_to_end_the_run(process) -> None:
    example = {"number_or": "12", "entry_or": "a", "second_or": "a:b"}[process.__name__]
    with pytest.warns(UserWarning, match="an error here ends the run: a recording holds no `except`"):
        mod = loaded(process, example)
    assert mod(example) == process(example)
    with pytest.raises(tracepack.TracepackError):
        mod("x")


@pytest.mark.parametrize("process", first_day.LOOPED)
@pytest.mark.usefixtures("no_blocks")
def test_a_loop_in_which_an_error_is_caught_is_said_with_the_form_that_is_recorded(process) -> None:
    words = first_day.LOOPED[process]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        loaded(process, ["1", "2"])
    assert any(re.search(f"{words} takes its place", str(each.message)) for each in said)
    with pytest.raises(tracepack.RecordError, match=f"got ValueError.*Write {words}"):
        tracepack.trace(process, ["1", "x"])


@pytest.mark.parametrize("form", first_day.RECORDS)
def test_a_record_or_a_table_is_refused_with_the_form_that_is_taken(form) -> None:
    process, example = first_day.RECORDS[form]
    with pytest.raises(tracepack.SignatureError, match=re.escape(f"Pass {form}: records are dicts or namedtuples")):
        tracepack.trace(process, example)


@pytest.mark.parametrize("name", records.CASES)
def test_records_that_the_function_makes(name) -> None:
    check(records.CASES[name])


@pytest.mark.parametrize("name", kept_lists.CASES)
def test_lists_of_one_name_that_the_function_changes(name) -> None:
    check(kept_lists.CASES[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("process", kept_lists.FIXED)
@pytest.mark.usefixtures("no_blocks")
def test_what_fixes_the_length_shows_the_form_that_keeps_it_free(process) -> None:
    with pytest.warns(UserWarning, match=kept_lists.FIXED[process]):
        tracepack.trace(process, ["b", "a", "cc"])


@pytest.mark.parametrize("process", kept_lists.REFUSED)
def test_a_list_that_has_another_name_is_not_changed(process) -> None:
    words = r"a container is filled or changed that another name has, too: line \d+, .*\. Write .*words\.copy\(\)"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, "b a c")


@pytest.mark.parametrize("process", filling.VIEWS)
@pytest.mark.usefixtures("no_blocks")
def test_views_and_ranges_equal_no_lists(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the length is fixed
        mod = loaded(process, ["x", "yy", "z"])
    assert mod(["x", "yy", "z"]) == process(["x", "yy", "z"])
    for given in (["b", "a"], ["a", "b"], ["a"]):  # equal, or of equal items
        with pytest.raises(tracepack.GuardError):
            mod(given)


@pytest.mark.parametrize("name", branches.CASES)
def test_loops_that_branch_on_their_items(name) -> None:
    check(branches.CASES[name])


@pytest.mark.parametrize("name", carrying.CASES)
def test_loops_that_carry_values(name) -> None:
    check(carrying.CASES[name])


@pytest.mark.parametrize("name", first_week.CASES)
def test_loops_of_the_first_week(name) -> None:
    check(first_week.CASES[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("process", first_week.FIXED)
@pytest.mark.usefixtures("no_blocks")
def test_a_list_that_changes_under_another_name_keeps_the_length(process) -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 3|the length of 'numbers' is fixed to 3"):
        mod = loaded(process, [3, 1, 2])
    assert mod([3, 1, 2]) == process([3, 1, 2])
    with pytest.raises(tracepack.TracepackError, match="expected (list of )?3"):
        mod([3, 1, 2, 2])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("process", first_week.UNSHOWN)
@pytest.mark.usefixtures("no_blocks")
def test_a_list_that_changes_under_another_name_on_another_way_is_no_value(process) -> None:
    mod = loaded(process, [5])
    assert mod([5]) == process([5])
    with pytest.raises(tracepack.TracepackError, match="expected (list of )?1|a branch was taken on it"):
        mod([7, 1, 7, 2])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("process", first_week.FORMS)
@pytest.mark.usefixtures("no_blocks")
def test_a_loop_that_keeps_the_length_shows_the_form_that_does_not(process) -> None:
    with pytest.warns(UserWarning, match=first_week.FORMS[process]):
        tracepack.trace(process, [3, 1, 2])


@pytest.mark.parametrize("name", conditional.CASES)
def test_loops_that_go_on_for_as_long_as_a_condition_holds(name) -> None:
    check(conditional.CASES[name])


def test_a_while_loop_that_fails_in_python_fails_in_the_pipeline() -> None:
    mod = loaded(conditional.until, [3, 1, 2])
    assert mod([5, 6, 7, 1]) == 3
    with pytest.raises(tracepack.TracepackError, match="IndexError: list index out of range"):
        mod([2, 3])


@pytest.mark.parametrize("name", growing.CASES)
def test_loops_that_read_the_lists_they_fill(name) -> None:
    check(growing.CASES[name])


@pytest.mark.parametrize("name", pieces.CASES)
def test_loops_over_the_pieces_of_a_tensor(name) -> None:
    check(pieces.CASES[name])


@pytest.mark.parametrize("name", nested.CASES)
def test_loops_in_loops(name) -> None:
    check(nested.CASES[name])


@pytest.mark.parametrize("name", leaving.CASES)
def test_loops_that_are_left_early(name) -> None:
    check(leaving.CASES[name])


@pytest.mark.parametrize("process", leaving.FIXED)
@pytest.mark.usefixtures("no_blocks")
def test_loops_that_are_left_otherwise_keep_their_length(process) -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 2"):
        mod = loaded(process, ["a", "b"])
    assert mod(["c", "d"]) == process(["c", "d"])
    with pytest.raises(tracepack.GuardError, match="expected 2"):
        mod(["a", "b", "c"])


@pytest.mark.parametrize("name", tallies.CASES)
def test_sets_and_counters(name) -> None:
    check(tallies.CASES[name])


@pytest.mark.parametrize("name", reductions.CASES)
def test_lists_that_are_reduced(name) -> None:
    check(reductions.CASES[name])


@pytest.mark.parametrize("name", iterators.CASES)
def test_iterators(name) -> None:
    check(iterators.CASES[name])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("process", iterators.ASKED)
@pytest.mark.usefixtures("no_blocks")
def test_an_iterator_that_a_loop_goes_through_keeps_the_length(process) -> None:
    with pytest.warns(UserWarning, match="the length is fixed to 3"):
        mod = loaded(process, ["a", "bb", "c"])
    assert mod(["a", "bb", "c"]) == process(["a", "bb", "c"])
    with pytest.raises(tracepack.TracepackError, match="expected 3"):
        mod(["a", "bb", "c", "d"])


@pytest.mark.parametrize("kind", carrying.BEGUN)
@pytest.mark.usefixtures("no_blocks")
def test_a_loop_whose_values_begin_as_another_kind_takes_no_empty_list(kind) -> None:
    mod = loaded(carrying.BEGUN[kind], torch.rand(3, 2))
    with pytest.raises(tracepack.GuardError, match=f"the list is empty, and what the loop carries begins as {kind}"):
        mod(torch.rand(0, 2))
    with pytest.warns(UserWarning, match="the length is fixed to 1"):
        tracepack.trace(lambda words: carrying.longest(words.split()), "one")


def test_a_list_of_texts_takes_no_none() -> None:
    mod = loaded(lambda words: [word if word else "none" for word in words], ["a", "b"])
    assert mod(["a", ""]) == ["a", "none"]
    with pytest.raises(tracepack.SignatureError, match="not a list of strings; got a list with NoneType"):
        mod(["a", None])


@pytest.mark.parametrize("process", branches.REFUSED)
@pytest.mark.usefixtures("no_blocks")
def test_loops_that_branch_and_cannot_be_recorded_say_why(process) -> None:
    with pytest.raises(tracepack.RecordError, match=branches.REFUSED[process]):
        tracepack.trace(process, torch.tensor([[0.2, 0.1], [0.9, 0.8]]))


@pytest.mark.parametrize("process", [*appending.FIXED, *growing.FIXED])
def test_loops_that_do_more_answer_as_python_does_or_keep_their_length(process) -> None:
    mod = loaded(process, torch.rand(3, 2))
    for other in (torch.rand(3, 2), torch.rand(4, 2), torch.rand(1, 2)):
        found = None
        with nullcontext() if len(other) == 3 else suppress(tracepack.TracepackError):
            found = mod(other)
        assert found is None or difference(process(other), found) == ""


@pytest.mark.usefixtures("no_blocks")
@pytest.mark.parametrize("process", [*appending.FIXED, *growing.FIXED])
def test_loops_that_do_more_keep_their_length(process) -> None:
    mod, other = loaded(process, torch.rand(3, 2)), torch.rand(3, 2)
    assert difference(process(other), mod(other)) == ""
    with pytest.raises(tracepack.TracepackError, match="expected 3"):
        mod(torch.rand(4, 2))
