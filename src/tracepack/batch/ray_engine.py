"""The engine `ray`: parts as items of a Ray Data set, computed by actors that write them where the local engine would.

An actor reads its part itself, and the part is the unit of retries, so that no reader competes with the actors and a
worker that dies costs one part. What Ray does otherwise is bounded here: retries, restarts, and waiting for CPUs that
the cluster does not have. A part whose worker died is computed in a process of its own, which finds the row.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

import ray

from ..ops.graph.errors import BatchError
from .setting import Plan, Progress

_RESTARTS = 2


def run_on_ray(plan: Plan, progress: Progress, *, address: str | None, workers: int | None, num_gpus: float) -> int:
    """Computes and writes all parts that are not done, and returns how many rows they had.

    Raises:
        BatchError: the cluster lacks what the workers need, a file cannot be read, or a worker died again and again.
    """
    items = list(_items(plan))
    if not items:
        return 0
    with _cluster(address):
        count = _workers(workers, num_gpus, len(items))
        with warnings.catch_warnings():  # the only way to bound retries is to go in Ray 2.64
            warnings.filterwarnings("ignore", "`ray_remote_args` is deprecated")
            found = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
                PartWorker, fn_constructor_args=(plan,), batch_size=1, compute=ray.data.ActorPoolStrategy(size=count),
                num_cpus=1, num_gpus=num_gpus or None, max_restarts=_RESTARTS, max_task_retries=_RESTARTS,
            )  # fmt: skip
        return _followed(plan, found, progress)


def _followed(plan: Plan, found: Any, progress: Progress) -> int:
    total, computed, errors = plan.source.total(), 0, 0
    try:
        for row in found.iter_rows():
            if row["refusal"]:
                raise BatchError(**json.loads(row["refusal"]))
            computed += row["rows"]
            errors += row["errors"]
            progress(computed, total, errors)
    except ray.exceptions.RayError as error:
        raise BatchError(
            "a worker of Ray failed", got=str(error).strip().splitlines()[-1][:300],
            fix="Start the job again: it goes on where it stopped.",
        ) from error  # fmt: skip
    return computed


def _items(plan: Plan) -> Iterator[dict[str, Any]]:
    """What workers take: a part of a Parquet file, or a text file, which can be read from its beginning only."""
    for file, each in enumerate(plan.source.files):
        count = plan.source.count(file)
        if count is None:
            yield {"file": file, "part": -1, "name": each.name}
            continue
        for part in range(-(-count // plan.part_rows)):
            if not plan.target.is_done(file, part):
                yield {"file": file, "part": part, "name": each.name}


@contextlib.contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """A context with a connection to a cluster: one that the caller has, the one at the address, or a new one."""
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    if ray.is_initialized():
        yield
        return
    ray.init(address=address, logging_level=logging.WARNING, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()


def _workers(wanted: int | None, num_gpus: float, items: int) -> int:
    """How many workers there are.

    Raises:
        BatchError: the cluster has no place for them: their actors would wait for ever.
    """
    there = ray.cluster_resources()
    cpus, gpus = int(there.get("CPU", 0)), there.get("GPU", 0)
    most = min(cpus, int(gpus / num_gpus) if num_gpus else cpus)
    if most < max(wanted or 1, 1):
        needed = f"{wanted or 1} workers with a CPU" + (f" and {num_gpus:g} GPUs each" if num_gpus else "")
        raise BatchError(
            "the cluster has no place for the workers", got=f"{cpus} CPUs and {gpus:g} GPUs", expected=needed,
            fix="Ask for fewer: workers=…, --workers.",
        )  # fmt: skip
    return min(wanted or most, items)


class PartWorker:
    """An actor that computes parts.

    Args:
        plan: the job; its pipeline comes by pickle.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Computes and writes the parts of one item; an error of ours is a part of the answer, since Ray hides it."""
        try:
            return {**self._answer(batch), "refusal": [""]}
        except BatchError as error:
            parts = {name: getattr(error, name) for name in ("what", "where", "got", "expected", "fix")}
            said = json.dumps({name: None if part is None else str(part) for name, part in parts.items()})
            return {"rows": [0], "errors": [0], "worker": [os.getpid()], "refusal": [said]}

    def _answer(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        plan, file, wanted = self._plan, int(batch["file"][0]), int(batch["part"][0])
        rows = errors = 0

        def is_done(number: int) -> bool:
            return (wanted >= 0 and number != wanted) or plan.target.is_done(file, number)

        for part in plan.parts(file, is_done):
            found, bad = plan.do(part)
            plan.write(part, found, bad)
            rows, errors = rows + found.num_rows + len(bad), errors + len(bad)
        plan.check_last()
        return {"rows": [rows], "errors": [errors], "worker": [os.getpid()]}
