"""Shape functions for operators whose sizes torch.export would fix.

Torch computes the shape of a recurrent layer's result by unrolling the layer, which fixes the length, and that of
`max_pool1d` in C++ from plain integers. While a model is exported these functions replace torch's: they give the shape
of the result and compute no values. Where an operator is kept, as in an export to ONNX, torch asks its table of
decompositions instead, which unrolls the layer as well. A pipeline runs torch's operators, and every lowered body is
compared with its model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table

from ...runtime.interrupts.changes import Change
from .layers.packed_sequences import padded

_KEYS = (torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.Autograd)


class FreeSizes(Change):
    """While it is entered, this thread uses these shape functions; in other threads they call torch's own."""

    of_process = True

    def __init__(self) -> None:
        self.thread, self.on = threading.get_ident(), False  # torch may keep a kernel after it is removed
        self.before = [(operator, dict(operator.py_kernels)) for operator in _shapes()]
        self.decompositions = {
            operator: decomposition_table[operator] for operator, _ in self.before if operator in decomposition_table
        }

    def make(self) -> None:
        """Puts them in place."""
        shapes, self.on = _shapes(), True
        for operator, kernels in self.before:
            for key in _KEYS:
                operator.py_kernels[key] = self._for_thread(operator, key, shapes[operator], kernels.get(key))
            operator._dispatch_cache.clear()
        for operator, own in self.decompositions.items():
            decomposition_table[operator] = self._for_thread(operator, _KEYS[0], shapes[operator], own)

    def undo(self) -> None:
        """Restores torch's own."""
        self.on = False
        decomposition_table.update(self.decompositions)
        for operator, kernels in self.before:
            for key in _KEYS:
                if key in kernels:
                    operator.py_kernels[key] = kernels[key]
                else:
                    operator.py_kernels.pop(key, None)
            operator._dispatch_cache.clear()

    def _for_thread(self, operator: Any, key: Any, shape: Callable[..., Any], own: Any) -> Callable[..., Any]:
        def kernel(*args: Any, **kwargs: Any) -> Any:
            if self.on and threading.get_ident() == self.thread:
                return shape(*args, **kwargs)
            return own(*args, **kwargs) if own is not None else operator._op_dk(key, *args, **kwargs)

        return kernel


def _shapes() -> dict[Any, Callable[..., Any]]:
    aten = torch.ops.aten
    return {
        aten.lstm.input: _lstm,
        aten.lstm.data: _packed_lstm,
        aten.gru.data: _packed_layer,
        aten.rnn_tanh.data: _packed_layer,
        aten.rnn_relu.data: _packed_layer,
        aten._pad_packed_sequence.default: padded,
        aten.gru.input: _recurrent,
        aten.rnn_tanh.input: _recurrent,
        aten.rnn_relu.input: _recurrent,
        aten.max_pool1d.default: _max_pool1d,
    }


def _lstm(
    x: torch.Tensor,
    hx: Any,
    params: Any,
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    both: bool,
    first: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _sequence(x, hx[0], both, first), torch.empty_like(hx[0]), torch.empty_like(hx[1])


def _recurrent(
    x: torch.Tensor,
    hx: Any,
    params: Any,
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    both: bool,
    first: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    return _sequence(x, hx, both, first), torch.empty_like(hx)


def _packed_lstm(
    data: torch.Tensor,
    sizes: torch.Tensor,
    hx: Any,
    params: Any,
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    both: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return _rows(data, hx[0], both), torch.empty_like(hx[0]), torch.empty_like(hx[1])


def _packed_layer(
    data: torch.Tensor,
    sizes: torch.Tensor,
    hx: Any,
    params: Any,
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    both: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    return _rows(data, hx, both), torch.empty_like(hx)


def _rows(data: torch.Tensor, hx: torch.Tensor, both: bool) -> torch.Tensor:
    return data.new_empty((data.shape[0], hx.shape[2] * (2 if both else 1)))


def _sequence(x: torch.Tensor, hx: torch.Tensor, both: bool, first: bool) -> torch.Tensor:
    """The shape of the output of a recurrent layer, with the length as first dimension."""
    length, batch = (x.shape[1], x.shape[0]) if first else (x.shape[0], x.shape[1])
    out = x.new_empty((length, batch, hx.shape[2] * (2 if both else 1)))
    return out.transpose(0, 1) if first else out


def _max_pool1d(
    x: torch.Tensor, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil: bool = False
) -> torch.Tensor:
    def pair(value: Any, other: int) -> list[int]:
        return [other, *([value] if isinstance(value, int) else value)]

    wide = pair(stride, 1) if stride else pair(kernel, 1)
    pooled = torch.max_pool2d(x.unsqueeze(-2), pair(kernel, 1), wide, pair(padding, 0), pair(dilation, 1), ceil)
    return pooled.squeeze(-2)
