"""What `optimize` found, as data, as a table for people, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...ops.graph.errors import one_line


@dataclass(frozen=True)
class Attempt:
    """An engine tried on a region.

    Attributes:
        region: ``"pipeline"``, ``"op 'cell'"``, or ``"nodes 3-17"``.
        engine: its name.
        before: seconds that the flat function takes on the region; None where it was not measured.
        after: seconds that the engine takes; None where it was not measured.
        difference: the largest difference of an output of the pipeline; None where it was not measured.
        error: the largest relative error of one: the norm of the difference to that of the output.
        size: bytes that the artefact adds to the file, and about as many to memory; None where there is none.
        chosen: whether the engine runs the region from now on.
        reason: why it does not; empty where it does.
    """

    region: str
    engine: str
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    error: float | None = None
    size: int | None = None
    chosen: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Findings:
    """The report of `Pipeline.optimize`; `print` shows it as a table.

    Attributes:
        attempts: every engine on every region, those that were chosen first.
        before: seconds that a run took before, the least of many, over all examples.
        after: seconds that it takes now.
        difference: the largest difference of an output from that of the flat function; 0 where nothing was chosen.
        error: the largest relative error of one: the norm of the difference to that of the output.
        cases: the number of inputs on which outputs were compared: the examples and those beside them.
        threads: of torch and of the engines.
        seconds: the time that it took.
        finished: whether everything was tried; not where the time was up, or after Ctrl-C.
    """

    attempts: tuple[Attempt, ...]
    before: float
    after: float
    difference: float
    error: float
    cases: int
    threads: int
    seconds: float
    finished: bool

    @property
    def engines(self) -> dict[str, str]:
        """The engines that were chosen, by region."""
        return {each.region: each.engine for each in self.attempts if each.chosen}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``tracepack optimize --json`` prints it."""
        return {**asdict(self), "attempts": [asdict(each) for each in self.attempts], "engines": self.engines}

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table, under `COLUMNS`."""
        return [_row(each) for each in self.attempts]

    def summary(self) -> str:
        """The result in one line."""
        ratio = self.after / self.before if self.before else 1.0
        chosen = ", ".join(f"{region}: {engine}" for region, engine in self.engines.items()) or "aten everywhere"
        ended = "" if self.finished else "; ended before everything was tried"
        return (
            f"{chosen}; a run takes {duration(self.after)}, before {duration(self.before)} ({ratio:.2f}); "
            f"outputs differ by at most {self.difference:.2g} (relative error {self.error:.2g}) "
            f"on {self.cases} inputs; {self.threads} threads{ended}"
        )

    def __str__(self) -> str:
        return "\n".join([*([table(COLUMNS, self.rows())] if self.attempts else []), self.summary()])


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under their columns as text; columns whose name ends in ``>`` are right-aligned."""
    lines = [[name.rstrip(">") for name in columns], *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if name.endswith(">") else cell.ljust(width)
            for name, cell, width in zip(columns, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


COLUMNS = ("region", "engine", "before>", "after>", "ratio>", "difference>", "error>", "artefact>", "result")


def _row(attempt: Attempt) -> tuple[str, ...]:
    before, after = attempt.before, attempt.after
    return (
        attempt.region,
        attempt.engine,
        "" if before is None else duration(before),
        "" if after is None else duration(after),
        "" if before is None or after is None else f"{after / before:.2f}",
        "" if attempt.difference is None else f"{attempt.difference:.2g}",
        "" if attempt.error is None else f"{attempt.error:.2g}",
        "" if attempt.size is None else f"{attempt.size / 1e6:.2f} MB",
        "chosen" if attempt.chosen else attempt.reason,
    )


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"
