"""Loops that carry tuples, members of an Enum and what may be None, and containers that hold None in some rounds."""

from __future__ import annotations

import enum
import warnings
from collections import deque

import pytest

import tracepack
from tests.everyday.case import Case, check
from tests.everyday.rounds import carried_tuples, gathering, moving_windows, state_machines


class Side(enum.Enum):
    """Of a road."""

    LEFT = 0
    RIGHT = 1


@pytest.mark.parametrize("name", carried_tuples.CASES)
def test_loops_that_carry_tuples(name) -> None:
    check(carried_tuples.CASES[name])


@pytest.mark.parametrize("name", state_machines.CASES)
def test_state_machines(name) -> None:
    check(state_machines.CASES[name])


@pytest.mark.parametrize("name", gathering.CASES)
def test_loops_that_gather(name) -> None:
    check(gathering.CASES[name])


@pytest.mark.parametrize("name", moving_windows.CASES)
def test_loops_with_a_deque(name) -> None:
    check(moving_windows.CASES[name])


@pytest.mark.usefixtures("no_blocks")
def test_what_a_deque_does_otherwise_than_a_list_keeps_the_length() -> None:
    def added(numbers):
        window = deque(maxlen=2)
        for x in numbers:
            window = window + deque([x])
        return len(window)

    def compared(numbers):
        window, found = deque(maxlen=2), 0
        for x in numbers:
            window.append(x)
            if window == [x]:
                found += 1
        return found

    for process, said in ((added, "a sum of deques cannot be recorded"), (compared, "the length is fixed to 2")):
        with pytest.warns(UserWarning, match=said):
            mod = tracepack.trace(process, [1.0, 2.0])
        assert mod([3.0, 4.0]) == process([3.0, 4.0])


def _none_of_some(words, numbers):
    last, found = 0, {}
    for word, number in zip(words, numbers, strict=False):
        found[word] = None if word == "x" else last
        last = number
    return ["none" if each is None else "some" for each in found.values()]


def _none_in_records(words, numbers):
    last, found = 0, []
    for word, number in zip(words, numbers, strict=False):
        found.append({"word": word, "last": None if word == "x" else last})
        last = number
    return ["none" if each["last"] is None else "some" for each in found]


def _none_in_entries(words, numbers):
    found = {}
    for word, number in zip(words, numbers, strict=False):
        if word == "x":
            found.setdefault("k", []).append(None)
        else:
            found.setdefault("k", []).append(number)
    return ["none" if each is None else "some" for each in found["k"]]


def _none_under_a_key(words, numbers):
    found = {"word": "q", "number": 0}
    for word, number in zip(words, numbers, strict=False):
        found["word"] = None if word == "x" else word
        found["number"] = number
    return "none" if found["word"] is None else "some"


@pytest.mark.parametrize("process", [_none_of_some, _none_in_records, _none_in_entries, _none_under_a_key])
def test_none_in_a_container_is_never_taken_for_what_the_example_has(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what cannot be followed fixes the length
        mod = tracepack.trace(process, ["a", "b"], [1, 2])
    for words in (["a", "x"], ["x", "a"], ["x", "x"], ["c", "d"]):
        try:
            got = mod(words, [1, 2])
        except tracepack.TracepackError:
            continue
        assert got == process(words, [1, 2])


def test_a_dict_that_gets_none_later_gives_what_may_be_none() -> None:
    def process(words, numbers):
        found = dict(zip(words, numbers, strict=False))
        found["x"] = None
        return "none" if found[words[0]] is None else "some"

    mod = tracepack.trace(process, ["a", "b"], [1, 2])
    assert [mod(words, [1, 2]) for words in (["x", "b"], ["c", "x"])] == ["none", "some"]


def test_a_tuple_that_is_none_after_a_loop_is_refused_where_code_needs_it() -> None:
    def process(scores):
        best = None
        for i, score in enumerate(scores):
            if score > 0.5:
                best = (score, i)
        return best[1]

    mod = tracepack.trace(process, [0.2, 0.7])
    assert mod([0.9, 0.1, 0.1]) == 0
    with pytest.raises(tracepack.GuardError, match=r"return best\[1\]: a value is None"):
        mod([0.1])


@pytest.mark.usefixtures("no_blocks")
def test_a_tuple_or_none_after_a_loop_is_a_result() -> None:
    def process(words):
        found = None
        for word in words:
            if word != "x":
                found = (word, 1)
        return found

    check(Case(process, [["a", "x"]], [[["x"]], [["x", "b", "x"]], [["x", "x"]]]))


@pytest.mark.usefixtures("no_blocks")
def test_a_member_or_none_that_a_function_returns_is_refused_with_a_form() -> None:
    def process(words):
        found = None
        for word in words:
            if word != "x":
                found = Side.LEFT
        return found

    said = "member of an Enum or None, as data decides. .* None: 'none' if found is None else fo"
    with pytest.raises(tracepack.RecordError, match=said):
        tracepack.trace(process, ["a", "x"])


@pytest.mark.usefixtures("no_blocks")
def test_members_beside_texts_that_rounds_append_are_refused_with_a_form() -> None:
    def process(words):
        side, found = Side.LEFT, []
        for word in words:
            if word == "a":
                side = Side.RIGHT
                found.append("RIGHT")
            else:
                found.append(side)
        return [each is Side.RIGHT for each in found]

    with pytest.warns(
        UserWarning, match=r"appends a member of an Enum in some rounds. Append its name: items.append\(me"
    ):
        tracepack.trace(process, ["a", "x"])


@pytest.mark.usefixtures("no_blocks")
def test_a_tuple_that_grows_in_rounds_is_refused_with_a_form() -> None:
    def process(words):
        found = ()
        for word in words:
            found = (*found, word)
        return len(found)

    with pytest.warns(
        UserWarning, match=r"carries a tuple that has other parts in other rounds. Carry its parts, or st"
    ):
        tracepack.trace(process, ["a", "x"])
