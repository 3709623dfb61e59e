"""A ScriptModule with control flow on data, packed and loaded: its branch and its loop survive.

A ScriptModule that treats loud and quiet signals differently, and Newton's method, which repeats until it is exact
enough. Both are nodes of the graph (`cond`, `while_loop`), so that the file needs neither TorchScript nor trust, and
takes the right branch for any data.

python samples/scripted.py
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import torch

import tracepack
from tracepack.ops.text import graph_text


class Balance(torch.nn.Module):
    """Levels a batch of signals: loud ones are squeezed, quiet ones are raised."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        """Chooses by the loudness of the data."""
        loudness = signal.abs().mean()
        if bool(loudness > 0.5):  # noqa: SIM108 - the sample is about this
            levelled = torch.tanh(signal)
        else:
            levelled = signal * self.gain
        return levelled


def root(x: torch.Tensor) -> torch.Tensor:
    """Newton's method, which runs as long as the data needs."""

    def step(x: torch.Tensor, guess: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, (guess + x / guess) / 2

    return tracepack.while_loop(lambda x, guess: (guess * guess - x).abs().max() > 1e-4, step, x, torch.ones_like(x))[1]


def main() -> None:
    """Packs, loads and compares on data for either branch and for several numbers of rounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = torch.jit.script(Balance().eval())
    op = tracepack.script(module, device="cpu", name="balance")

    def process(signal: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        levelled = op(signal)
        return levelled, root(levelled.square().mean(-1) + 0.01)

    time = torch.linspace(0, 20, 400)
    waves = torch.stack([torch.sin(time), torch.sin(2.2 * time) * torch.exp(-time / 9)])
    mod = tracepack.trace(process, waves)
    print(graph_text(mod.graph, bodies=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "balance.tpk"
        mod.save(path)
        loaded = tracepack.load(path)
        with torch.no_grad():
            for scale in (0.01, 0.3, 1.0, 8.0):
                signal = waves[:, ::2] * scale
                wanted = module(signal), root(module(signal).square().mean(-1) + 0.01)
                for a, b in zip(loaded(signal), wanted, strict=True):
                    assert torch.equal(a, b), scale
                print(f"scale {scale}: loudness {signal.abs().mean():.3f} -> {wanted[0].abs().mean():.3f}, as eager")


if __name__ == "__main__":
    main()
