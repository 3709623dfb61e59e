"""`tracepack profile`: measures what each node of a run takes."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ...pipeline.optimizing.profile import COLUMNS
from ..example_feeds import example_feeds
from ..exit_codes import UsageError
from ..loading import Loading
from ..report import Report, Table


def profile(
    path: str, loading: Loading, sizes: Mapping[str, int], *, runs: int, threads: int | None, trace: str | None
) -> Report:
    """Profiles a run on the first golden example, or on random inputs where there are none.

    Raises:
        UsageError: no inputs can be made, or the trace cannot be written; TracepackError: as `load` and `Pipeline.run`.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    pipeline = loading.load(path)
    feeds, source = example_feeds(path, pipeline, sizes)
    found = pipeline.profile(feeds[0], runs)
    if trace is not None:
        try:
            found.save_trace(trace)
        except OSError as error:
            raise UsageError("cannot write the file", where=repr(trace), got=error.strerror) from error
    return Report({"file": path, "inputs": source, **found.to_dict()}, [Table(path, COLUMNS, found.rows())])
