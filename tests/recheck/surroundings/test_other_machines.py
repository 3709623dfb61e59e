"""What a function reads of the machine, and by which it answers, is said with its line."""

from __future__ import annotations

import logging
import os
import platform
import socket
import sys
from os import getenv, getpid
from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack

X = torch.rand(3, 4)
LOG = logging.getLogger("machines")
FOLDER: list[Path] = []


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch) -> None:
    (tmp_path / "factor.txt").write_text("2")
    np.save(tmp_path / "mean.npy", np.float32(3.0))
    FOLDER[:] = [tmp_path]
    monkeypatch.setenv("TP_FACTOR", "2")
    monkeypatch.delenv("TP_ABSENT", raising=False)


def helper() -> float:
    return float(os.environ["TP_FACTOR"])


def from_file(x):
    with open(FOLDER[0] / "factor.txt") as file:
        return x * float(file.read())


READING = {
    "a variable": (lambda x: x * float(os.environ["TP_FACTOR"]), "the variable 'TP_FACTOR' of the environment"),
    "a variable in a helper": (lambda x: x * helper(), "the variable 'TP_FACTOR' of the environment"),
    "a variable by getenv": (
        lambda x: x * float(os.getenv("TP_FACTOR", "1")),
        "the variable 'TP_FACTOR' of the environment",
    ),
    "a variable by its name": (
        lambda x: x * float(getenv("TP_FACTOR", "1")),
        "the variable 'TP_FACTOR' of the environment",
    ),
    "one that is absent": (
        lambda x: x * 2 if "TP_ABSENT" in os.environ else x,
        "the variable 'TP_ABSENT' of the environment",
    ),
    "a default": (lambda x: x * int(os.environ.get("TP_ABSENT", "3")), "the variable 'TP_ABSENT' of the environment"),
    "a file": (from_file, "a file"),
    "a path": (lambda x: x * float((FOLDER[0] / "factor.txt").read_text()), "a file"),
    "a file that is there": (lambda x: x * 2 if os.path.exists(FOLDER[0] / "factor.txt") else x, "a file"),
    "a file of numpy": (lambda x: x * float(np.load(FOLDER[0] / "mean.npy")), "a file"),
    "a folder": (lambda x: x * len(os.listdir(FOLDER[0])), "a file"),
    "the process": (lambda x: x * (os.getpid() % 7 + 1), r"os.getpid\(\)"),
    "the process by its name": (lambda x: x * (getpid() % 7 + 1), r"os.getpid\(\)"),
    "processors": (lambda x: x * 2 if (os.cpu_count() or 1) > 1000 else x, r"os.cpu_count\(\)"),
    "the name of the machine": (lambda x: x * len(socket.gethostname()), r"socket.gethostname\(\)"),
    "the system": (lambda x: x * 2 if platform.system() == "Linux" else x, r"platform.system\(\)"),
    "the platform": (lambda x: x * 2 if sys.platform == "linux" else x, "sys.platform"),
}


@pytest.mark.parametrize("name", READING)
def test_what_is_read_of_the_machine_is_said_with_its_line(name) -> None:
    process, what = READING[name]
    with pytest.warns(UserWarning, match=rf"^test_other_machines.py:\d+ in .*reads {what}, by which it answers"):
        mod = tracepack.trace(process, X)
    assert torch.equal(mod(X), process(X))


def logs(x):
    LOG.info("%s on %s: %s", os.getpid(), socket.gethostname(), os.environ.get("TP_FACTOR"))
    if os.environ.get("TP_DEBUG"):
        LOG.warning("%s", (FOLDER[0] / "factor.txt").read_text())
    return x * 2


HARMLESS = {
    "a log": logs,
    "a text in no answer": lambda x: (os.environ.get("TP_FACTOR"), x * 2)[1],
    "a path that is not opened": lambda x: x * len(os.path.splitext("a.txt")),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_read_and_decides_nothing_is_not_said(name) -> None:
    mod = tracepack.trace(HARMLESS[name], X)
    assert torch.equal(mod(X), X * 2)


def test_a_trace_leaves_the_functions_of_the_machine_as_they_were() -> None:
    before = open, os.stat, os.getpid, getpid, os._Environ.__getitem__, platform.system, dict(os.environ)
    with pytest.warns(UserWarning, match="by which it answers"):
        tracepack.trace(READING["a variable in a helper"][0], X)
    assert before == (open, os.stat, os.getpid, getpid, os._Environ.__getitem__, platform.system, dict(os.environ))
