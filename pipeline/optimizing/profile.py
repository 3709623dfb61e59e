"""The profile of a pipeline: what each node took, as a table and as a trace for Perfetto."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..running.timeline import Step
from .findings import duration, table

COLUMNS = ("node", "op", "engine", "time>", "share>", "memory>", "outputs", "line")


@dataclass(frozen=True)
class Profile:
    """What `Pipeline.profile` measured; `print` shows it as a table.

    Attributes:
        name: of the pipeline.
        steps: the nodes in the order in which they ran; each took the least seconds of all runs.
        runs: how many runs were measured.
    """

    name: str
    steps: tuple[Step, ...]
    runs: int

    @property
    def seconds(self) -> float:
        """The time of all nodes together."""
        return sum(step.seconds for step in self.steps)

    def rows(self) -> list[tuple[str, ...]]:
        """The rows of the table under `COLUMNS`, the slowest node first."""
        total = self.seconds or 1.0
        return [
            (
                step.name, step.op, step.engine, duration(step.seconds), f"{100 * step.seconds / total:.1f} %",
                str(step.memory), step.outputs, step.line,
            )
            for step in sorted(self.steps, key=lambda step: -step.seconds)
        ]  # fmt: skip

    def __str__(self) -> str:
        return table(COLUMNS, self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as ``tracepack profile --json`` prints it."""
        steps = [asdict(step) for step in self.steps]
        return {"name": self.name, "runs": self.runs, "seconds": self.seconds, "steps": steps}

    def chrome_trace(self) -> dict[str, Any]:
        """The run as events that Perfetto and chrome://tracing open."""
        events = [_event(step) for step in self.steps]
        return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"pipeline": self.name}}

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes `chrome_trace` as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.chrome_trace(), file)


def _event(step: Step) -> dict[str, Any]:
    return {
        "name": step.name, "cat": step.op or "pipeline", "ph": "X", "ts": step.start * 1e6, "dur": step.seconds * 1e6,
        "pid": 1, "tid": 1,
        "args": {"engine": step.engine, "outputs": step.outputs, "bytes": step.memory, "line": step.line},
    }  # fmt: skip


def fastest(rounds: Sequence[Sequence[Step]]) -> tuple[Step, ...]:
    """The steps of the last run, each with its least time over all runs, one after the other."""
    found: list[Step] = []
    at = 0.0
    for each in zip(*rounds, strict=True):
        least = min(step.seconds for step in each)
        found.append(Step(**{**asdict(each[-1]), "start": at, "seconds": least}))
        at += least
    return tuple(found)
