"""Runs a pipeline over tables: Parquet, CSV or JSON lines in, Parquet out, on one machine or on a cluster.

    tracepack.batch.run("scores.tpk", "rows/", "scored")

Needs the extra ``batch`` (pyarrow); the engine ``"ray"`` needs the extra ``ray``, too.
"""

from .job import Summary as Summary
from .job import run as run

__all__ = ["Summary", "run"]
