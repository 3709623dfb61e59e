"""One archive for all tests of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tracepack
from tests.cli.commands import feed


@pytest.fixture(scope="module")
def mod() -> tracepack.Pipeline:
    torch.manual_seed(0)
    cell = tracepack.script(torch.nn.GRUCell(4, 8), device="cpu", name="cell")
    head = tracepack.script(torch.nn.Linear(8, 3), device="cpu", name="head")

    def process(x: Any, opts: Any) -> Any:
        h = cell(cell_input := x * opts["scale"], opts["state"][0])
        return {"scores": head(cell(cell_input, h)), "state": (h,)}

    with pytest.warns(UserWarning, match="the length of .* is fixed to 1"):
        return tracepack.trace(process, torch.rand(2, 4), {"scale": torch.tensor(2.0), "state": [torch.rand(2, 8)]})


@pytest.fixture(scope="module")
def file(mod: tracepack.Pipeline, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("cli") / "cell.tpk"
    mod.save(path, examples=[feed(3), feed(5)])
    return str(path)


@pytest.fixture
def arrays(tmp_path: Path) -> list[str]:
    given = feed()
    np.save(tmp_path / "x.npy", given["x"].numpy())
    np.save(tmp_path / "h.npy", given["opts"]["state"][0].numpy())
    return [
        "--input", f"x={tmp_path}/x.npy", "--input", f"opts.state.0={tmp_path}/h.npy", "--value", "opts['scale']=1.5",
    ]  # fmt: skip
