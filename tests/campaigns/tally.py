"""Tally: what a campaign found, one outcome for each case, in the form that `docs/coverage.md` shows.

Every campaign is a module with `run(share: int | None) -> Tally`. None is the full run; `share=k` is a part that fits
the time of a CI job, chosen by k, so that successive numbers go through the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

RIGHT = "right"  # the same as eager on every sample that was tried
REFUSED = "refused"  # a TracepackError that says why
ERROR = "error"  # any other exception: a bug
WRONG = "wrong"  # another answer than eager: a bug
OUTCOMES = (RIGHT, REFUSED, ERROR, WRONG)


@dataclass(frozen=True)
class Case:
    """One case of a campaign.

    Attributes:
        name: what the table shows: ``"nn.functional.gelu"``, ``"bert"``.
        outcome: one of OUTCOMES.
        reason: for anything but RIGHT, one line that says why.
        detail: what helps to repeat it: a dtype, a sample, a seed; may be empty.
    """

    name: str
    outcome: str
    reason: str = ""
    detail: str = ""


@dataclass
class Tally:
    """The result of one campaign.

    Attributes:
        title: the heading of its table, such as ``"Operator database"``.
        unit: what a case is: ``"operators"``, ``"functions"``, ``"architectures"``.
        cases: the outcomes.
        notes: sentences for the report: how many samples, which dtypes.
        full: whether it went through everything.
        tried: how often a function was traced, saved, loaded and compared; 0 where that is not counted.
        seconds: processor time, of all processes together; 0 where that is not counted.
    """

    title: str
    unit: str
    cases: list[Case] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    full: bool = True
    tried: int = 0
    seconds: float = 0

    def add(self, name: str, outcome: str, reason: str = "", detail: str = "") -> None:
        """Adds one case."""
        assert outcome in OUTCOMES, outcome
        self.cases.append(Case(name, outcome, " ".join(reason.split()), detail))

    def add_records(self, records: Iterable[dict[str, Any]]) -> None:
        """Adds the cases of a journal, and what they cost."""
        for record in records:
            self.add(record["name"], record["outcome"], record["reason"], record["detail"])
            self.tried += record["tried"]
            self.seconds += record["seconds"]

    def counts(self) -> dict[str, int]:
        """How many cases ended in each outcome."""
        found = Counter(case.outcome for case in self.cases)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    def bugs(self) -> list[Case]:
        """Cases that must not exist."""
        return [case for case in self.cases if case.outcome in (ERROR, WRONG)]
