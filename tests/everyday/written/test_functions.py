"""Functions whose branches go both ways because they are recorded as their source says, and those that stay."""

from __future__ import annotations

import io
import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.written import functions, held, left_loops, numbers_of_tensors, rounds, untaken
from tests.everyday.written.functions import X, Y

CASES = functions.CASES | rounds.CASES | numbers_of_tensors.CASES | untaken.CASES | held.CASES | left_loops.CASES


@pytest.mark.parametrize("name", CASES)
def test_a_plain_function_goes_all_ways_as_it_is_written(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def test_a_side_that_raises_for_other_data_is_run_for_its_own_only() -> None:
    def process(text):
        if "/" in text:
            a, b = text.split("/")
            return [int(a), int(b)]
        return [int(text)]

    mod = loaded(process, "1/2")  # int of the whole example fails
    assert mod("7/8") == [7, 8]
    assert mod("7") == [7]
    with pytest.raises(tracepack.NodeError, match="invalid literal for int"):
        mod("x")
    check(Case(_halves, ["12", X], [["3", Y], ["1", X]]))


def _halves(text, x):
    if len(text) == 2:
        return x * int(text[1])
    return x + int(text)


def test_an_error_of_a_side_names_the_line_of_the_function() -> None:
    def process(text, x):
        if len(text) > 2:
            return x * float(text[2:])
        return x

    mod = loaded(process, "  3", X)
    assert torch.equal(mod("  2", Y), Y * 2)
    assert torch.equal(mod("a", Y), Y)
    with pytest.raises(tracepack.NodeError, match=r"in process: return x \* float\(text\[2:\]\)"):
        mod("abc", Y)


def test_an_error_that_a_side_raises_is_a_check_of_the_runs_that_take_it() -> None:
    mod = loaded(functions.chosen, "sum:a", X)
    with pytest.raises(tracepack.GuardError, match="the function raises ValueError then; got False; expected True"):
        mod("least", X)


NOTES: list[str] = []
COUNTS = {"calls": 0}


def noted(x, s):
    if s > 0.5:
        NOTES.append("high")
    return x * s


def counted(x, s):
    if s > 0.5:
        COUNTS["calls"] += 1
    return x * s


FILE = io.StringIO()


def printed(x, s):
    if s > 0.5:
        print("high", file=FILE)
    return x * s


class Notes:
    def info(self, text):
        NOTES.append(text)


NOTED = Notes()


def informed(x, s):
    if s > 0.5:
        NOTED.info("high")
    return x * s


class Kept:
    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, x, s):
        if s > 0.5:
            self.last = 1.0
        return x * s


def generated(x, s):
    def parts():
        if s > 0.5:
            yield x
        yield x * 2

    return list(parts())


def known(x, s):
    if s > 0.5:
        x = x * 2
    return {name: each for name, each in locals().items() if name == "x"}


@pytest.mark.parametrize("process", [noted, counted, printed, informed, Kept(), known])
def test_what_changes_more_than_variables_stays_as_it_is(process) -> None:
    """Both sides of a branch would run in the trace: the way of the example is kept, or all is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mod = loaded(process, X, 0.7)
        except tracepack.RecordError:
            return
    with pytest.raises(tracepack.GuardError, match="a branch was taken on it"):
        mod(X, 0.2)
    assert NOTES == []
    assert FILE.getvalue() == ""
    assert COUNTS == {"calls": 0}


def test_a_generator_of_the_function_is_a_block() -> None:
    mod = loaded(generated, X, 0.7)
    for s in (0.7, 0.2):
        assert all(map(torch.equal, mod(X, s), generated(X, s)))
        assert len(mod(X, s)) == len(generated(X, s))


def test_sides_of_other_ranks_go_both_ways() -> None:
    mod = loaded(lambda x, s: x if s > 0.5 else x.sum(), X, 0.7)
    assert torch.equal(mod(X, 0.9), X)
    assert torch.equal(mod(X, 0.2), X.sum())


@pytest.mark.usefixtures("no_blocks")
def test_a_list_with_two_names_is_one_list() -> None:
    def process(s):
        found = ["a"]
        other = found
        if s > 0.5:
            found.append("b")
        return found, other

    with pytest.warns(UserWarning, match="is fixed to True"):
        mod = loaded(process, 0.7)
    assert mod(0.9) == (["a", "b"], ["a", "b"])
    with pytest.raises(tracepack.GuardError):
        mod(0.2)


def shared_by_two(s, xs):
    found = ["a"]
    other = found
    if s > 0.5:
        found.append("b")
    return found, other


def shared_with_the_caller(s, xs):
    items = xs
    if s > 0.5:
        items = sorted(items)
    items.append("z")
    return items, xs


def shared_by_a_choice(s, xs):
    one, two = ["a"], ["b"]
    chosen = one if s > 0.5 else two
    chosen.append("c")
    return one, two


def shared_by_a_sum(s, xs):
    found = ["a"]
    kept = {"found": found}
    if s > 0.5:
        found += ["b"]
    return kept["found"]


def kept_in_a_list(s, xs):
    row, rows = ["a"], []
    rows.append(row)
    if s > 0.5:
        row.append("b")
    return rows


@pytest.mark.parametrize(
    "process", [shared_by_two, shared_with_the_caller, shared_by_a_choice, shared_by_a_sum, kept_in_a_list]
)
@pytest.mark.parametrize("score", [0.7, 0.2])
def test_a_list_that_has_another_name_is_never_another_list(process, score) -> None:
    """Whichever way the example takes, the file answers as the function, or refuses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mod = loaded(process, score, ["q", "r"])
        except tracepack.RecordError:
            return
    for other in (0.9, 0.1, 0.501, 0.499):
        try:
            found = mod(other, ["q", "r"])
        except tracepack.TracepackError:
            continue
        assert found == process(other, ["q", "r"])


def test_a_tensor_of_the_caller_is_not_written_to() -> None:
    def process(x, s):
        if s > 0.5:
            x += 1
        return x * 2

    with pytest.warns(UserWarning, match="is fixed to True"):
        mod = loaded(process, X.clone(), 0.7)
    with pytest.raises(tracepack.GuardError):
        mod(X, 0.2)


def test_helpers_have_their_own_code_again_after_a_trace() -> None:
    before = functions.helper.__code__
    loaded(functions.with_helper, "1.5")
    assert functions.helper.__code__ is before
