"""The layers of torch.nn, each as a model of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from tests.campaigns.architectures.cases import Case, Inputs

Sizes = tuple[tuple[int, int], tuple[int, int]]


def _case(name: str, build: Callable[[], nn.Module], inputs: Callable[[int, int], Inputs], sizes: Sizes) -> Case:
    return Case(f"nn.{name}", "layer", lambda: build().eval(), inputs, sizes=sizes)


def _x(*shape: int | str) -> Callable[[int, int], Inputs]:
    """An input whose shape names the batch size as ``b`` and the length as ``n``."""

    def make(batch: int, length: int) -> Inputs:
        sizes = [{"b": batch, "n": length}.get(size, 0) if isinstance(size, str) else size for size in shape]
        return {"input": torch.randn(*sizes)}

    return make


class _First(nn.Module):
    """Names the first parameter of a layer ``input``, whatever the layer calls it."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, **inputs: torch.Tensor) -> Any:
        """Calls the layer by position."""
        return self.layer(*inputs.values())


_POINTWISE = """ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Hardtanh Hardsigmoid Hardswish Hardshrink LeakyReLU
    LogSigmoid Softplus Softshrink Softsign Tanhshrink Identity Dropout AlphaDropout PReLU Flatten""".split()
_SHAPED: dict[str, tuple[Callable[[], nn.Module], Callable[[int, int], Inputs]]] = {
    "Linear": (lambda: nn.Linear(6, 4), _x("b", "n", 6)),
    "Bilinear": (lambda: nn.Bilinear(5, 6, 4), lambda b, n: {"a": torch.randn(b, n, 5), "c": torch.randn(b, n, 6)}),
    "Embedding": (lambda: nn.Embedding(20, 6), lambda b, n: {"input": torch.randint(0, 20, (b, n))}),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(20, 6), lambda b, n: {"input": torch.randint(0, 20, (b, n))}),
    "Softmax": (lambda: nn.Softmax(-1), _x("b", "n", 6)),
    "LogSoftmax": (lambda: nn.LogSoftmax(-1), _x("b", "n", 6)),
    "Softmin": (lambda: nn.Softmin(-1), _x("b", "n", 6)),
    "Softmax2d": (lambda: nn.Softmax2d(), _x("b", 3, "n", "n")),
    "GLU": (lambda: nn.GLU(), _x("b", "n", 6)),
    "Threshold": (lambda: nn.Threshold(0.1, 2.0), _x("b", "n", 6)),
    "RReLU": (lambda: nn.RReLU(), _x("b", "n", 6)),
    "LayerNorm": (lambda: nn.LayerNorm(6), _x("b", "n", 6)),
    "RMSNorm": (lambda: nn.RMSNorm(6), _x("b", "n", 6)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 6), _x("b", 6, "n")),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(6), _x("b", 6, "n")),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), _x("b", 3, "n", "n")),
    "BatchNorm3d": (lambda: nn.BatchNorm3d(2), _x("b", 2, "n", "n", "n")),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(6), _x("b", 6, "n")),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), _x("b", 3, "n", "n")),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), _x("b", 4, "n", "n")),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3, padding=1), _x("b", 3, "n")),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1, groups=1, dilation=1), _x("b", 3, "n", "n")),
    "Conv2d-same": (lambda: nn.Conv2d(4, 4, 3, padding="same", groups=2), _x("b", 4, "n", "n")),
    "Conv3d": (lambda: nn.Conv3d(2, 3, 3, padding=1), _x("b", 2, "n", "n", "n")),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(3, 4, 3, stride=2), _x("b", 3, "n")),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 3, stride=2), _x("b", 3, "n", "n")),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(2, 3, 3), _x("b", 2, "n", "n", "n")),
    "Conv1d-circular": (lambda: nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular"), _x("b", 3, "n")),
    "Unfold": (lambda: nn.Unfold(3), _x("b", 2, "n", "n")),
    "Fold": (lambda: nn.Fold((4, 4), 2), lambda b, n: {"input": torch.randn(b, 8, 9)}),
    "MaxPool1d": (lambda: nn.MaxPool1d(2), _x("b", 3, "n")),
    "MaxPool2d": (lambda: nn.MaxPool2d(2), _x("b", 3, "n", "n")),
    "MaxPool3d": (lambda: nn.MaxPool3d(2), _x("b", 2, "n", "n", "n")),
    "AvgPool1d": (lambda: nn.AvgPool1d(2), _x("b", 3, "n")),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, ceil_mode=True), _x("b", 3, "n", "n")),
    "AvgPool3d": (lambda: nn.AvgPool3d(2), _x("b", 2, "n", "n", "n")),
    "LPPool1d": (lambda: nn.LPPool1d(2, 2), _x("b", 3, "n")),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), _x("b", 3, "n", "n")),
    "AdaptiveAvgPool1d": (lambda: nn.AdaptiveAvgPool1d(3), _x("b", 3, "n")),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((2, 3)), _x("b", 3, "n", "n")),
    "AdaptiveMaxPool2d": (lambda: nn.AdaptiveMaxPool2d(2), _x("b", 3, "n", "n")),
    "ConstantPad1d": (lambda: nn.ConstantPad1d(2, 0.5), _x("b", 3, "n")),
    "ReflectionPad2d": (lambda: nn.ReflectionPad2d(1), _x("b", 3, "n", "n")),
    "ReplicationPad2d": (lambda: nn.ReplicationPad2d(1), _x("b", 3, "n", "n")),
    "ZeroPad2d": (lambda: nn.ZeroPad2d(1), _x("b", 3, "n", "n")),
    "CircularPad2d": (lambda: nn.CircularPad2d(1), _x("b", 3, "n", "n")),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), _x("b", 8, "n", "n")),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), lambda b, n: {"input": torch.randn(b, 2, 2 * n, 2 * n)}),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), _x("b", 4, "n", "n")),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), _x("b", 3, "n", "n")),
    "UpsamplingNearest2d": (lambda: nn.UpsamplingNearest2d(scale_factor=2), _x("b", 3, "n", "n")),
    "Unflatten": (lambda: nn.Unflatten(-1, (2, 3)), _x("b", "n", 6)),
    "CosineSimilarity": (lambda: nn.CosineSimilarity(-1), lambda b, n: {"a": torch.randn(b, n), "c": torch.randn(b, n)}),
    "PairwiseDistance": (lambda: nn.PairwiseDistance(), lambda b, n: {"a": torch.randn(b, n), "c": torch.randn(b, n)}),
    "RNN": (lambda: nn.RNN(5, 6, batch_first=True), _x("b", "n", 5)),
    "LSTM": (lambda: nn.LSTM(5, 6, 2, batch_first=True, bidirectional=True), _x("b", "n", 5)),
    "GRU": (lambda: nn.GRU(5, 6, batch_first=True), _x("b", "n", 5)),
    "RNNCell": (lambda: nn.RNNCell(5, 6), lambda b, n: {"input": torch.randn(b, 5), "hx": torch.randn(b, 6)}),
    "LSTMCell": (lambda: nn.LSTMCell(5, 6), lambda b, n: {"input": torch.randn(b, 5)}),
    "GRUCell": (lambda: nn.GRUCell(5, 6), lambda b, n: {"input": torch.randn(b, 5), "hx": torch.randn(b, 6)}),
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(8, 2, batch_first=True),
        lambda b, n: {k: torch.randn(b, n, 8) for k in ("query", "key", "value")},
    ),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), _x("b", "n", 8)),
    "TransformerEncoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
        _x("b", "n", 8),
    ),
    "TransformerDecoderLayer": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
        lambda b, n: {"tgt": torch.randn(b, n, 8), "memory": torch.randn(b, n + 1, 8)},
    ),
    "Transformer": (
        lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
        lambda b, n: {"src": torch.randn(b, n, 8), "tgt": torch.randn(b, n, 8)},
    ),
    "MSELoss": (nn.MSELoss, lambda b, n: {"a": torch.randn(b, n), "c": torch.randn(b, n)}),
    "CrossEntropyLoss": (
        nn.CrossEntropyLoss, lambda b, n: {"a": torch.randn(b, n), "c": torch.randint(0, n, (b,))},
    ),
}  # fmt: skip


def layer_cases() -> list[Case]:
    """Every layer."""
    sizes: Sizes = ((2, 7), (3, 10))
    pointwise = [
        _case(name, lambda name=name: _First(getattr(nn, name)()), _x("b", 1, "n"), sizes) for name in _POINTWISE
    ]
    shaped = [_case(name, lambda build=build: _First(build()), make, sizes) for name, (build, make) in _SHAPED.items()]
    return [*pointwise, *shaped]
