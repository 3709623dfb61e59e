"""`tracepack optimize`: chooses engines for a file by measurement, and writes it anew with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from ...pipeline.optimizing.findings import COLUMNS
from ..example_feeds import example_feeds
from ..loading import Loading
from ..report import Block, Report, Table, Text


@dataclass(frozen=True)
class Wanted:
    """What is searched for.

    Attributes:
        engines: the names of those to try; empty for all.
        tolerance: by how much outputs may differ; None for that of rounding.
        seconds: the time for the search.
        threads: of torch; None for torch's choice.
        precision: a lower one to try as well; None for none.
    """

    engines: Sequence[str] = ()
    tolerance: float | None = None
    seconds: float = 60.0
    threads: int | None = None
    precision: str | None = None


def optimize(path: str, out: str, loading: Loading, sizes: Mapping[str, int], wanted: Wanted) -> Report:
    """Searches on the golden example inputs, or on random ones where there are none, and writes the file.

    Raises:
        UsageError: no inputs can be made; TracepackError: as `load`, `Pipeline.optimize` and `Pipeline.save`.
    """
    pipeline = loading.load(path)
    feeds, source = example_feeds(path, pipeline, sizes)
    with ExitStack() as stack:
        findings = pipeline.optimize(
            feeds, tolerance=wanted.tolerance, engines=list(wanted.engines) or None, seconds=wanted.seconds,
            threads=wanted.threads, precision=wanted.precision, progress=_progress(stack),
        )  # fmt: skip
    pipeline.save(out)
    blocks: list[Block] = [Table("engines", COLUMNS, findings.rows()), Text(findings.summary()), Text(f"{out} written")]
    return Report({"file": path, "out": out, "inputs": source, **findings.to_dict()}, blocks)


def _progress(stack: ExitStack) -> Callable[[float, str], None]:
    """Shows a bar on a terminal where rich is installed; nothing elsewhere."""
    if not sys.stderr.isatty():
        return lambda done, what: None
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return lambda done, what: None
    bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
    task = bar.add_task("", total=1.0)
    return lambda done, what: bar.update(task, completed=done, description=what)
