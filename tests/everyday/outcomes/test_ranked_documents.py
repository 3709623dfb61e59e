"""Rankings of texts: a set of words is gone through where its order does not matter, and refused where it does."""

from __future__ import annotations

import warnings

import pytest

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.outcomes import ranked_documents as f

DOCS = ["the quick brown fox", "a lazy dog sleeps", "the fox and the dog"]
QUERIES = [("dog", DOCS[:1]), ("dog fox", [*DOCS, "dog dog"]), ("zzz", DOCS), ("", ["a", "b"])]


@pytest.mark.parametrize("process", [f.bm25, f.bm25_by_functions], ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("error")
def test_documents_are_ranked(process) -> None:
    check(Case(process, ("fox dog", DOCS), QUERIES))


def test_documents_are_ranked_for_any_number_of_results() -> None:
    check(Case(f.bm25, ("fox", DOCS, 1), [("dog", DOCS, 2), ("fox", DOCS[:1], 3)]))
    check(Case(f.overlapping, ("fox dog", DOCS, 2), [("a", DOCS, 1), ("dog", DOCS[:1], 2)]))


@pytest.mark.filterwarnings("error")
def test_words_are_weighed() -> None:
    check(Case(f.tf_idf, [DOCS], [(DOCS[:1],), ([],), ([*DOCS, "x y z"],)]))


@pytest.mark.parametrize("process", [f.most_common, f.middle_word], ids=lambda each: each.__name__)
def test_what_hangs_on_the_order_keeps_the_texts_of_the_example(process) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tracepack.trace(process, ["a b c", "c b a"])
    assert any("the order of a set cannot be recorded" in str(each.message) for each in said)


def test_a_tie_in_a_run_is_refused_with_its_line() -> None:
    mod = loaded(f.most_common, ["a b", "a c"])
    assert mod(["x y", "z y", "y"]) == [("y", 3)]
    words = r"found\.update\(set\(doc\.split\(\)\)\).*the result hangs on it. Write sorted\(items\) where"
    with pytest.raises(tracepack.GuardError, match=words):
        mod(["x y", "y x"])
