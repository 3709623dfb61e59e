"""Constants beside what a block gives have their kind in the signature."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from tests.everyday.case import loaded

DOCS, QUERY = ["a b", "b c c"], "b c"


def scores(docs, query):
    counts, n = Counter(word for doc in docs for word in set(doc.split())), len(docs)
    return [sum(math.log((n + 1) / (counts[w] + 0.5)) * d.split().count(w) for w in query.split()) for d in docs]


def noted(docs, query):
    return scores(docs, query), "ok"


def keyed(docs, query):
    return {"scores": scores(docs, query), "n": 1, "done": True}


def of_two_ways(docs, query):
    if not docs:
        return {"scores": [], "n": 0, "best": None, "of": "none"}
    return {"scores": scores(docs, query), "n": 1.5, "best": 1, "of": "docs"}


@pytest.mark.parametrize(
    ("process", "kinds"),
    [
        (noted, ["any", "str"]),
        (keyed, ["any", "int", "bool"]),
        (of_two_ways, ["any", "any", "any", "str"]),
    ],
)
def test_a_constant_has_its_kind(process, kinds) -> None:
    mod = loaded(process, DOCS, QUERY)
    assert [field.kind for field in mod.outputs] == kinds
    for given in ((DOCS, QUERY), ([], "a"), (["x"], ""), (["a a b", "b"], "a b")):
        assert mod(*given) == process(*given)
