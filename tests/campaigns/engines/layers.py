"""Functions that engines take and torch's database of operators lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

import tracepack
from tests.campaigns.samples import Sample


class _First(torch.nn.Module):
    """The first result of a layer that also gives its state."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, *values: torch.Tensor) -> torch.Tensor:
        """Runs the layer."""
        found: torch.Tensor = self.layer(*values)[0]
        return found


MODULES: dict[str, tuple[Callable[[], torch.nn.Module], tuple[tuple[int, ...], ...]]] = {
    "lstm": (lambda: _First(torch.nn.LSTM(4, 5, num_layers=2, bidirectional=True)), ((6, 2, 4),)),
    "gru": (lambda: _First(torch.nn.GRU(4, 5, batch_first=True)), ((2, 6, 4),)),
    "lstm_cell": (lambda: _First(torch.nn.LSTMCell(4, 5)), ((3, 4),)),
    "gru_cell": (lambda: torch.nn.GRUCell(4, 5), ((3, 4), (3, 5))),
    "rnn_tanh_cell": (lambda: torch.nn.RNNCell(4, 5), ((3, 4), (3, 5))),
    "rnn_relu_cell": (lambda: torch.nn.RNNCell(4, 5, nonlinearity="relu"), ((3, 4), (3, 5))),
    "weight_norm": (lambda: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 5)), ((3, 4),)),
}
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "fold": (lambda x: functional.fold(x, (4, 5), (2, 2)), ((2, 8, 12),)),
    "lp_pool1d": (lambda x: functional.lp_pool1d(x, 2, 2), ((2, 3, 8),)),
    "lp_pool2d": (lambda x: functional.lp_pool2d(x, 1, 2), ((2, 3, 8, 8),)),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g, 0), ((4, 3), (4, 1))),
    "hann_window": (lambda x: x * torch.hann_window(8), ((3, 8),)),
    "blackman_window": (lambda x: x * torch.blackman_window(8), ((3, 8),)),
    "itruediv": (lambda x, y: x.clone().__itruediv__(y), ((3, 4), (3, 4))),
    "ipow": (lambda x: x.clone().__ipow__(2), ((3, 4),)),
    "rtruediv": (lambda x: 2.5 / x, ((3, 4),)),
    "expit": (lambda x: torch.special.expit(x), ((3, 4),)),
    "dropout1d": (lambda x: functional.dropout1d(x, training=False), ((3, 4, 5),)),
    "native_channel_shuffle": (lambda x: functional.channel_shuffle(x, 2), ((1, 4, 3, 3),)),
    "upsample": (lambda x: functional.upsample(x, scale_factor=2, mode="bilinear"), ((1, 2, 3, 4),)),
    "numpy_T": (lambda x: x.T * 2, ((3, 4),)),
    "matrix_H": (lambda x: x.H * 2, ((3, 4),)),
    "index": (lambda x: x[[0, 2], 1:] * 2, ((3, 4),)),
    "feature_dropout": (lambda x: torch.feature_dropout(x, 0.5, False) * 2, ((3, 4, 5),)),
    "type_as": (lambda x, y: x.type_as(y) * 2, ((3, 4), (3, 4))),
}
LAYERS = (*MODULES, *FUNCTIONS)
"""Their names; each table says of what sizes the tensors are that they take."""


def layer_samples(name: str) -> Iterator[Sample]:
    """The sample of one of them, of float32."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    if name in MODULES:
        make, sizes = MODULES[name]
        function: Callable[..., Any] = tracepack.script(make().eval(), name="layer", contiguous=True)
    else:
        function, sizes = FUNCTIONS[name]
    yield Sample(function, [torch.randn(size, generator=generator) for size in sizes], "float32")
