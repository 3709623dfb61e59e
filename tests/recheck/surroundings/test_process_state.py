"""State that no object of the user's holds: settings, loggers, registries, classes put in place, files."""

from __future__ import annotations

import ctypes
import functools
import gc
import hashlib
import inspect
import logging
import os
import sqlite3
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

LIMIT = 40  # calls: more than a trace makes
LOGGER = logging.getLogger("tests.process_state")
SEEDED = torch.Generator().manual_seed(0)
DIGEST = hashlib.md5(usedforsecurity=False)
DEPTH = sys.getrecursionlimit()
PARTIAL = functools.partial(dict, n=0)
CELL = types.CellType(0)
BITS, SEEDS = np.random.PCG64(1), np.random.SeedSequence(1)
CALLS: list[int] = []
DATABASE = sqlite3.connect(":memory:")
FILES: dict[str, Path] = {}


def tick() -> int:
    CALLS.append(1)
    return len(CALLS)


DATABASE.create_function("tick", 0, tick)
TICK = ctypes.CFUNCTYPE(ctypes.c_int)(tick)


class Written:
    "0"


class Replaced:
    n = 0


CLASSES = {"kind": Replaced}
FUNCTIONS = {"each": lambda: 0}


@functools.singledispatch
def chosen(_: Any) -> int:
    return 0


def of_class() -> int:
    Written.__doc__ = str(int(Written.__doc__ or "") + 1)
    return int(Written.__doc__)


def of_function() -> int:
    """0"""
    of_function.__doc__ = str(int(of_function.__doc__ or "") + 1)
    return int(of_function.__doc__)


def of_path() -> int:
    sys.path.append("tests_of_tracepack")
    return sys.path.count("tests_of_tracepack")


def of_warnings() -> int:
    # It is typed as a sequence.
    warnings.filters.append(("ignore", None, Warning, "tests_of_tracepack", 0))  # type: ignore[attr-defined]
    return sum(each[3] == "tests_of_tracepack" for each in warnings.filters)


def of_handlers() -> int:
    LOGGER.addHandler(logging.NullHandler())
    return len(LOGGER.handlers)


def of_recursion() -> int:
    sys.setrecursionlimit(sys.getrecursionlimit() + 1)
    return sys.getrecursionlimit() - DEPTH


def of_collection() -> int:
    first, *others = gc.get_threshold()
    gc.set_threshold(first + 1, *others)
    return first - 650


def of_printing() -> int:
    np.set_printoptions(precision=np.get_printoptions()["precision"] + 1)
    return int(np.get_printoptions()["precision"])


def of_seed() -> int:
    SEEDED.manual_seed(SEEDED.initial_seed() + 1)
    return SEEDED.initial_seed()


def of_digest() -> int:
    DIGEST.update(b"a")
    return DIGEST.digest()[0] - 200


def of_frame() -> int:
    held: Any = inspect.currentframe()
    held.f_globals["FRAMED"] = held.f_globals.get("FRAMED", 0) + 1
    return int(held.f_globals["FRAMED"])


def of_classes() -> int:
    CLASSES["kind"] = type("Replaced", (CLASSES["kind"],), {"n": CLASSES["kind"].n + 1})
    return CLASSES["kind"].n


def of_functions() -> int:
    n = FUNCTIONS["each"]() + 1
    FUNCTIONS["each"] = lambda: n
    return n


def of_registry() -> int:
    n = chosen(1) + 1
    chosen.register(int, lambda _: n)
    return n


def of_keywords() -> int:
    PARTIAL.keywords["n"] += 1
    return int(PARTIAL.keywords["n"])


def of_cell() -> int:
    CELL.cell_contents += 1
    return int(CELL.cell_contents)


def of_children() -> int:
    SEEDS.spawn(1)
    return SEEDS.n_children_spawned


def of_text() -> int:
    n = int(FILES["text"].read_text()) + 1
    FILES["text"].write_text(str(n))
    return n


def of_length() -> int:
    with FILES["log"].open("a") as file:
        file.write("x")
    return FILES["log"].stat().st_size


def of_folder() -> int:
    n = len(os.listdir(FILES["folder"]))
    (FILES["folder"] / str(n)).mkdir()
    return n


def of_array() -> int:
    n = int(np.load(FILES["array"])) + 1
    np.save(FILES["array"], n)
    return n


COUNTING = [
    of_class, of_function, of_path, of_warnings, of_handlers, of_recursion, of_collection, of_printing, of_seed,
    of_digest, of_frame, of_classes, of_functions, of_registry, of_keywords, of_cell, of_children, of_text, of_length,
    of_folder, of_array, lambda: int(BITS.random_raw() % 64), lambda: DATABASE.execute("select tick()").fetchone()[0],
    lambda: TICK(),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _as_it_was(tmp_path, monkeypatch):
    """Files to count in; what a refused trace may have moved is put back."""
    FILES.update(text=tmp_path / "n.txt", log=tmp_path / "log", folder=tmp_path / "all", array=tmp_path / "n.npy")
    FILES["text"].write_text("0")
    FILES["folder"].mkdir()
    np.save(FILES["array"], 0)
    depth, thresholds, prints = sys.getrecursionlimit(), gc.get_threshold(), np.get_printoptions()
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.setrecursionlimit(depth)
    gc.set_threshold(*thresholds)
    np.set_printoptions(**prints)
    LOGGER.handlers.clear()


@pytest.mark.parametrize("count", COUNTING)
def test_a_count_that_nothing_of_the_users_holds_is_refused(count) -> None:
    def process(xs):
        return -1 if count() > LIMIT else len(xs)

    with pytest.raises(tracepack.RecordError, match="keeps state in "):
        tracepack.trace(process, [3, 1, 2])


def written_and_read(xs):
    path = FILES["folder"] / "now.txt"
    path.write_text(str(len(xs)))
    return int(path.read_text())


def logged(xs):
    FILES["folder"].mkdir(exist_ok=True)
    with FILES["log"].open("a") as file:
        file.write("x")
    LOGGER.info("%s", len(xs))
    return len(xs)


def printed(xs):
    with np.printoptions(precision=3):
        LOGGER.info("%s", xs)
    return len(xs)


@pytest.mark.filterwarnings("ignore:.*reads a file, by which it answers")
@pytest.mark.parametrize("process", [written_and_read, logged, printed])
def test_what_is_written_anew_in_each_call_is_no_state(process) -> None:
    mod = tracepack.trace(process, [3, 1, 2])
    assert mod([3, 1, 2]) == process([3, 1, 2]) == 3
