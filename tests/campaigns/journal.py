"""What a campaign has found so far, kept on disk, so that one that was stopped goes on where it stood.

A file of JSON lines for each campaign, in a folder that git ignores. The folder is named by a digest of the product's
sources, of the campaigns' and of torch's version: after a change of any, all is run anew, and a report never mixes
what two states of the code answered.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".campaigns"
SOURCES = ("ops", "pipeline", "serialization", "src/tracepack", "tests/campaigns")

Record = dict[str, Any]


@cache
def state_of_the_code() -> str:
    """The digest that names the folder."""
    found = hashlib.sha256(f"{torch.__version__} {platform.python_version()}".encode())
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*")):
            if path.suffix in (".py", ".txt"):
                found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


class Journal:
    """The records of one campaign by their keys.

    Args:
        name: the campaign, and what its records depend on besides the code.
        fresh: whether to forget what is there.
    """

    def __init__(self, name: str, fresh: bool = False) -> None:
        self.path = FOLDER / state_of_the_code() / f"{name}.jsonl"
        if fresh:
            self.path.unlink(missing_ok=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.records: dict[str, Record] = dict(filter(None, map(_entry, lines)))

    def add(self, key: str, record: Record) -> None:
        """Keeps one record, at once."""
        self.records[key] = record
        with self.path.open("a") as file:
            file.write("\n" + json.dumps([key, record]))  # a line that was cut off before ends here

    def complete(self, keys: Sequence[Any], find: Callable[[Any], Record], jobs: int) -> Iterator[Record]:
        """The record of every key, in order; those that are not here yet are found by `jobs` processes."""
        missing = [key for key in keys if str(key) not in self.records]
        for key, record in found_by(missing, find, jobs):
            self.add(str(key), record)
        return (self.records[str(key)] for key in keys)


def _entry(line: str) -> tuple[str, Record] | None:
    """A line of the file; None for one that was cut off."""
    try:
        key, record = json.loads(line)
    except ValueError:
        return None
    return key, record


def found_by(keys: Sequence[Any], find: Callable[[Any], Record], jobs: int) -> Iterator[tuple[Any, Record]]:
    """Keys with what `find` says of them, as they are done: in this process if there is one job."""
    if jobs == 1:
        yield from ((key, find(key)) for key in keys)
    elif keys:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_quiet) as pool:
            waiting = {pool.submit(find, key): key for key in keys}
            yield from ((waiting[done], done.result()) for done in as_completed(waiting))


def of_seeds(
    name: str, full: int, part: int, share: int | None, find: Callable[[Any], Record], jobs: int, fresh: bool
) -> list[Record]:
    """What `find` says of the seeds of a full run, in its journal; of a share of other seeds where one is asked for.

    Args:
        name: of the journal.
        full: how many seeds a full run has.
        part: how many a share has.
        share: the number of the share; None for a full run.
        find: says what is found of a seed.
        jobs: how many processes a full run has.
        fresh: whether it begins anew.
    """
    if share is None:
        return list(Journal(name, fresh).complete(range(full), find, jobs))
    first = full + share * part
    return [record for _, record in found_by(range(first, first + part), find, 1)]


def _quiet() -> None:
    import warnings

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
