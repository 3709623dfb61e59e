"""Lists of any length inside of `tracepack.cond`: gone through, measured, and given as what a side makes."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
ROWS = (X, 1), [(torch.arange(6.0).view(3, 2), 0), (torch.arange(6.0).view(3, 2), 2)]
NUMBERS = ([1.0, 2.0], 2.0), [([5.0], 3.0), ([4.0, 1.0, 2.0], 0.0), ([1.0, 2.0, 3.0], 9.0)]
TEXTS = (["a b", "c"], 1), [(["x y z", "q"], 0), (["u v"], 2), (["u", "v w", ""], 5)]


def counted(texts, k):
    def kinds():
        counts = {}
        for text in texts:
            for word in text.split():
                counts[word] = counts.get(word, 0) + 1
        return len(counts)

    return tracepack.cond(k > 0, kinds, lambda: 0)


def longest(texts, k):
    def found():
        best = ""
        for text in texts:
            if len(text) > len(best):
                best = text
        return best

    return tracepack.cond(k > 0, found, lambda: "none")


def summed(x, k):
    def total():
        found = 0.0
        for row in x:
            found = found + row.sum()
        return found

    return tracepack.cond(k > 0, total, lambda: x.max())


def used(text):
    parts = tracepack.cond(text, lambda: [part.strip() for part in text.split(",")], lambda: [])
    return " ".join(parts), len(parts), [part.upper() for part in parts], "c" in parts


def several(xs, k):
    xs, name = tracepack.cond(k > 1, lambda: ([x + k for x in xs], "more"), lambda: ([], "none"))
    return {"xs": xs, "name": name, "sum": sum(xs)}


class Hit(NamedTuple):
    name: str
    n: int


def pairs(texts, k):
    found = [(text, len(text)) for text in texts] + tracepack.cond(k > 1, lambda: [(texts[0], k)], lambda: [])
    found = found + tracepack.cond(k > 4, lambda: [("end", (k, texts[0]))], lambda: [])
    return found, found[-1][0], [name for name, _ in found]


def pairs_of_other_lengths(texts, k):
    found = tracepack.cond(k > 1, lambda: [(text, k) for text in texts], lambda: [("none", 0), ("x", -1)])
    return [name for name, n in found if n >= 0], tracepack.cond(found, lambda: found[0][0], lambda: "nothing")


def dicts(x, k):
    found = []
    found = found + tracepack.cond(x.mean() > 2, lambda: [{"name": "high", "score": x.mean().item()}], lambda: [])
    found = found + tracepack.cond(x.max() > k, lambda: [{"name": "top", "score": x.max().item()}], lambda: [])
    best = max([each["score"] for each in found], default=0.0)
    return sorted(found, key=lambda each: each["score"]), best, {"hits": found}


def records(texts, k):
    found = tracepack.cond(k > 1, lambda: {"hits": [Hit(texts[0], k)]}, lambda: {"hits": []})
    return [hit.name for hit in found["hits"]], found


def closed_with_a_pair(texts):
    found = []
    for place, text in enumerate(texts):
        if len(text) > 1:
            found.append((place, text))
    found = found + tracepack.cond(found, lambda: [(-1, "end")], lambda: [])
    return found


CASES = {
    "pairs": Case(pairs, *TEXTS),
    "pairs, as many as there are texts": Case(pairs_of_other_lengths, *TEXTS),
    "dicts": Case(dicts, *ROWS),
    "records": Case(records, (["u", "v"], 2), TEXTS[1]),
    "a pair after a loop": Case(closed_with_a_pair, (["ab", "c"],), [(["a"],), ([""],), (["x", "yy", "zz"],)]),
    "a sum": Case(lambda xs, k: tracepack.cond(k > 1, lambda: sum(xs) / len(xs), lambda: 0.0), *NUMBERS),
    "a filter": Case(lambda xs, k: tracepack.cond(k > 1, lambda: sum(x * k for x in xs if x < k), lambda: k), *NUMBERS),
    "one inside of another": Case(
        lambda xs, k: tracepack.cond(
            k > 1 and len(xs) > 1, lambda: max(xs), lambda: tracepack.cond(k > 2, lambda: min(xs), lambda: sum(xs))
        ),
        *NUMBERS,
    ),
    "no items": Case(lambda xs: tracepack.cond(not xs, lambda: 0.0, lambda: sum(xs) / len(xs)), ([1.0, 2.0],), [([],)]),
    "a list and the argument": Case(
        lambda xs, k: tracepack.cond(k > 1, lambda: [x * 2 for x in xs], lambda: xs), *NUMBERS
    ),
    "lists of other lengths": Case(
        lambda xs, k: tracepack.cond(k > 1, lambda: [x * 2 for x in xs], lambda: [0.0]), *NUMBERS
    ),
    "a list in a record": Case(
        lambda xs, k: tracepack.cond(k > 1, lambda: {"xs": [x * 2 for x in xs]}, lambda: {"xs": []}), *NUMBERS
    ),
    "several results": Case(several, *NUMBERS),
    "texts": Case(used, ("a,b",), [("",), ("c",), ("x, y ,z",)]),
    "words": Case(
        lambda texts, k: tracepack.cond(k > 0, lambda: [w for t in texts for w in t.split()], lambda: ["none"]), *TEXTS
    ),
    "a dict": Case(counted, *TEXTS),
    "a loop that carries": Case(longest, *TEXTS),
    "numbers of a tensor": Case(
        lambda x, k: tracepack.cond(k > 0, lambda: x[0].tolist(), lambda: x[:, 0].tolist()), *ROWS
    ),
    "rows": Case(
        lambda x, k: tracepack.cond(
            k > 0, lambda: [row.sum().item() for row in x], lambda: [row.max().item() for row in x]
        ),
        *ROWS,
    ),
    "a loop over rows": Case(summed, *ROWS),
    "a flag in a tensor": Case(
        lambda x, k: tracepack.cond(k > 0, lambda: not x, lambda: False),
        (torch.tensor(True), 1),
        [(torch.tensor(False), 1), (torch.tensor(True), 0)],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("error")
def test_a_branch_goes_through_lists_of_any_length(name) -> None:
    check(CASES[name])


def test_the_signature_fixes_no_length_of_a_list_that_a_branch_makes() -> None:
    mod = loaded(lambda xs, k: tracepack.cond(k > 1, lambda: [x * 2 for x in xs], lambda: xs), [1.0, 2.0], 2.0)
    assert mod.signature == "(xs: list[float], k: float) -> any"
    mod = loaded(lambda x: tracepack.cond(x.max() > 0, lambda: x.tolist(), lambda: x[:1].tolist()), torch.ones(2))
    assert mod.signature == "(x: f32[N]) -> any"


KNOWN = ["known"]


def sorted_here(text):
    words = text.split()
    chosen = tracepack.cond(text.startswith("zz"), lambda: words, lambda: ["none"])
    chosen.sort()
    return words, chosen


def grown_here(text):
    chosen = tracepack.cond(text.startswith("zz"), lambda: KNOWN, lambda: text.split())
    chosen.append("end")
    return chosen


def added_here(text):
    words = text.split()
    chosen = tracepack.cond(text.startswith("zz"), lambda: words, lambda: ["none"])
    chosen += ["end"]
    return words


@pytest.mark.parametrize(
    ("process", "words"),
    [
        (sorted_here, "list.sort on a list of any length cannot be recorded"),
        (grown_here, "list.append on a list of any length cannot be recorded"),
        (added_here, "a list that may have another name cannot be changed"),
    ],
)
def test_a_list_that_may_be_one_from_outside_is_not_changed(process, words) -> None:
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, "b a")


def test_a_side_that_fails_on_the_example_and_sides_with_other_keys_are_refused_with_what_to_do() -> None:
    words = "a branch fails on the example: RuntimeError: .*Both are recorded: trace with an example on which both run"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda x: tracepack.cond(x.sum() > 0, lambda: x.view(7), lambda: x), torch.zeros(3))
    words = "got float in a dict of 'b'; expected float in a dict of 'a'"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda k: tracepack.cond(k > 1, lambda: {"a": k}, lambda: {"b": k}), 1.0)
