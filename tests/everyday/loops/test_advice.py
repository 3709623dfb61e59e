"""What cannot be recorded is refused with a form that can be: for loops whose state data decides, and for libraries."""

from __future__ import annotations

import json
import math
import random
import re
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, shown
from tests.everyday.labels import LABELS, SCORES

ROUNDS: list[int] = []


def rounds(x):
    order = x.argsort()
    while len(order) > 0:
        order = order[1:][x[order[1:]] > 0.5]
        ROUNDS.append(1)
    return order


def decoded(x):
    runs, run = [], None
    for label in [LABELS[i] for i in x.argsort().tolist()]:
        if label.startswith("c"):
            run = [label]
            runs.append(run)
        elif run is not None:
            run.append(label)
    return runs


REFUSED = {
    "a dict of run time or another": (
        lambda x: [{str(i): v for i, v in enumerate(r) if v > 0.5} or {"none": 0.0} for r in x[None].tolist()],
        r"Write dict\(\[\*found.items\(\)\] \+ \[\(.none., 0.0\)\] \* int\(not found\)\) for found or",
    ),
    "rounds by data": (
        rounds,
        r"Use tracepack.while_loop\(cond_fn, body_fn, \*carried\), as docs/guide.md does for boxes",
    ),
    "a state by data": (
        decoded,
        r"re.finditer over a text with one letter for each \(docs/guide.md, Runs of tags\)",
    ),
    "a text of JSON": (lambda x: json.loads(f"[{x.max().item()}]"), "Do it before, and pass what it gives"),
    "a generator of numpy": (
        lambda x: np.random.default_rng(x.argmax().item()).normal(),
        r"Use generator = torch.Generator\(\).manual_seed\(seed\), and torch.randn\(n, generator=",
    ),
    "a fraction": (
        lambda x: str(Fraction(x.argmax().item(), 3)),
        "Write numerator / denominator, which is recorded",
    ),
    "an array of texts": (
        lambda x: np.array(LABELS)[x[None].argsort().numpy()],
        r"Write tracepack.lookup\(texts, ids\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("no_blocks")
def test_a_refusal_shows_a_form_that_is_recorded(name) -> None:
    process, words = REFUSED[name]
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, SCORES)


FORMS = {
    "a number of bytes": (
        lambda data: torch.frombuffer(bytearray(data[:4]), dtype=torch.int32).item(),
        lambda data: int.from_bytes(data[:4], "little", signed=True),
        [b"abcdef"],
        [b"\x01\x02\x03\xff\xff"],
    ),
    "a fraction": (lambda n, d: n / d, lambda n, d: float(Fraction(n, d)), [1, 3], [4, 6]),
    "a greatest common divisor": (
        lambda n, d: math.gcd(n, d),
        np.gcd,
        [1, 3],
        [4, 6],
    ),
    "a least common multiple": (
        lambda a, b: math.lcm(a, b),
        math.lcm,
        [4, 6],
        [3, 5],
    ),
    "a distance": (
        lambda a, b: math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b))),  # noqa: B905  # as it is shown
        math.dist,
        [[1.0, 2.0], [2.0, 2.0]],
        [[0.0, 3.0, 2.0], [4.0, 0.0, 2.0]],
    ),
    "numbers that are close": (
        lambda a, b: abs(a - b) <= 1e-9 * max(abs(a), abs(b)),
        math.isclose,
        [1.0, 2.0],
        [1.0, 1.0 + 1e-12],
    ),
    "a whole root": (lambda n: math.isqrt(n), math.isqrt, [30], [10**16 - 1]),
    "an array of texts": (
        lambda ids: tracepack.lookup(np.array(LABELS), ids),
        lambda ids: np.array(LABELS)[ids.numpy()].tolist(),
        [torch.tensor([0, 2])],
        [torch.tensor([1, 1, 0])],
    ),
    "a generator": (
        lambda seed: torch.randn(3, generator=torch.Generator().manual_seed(seed)).tolist(),
        lambda seed: torch.randn(3, generator=torch.Generator().manual_seed(seed)).tolist(),
        [3],
        [8],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_that_is_shown_answers_as_the_refused_one_does(name) -> None:
    process, plain, example, other = FORMS[name]
    mod = tracepack.trace(process, *example)
    assert (mod(*example), mod(*other)) == (plain(*example), plain(*other))


def test_a_fraction_in_a_lambda_is_of_each_run() -> None:
    mod = tracepack.trace(lambda x, n: float(Fraction(n, 4)) * x, torch.ones(2), 3)  # any warning fails the test
    assert mod(torch.ones(3), 6).tolist() == [1.5] * 3


def test_a_returned_fraction_is_refused_with_the_number_to_return() -> None:
    with pytest.raises(tracepack.RecordError, match=r"returns a Fraction\. Return float\(number\), or numerator and d"):
        tracepack.trace(lambda n: n * Fraction(1, 4), 3)
    assert tracepack.trace(lambda n: float(n * Fraction(1, 4)), 3)(5) == 1.25


def test_a_condition_of_a_loop_may_ask_for_the_length_of_a_tensor_from_outside() -> None:
    def process(x):
        return tracepack.while_loop(lambda i, total: i < len(x), lambda i, total: (i + 1, total + x[i]), 0, x[0] * 0)[1]

    mod = tracepack.trace(process, torch.ones(3))
    assert mod(torch.arange(6.0)) == 15


def cut(text):
    words = [text]
    if len(text) > 10:
        words = text.split()
    return words


def first_number(text):
    found = re.search(r"\d+", text)
    return found.group() if found else "none"


MATCH = "return next((found.group() for found in [*re.finditer('\\\\d+', text)][:1]), 'none'), in place of both lines"
TEXTS = ["short", "a text that is longer", "", "42 is it", "Apple", "  "]
CONDITIONS = {
    "a length": (
        lambda t: [t] if len(t) <= 10 else [t.center(12)],
        lambda t: tracepack.cond(len(t) <= 10, lambda: [t], lambda: [t.center(12)]),
        "tracepack.cond(len(t) <= 10, lambda: [t], lambda: [t.center(12)]) keeps both ways",
    ),
    "a length in a statement": (
        cut,
        lambda t: tracepack.cond(len(t) > 10, lambda: t.split(), lambda: [t]),
        "words = tracepack.cond(len(text) > 10, lambda: text.split(), lambda: words) keeps both ways",
    ),
    "whether it is empty": (
        lambda t: t or f"{len(t)} letters",
        lambda t: tracepack.cond(t, lambda: t, lambda: f"{len(t)} letters"),
        "tracepack.cond(t, lambda: t, lambda: f'{len(t)} letters') keeps both ways",
    ),
    "how it begins": (
        lambda t: [t.center(12)] if t.startswith("A") else [],
        lambda t: tracepack.cond(t.startswith("A"), lambda: [t.center(12)], lambda: []),
        "tracepack.cond(t.startswith('A'), lambda: [t.center(12)], lambda: []) keeps both ways",
    ),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_on_a_text_goes_both_ways_and_so_does_its_form(name) -> None:
    process, form, words = CONDITIONS[name]
    assert words in shown(process, 2 if process is cut else 0)
    for example in TEXTS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mod, free = tracepack.trace(process, example), tracepack.trace(form, example)
        for text in TEXTS:
            assert mod(text) == free(text) == process(text)


def test_a_condition_on_a_match_goes_both_ways() -> None:
    """So does the form that is shown for one that does not, and answers on texts of both ways as the function does."""
    for example in ("42 is it", "Apple pies 7"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mod = tracepack.trace(first_number, example)
        free = tracepack.trace(lambda t: next((m.group() for m in [*re.finditer("\\d+", t)][:1]), "none"), example)
        assert [mod(text) for text in TEXTS] == [free(text) for text in TEXTS] == [first_number(text) for text in TEXTS]


def test_a_flag_goes_both_ways() -> None:
    check(Case(lambda text, flag: text.upper() if flag else text.lower(), ["Ab", True], [["Cd", True], ["Cd", False]]))


def test_a_match_that_the_function_needs_is_no_condition_to_warn_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(lambda text: re.search(r"\d+", text).group(), "a 1")
    assert mod("bc 23") == "23"


def test_an_f_string_in_a_branch_of_cond_keeps_its_numbers_free() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(lambda x: tracepack.cond(x.sum() > 0, lambda: f"{len(x)}", lambda: "-"), torch.ones(3))
    assert (mod(torch.ones(7)), mod(-torch.ones(7))) == ("7", "-")


LEVELS = (0.9, 0.5)


def named_levels(x):
    for least in LEVELS:
        found = [i for i, share in enumerate(x.tolist()) if share > least]
        if len(found) >= 2:
            return found
    return []


def set_once(x):
    kept = []
    for least in LEVELS:
        found = [i for i, share in enumerate(x.tolist()) if share > least]
        if len(found) >= 2 and not kept:
            kept = found
    return kept


def test_a_list_that_a_loop_over_named_constants_returns_goes_both_ways() -> None:
    others = [[torch.tensor([0.95, 0.96, 0.7])], [torch.tensor([0.1, 0.2])], [torch.tensor([0.6, 0.2, 0.8])]]
    for function in (named_levels, set_once):
        check(Case(function, [torch.tensor([0.95, 0.6, 0.7])], others))


def largest_so_far(x):
    return [i for i in range(2) if all(x[i] > x[j] for j in range(i))]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="its variable is a cell of the function from Python 3.12 on")
def test_a_comprehension_whose_variable_an_inner_one_reads_goes_both_ways() -> None:
    others = [[torch.tensor([0.95, 0.96, 0.7])], [torch.tensor([0.1, 0.2])], [torch.tensor([0.6, 0.2, 0.8])]]
    check(Case(largest_so_far, [torch.tensor([0.95, 0.6, 0.7])], others))


@pytest.mark.parametrize("process", [lambda x: [*x], lambda x: tuple(x), lambda x: list(map(id, [*x]))[:0]])
@pytest.mark.parametrize("x", [torch.rand(2, 3), np.random.default_rng(0).random((2, 3))])
def test_rows_that_are_laid_out_have_one_line(process, x) -> None:
    with pytest.warns(UserWarning, match="one by one") as lines:
        tracepack.trace(process, x)
    assert ["one by one" in str(line.message) for line in lines] == [True]


def _drawn_by_python(x, seed):
    generator = random.Random(seed)
    return x * generator.random()


def _seeded_for_all(x, seed):
    random.seed(seed)
    return x * random.random()


@pytest.mark.parametrize("process", [_drawn_by_python, _seeded_for_all])
def test_a_seed_for_random_numbers_of_python_shows_a_generator_of_torch(process) -> None:
    words = (
        "Write generator = torch.Generator().manual_seed(seed), and torch.rand(n, generator=generator).tolist() for "
        "numbers, or [items[i] for i in torch.randperm(len(items), generator=generator).tolist()] for another order of "
    )
    with pytest.warns(UserWarning, match=re.escape(words)):
        tracepack.trace(process, torch.ones(3), 1)


def _in_another_order(items, seed):
    generator = torch.Generator().manual_seed(seed)
    return [items[i] for i in torch.randperm(len(items), generator=generator).tolist()]


def _drawn(items, seed):
    n = len(items)
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(n, generator=generator).tolist()


@pytest.mark.parametrize("process", [_in_another_order, _drawn])
def test_the_generators_that_are_shown_run(process) -> None:
    mod = tracepack.trace(process, [1, 2, 3], 1)
    assert mod([4, 5, 6, 7], 2) == process([4, 5, 6, 7], 2)
