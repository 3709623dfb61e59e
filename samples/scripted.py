"""A ScriptModule with control flow on data, packed and loaded: its early exit survives.

A classifier of handwritten digits, trained here on scikit-learn's, answers from a small layer where that is sure
enough and asks a larger one only where it is not. It is written to a TorchScript file, as one may be handed over;
tracepack takes the file, keeps the branch as a `cond` node, and a fresh process runs the result with neither
TorchScript nor trust, taking the right branch for every digit.

    python samples/scripted.py      # needs the package scikit-learn
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

import tracepack
from tracepack.ops.graph.text import graph_text


class EarlyExit(nn.Module):
    """Log-probabilities of one digit: from the small layer, or from the large ones where the small one is unsure."""

    def __init__(self) -> None:
        super().__init__()
        self.small = nn.Linear(64, 10)
        self.large = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The branch depends on the data, so only TorchScript keeps it.

        Args:
            x: float32 [1, 64], a picture of 8 by 8 with values from 0 to 1.

        Returns:
            float32 [1, 10].
        """
        quick = self.small(x)
        if bool(quick.softmax(-1).max() > 0.9):  # noqa: SIM108 - TorchScript's branch is what this sample is about
            answer = quick.log_softmax(-1)
        else:
            answer = self.large(x).log_softmax(-1)
        return answer


def train(model: EarlyExit, x: torch.Tensor, y: torch.Tensor) -> None:
    """Trains both exits on all digits."""
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(120):
        loss = nn.functional.cross_entropy(model.small(x), y) + nn.functional.cross_entropy(model.large(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def pack(path: Path, digits: Path) -> None:
    """Trains, writes a TorchScript file, packs that, and times the ScriptModule itself."""
    from sklearn.datasets import load_digits

    torch.manual_seed(0)
    x, y = (torch.from_numpy(a) for a in load_digits(return_X_y=True))
    x, order = x.float() / 16, torch.randperm(len(x))
    x, y, held_x, held_y = x[order[300:]], y[order[300:]], x[order[:300]], y[order[:300]]
    model = EarlyExit()
    train(model, x, y)
    file = path.with_suffix(".pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.script(model.eval()), file)

    op = tracepack.script(file, name="digits")

    def classify(x: torch.Tensor) -> torch.Tensor:
        return op(x)

    pipeline = tracepack.trace(classify, held_x[:1])
    pipeline.save(path, examples=[{"x": held_x[i : i + 1]} for i in range(8)])
    print(graph_text(pipeline.graph, bodies=True))
    print(f"{os.path.getsize(path) / 1e3:.0f} KB")

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = torch.jit.load(file)
        logits = torch.cat([module(row) for row in held_x.split(1)])
        quick = sum(bool(model.small(row).softmax(-1).max() > 0.9) for row in held_x.split(1))
        print(f"ScriptModule: {microseconds(lambda: [module(row) for row in held_x.split(1)], 300):.0f} us a digit")
    print(f"{quick} of 300 held-out digits leave early; {(logits.argmax(-1) == held_y).float().mean():.1%} are right")
    np.savez(digits, x=held_x.numpy(), logits=logits.numpy())


def run(path: Path, digits: Path) -> None:
    """Loads the file in a process that never saw the model, and compares every answer."""
    held = np.load(digits)
    start = time.perf_counter()
    pipeline = tracepack.load(path, verify="golden")
    print(f"loaded in {(time.perf_counter() - start) * 1000:.0f} ms, its golden examples replayed")
    rows = np.split(held["x"], 300)
    for row, logits in zip(rows, held["logits"], strict=True):
        assert np.array_equal(pipeline.run({"x": row}).numpy()[0], logits)
    each = microseconds(lambda: [pipeline.run({"x": row}) for row in rows], 300)
    print(f"all 300 answers equal bit for bit; {each:.0f} us a digit")


def microseconds(work: object, count: int) -> float:
    """The least time of several runs, for each of `count` calls."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        work()  # type: ignore[operator]  # the callable is untyped here
        best = min(best, time.perf_counter() - start)
    return best / count * 1e6


def main() -> None:
    """Packs in this process and runs in a fresh one."""
    torch.set_num_threads(1)
    if len(sys.argv) == 3:
        run(Path(sys.argv[1]), Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path, digits = Path(folder) / "digits.tpk", Path(folder) / "digits.npz"
        pack(path, digits)
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, str(path), str(digits)], check=True)


if __name__ == "__main__":
    main()
