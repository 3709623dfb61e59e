"""Keys that a table of constants may lack, without a default."""

from __future__ import annotations

import pytest

import tracepack
from tests.everyday.case import Case, check

PRICES = {"pen": 1.5, "ink": 2.0}
NAMES = {1: "one", 2: "two"}
ITEMS = {"pen": {"price": 1.5}, "ink": {"price": 2.0}}


def known(words):
    return [price for word in words if (price := PRICES.get(word)) is not None]


def skipped(words):
    out = []
    for word in words:
        price = PRICES.get(word)
        if price is None:
            continue
        out.append(f"{word}: {price * 2}")
    return out


def demanded(word):
    price = PRICES.get(word)
    if price is None:
        raise ValueError(word)
    return price * 2


ONE = [["pen"], [["ink"], ["oil"], [""]]]
MANY = [[["pen", "oil"]], [[["oil"]], [[]], [["ink", "pen", "oil", "ink"]]]]
CASES = {
    "returned": Case(lambda word: PRICES.get(word), *ONE),
    "from an example that it lacks": Case(lambda word: PRICES.get(word), ["oil"], [["pen"], ["ink"]]),
    "with or": Case(lambda word: (PRICES.get(word) or 1.0) * 2, *ONE),
    "asked": Case(lambda word: {"price": PRICES.get(word), "known": PRICES.get(word) is not None}, *ONE),
    "in a text": Case(lambda word: f"{word}: {PRICES.get(word)}", *ONE),
    "numbers as keys": Case(lambda x, n: NAMES.get(n) or "many", ["a", 1], [["a", 2], ["a", 3], ["a", -1]]),
    "of each word": Case(lambda words: [PRICES.get(word) for word in words], *MANY),
    "summed": Case(lambda words: sum(PRICES.get(word) or 0.0 for word in words), *MANY),
    "kept": Case(known, *MANY),
    "skipped": Case(skipped, *MANY),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_table_lacks_is_none(name) -> None:
    check(CASES[name])


def test_an_error_for_what_a_table_lacks() -> None:
    mod = tracepack.trace(demanded, "pen")
    assert mod("ink") == 4.0
    with pytest.raises(tracepack.GuardError):
        mod("oil")


def test_entries_that_are_records_go_both_ways_and_as_a_result_fix_it_which_is_said() -> None:
    def price(word):
        item = ITEMS.get(word)
        return None if item is None else item["price"]

    check(Case(price, ["pen"], [["ink"], ["oil"]]))
    said = r"whether the table has the key is fixed to True. table.get\(key, default\), with a default of the kind"
    with pytest.warns(UserWarning, match=said):
        mod = tracepack.trace(lambda word: ITEMS.get(word), "pen")
    assert mod("ink") == ITEMS["ink"]
    with pytest.raises(tracepack.GuardError, match="whether the table has the key"):
        mod("oil")
    check(Case(lambda word: ITEMS.get(word, {"price": -1.0})["price"], *ONE))
