"""Tables, and pipelines that run over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tracepack


@pytest.fixture(scope="session")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose pipeline takes rows of four numbers, and fails where one is beyond 100."""
    torch.manual_seed(3)
    op = tracepack.script(nn.Linear(4, 3))

    def process(x):
        torch._assert((x <= 100).all(), "beyond 100")  # pytest rewrites plain assertions
        y = op(x)
        return {"scores": y.softmax(-1), "best": y.argmax(-1)}

    path = tmp_path_factory.mktemp("batch") / "scores.tpk"
    tracepack.trace(process, torch.rand(3, 4)).save(path)
    return path


@pytest.fixture
def rows() -> Callable[[int], Any]:
    """A table of Arrow with ids, numbers and texts."""
    import pyarrow as pa

    def make(count: int, seed: int = 0) -> Any:
        values = np.random.default_rng(seed).random((count, 4), dtype=np.float32)
        lists = pa.array(list(values), pa.list_(pa.float32()))
        return pa.table({"id": np.arange(count) * 3, "x": lists, "text": [f"t{i}" for i in range(count)]})

    return make


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread, so that answers of two runs are equal bit for bit."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
