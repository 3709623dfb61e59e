"""Loops that keep the length of the example: what is said instead of the loop is recorded for any length."""

from __future__ import annotations

import warnings

import pytest

import tracepack
from tests.everyday.case import Case, check

BANDS = [(0.0, 0.2, 0.05), (0.2, 0.6, 0.4), (0.6, 1.01, 0.85)]
BOARDS = (["XOX/.X./OOX"], [["XXX/.O./O.."], ["OOO/XXO/OXX/XXX"], ["OXO"], ["..."]])
SHARES = ([[0.1, 0.5, 0.9]], [[[0.3]], [[2.0, 0.7]], [[]]])


def returned(board):
    for line in board.split("/"):
        if line == "XXX":
            return "X"
        if line == "OOO":
            return "O"
        if line == "":
            break
    return "open" if "." in board else "draw"


def set_before(board):
    winner = ""
    for line in board.split("/"):
        if line == "XXX":
            winner = "X"
            break
        if line == "OOO":
            winner = "O"
            break
    if winner:
        return winner
    return "open" if "." in board else "draw"


def looked_up(shares):
    out = []
    for share in shares:
        for low, high, value in BANDS:
            if low <= share < high:
                out.append(value)
                break
        else:
            out.append(share)
    return out


def of_next(shares):
    out = []
    for share in shares:
        out.append(next((value for low, high, value in BANDS if low <= share < high), share))  # noqa: PERF401  # the form is tested
    return out


@pytest.mark.parametrize(
    ("process", "words", "example"),
    [
        (returned, "A variable that is set before `break`, and returned after the loop, keeps it free", BOARDS[0]),
        (looked_up, r"next\(\(value for … if …\), default\) in place of the inner loop .* keeps it free", SHARES[0]),
    ],
)
@pytest.mark.usefixtures("no_blocks")
def test_the_form_fits_what_the_loop_does(process, words, example) -> None:
    with pytest.warns(UserWarning, match=f"the length is fixed to 3. {words}"):
        tracepack.trace(process, *example)


@pytest.mark.parametrize("case", [Case(set_before, *BOARDS), Case(of_next, *SHARES)], ids=["break", "next"])
def test_the_form_is_recorded_for_any_length(case) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(case)
    plain = {set_before: returned, of_next: looked_up}[case.process]
    assert all(plain(*given) == case.process(*given) for given in (case.example, *case.others))
