"""Functions that count and keep in Python what the rounds of a loop leave behind: right for any length, or refused.

No recording and no replay of a few items gets to the limits here.
"""

from __future__ import annotations

import functools
import itertools
import re
import warnings
from collections import deque

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

LIMIT = 9


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def note(self, x):
        self.n += x > 40
        return self.n > LIMIT


def in_a_closure(xs):
    hits = 0

    def note(x):
        nonlocal hits
        hits += x > 40
        return hits > LIMIT

    return [note(x) for x in xs]


def in_a_closure_of_a_loop(xs):
    hits, out = 0, []

    def note(x):
        nonlocal hits
        hits += x > 40
        return hits > LIMIT

    for x in xs:
        out.append(note(x))  # noqa: PERF401 - the form is what is tested
    return out


def in_an_attribute(xs):
    counter = Counter()
    return [counter.note(x) for x in xs]


def in_a_default(xs):
    def note(x, seen=[]):  # noqa: B006 - the form is what is tested
        seen.append(x)
        return len(seen) > LIMIT

    return [note(x) for x in xs]


def in_an_attribute_of_a_function(xs):
    def note(x):
        note.hits = getattr(note, "hits", 0) + 1
        return note.hits > LIMIT

    return [note(x) for x in xs]


def in_a_list(xs):
    box = [0]

    def note(x):
        box[0] += 1
        return x if box[0] < LIMIT else 0

    return list(map(note, xs))


def in_a_list_of_a_partial(xs):
    def note(seen, x):
        seen.append(x)
        return len(seen) > LIMIT

    note = functools.partial(note, [])
    return [note(x) for x in xs]


def in_a_filter(xs):
    box = [0]

    def note(x):
        box[0] += x > 40
        return box[0] > LIMIT

    return list(filter(note, xs))


def in_a_key(xs):
    seen = []

    def note(x):
        seen.append(x)
        return x if len(seen) < LIMIT else -x

    return max(xs, key=note, default=0)


def in_a_reduction(xs):
    box = [0]

    def add(a, b):
        box[0] += 1
        return a + b if box[0] < LIMIT else 0

    return functools.reduce(add, xs, 0)


def in_tracepacks_map(xs):
    box = [0]

    def note(x):
        box[0] += 1
        return x if box[0] < LIMIT else 0

    return tracepack.map(note, xs)


def in_a_deque(xs):
    last = deque(maxlen=LIMIT)
    for x in xs:
        last.append(x)
    return len(last) == LIMIT


def in_an_iterator(xs):
    count = itertools.count()
    return [x if next(count) < LIMIT else 0 for x in xs]


def in_rows(xs):
    box = [0]

    def note(row):
        box[0] += 1
        return row if box[0] < LIMIT else row * 0

    return torch.stack([note(row) for row in torch.tensor(xs).reshape(-1, 1)])


def in_a_pattern(xs):
    count = itertools.count()
    text = " ".join([str(x) for x in xs])
    return re.sub(r"\d+", lambda m: "late" if next(count) > LIMIT else m[0], text)


PROCESSES = [
    in_a_closure, in_a_closure_of_a_loop, in_an_attribute, in_a_default, in_an_attribute_of_a_function, in_a_list,
    in_a_list_of_a_partial, in_a_filter, in_a_key, in_a_reduction, in_tracepacks_map, in_a_deque, in_an_iterator,
    in_rows, in_a_pattern,
]  # fmt: skip


@pytest.mark.parametrize("process", PROCESSES, ids=lambda each: each.__name__)
def test_what_a_round_leaves_to_a_later_one_is_never_lost(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = loaded(process, [3, 50, 2])
    for given in ([3, 50, 2], [60, 41, 50], [50] * 12, [50, 1] * 12, [41] * 100, [50] * 10 + [99]):
        try:
            found = mod(given)
        except tracepack.TracepackError:  # of another length
            continue
        if isinstance(found, torch.Tensor):
            assert torch.equal(found, process(given)), given
        else:
            assert found == process(given), given


@pytest.mark.usefixtures("no_blocks")
def test_the_refusal_says_what_a_round_changes() -> None:
    def process(x):
        hits = 0

        def note(value):
            nonlocal hits
            hits += value > 0.5
            return value if hits < LIMIT else 0.0

        return [note(value) for value in x.tolist()]

    with pytest.raises(tracepack.RecordError, match=r"return \[note\(value\).*changes variable 'hits', which a later"):
        tracepack.trace(process, torch.rand(3))


def captured_and_set(words):
    lengths = []
    for word in words:
        wide = len(word) > 2
        lengths.append(sum(len(each) for each in words if (len(each) > 2) == wide))
    return lengths


def made_in_each_round(words):
    def marked(word):
        parts = []
        parts.append(word)
        parts.append("!")
        return "".join(parts)

    return [marked(word) for word in words]


@pytest.mark.parametrize("process", [captured_and_set, made_in_each_round])
def test_what_a_round_makes_for_itself_keeps_any_length(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Case(process, [["a", "abc"]], [[["a"]], [["abcd", "b", "cd"] * 5]]))
