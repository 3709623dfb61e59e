"""Timing by ratios: the ways to compare take turns in one process, and the minimum over rounds counts.

On a shared machine a figure in microseconds means little; the ratio of two minima that were measured in turns does.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def minima(ways: dict[str, Callable[[], object]], *, calls: int = 2000, rounds: int = 25) -> dict[str, float]:
    """Seconds per call of each way: the least over rounds in which all ways take turns."""
    best = dict.fromkeys(ways, float("inf"))
    for way in ways.values():
        for _ in range(min(calls, 50)):
            way()
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            for _ in range(calls):
                way()
            best[name] = min(best[name], (time.perf_counter() - start) / calls)
    return best


def save(name: str, rows: list[dict[str, object]]) -> None:
    """Keeps the last results beside the benchmark."""
    import torch

    RESULTS.mkdir(exist_ok=True)
    about = {"torch": torch.__version__, "python": platform.python_version(), "processor": platform.machine()}
    (RESULTS / f"{name}.json").write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


def last(name: str) -> list[dict[str, object]]:
    """The rows of the last results; none where there are none."""
    path = RESULTS / f"{name}.json"
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


def show(rows: list[dict[str, object]]) -> None:
    """Prints rows: what, against what, the measured ratio or figure, and the limit it should stay under."""
    width = max(len(str(row["what"])) for row in rows)
    for row in rows:
        value, bound = float(str(row["value"])), "no limit"
        if row["limit"] is not None:
            limit = float(str(row["limit"]))
            bound = f"limit {limit:<6g} {'ok' if value <= limit else 'OVER'}"
        print(f"{row['what']:{width}s}  {value:9.3f} {row['unit']:6s} {bound:18s} {row.get('note', '')}")
