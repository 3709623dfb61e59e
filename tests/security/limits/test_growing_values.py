"""Values of a run that ask for much: a file chooses numbers with one hash, and lists that JSON writes with indents."""

from __future__ import annotations

import functools
import statistics
import time

import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, tensor
from tracepack.ops.graph.graph import Graph
from tracepack.ops.runtime.primitives import tables
from tracepack.ops.runtime.primitives.text import texts

X = torch.ones(2)
PRIME = 2**61 - 1
"""Python's hash of a multiple of it is 0."""
ALIKE = [PRIME * number for number in range(1, 5001)]
CALLS = {
    "unique": (ALIKE,), "counts": (ALIKE,), "from_keys": (ALIKE,), "kept": ([1], ALIKE), "dropped": ([1], ALIKE),
    "statistics": ("mode", ALIKE), "dict": (ALIKE, ALIKE),
}  # fmt: skip


def result_of(name: str, *args):
    start = tensor()
    node = apply(f"py.{name}", *args)
    return tracepack.load(archive_of(Graph((start,), (node,), node.output)))(X)


@pytest.mark.parametrize("name", CALLS)
def test_numbers_of_one_hash_are_refused_before_they_are_compared(name):
    """Each was compared with all before it: 12,000 of them took ten seconds, and 65,536 five minutes."""
    assert len(set(map(hash, ALIKE))) == 1
    began = time.process_time()
    with pytest.raises(tracepack.TracepackError, match="too many keys of a dict have one hash; got "):
        result_of(name, *CALLS[name])
    assert time.process_time() - began < 5


def test_a_dict_that_gets_itself_as_an_entry_is_bounded():
    def doubled(table: dict, number: int) -> dict:
        return tables.with_entry(table, number, table)

    with pytest.raises(tracepack.GuardError, match="lists"):
        functools.reduce(doubled, range(100), {})
    with pytest.raises(tracepack.GuardError, match="an entry is put into a dict or a list; got tuple"):
        tables.with_entry((), 1, 2)
    with pytest.raises(tracepack.GuardError, match="lists"):
        functools.reduce(lambda items, number: tables.with_entry([*items, items], 0, items), range(100), [0])
    with pytest.raises(tracepack.GuardError, match="a key is a text, a number or a tuple of them"):
        tables.with_entry({}, [1], 2)


def test_many_items_of_many_hashes_are_as_in_python():
    items = [number % 3000 for number in range(9000)]
    assert tables.unique(items) == list(dict.fromkeys(items))
    assert tables.counts(items) == dict.fromkeys(range(3000), 3)
    assert tables.kept(items, range(100)) == [item for item in items if item < 100]
    assert tables.statistic("mode", [*items, 7]) == statistics.mode([*items, 7]) == 7
    assert tables.unique([PRIME] * 5000) == [PRIME]


def test_a_text_of_json_with_indents_is_bounded():
    """An archive of 20 KB made a text of 49 million characters."""
    tree: list = [0] * 20_000
    for _ in range(150):
        tree = [tree]
    with pytest.raises(tracepack.TracepackError, match="the text of json.dumps grows too large"):
        result_of("json_dumps", tree, 16)
    with pytest.raises(tracepack.TracepackError, match="the text of json.dumps grows too large"):
        result_of("json_dumps", [[0] * 60_000] * 20, None, False, True, "," * 16, ":")
    with pytest.raises(tracepack.TracepackError, match="the text of json.dumps grows too large"):
        texts.as_json("\x00" * (1 << 22))
    assert texts.as_json([[1, {"a": 2}]], 1) == '[\n [\n  1,\n  {\n   "a": 2\n  }\n ]\n]'
