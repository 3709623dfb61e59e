"""Timing by ratios: the ways to compare take turns in one process, and the minimum over rounds counts.

On a shared machine a figure in microseconds means little; the ratio of two minima that were measured in turns does.
"""

from __future__ import annotations

import json
import platform
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

RESULTS = Path(__file__).parent / "results"


Way = TypeVar("Way")


def turns(
    ways: Mapping[Way, Callable[[], object]], *, rounds: int, seconds: float, rest: float = 0.0
) -> dict[Way, list[float]]:
    """Seconds per call of each way in each round, in which all take a turn, in an order that changes.

    A turn takes about three milliseconds, by the least of several calls; some calls before it, which do not count,
    bring back what the others have pushed out of the caches. A way whose calls take longer than a turn has one call.

    Args:
        ways: what to call.
        rounds: how many rounds there are at most; five are made in any case.
        seconds: after which no further round begins.
        rest: seconds of sleep before a turn, in which threads of the others that spin come to their end.
    """
    calls = {name: max(1, min(200, int(_TURN / min(_warmed(way))))) for name, way in ways.items()}
    found: dict[Way, list[float]] = {name: [] for name in ways}
    order, chance, until = list(ways), random.Random(0), time.perf_counter() + seconds
    for number in range(rounds):
        if number >= _LEAST_ROUNDS and time.perf_counter() > until:
            break
        chance.shuffle(order)  # whom a way follows changes, too
        for name in order:
            way, count = ways[name], calls[name]
            time.sleep(rest)
            for _ in range(1 + count // 10 if count > 1 else 0):
                way()
            start = time.perf_counter()
            for _ in range(count):
                way()
            found[name].append((time.perf_counter() - start) / count)
    return found


_TURN, _LEAST_ROUNDS = 3e-3, 5
_TRIALS, _MOST_SECONDS = 20, 0.5  # to warm a way, and to find out how long a call of it takes


def _warmed(way: Callable[[], object]) -> list[float]:
    found: list[float] = []
    until = time.perf_counter() + _MOST_SECONDS
    while len(found) < _TRIALS and (len(found) < 2 or time.perf_counter() < until):
        found.append(timed(way))
    return found


def timed(way: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


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
