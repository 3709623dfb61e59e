"""A helper holds for the same inputs under every name: its own, an alias, an attribute, a default, an entry."""

from __future__ import annotations

import functools
import math
import warnings
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.everyday.case import Case, check, loaded


def bm25(docs, query):
    counts = Counter(word for doc in docs for word in set(doc.split()))
    rare = {word: math.log((len(docs) + 1) / (counts[word] + 0.5)) for word in query.split()}
    return [sum(rare[word] * doc.split().count(word) for word in query.split()) for doc in docs]


ALIAS, PARTIAL, SPACE = bm25, functools.partial(bm25), SimpleNamespace(score=bm25)
TABLE, STEPS = {"bm25": bm25}, [bm25]
LAMBDA = lambda docs, query: bm25(docs, query)  # noqa: E731  # a helper without a name of its own


class Ranker:
    """Scores by a function that it holds, or by one that it is given."""

    score = staticmethod(bm25)

    def __init__(self):
        self.function = bm25

    def by_alias(self, docs, query):
        return ALIAS(docs, query)

    def by_default(self, docs, query, function=bm25):
        return function(docs, query)

    def by_entry(self, docs, query):
        return TABLE["bm25"](docs, query)

    def __call__(self, docs, query):
        return self.by_alias(docs, query), self.by_default(docs, query), self.by_entry(docs, query), "ok"


RANKER = Ranker()


def in_closure():
    function = bm25

    def run(docs, query):
        return function(docs, query), "ok"

    return run


def by_default(docs, query, function=bm25):
    return function(docs, query), "ok"


def each_of_table(docs, query):
    return {name: function(docs, query) for name, function in TABLE.items()}, "ok"


WAYS = {
    "its own name": lambda docs, query: (bm25(docs, query), "ok"),
    "another global": lambda docs, query: (ALIAS(docs, query), "ok"),
    "partial": lambda docs, query: (PARTIAL(docs, query), "ok"),
    "a lambda": lambda docs, query: (LAMBDA(docs, query), "ok"),
    "a namespace": lambda docs, query: (SPACE.score(docs, query), "ok"),
    "an entry": lambda docs, query: (TABLE["bm25"](docs, query), "ok"),
    "an item": lambda docs, query: (STEPS[0](docs, query), "ok"),
    "each entry": each_of_table,
    "an attribute": lambda docs, query: (RANKER.function(docs, query), "ok"),
    "a static method": lambda docs, query: (RANKER.score(docs, query), "ok"),
    "a closure": in_closure(),
    "a default": by_default,
    "methods": RANKER,
}
OTHERS = [[[], "a"], [["x"], ""], [["a a b", "b"], "a b"]]


@pytest.mark.parametrize("name", WAYS)
def test_a_helper_holds_under_every_name(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Case(WAYS[name], [["a b", "b c c"], "b c"], OTHERS))


def test_a_function_that_nobody_calls_changes_nothing():
    mod = loaded(lambda docs: ([doc.upper() for doc in docs], len(TABLE)), ["a", "b"])
    assert mod(["c"]) == (["C"], 1)
