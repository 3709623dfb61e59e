"""The session of a file begins in a thread while the file is read: after the checks, and for what can be used alone."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import tracepack
from tests.engines.opening.test_archive import forged
from tests.engines.opening.test_lent_tensors import on_onnxruntime
from tracepack.ops.engines import onnxruntime as engine
from tracepack.ops.engines.memory import early_start
from tracepack.serialization.container.archive import Archive
from tracepack.serialization.container.schema import WEIGHTS

FEED = {"x": torch.arange(18.0).reshape(3, 6) / 18}
THREAD = "tracepack engine"


@pytest.fixture(scope="module")
def saved() -> bytes:
    """A file with a network on ONNX Runtime."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))
    file = io.BytesIO()
    on_onnxruntime(lambda op: lambda x: op(x), model, FEED).save(file)
    return file.getvalue()


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """For each session that is made, the thread that makes it, and the threads that it will have."""
    found, make = [], engine.onnxruntime.InferenceSession

    def noted(model, options, **given):
        found.append((threading.current_thread().name, options.intra_op_num_threads))
        return make(model, options, **given)

    monkeypatch.setattr(engine.onnxruntime, "InferenceSession", noted)
    monkeypatch.setattr(early_start, "_cores", lambda: 2)
    before = torch.get_num_threads()
    yield found
    torch.set_num_threads(before)


def loaded(data: bytes) -> tracepack.Pipeline:
    mod = tracepack.load(data, trust=True)
    assert mod.engines == {"pipeline": "onnxruntime"}
    return mod


def answers(mod: tracepack.Pipeline, data: bytes) -> None:
    """That a pipeline answers as the flat function of its file."""
    for rows in (3, 5):
        feed = {"x": torch.randn(rows, 6)}
        torch.testing.assert_close(mod.run(feed), tracepack.load(data, grad=True).run(feed).detach())


def test_the_first_call_takes_the_session_that_a_thread_made(saved, sessions) -> None:
    answers(loaded(saved), saved)
    assert sessions == [(THREAD, 1)]


def test_a_file_without_trust_starts_nothing(saved, sessions) -> None:
    with pytest.warns(UserWarning, match="its engines need trust=True"):
        tracepack.load(saved)
    tracepack.load(saved, trust=True, grad=True)
    with pytest.warns(UserWarning, match="its engines keep to no budget"):
        tracepack.load(saved, trust=True, budget={"seconds": 9.0})
    assert sessions == []


def test_on_one_core_the_first_call_makes_the_session(saved, sessions, monkeypatch) -> None:
    monkeypatch.setattr(early_start, "_cores", lambda: 1)
    mod = loaded(saved)
    assert sessions == []
    answers(mod, saved)
    assert sessions == [("MainThread", 1)]


def test_an_engine_that_cannot_run_here_is_not_started(saved, sessions) -> None:
    with pytest.warns(UserWarning, match="it was measured on riscv64"):
        tracepack.load(forged(saved, processor={"machine": "riscv64"}), trust=True)
    assert sessions == []


def test_threads_that_are_set_after_the_load_count(saved, sessions) -> None:
    mod = loaded(saved)
    torch.set_num_threads(2)
    answers(mod, saved)
    assert sessions == [(THREAD, 1), ("MainThread", 2)]


def test_two_pipelines_of_one_file_share_no_session(saved, sessions) -> None:
    first, second = loaded(saved), loaded(saved)
    answers(second, saved)
    answers(first, saved)
    assert sessions == [(THREAD, 1)] * 2


def altered(data: bytes, member: str) -> bytes:
    archive, found = Archive(data), bytearray(data)
    found[archive.offset(member) + len(archive.view(member)) - 1] ^= 1
    return bytes(found)


def test_no_runtime_meets_a_model_that_was_altered(saved, sessions) -> None:
    with pytest.raises(tracepack.ArchiveError, match="member 'engines/0/0': a member was altered"):
        tracepack.load(altered(saved, "engines/0/0"), trust=True)
    assert sessions == []


@pytest.mark.parametrize("verify", ["code", "all"])
def test_weights_that_were_altered_give_no_pipeline(saved, sessions, verify) -> None:
    before = len(early_start._started)
    with pytest.raises(tracepack.ArchiveError, match=f"member '{WEIGHTS}': a member was altered"):
        tracepack.load(altered(saved, WEIGHTS), trust=True, verify=verify)
    with pytest.raises(tracepack.ArchiveError, match=f"member '{WEIGHTS}': a member was altered"):
        tracepack.load(altered(saved, WEIGHTS), verify=verify)
    gc.collect()
    assert len(early_start._started) <= before
    assert verify == "code" or sessions == []


def test_what_fails_in_the_thread_is_made_by_the_first_call(saved, sessions, monkeypatch) -> None:
    make = engine.onnxruntime.InferenceSession

    def failing(*args, **given):
        if threading.current_thread().name == THREAD:
            raise RuntimeError("no memory")
        return make(*args, **given)

    monkeypatch.setattr(engine.onnxruntime, "InferenceSession", failing)
    answers(loaded(saved), saved)
    assert sessions == [("MainThread", 1)]


def test_a_thread_keeps_nothing_of_a_pipeline_that_is_gone(saved, sessions) -> None:
    artefact = loaded(saved).program.engines[0].artefact
    early = early_start.started(artefact)
    assert early is not None
    early.wait()
    count = len(early_start._started)
    del artefact, early
    gc.collect()
    assert len(early_start._started) < count


FORK = """
import os, sys, torch, tracepack
from tracepack.ops.engines.memory import early_start
early_start._cores = lambda: 2
torch.set_num_threads(1)
mod = tracepack.load(sys.argv[1], trust=True)
child = os.fork()
if not child:
    print(mod.run({"x": torch.ones(3, 6)}).sum().item(), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(mod.run({"x": torch.ones(3, 6)}).sum().item())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_waits_for_the_thread_and_makes_a_session_of_its_own(saved, tmp_path) -> None:
    path = tmp_path / "a.tpk"
    path.write_bytes(saved)
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(path)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    mine, theirs = map(float, ended.stdout.split())
    assert mine == pytest.approx(theirs, rel=1e-4)
