"""A network on scikit-learn's digits whose convolution is a tensor comprehension.

The convolution is four lines of index notation; its gradient is derived. It is tuned for the batch, trained, packed
with the network into one file, and run from that file in a fresh process, with equal results.

    python samples/comprehension_layer.py      # needs the package scikit-learn
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F

import tracepack as tp

CONVOLUTION = """
def conv_relu(float(N,H,W) I, float(M,KH,KW) K, float(M) B) -> (O) {{
  O(n,m,h,w) +=! I(n,{stride}*h+kh,{stride}*w+kw) * K(m,kh,kw)
  O(n,m,h,w) = fmax(O(n,m,h,w) + B(m), 0.0)
}}
"""
FRESH = """
import sys, torch, tracepack as tp
images, expected = torch.load(sys.argv[2], weights_only=True)
print("equal in a fresh process:", torch.equal(tp.load(sys.argv[1]).run({"images": images}), expected))
"""


class Digits(torch.nn.Module):
    """A convolution written as a comprehension, and a linear layer."""

    def __init__(self, layer: tp.comprehension.Layer, channels: int = 16) -> None:
        super().__init__()
        parameters = {"K": torch.randn(channels, 3, 3) / 3, "B": torch.zeros(channels)}
        self.conv = tp.comprehension.ComprehensionModule(layer, parameters)
        self.classes = torch.nn.Linear(channels * 36, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Scores of the ten digits for images (N, 8, 8)."""
        return self.classes(self.conv(images).flatten(1))


def data() -> tuple[torch.Tensor, torch.Tensor]:
    """The images, scaled to one, and their digits."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return torch.tensor(digits.images, dtype=torch.float32) / 16, torch.tensor(digits.target)


def train(model: torch.nn.Module, images: torch.Tensor, digits: torch.Tensor, epochs: int) -> None:
    """Trains on batches of 128."""
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(128):
            optimizer.zero_grad()
            F.cross_entropy(model(images[batch]), digits[batch]).backward()
            optimizer.step()


def main(epochs: int = 8) -> float:
    """Tunes, trains, packs and runs again; returns the share of test images that are right."""
    torch.manual_seed(0)
    layer = tp.comprehension.define(CONVOLUTION, constants={"stride": 1})
    layer.autotune((128, 8, 8), (16, 3, 3), (16,), training=True, generations=1, pop_size=4, threads=2)
    model = Digits(layer)
    images, digits = data()
    train(model, images[:1400], digits[:1400], epochs)

    op = tp.script(model.eval())
    pipeline = tp.trace(lambda images: op(images).argmax(1), images[1400:])
    found = pipeline.run({"images": images[1400:]})
    right = (found == digits[1400:]).float().mean().item()
    print(f"right on {right:.1%} of the images that it was not trained on")
    with tempfile.TemporaryDirectory() as folder:
        file, check = Path(folder) / "digits.tpk", Path(folder) / "check.pt"
        pipeline.save(file)
        torch.save((images[1400:], found), check)
        print(f"packed into {file.stat().st_size / 1024:.0f} KiB")
        subprocess.run([sys.executable, "-c", FRESH, str(file), str(check)], check=True)
    return right


if __name__ == "__main__":
    main()
