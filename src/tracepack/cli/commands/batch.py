"""`tracepack batch`: runs a pipeline over the rows of a table, with a bar that shows how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

from ...batch import run
from ..loading import Loading
from ..report import Fields, Report

Progress = Callable[[int, "int | None", int], None]


def batch(file: str, source: str, target: str, loading: Loading, job: Mapping[str, Any]) -> Report:
    """Runs a job, or goes on with one.

    Raises:
        TracepackError: as `load` and `tracepack.batch.run`.
    """
    pipeline, start = loading.load(file), time.monotonic()
    with ExitStack() as stack:
        done = run(pipeline, source, target, **job, progress=_progress(stack))
    seconds = time.monotonic() - start
    rows = [("target", done.target), ("rows", f"{done.rows:,}"), ("bad rows", _errors(done.errors, done.errors_path))]
    rows += [("computed now", f"{done.computed:,} rows at {done.computed / seconds:,.0f} rows/s")]
    rows += [("batch size", str(done.batch_size))]
    return Report({**asdict(done), "seconds": seconds}, [Fields(rows)])


def _errors(count: int, path: str | None) -> str:
    return f"{count:,}, see {path}" if path else "0"


def _progress(stack: ExitStack) -> Progress:
    """Shows a bar on a terminal where rich is installed; nothing elsewhere."""
    if not sys.stderr.isatty():
        return lambda done, total, errors: None
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    except ImportError:
        return lambda done, total, errors: None
    text = TextColumn("{task.completed:,.0f} rows  {task.fields[rate]:,.0f} rows/s  {task.fields[errors]:,} errors")
    columns = (BarColumn(), TaskProgressColumn(), text, TimeRemainingColumn())
    bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task, start = bar.add_task("", total=None, rate=0.0, errors=0), time.monotonic()
    first: list[int] = []

    def show(done: int, total: int | None, errors: int) -> None:
        first[:] = first or [done]
        rate = (done - first[0]) / max(time.monotonic() - start, 1e-9)
        bar.update(task, completed=done, total=total, rate=rate, errors=errors)

    return show
