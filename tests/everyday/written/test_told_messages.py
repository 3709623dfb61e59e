"""Messages to people in branches that data, texts and sizes decide: a recording goes both ways without them."""

from __future__ import annotations

import logging
import sys
import warnings
from warnings import warn

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

logger = logging.getLogger("tests.told")
LOW, HIGH, MIXED = (
    torch.tensor([0.1, 0.2]),
    torch.tensor([0.4, 2.0, 3.0]),
    torch.tensor([-1.0, 0.5, 0.7, 9.0, 1.0, 2.0]),
)


def warned(x):
    if x.max() > 1:
        logger.warning("high: %s", x.max())
    return x * 2


def of_item(x):
    highest = x.max().item()
    if highest > 1:
        logger.warning(f"high {highest:.2f} of {x.shape}")
        x = x.clamp(max=1)
    return x


def cut(text):
    if len(text) > 5:
        logger.warning("long text: %s", text)
        text = text[:5]
    return text.upper()


def by_size(x):
    if x.shape[0] > 5:
        warnings.warn(f"{x.shape[0]} rows", stacklevel=2)
        x = x[:5]
    return x + 1


def one_of_many(x):
    if x.max() > 5:
        print("very high", x.max(), file=sys.stderr)
    elif x.min() < 0:
        warn("low", RuntimeWarning, 2)
    else:
        logger.log(logging.INFO, "as usual")
    return x.sum()


def early(text):
    n = len(text.split())
    if n == 0:
        logging.info("empty text")
        return "none"
    if n > 2:
        print("words:", n)
    return f"{n} {text}"


class Clipping:
    def __init__(self) -> None:
        self.log = logging.getLogger("tests.clipping")

    def clipped(self, x):
        if (x > 1).any() and x.shape[0] > 2:
            self.log.debug("clipped at %d", 1)
            return x.clamp(max=1)
        return x

    def __call__(self, x):
        return self.clipped(x).sum().item()


def of_choice(x, verbose=False):
    if verbose:
        print(x)
    if not verbose and x.mean() > 0.5:
        print(f"{x.mean():.2f}")
    return x


X = [[LOW], [HIGH], [MIXED]]
TEXTS = [["ab"], ["a b c d e f"], [""]]
CASES = {
    **{f.__name__: Case(f, *given) for f in (warned, of_item, by_size, one_of_many) for given in [(X[0], X[1:])]},
    **{f"{f.__name__} high": Case(f, X[2], X[:2]) for f in (warned, of_item, by_size, one_of_many)},
    "cut": Case(cut, TEXTS[0], TEXTS[1:]),
    "early": Case(early, TEXTS[1], TEXTS),
    "method": Case(Clipping(), X[0], X[1:]),
    "choice": Case(of_choice, X[0], X[1:]),
}


@pytest.mark.filterwarnings("ignore:low", "ignore:6 rows")
@pytest.mark.parametrize("name", CASES)
def test_a_branch_with_a_message_goes_both_ways(name) -> None:
    check(CASES[name])


def test_a_file_and_a_side_that_is_not_taken_tell_nothing(capsys, caplog) -> None:
    caplog.set_level(logging.INFO)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = loaded(one_of_many, MIXED)
        traced = capsys.readouterr()
        assert torch.equal(mod(LOW), LOW.sum())
        assert torch.equal(mod(-LOW), -LOW.sum())
    assert "very high" in traced.err or traced.err == ""
    assert capsys.readouterr() == ("", "")
    assert caplog.messages == []


def test_a_warning_of_the_function_is_a_plain_text_with_the_line_of_the_function() -> None:
    def process(text, x):
        warnings.warn(f"{text} {x.shape[0]} {x.mean():.1f}", stacklevel=1)
        warn(text, RuntimeWarning, 1)
        return text + "!", x

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        mod = tracepack.trace(process, "ab", HIGH)
    assert {str(each.message) for each in told} >= {"ab", "ab 3 1.8"}
    assert {type(each.message.args[0]) for each in told} == {str}
    assert {each.filename for each in told} == {__file__}
    assert mod("c", LOW)[0] == "c!"


def test_an_error_after_a_message_has_its_own_name() -> None:
    def process(x):
        if (x < 0).any():
            logger.error("negative: %s", x.min())
            raise ValueError("negative")
        return x.sqrt()

    mod = loaded(process, LOW)
    with pytest.raises(tracepack.GuardError, match="the function raises ValueError then; got False; expected True"):
        mod(MIXED)
    assert torch.equal(mod(HIGH), HIGH.sqrt())
