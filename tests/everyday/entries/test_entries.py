"""Dicts with entries that grow: the file answers as the function, and in a time that is linear in the rounds."""

from __future__ import annotations

import re
import time
import warnings
from collections import defaultdict

import pytest

import tracepack
from tests.everyday.case import check, loaded
from tests.everyday.entries import closures, nested
from tracepack.ops.graph.graph import Graph, Node, Operator, Value
from tracepack.ops.graph.types import ANY, SCALARS
from tracepack.ops.runtime.plan import Plan


@pytest.mark.parametrize("name", nested.CASES)
def test_dicts_whose_entries_a_loop_fills(name) -> None:
    check(nested.CASES[name])


@pytest.mark.parametrize("name", closures.CASES)
def test_loops_whose_variables_functions_inside_know(name) -> None:
    check(closures.CASES[name])


@pytest.mark.parametrize("process", closures.FIXED)
@pytest.mark.usefixtures("no_blocks")
def test_a_variable_of_a_function_inside_that_is_handed_on_keeps_the_length(process) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        mod = loaded(process, ["ab", "ca"])
    assert any("the length is fixed to 2" in str(each.message) for each in said)
    assert mod(["ab", "ca"]) == process(["ab", "ca"])
    with pytest.raises(tracepack.TracepackError, match=r"expected (list of )?2"):
        mod(["ab"])


def test_the_order_of_a_set_is_said_with_the_form_that_has_one() -> None:
    def process(words):
        return [word.upper() for word in set(words)]  # the form is tested

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tracepack.trace(lambda words: sorted(process(words)), ["a", "bb", "a"])
    assert any(
        re.search(r"the order of a set cannot be recorded.*Use sorted\(set\(words\)\)", str(e.message)) for e in said
    )


@pytest.mark.parametrize("process", nested.FIXED)
@pytest.mark.usefixtures("no_blocks")
def test_a_list_of_a_dict_that_is_kept_elsewhere_keeps_the_length(process) -> None:
    example, other = nested.FIXED[process]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        mod = loaded(process, example)
    assert any("the length is fixed to 3" in str(each.message) for each in said)
    assert mod(example) == process(example)
    with pytest.raises(tracepack.TracepackError, match=r"expected (list of )?3"):
        mod(other)


def test_a_dict_with_known_keys_keeps_its_fields() -> None:
    mod = loaded(nested.answer, nested.rows_of(4))
    paths = [("count",), ("names",), ("bad",), ("best",), ("total",), ("mean",)]
    assert [field.path for field in mod.outputs] == paths


def test_sets_as_entries_are_no_result() -> None:
    def process(words):
        table = defaultdict(set)
        for word in words:
            table[word[0]].add(word)
        return table

    with pytest.raises(tracepack.RecordError, match=r"a list instead of a set.*Return sorted\(items\)"):
        tracepack.trace(process, ["a", "bb", "b"])


def distinct(text):
    seen, found = set(), []
    for word in text.split():
        if word not in seen:
            seen.add(word)
            found.append(word)
    return found


def counted(text):
    counts = {}
    for word in text.split():
        if len(word) > 1:
            counts[word] = counts.get(word, 0) + 1
    return counts


def grouped(text):
    table = defaultdict(list)
    for word in text.split():
        table[word[:1]].append(word)
    return table


def counted_by_letter(text):
    table = defaultdict(lambda: defaultdict(int))
    for word in text.split():
        table[word[:1]][word] += 1
    return {key: dict(counts) for key, counts in table.items()}


@pytest.mark.parametrize("process", [distinct, counted, grouped, counted_by_letter])
def test_twenty_thousand_rounds_take_seconds(process) -> None:
    mod = loaded(process, "a b a cc cd")
    text = " ".join(f"w{number % 15_000}" for number in range(20_000))
    began = time.process_time()
    found = mod(text)
    taken = time.process_time() - began
    assert found == process(text)
    assert taken < 15  # a copy in each round takes minutes


def _loop(nodes, output) -> Plan:
    """A loop of three rounds over a count, a dict and a list, whose body has some nodes."""
    count, table, kept = Value(SCALARS[int]), Value(ANY), Value(ANY)
    following, more = Value(SCALARS[int]), Value(SCALARS[bool])
    body = Graph(
        (count, table, kept),
        (*nodes(count, table, kept), Node(Operator("py.add"), (count, 1), {}, following, None)),
        (following, *output(table, kept)),
    )
    asked = tuple(Value(value.type) for value in body.inputs)
    test = Graph(asked, (Node(Operator("py.lt"), (asked[0], 3), {}, more, None),), (more,))
    given, ends = Value(ANY), (Value(SCALARS[int]), Value(ANY), Value(ANY))
    loop = Node(Operator("while_loop"), (test, body, (0, given, given)), {}, ends, None)
    return Plan(Graph((given,), (loop,), (*ends, given)))


def test_a_container_that_has_a_later_reader_is_not_changed_in_place() -> None:
    new = Value(ANY)

    def nodes(count, table, kept):
        return (Node(Operator("py.with_entry"), (table, count, 1), {}, new, None),)

    given = {7: 7}
    assert _loop(nodes, lambda table, kept: (new, kept)).run([given]) == (3, {7: 7, 0: 1, 1: 1, 2: 1}, {7: 7}, {7: 7})
    assert _loop(nodes, lambda table, kept: (new, table)).run([given])[2] == {7: 7, 0: 1, 1: 1}
    assert _loop(nodes, lambda table, kept: (new, new)).run([given])[1:3] == ({7: 7, 0: 1, 1: 1, 2: 1},) * 2
    assert _loop(nodes, lambda table, kept: (kept, new)).run([given])[1:3] == ({7: 7, 1: 1}, {7: 7, 0: 1, 2: 1})
    assert given == {7: 7}


def test_an_entry_that_is_read_before_it_is_put_back_is_a_copy() -> None:
    entry, longer, again, new = (Value(ANY) for _ in range(4))

    def nodes(count, table, kept):
        return (
            Node(Operator("py.lookup"), (table, "a", []), {}, entry, None),
            Node(Operator("py.cat_strings"), (entry, [count]), {}, longer, None),
            Node(Operator("py.lookup"), (table, "a", []), {}, again, None),
            Node(Operator("py.with_entry"), (table, "a", longer), {}, new, None),
        )

    found = _loop(nodes, lambda table, kept: (new, again)).run([{}])
    assert found[1:3] == ({"a": [0, 1, 2]}, [0, 1])


def test_what_a_loop_fills_is_bounded() -> None:
    entry, new = Value(ANY), Value(ANY)

    def nodes(count, table, kept):
        return (
            Node(Operator("py.mul"), ([0], 600_000), {}, entry, None),
            Node(Operator("py.with_entry"), (table, count, entry), {}, new, None),
        )

    loop = _loop(nodes, lambda table, kept: (new, kept))
    with pytest.raises(tracepack.TracepackError, match="lists in a list grow too large"):
        loop.run([{}])
