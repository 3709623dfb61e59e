"""`run`: a pipeline over the rows of a source, on one machine or on a cluster."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ..ops.graph.errors import BatchError, MissingExtraError

if TYPE_CHECKING:
    from ..pipeline.pipeline import Pipeline

ENGINES = ("local", "ray")
Progress = Callable[[int, "int | None", int], None]
"""Called with the rows that are done, all rows where that is known, and the bad rows."""


@dataclass(frozen=True)
class Summary:
    """What a job did.

    Attributes:
        target: the folder with the answers.
        rows: in the target, those of an earlier start among them.
        errors: the bad rows.
        errors_path: the table of bad rows; None where there are none.
        computed: the rows that this start computed.
        batch_size: the rows of a run.
    """

    target: str
    rows: int
    errors: int
    errors_path: str | None
    computed: int
    batch_size: int


def run(
    file: Any,
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    engine: str = "local",
    batch_size: int | None = None,
    map: Mapping[str, str | Sequence[str]] | None = None,
    keep: Sequence[str] | None = None,
    id: str | None = None,
    part_rows: int | None = None,
    progress: Progress | None = None,
    address: str | None = None,
    workers: int | None = None,
    num_gpus: float = 0,
) -> Summary:
    """Runs a pipeline over a table, and writes the answers beside the columns of the source.

    The target is a folder of Parquet files in the order of the source. A job that was ended at any moment goes on
    where it stopped when it is started again in the same way. Memory is bounded by a few parts, whatever the size.

    Args:
        file: the path of an archive, or a pipeline; a pipeline keeps the options that it was loaded with.
        source: a Parquet file, CSV, JSON lines, or a folder of files of one of these.
        target: the folder to write; bad rows go to ``TARGET.errors.parquet`` with id, file, row, error and line.
        engine: ``"local"``, or ``"ray"`` for a cluster.
        batch_size: rows of a run; by default it is measured. 1 runs each row alone.
        map: the column of an input that is called otherwise; a list of columns becomes the items of each row.
        keep: the columns of the source that are kept; all by default.
        id: the column that names rows in the table of errors; it is always kept.
        part_rows: the rows of one file of the target, which is what a crash costs; by default 64 MiB of the source.
        progress: called after each part with the rows that are done, all rows or None, and the bad rows.
        address: of the Ray cluster; by default one is started on this machine.
        workers: the processes of the engine ``"ray"``; by default one for each CPU of the cluster.
        num_gpus: the GPUs of each of them.

    Raises:
        BatchError: the source cannot be read, an input has no column, the pipeline cannot take rows together, or the
            target belongs to another job.
        MissingExtraError: pyarrow or ray is not installed. Others as `load`.

    Example:
        >>> import tempfile, torch, tracepack
        >>> import pyarrow, pyarrow.parquet
        >>> folder = tempfile.mkdtemp()
        >>> table = pyarrow.table({"x": pyarrow.array([1.0, 2.0], pyarrow.float32())})
        >>> pyarrow.parquet.write_table(table, f"{folder}/rows.parquet")
        >>> mod = tracepack.trace(lambda x: {"twice": x * 2}, torch.rand(3))
        >>> done = tracepack.batch.run(mod, f"{folder}/rows.parquet", f"{folder}/out")
        >>> pyarrow.parquet.read_table(done.target).to_pylist()
        [{'x': 1.0, 'twice': 2.0}, {'x': 2.0, 'twice': 4.0}]
    """
    _check(engine, batch_size, part_rows, workers)
    _require("pyarrow", "batch")
    from .local_engine import run_parts
    from .setting import prepared

    pipeline = _pipeline(file)
    setting = prepared(pipeline, pipeline_key(pipeline), source, target, map or {}, keep, id)
    with setting.target.owned():
        plan = setting.plan(batch_size, part_rows, apart=engine == "ray")
        told = progress or _silent
        if engine == "ray":
            _require("ray", "ray")
            from .ray_engine import run_on_ray

            computed = run_on_ray(plan, told, address=address, workers=workers, num_gpus=num_gpus)
        else:
            computed = run_parts(plan, told)
        rows, errors = setting.target.finish()
    path = str(setting.target.errors_path) if errors else None
    return Summary(str(setting.target.path), rows, errors, path, computed, plan.work.batch)


def _check(engine: str, *counts: int | None) -> None:
    if engine not in ENGINES:
        raise BatchError("unknown engine", got=repr(engine), expected=f"one of {list(ENGINES)}")
    for count in counts:
        if count is not None and (type(count) is not int or count < 1):
            raise BatchError("no number of rows or workers", got=repr(count), expected="a positive whole number")


def _require(module: str, extra: str) -> None:
    from importlib import import_module

    try:
        import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"batch jobs need the package {module!r}", fix=f"Install it with: pip install 'tracepack[{extra}]'"
        ) from error


def _pipeline(file: Any) -> Pipeline:
    from ..pipeline.load import load
    from ..pipeline.pipeline import Pipeline

    pipeline = file if isinstance(file, Pipeline) else load(file)
    if pipeline.stateful:
        raise BatchError(
            "the pipeline has state, so that an answer would depend on the rows before",
            where=f"pipeline {pipeline.name!r}",
        )
    return pipeline


def pipeline_key(pipeline: Pipeline) -> str:
    """What tells a pipeline from others: the hash of its archive."""
    from ..pipeline.opening import carried

    source, digest, terms, _ = carried(pipeline)
    if digest is None:
        from ..serialization.container.archive import Archive

        digest = hashlib.sha256(Archive(source).manifest_bytes()).hexdigest()
    return digest + _terms_text(asdict(terms))


def _terms_text(terms: Mapping[str, Any]) -> str:
    """The options of loading that change answers."""
    changed = {name: terms[name] for name in ("device", "gpu_ops", "cpu_ops", "convert") if terms[name]}
    return "" if changed in ({"gpu_ops": "gpu", "cpu_ops": "cpu"}, {}) else f" {sorted(changed.items())}"


def _silent(done: int, total: int | None, errors: int) -> None:
    """Shows no progress."""
