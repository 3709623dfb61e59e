"""Train a network whose activation is written in Slang, pack it, load it elsewhere and compare.

The data are scikit-learn's 1797 images of digits, 8 by 8 pixels. The activation has two parameters for each hidden
unit, which are trained through Slang's automatic differentiation like all the others.

Run it with: python samples/slang_training.py. It needs the extra `slang` and the package scikit-learn.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import tracepack

SOURCE = """
// A swish with a trained slope, plus a trained share of the identity.
[Differentiable]
float activation(float x, float slope, float share) {
    float gate = 1.0 / (1.0 + exp(-slope * x));
    return x * gate + share * x;
}
"""

functions = tracepack.slang.load(SOURCE)


class Activation(torch.nn.Module):
    """The Slang function with its parameters, one pair for each of N units."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.slope = torch.nn.Parameter(torch.ones(units))
        self.share = torch.nn.Parameter(torch.zeros(units))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Applies it to x of shape [B, N]."""
        return functions.activation(x, self.slope, self.share)


class Digits(torch.nn.Module):
    """From 64 pixels to 10 scores."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(64, 64), Activation(64), torch.nn.Linear(64, 32), Activation(32), torch.nn.Linear(32, 10)
        )

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Scores of shape [B, 10] for pixels of shape [B, 64] from 0 to 1."""
        return self.layers(pixels)


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training images, test images, training labels, test labels."""
    data = load_digits()
    parts = train_test_split(data.data / 16, data.target, test_size=0.25, random_state=0, stratify=data.target)
    train_x, test_x, train_y, test_y = (torch.as_tensor(part) for part in parts)
    return train_x.float(), test_x.float(), train_y, test_y


def train(model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, epochs: int = 30) -> float:
    """Trains in place; returns the last epoch's mean loss."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_sum = 0.0
    for _ in range(epochs):
        order, loss_sum = torch.randperm(len(x)), 0.0
        for batch in order.split(64):
            loss = torch.nn.functional.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += float(loss.detach()) * len(batch)
    return loss_sum / len(x)


def accuracy(scores: torch.Tensor, y: torch.Tensor) -> float:
    """The share of right answers."""
    return float((scores.argmax(1) == y).float().mean())


# Packing and loading: the kernel's source travels in the file, and compiles again where it is loaded.


def pack(model: torch.nn.Module, example: torch.Tensor, path: Path) -> None:
    """Writes the network and its Slang kernel into one file."""
    op = tracepack.script(model, device="cpu")

    def classify(pixels: torch.Tensor) -> torch.Tensor:
        return torch.softmax(op(pixels), dim=1)

    tracepack.trace(classify, example).save(path)


def main() -> tuple[float, float]:
    """Trains, packs, loads and compares; returns the accuracies of the model and of the loaded pipeline."""
    torch.manual_seed(0)
    train_x, test_x, train_y, test_y = digits()
    model = Digits()
    loss = train(model, train_x, train_y)
    with torch.no_grad():
        wanted = torch.softmax(model(test_x), dim=1)
    right = accuracy(wanted, test_y)
    print(f"trained on {len(train_x)} images: loss {loss:.4f}, accuracy on {len(test_x)} others {right:.1%}")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "digits.tpk")
        pack(model, test_x[:8], path)
        pipeline = tracepack.load(path, trust=True)  # Slang is code, compiled on this machine
        found = pipeline(test_x)
        print(f"packed into {path.stat().st_size / 1024:.0f} KiB, loaded, and run on all of them")
    print(f"largest difference {float((found - wanted).abs().max()):.1e}, accuracy {accuracy(found, test_y):.1%}")
    return accuracy(wanted, test_y), accuracy(found, test_y)


if __name__ == "__main__":
    main()
