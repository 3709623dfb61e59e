"""Packed sequences, which torch.export cannot follow: their sizes are numbers in a tensor.

Torch reads the size of a batch off the packed sequence, as a plain integer. While a model is exported, a recurrent
layer gets its first hidden state here, sized as the batch that was packed; `shape_functions` has those of layers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence

from ..lock import Patch, Patched

_PACK = torch.ops.aten._pack_padded_sequence.default
_batches: dict[Any, Any] = {}
"""The size of a batch, by the symbol of the number of steps that it was packed into."""


def _packed(mode: Any, func: Any, padded: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> Any:
    """What `pack_padded_sequence` gives: the rows of all steps, and how many there are in each step."""
    symbolic: Any = torch  # torch leaves its function untyped
    rows, steps = (mode.shape_env.create_unbacked_symint() for _ in range(2))
    for size in (rows, steps):
        symbolic._check(size >= 1)
    _batches[steps.node.expr] = padded.shape[0 if batch_first else 1]
    return padded.new_empty((rows, *padded.shape[2:])), lengths.new_empty((steps,))


def padded(
    data: torch.Tensor, sizes: torch.Tensor, batch_first: bool, padding_value: Any, total_length: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """The shapes that `pad_packed_sequence` gives: of the padded batch, and of its lengths."""
    steps = sizes.shape[0] if isinstance(total_length, int) and total_length <= 0 else total_length
    batch = batch_of(sizes)
    out = data.new_empty((steps, batch, *data.shape[1:]))
    return out.transpose(0, 1) if batch_first else out, sizes.new_empty((batch,))


def batch_of(sizes: torch.Tensor) -> Any:
    """The size of the batch that was packed.

    Raises:
        RuntimeError: it was packed outside of the model.
    """
    steps = sizes.shape[0]
    found = _batches.get(steps.node.expr) if isinstance(steps, torch.SymInt) else None
    if found is None:
        raise RuntimeError("the model is given a packed sequence: give it the padded tensor and the lengths")
    return found


def _began(original: Any, patch: Patch) -> Callable[..., Any]:
    """`forward` of a recurrent layer: torch makes its first hidden state from a number in a tensor."""

    def forward(self: Any, input: Any, hx: Any = None) -> Any:  # torch's name
        if not patch.needed or not isinstance(input, PackedSequence):
            return original(self, input, hx)
        if isinstance(self, torch.nn.LSTM):  # it leaves the size of what is packed to its kernel, unlike others
            self.check_input(input.data, input.batch_sizes)
        if hx is not None:
            return original(self, input, hx)
        batch, layers = batch_of(input.batch_sizes), self.num_layers * (2 if self.bidirectional else 1)
        hx = input.data.new_zeros((layers, batch, self.proj_size or self.hidden_size))
        if isinstance(self, torch.nn.LSTM):
            hx = (hx, input.data.new_zeros((layers, batch, self.hidden_size)))
        return original(self, input, hx)

    return forward


def _sized(original: Any, patch: Patch) -> Callable[..., Any]:
    """The size that a recurrent layer expects of a hidden state."""

    def expected(self: Any, input: Any, batch_sizes: Any) -> Any:  # torch's name
        if not patch.needed or batch_sizes is None:
            return original(self, input, batch_sizes)
        layers = self.num_layers * (2 if self.bidirectional else 1)
        projected = self.proj_size if original.__name__ == "get_expected_hidden_size" else 0
        return layers, batch_of(batch_sizes), projected or self.hidden_size

    return expected


def _to_longest(original: Any, patch: Patch) -> Callable[..., Any]:
    """`_pad_packed_sequence`, whose length is a plain integer: -1 stands for that of the longest sequence."""

    def pad(data: Any, sizes: Any, batch_first: bool, padding_value: Any, total_length: Any) -> Any:
        longest = patch.needed and isinstance(total_length, torch.SymInt) and total_length.node.expr in _batches
        length = -1 if longest else total_length
        return torch._C._VariableFunctions._pad_packed_sequence(data, sizes, batch_first, padding_value, length)

    return pad


_LAYERS = (torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU)
_patches = (
    *(Patch(layer, "forward", _began) for layer in _LAYERS),
    Patch(torch.nn.RNNBase, "get_expected_hidden_size", _sized),
    Patch(torch.nn.LSTM, "get_expected_cell_size", _sized),
    Patch(torch._VF, "_pad_packed_sequence", _to_longest),
)


class PackedSequences(Patched):
    """While it is entered, this thread's torch.export follows packed sequences."""

    def __init__(self) -> None:
        super().__init__(*_patches)
        self._shape: Any = None

    def make(self) -> None:
        """Puts the patches and the shape in place."""
        super().make()
        _batches.clear()
        own: Any = _shapes().get(_PACK)
        self._shape, thread = own, threading.get_ident()

        def packed(*args: Any, **kwargs: Any) -> Any:
            return (_packed if threading.get_ident() == thread else own)(*args, **kwargs)

        _shapes()[_PACK] = packed

    def undo(self) -> None:
        """Restores torch's own."""
        if self._shape is not None:
            _shapes()[_PACK] = self._shape
        super().undo()


def _shapes() -> dict[Any, Any]:
    from torch._subclasses import fake_impls  # a second to import

    return fake_impls.op_implementations_dict
