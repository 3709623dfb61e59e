"""Conditions that must hold in every run, or must not: of assertions, and of errors that the function raises."""

from __future__ import annotations

from typing import Any

from ....proxies.scalars import TracedNumber
from ....rules.assertions import required
from ..operations import HandedOver, active, negated, truth_of


def asserted(found: Any) -> Any:
    """A condition that must hold in every run."""
    recorder = active()
    found = found if recorder is None else truth_of(recorder, found)
    if recorder is None or not issubclass(type(found), TracedNumber):
        return found
    return required(recorder, found, "an assertion of the function fails", "AssertionError")


def _refuted(found: Any) -> Any:
    """A condition that must not hold in any run."""
    recorder = active()
    found = found if recorder is None else truth_of(recorder, found)
    return not asserted(negated(found)) if issubclass(type(found), TracedNumber) else found


ASSERTED, REFUTED = (HandedOver(function, asks_truth=True, keeps_sides=True) for function in (asserted, _refuted))


def raising(error: str, on: bool) -> HandedOver:
    """What takes a condition that data decides, on the truth or falsehood of which the function raises an error.

    It is a check of every run.
    """

    def passed(found: Any) -> Any:
        recorder = active()
        if recorder is None:
            return found
        found = truth_of(recorder, found)
        decided = issubclass(type(found), TracedNumber) and (found.varies or bool(recorder.rounds.open))
        if not decided or bool(found.concrete) is on:
            return found
        found = recorder.scalar("not_", found) if on else found
        required(recorder, found, f"the function raises {error} then", error)
        return not on

    return HandedOver(passed, asks_truth=True, keeps_sides=True)
