"""Tables of pandas, chains of dicts and templates that are constants, asked and filled by what a run decides."""

from __future__ import annotations

import re
from collections import ChainMap
from string import Template

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

pd = pytest.importorskip("pandas")
FRAME = pd.DataFrame({"title": ["a", "b", "c"], "price": [1.5, 2.5, 3.5], "n": [1, 2, 3]})
NUMBERS = pd.DataFrame({"low": [0.5, 1.5, 2.5], "n": [1, 2, 3]}, index=[7, 3, 5])
NAMED = FRAME.set_index("title")
PRICES = pd.Series({"a": 1.0, "b": 2.0, "c": 4.0})
SETTINGS = ChainMap({"size": 3}, {"size": 5, "depth": 2})
GREETING = Template("$name costs $$${price} now")


def column(x):
    return [FRAME["title"][i] for i in x.argsort().tolist()]


def by_place(x):
    i = x.argmax().item()
    return FRAME.iloc[i]["title"], FRAME["title"].iloc[i - 1], FRAME.iat[i, 0], FRAME["title"].values[i]


def by_label(x):
    i = int(x.argmax())
    return FRAME.loc[i, "price"] * 2, FRAME.at[i, "title"], FRAME["n"].at[i] + 1


def of_row(x):
    row = FRAME.iloc[x.argmax().item()]
    return f"{row['title']}: {row['price']:.2f}", float(row["price"]) * int(row["n"])


def of_row_of_numbers(x):
    row = NUMBERS.iloc[x.argmax().item()]
    return float(row["low"] + row["n"]), str(row["n"])


def labels_of_numbers(x):
    label = [7, 3, 5][x.argmax().item()]
    return float(NUMBERS["low"][label]), NUMBERS.loc[label, "n"] > 1


def by_text(name):
    return float(PRICES[name]) * 2, float(NAMED.loc[name, "price"]), int(NAMED["n"][name])


def chained(key):
    return SETTINGS[key] * 2, SETTINGS.get(key, 9)


def chained_with_default(key):
    return SETTINGS.get(key, 9)


def filled(name, price):
    return GREETING.substitute(name=name.title(), price=price) + Template("${a}!").substitute({"a": price})


def of_known_labels(names):
    return [PRICES[name] * 2 for name in names if name in PRICES.index]


def added(names):
    return sum(PRICES[name] for name in names)


def with_default(names):
    return [float(PRICES[name]) if name in PRICES else 0.0 for name in names]


def as_table(names):
    table = PRICES.to_dict()
    return [table.get(key, 0.0) for key in names]


def cheap(most):
    return [row.title for row in FRAME.itertuples() if row.price <= most]


def first_of_price(price):
    for row in FRAME.itertuples(index=False):
        if row.price <= price < row.price + 1:
            return row.title
    return "none"


def next_of_price(price):
    return next((row.title for row in FRAME.itertuples() if row.price <= price < row.price + 1), "none")


def numbered(most):
    return [f"{place}: {row.title}" for place, row in enumerate(FRAME.itertuples()) if row.price <= most]


def all_rows(most):
    rows = FRAME.itertuples(name=None)
    first = next(rows)
    return [row[1] for row in rows] + [first[1]], sum(row.n for row in FRAME.itertuples()) * most


X = [[torch.tensor(values)] for values in ([0.1, 0.9, 0.2], [0.9, 0.1, 0.2], [0.1, 0.2, 0.9])]
CASES = {
    **{
        process.__name__: Case(process, X[0], X[1:])
        for process in (column, by_place, by_label, of_row, of_row_of_numbers, labels_of_numbers)
    },
    "by_text": Case(by_text, ["a"], [["b"], ["c"]]),
    "of_known_labels": Case(of_known_labels, [["a", "q"]], [[["b", "c", "a"]], [["z"]], [[]]]),
    "added": Case(added, [["a", "b"]], [[["c", "c", "a"]], [["b"]]]),
    "with_default": Case(with_default, [["a", "q"]], [[["b", "c", "a"]], [["z"]], [[]]]),
    "as_table": Case(as_table, [["a", "q"]], [[["b", "c", "a"]], [["z"]], [[]]]),
    **{
        process.__name__: Case(process, [2.75], [[0.5], [1.5], [3.5], [9.0]])
        for process in (cheap, first_of_price, next_of_price, numbered, all_rows)
    },
    "chained": Case(chained, ["size"], [["depth"]]),
    "chained_with_default": Case(chained_with_default, ["size"], [["depth"], ["none"]]),
    "filled": Case(filled, ["ann", 2.5], [["bob", 0.125], ["", 3.0]]),
}


@pytest.mark.filterwarnings("ignore:Data type alias 'a'")
@pytest.mark.parametrize("name", CASES)
def test_a_constant_table_is_asked_by_what_a_run_decides(name) -> None:
    check(CASES[name])


def test_a_label_that_a_table_lacks_is_an_error_of_the_run() -> None:
    mod = loaded(lambda x: float(NUMBERS["low"][x.argmax().item() + 3]), torch.tensor([1.0, 0.0]))
    with pytest.raises(KeyError):
        NUMBERS["low"][4]
    with pytest.raises(tracepack.TracepackError, match="the table has no such entry"):
        mod(torch.tensor([0.0, 1.0]))


def test_a_draw_in_a_loop_says_what_keeps_the_length_free() -> None:
    def process(xs, seed):
        g = torch.Generator().manual_seed(seed)
        return [x + torch.rand(1, generator=g) for x in xs]

    def form(xs, seed):
        g = torch.Generator().manual_seed(seed)
        noise = torch.rand(len(xs), 1, generator=g)
        return [x + noise[i] for i, x in enumerate(xs)]

    x = torch.rand(3)
    words = r"draws random numbers. Draw before the loop: noise = torch.rand\(len\(xs\), 1, generator=g\); then \[x"
    with pytest.warns(UserWarning, match=words):
        tracepack.trace(process, [x, x], 3)
    check(Case(form, [[x, x], 3], [[[x], 5], [[x, x + 1, x], 7]]))


TITLES = pd.Series({"a": "first", "b": "second"})
BY_NUMBER = pd.Series({1: "one", 2: "two"})


def title_of(name):
    return TITLES.get(name, "none").upper()


def title_of_number(n):
    return BY_NUMBER.get(n, "none")


def held(name):
    return name in PRICES, name in NAMED.index, name in FRAME, "yes" if name in PRICES.index else "no"


def held_number(n):
    return n in NUMBERS.index, n in NUMBERS["low"]


def priced(names):
    prices = PRICES.to_dict()
    return [prices.get(name, 0.0) for name in names]


def above(x):
    return [name for name, price in PRICES.to_dict().items() if price > x]


@pytest.mark.parametrize("example", [0, 1], ids=["held", "missing"])
@pytest.mark.parametrize(
    ("process", "given"),
    [
        (title_of, [("a",), ("z",), ("b",), ("",)]),
        (title_of_number, [(1,), (7,), (2,)]),
        (held, [("a",), ("z",), ("price",), ("c",)]),
        (held_number, [(7,), (1,), (5,)]),
        (priced, [(["a", "z"],), (["z"],), ([],), (["c", "b", "a"],)]),
        (above, [(1.5,), (9.0,), (0.0,)]),
    ],
)
def test_tables_are_asked_whether_they_hold_a_key(process, given, example) -> None:
    check(Case(process, given[example], given))


@pytest.mark.parametrize("example", ["a", "z"])
def test_a_number_or_a_default_of_a_series_is_refused_with_the_form(example) -> None:
    words = r"a Series of pandas gives a number of numpy or .* Write table = series\.to_dict\(\), then table"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(lambda name: PRICES.get(name, 0.0), example)


def mapped(names):
    return pd.Series(names).map(PRICES).tolist()


def test_a_series_of_texts_that_is_mapped_shows_the_form_with_a_table() -> None:
    form = r"Write table = series.to_dict\(\) of the table, then \[table.get\(key, 0.0\) for key in keys\]"
    with pytest.raises(tracepack.RecordError, match=rf"in mapped: .*is decided at run time. {form}"):
        tracepack.trace(mapped, ["a", "b"])


def different_types(names):
    return [PRICES[name] if name in PRICES else 0.0 for name in names]  # noqa: SIM401  # it is the case


def test_a_number_of_numpy_or_of_python_shows_the_form_with_float() -> None:
    with pytest.raises(tracepack.RecordError, match=r"different types on different ways.*float\(x\) makes a number"):
        tracepack.trace(different_types, ["a", "q"])


def _normal(xs, seed):
    g = torch.Generator().manual_seed(seed)
    return [x + torch.randn(x.shape, generator=g) for x in xs]


def _normal_before(xs, seed):
    g = torch.Generator().manual_seed(seed)
    noise = torch.randn(torch.stack(xs).shape, generator=g)
    return [x + noise[i] for i, x in enumerate(xs)]


def _integers(xs, seed):
    g = torch.Generator().manual_seed(seed)
    return [x * int(torch.randint(0, 9, (1,), generator=g)) for x in xs]


def _integers_before(xs, seed):
    g = torch.Generator().manual_seed(seed)
    noise = torch.randint(0, 9, (len(xs), 1), generator=g)
    return [x * int(noise[i]) for i, x in enumerate(xs)]


def _samples(xs, seed):
    g = torch.Generator().manual_seed(seed)
    return [int(torch.multinomial(x, 1, generator=g)) for x in xs]


def _samples_before(xs, seed):
    g = torch.Generator().manual_seed(seed)
    noise = torch.rand(len(xs), generator=g)
    return [int(torch.searchsorted((x / x.sum()).cumsum(0), noise[i])) for i, x in enumerate(xs)]


@pytest.mark.parametrize(
    ("process", "form", "words"),
    [
        (_normal, _normal_before, "noise = torch.randn(torch.stack(xs).shape, generator=g); then [x + noise[i] for i"),
        (
            _integers,
            _integers_before,
            "noise = torch.randint(0, 9, (len(xs), 1), generator=g); then [x * int(noise[i])",
        ),
        (_samples, _samples_before, "and int(torch.searchsorted((x / x.sum()).cumsum(0), noise[i])) for i, x in"),
    ],
)
def test_each_draw_in_a_loop_shows_its_own_form(process, form, words) -> None:
    x = torch.rand(3)
    with pytest.warns(UserWarning, match=re.escape(words)):
        tracepack.trace(process, [x, x], 3)
    check(Case(form, [[x, x], 3], [[[x], 5], [[x, x + 1, x], 7]]))


MADE_OF_THE_RUN = {
    "a mean of a column": (lambda rows: pd.DataFrame(rows)["price"].mean(), [{"price": 1.0}, {"price": 2.0}]),
    "groups": (lambda rows: pd.DataFrame(rows).groupby("k")["v"].sum().to_dict(), [{"k": "a", "v": 1.0}]),
    "a rolling mean": (lambda values: pd.Series(values).rolling(2).mean().tolist(), [1.0, 2.0, 3.0]),
    "an array": (lambda values: pd.DataFrame(values).to_numpy(), np.ones((2, 2))),
    "columns": (lambda value: pd.DataFrame({"a": [value], "b": ["x"]}).iloc[0]["a"], 1.0),
}


@pytest.mark.parametrize("name", MADE_OF_THE_RUN)
def test_a_table_that_is_made_of_the_run_is_refused_with_the_form(name) -> None:
    process, example = MADE_OF_THE_RUN[name]
    words = (
        r"^test_frames.py:\d+ in .* of pandas is made of what is decided at run time, .*Work on the lists and arrays"
    )
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, example)


def test_a_table_of_constants_is_made_as_before() -> None:
    module = tracepack.trace(lambda x: x * pd.DataFrame({"a": [1.0, 2.0]})["a"].sum(), 2.0)
    assert module(5.0) == 15.0
