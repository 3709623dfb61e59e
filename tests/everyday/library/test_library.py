"""Functions with values of classes of Python's library answer as their files do."""

from __future__ import annotations

import decimal

import pytest

import tracepack
from tests.everyday.case import check, loaded
from tests.everyday.library import dates, decimals, fractional, statistical, web_texts

CASES = {
    "dates": dates.CASES,
    "decimal numbers": decimals.CASES,
    "fractions": fractional.CASES,
    "statistics": statistical.CASES,
    "texts": web_texts.CASES,
}
NAMES = [(kind, name) for kind, cases in CASES.items() for name in cases]


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_the_file_answers_as_the_function_does(kind, name) -> None:
    check(CASES[kind][name])


FAILING = dates.FAILING | decimals.FAILING | fractional.FAILING | statistical.FAILING


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_in_python_fails_in_the_file(name) -> None:
    process, example, failing, words = FAILING[name]
    with pytest.raises((ValueError, ArithmeticError)):
        process(failing)
    mod = loaded(process, example)
    with pytest.raises(tracepack.NodeError, match=words):
        mod(failing)


REFUSED = {name: (*case, "2024-01-01") for name, case in dates.REFUSED.items()}
REFUSED |= {name: (*case, "1.5") for name, case in decimals.REFUSED.items()}
REFUSED |= {name: (*case, "a text") for name, case in web_texts.REFUSED.items()}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_to_write(name) -> None:
    process, words, example = REFUSED[name]
    with pytest.raises(tracepack.TracepackError, match=words):
        tracepack.trace(process, example)


def test_another_context_of_decimal_numbers_is_refused() -> None:
    with decimal.localcontext() as context:
        context.prec = 50
        with pytest.raises(tracepack.RecordError, match="the context of decimal numbers was changed"):
            tracepack.trace(lambda s: str(decimal.Decimal(s) / 3), "1")


def test_a_run_has_the_default_context() -> None:
    mod = loaded(lambda s: str(decimal.Decimal(s) / 3), "1")
    with decimal.localcontext() as context:
        context.prec = 3
        assert mod("2") == "0.6666666666666666666666666667"
