"""Results that were dataclasses and namedtuples of the function come back from worker processes."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch

import tracepack
from tests.campaigns.check import difference


@dataclass
class Found:
    label: str
    scores: torch.Tensor


class Pair(NamedTuple):
    first: torch.Tensor
    found: Any


def _found(x):
    return Found("high" if x.sum().item() > 1 else "low", x * 2)


def _pairs(x):
    return [Pair(x + 1, Found("a", x)), Pair(x, Found("b", x.exp()))]


WORKER = """
import pickle, sys, torch, tracepack
mod = tracepack.load(sys.argv[1])
with open(sys.argv[2], "wb") as file:
    pickle.dump([mod(torch.arange(float(n))) for n in (1, 4)], file)
"""


@pytest.mark.parametrize("process", [_found, _pairs])
def test_a_worker_sends_records(process, tmp_path) -> None:
    tracepack.trace(process, torch.rand(3)).save(tmp_path / "mod.tpk")
    command = [sys.executable, "-c", WORKER, str(tmp_path / "mod.tpk"), str(tmp_path / "answers")]
    subprocess.run(command, check=True)
    answers = pickle.loads((tmp_path / "answers").read_bytes())
    mod = tracepack.load(tmp_path / "mod.tpk")
    for size, answer in zip((1, 4), answers, strict=True):
        assert difference(mod(torch.arange(float(size))), answer) == ""


def test_records_keep_their_class_in_copies() -> None:
    file = io.BytesIO()
    tracepack.trace(_found, torch.rand(3)).save(file)
    answer = tracepack.load(file.getvalue())(torch.rand(5))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(answer, protocol))
        assert type(again) is type(answer)
        assert (type(again).__name__, again._fields) == ("Found", ("label", "scores"))
        assert (again.label, again.scores.tolist()) == (answer.label, answer.scores.tolist())
    made = copy.deepcopy(answer)
    assert made.scores is not answer.scores
    assert copy.copy(answer).scores is answer.scores
    assert answer._replace(label="x").label == "x"
