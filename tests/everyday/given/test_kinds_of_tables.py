"""Constant tables of the module collections, and with keys of numpy, that an argument asks."""

from __future__ import annotations

import math
import re
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import tracepack
from tests.everyday.case import Case, check

COUNTS, NONE, PRICES = Counter("aab"), Counter(), OrderedDict(a=1.0, b=2.0)
PLACES = defaultdict(int, a=3)
BY_NUMBER = {np.int64(3): "three", np.int64(5): "five"}
BY_SHARE = {np.float32(0.5): "half", np.float32(1.5): "more"}


class Ranking:
    """BM25 over counted words."""

    def __init__(self, documents):
        self.counts = [Counter(re.findall(r"\w+", each.lower())) for each in documents]
        self.found_in = Counter(word for counts in self.counts for word in counts)
        self.mean = sum(sum(counts.values()) for counts in self.counts) / len(documents)

    def score(self, terms, number):
        found = 0.0
        for term in terms:
            if term not in self.found_in:
                continue
            among = self.found_in[term]
            weight = math.log(1 + (len(self.counts) - among + 0.5) / (among + 0.5))
            count = self.counts[number].get(term, 0)
            length = sum(self.counts[number].values()) / self.mean
            found += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length))
        return found

    def __call__(self, query):
        terms = re.findall(r"\w+", query.lower())
        scores = [self.score(terms, number) for number in range(len(self.counts))]
        return [(number, scores[number]) for number in sorted(range(len(scores)), key=lambda each: -scores[each])]


RANKING = Ranking(["Red cat", "blue dog dog", "the cat sat"])


def grouped(keys):
    found = {}
    for key in keys:
        found.setdefault(key, []).append(int(key) * 2)
    return {int(key): values for key, values in found.items()}


CASES = {
    "what a Counter has": Case(lambda key: (COUNTS[key], COUNTS.get(key, 5), key in COUNTS), ["a"], [["q"], ["b"]]),
    "an empty Counter": Case(lambda key: (NONE[key], NONE.get(key, 1), key in NONE), ["a"], [["q"]]),
    "an OrderedDict": Case(lambda key: (PRICES.get(key, 0.0), key in PRICES), ["a"], [["q"], ["b"]]),
    "a defaultdict": Case(lambda key: (PLACES.get(key, 7), key in PLACES), ["a"], [["q"]]),
    "in a comprehension": Case(
        lambda words: ([COUNTS[word] * 2 for word in words if word in COUNTS], sum(COUNTS[word] for word in words)),
        [["a", "c"]],
        [[["q"]], [[]], [["b", "b"]]],
    ),
    "counters in a list": Case(
        lambda query: [RANKING.counts[i].get(word, 0) for i in range(3) for word in re.findall(r"\w+", query)],
        ["red cat"],
        [["dog sat x"], [""]],
    ),
    "a ranking": Case(RANKING, ["red cat"], [["dog sat"], ["zzz"], [""], ["The cat the cat"]]),
    "keys that are integers of numpy": Case(lambda key: BY_NUMBER.get(key, "none"), [3], [[5], [4]]),
    "keys that are floats of numpy": Case(lambda key: BY_SHARE.get(key, "none"), [0.5], [[1.5], [5.0]]),
    "a dict that is filled by numbers of numpy": Case(grouped, [np.array([1, 2, 2])], [[np.array([3, 3, 1, 3])]]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_table_is_asked_as_a_dict_is(name) -> None:
    check(CASES[name])


def test_a_missing_key_of_an_ordered_dict_is_an_error() -> None:
    mod = tracepack.trace(lambda key: PRICES[key], "a")
    assert mod("b") == 2.0
    with pytest.raises(tracepack.GuardError, match="the table has no such entry; got 'q'"):
        mod("q")
