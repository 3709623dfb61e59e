"""The first example: a cell in PyTorch, packed into one file and run from it.

python samples/quickstart.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

import tracepack


class MyCell(torch.nn.Module):
    """One step of a small recurrent network."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The new state, twice: as the output and as the state to carry on."""
        new_h = torch.tanh(self.linear(x) + h)
        return new_h, new_h


def main() -> None:
    """Scripts, traces, runs, saves, loads and runs again."""
    device = 0 if torch.accelerator.is_available() else "cpu"
    my_cell = MyCell()
    infer_op = tracepack.script(my_cell, device=device)

    x, h = torch.rand(3, 4), torch.rand(3, 4)

    def process(x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return infer_op(x, h)

    print("eager: ", process(x, h)[0][0])
    mod = tracepack.trace(process, x, h)
    print("traced:", mod.run({"x": x, "h": h})[0][0])
    print(mod.signature)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cell.tpk"
        mod.save(path)
        loaded = tracepack.load(path, device=device)
        result = loaded.run({"x": x, "h": h})
        print("loaded:", result[0][0])
        print(f"{path.stat().st_size} bytes, placement {loaded.placement}")
    assert torch.equal(result[0], mod(x, h)[0])
    assert loaded(torch.rand(7, 4), torch.rand(7, 4))[0].shape == (7, 4)  # any batch size


if __name__ == "__main__":
    main()
