"""Packed sequences, which torch.export cannot follow: their sizes are numbers in a tensor.

Torch reads the size of a batch off the packed sequence, as a plain integer. While a model is exported, a recurrent
layer gets its first hidden state here, sized as the batch that was packed; `shape_functions` has those of layers.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

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


def _entered(function: Any, entry: Any) -> Callable[[CodeType, Patch], CodeType]:
    """What replaces the code of a function of torch, which models import by its name."""

    def replace(original: CodeType, patch: Patch) -> CodeType:
        plain = FunctionType(original, function.__globals__, function.__name__, function.__defaults__)
        _plain[function.__name__] = plain, patch
        code: CodeType = entry.__code__
        return code

    return replace


_plain = dict[str, tuple[Any, Patch]]()
"""What functions of torch were, and what has put other code in their place."""


def _pad(sequence, batch_first=False, padding_value=0.0, total_length=None):  # type: ignore[no-untyped-def]  # torch's
    from tracepack.ops.lowering.patches.layers.packed_sequences import padded_to

    return padded_to(sequence, batch_first, padding_value, total_length)


def _pack(input, lengths, batch_first=False, enforce_sorted=True):  # type: ignore[no-untyped-def]  # torch's
    from tracepack.ops.lowering.patches.layers.packed_sequences import packed_by

    return packed_by(input, lengths, batch_first, enforce_sorted)


def padded_to(sequence: Any, batch_first: bool, padding_value: Any, total_length: Any) -> Any:
    """`pad_packed_sequence`: to the longest sequence first, whose length a run tells, then to the length."""
    plain, patch = _plain["pad_packed_sequence"]
    if total_length is None or not patch.needed or not isinstance(sequence, PackedSequence):
        return plain(sequence, batch_first, padding_value, total_length)
    longest = sequence.batch_sizes.shape[0]
    check: Any = torch._check
    check(total_length >= longest, lambda: "Expected total_length to be at least the length of the longest sequence")
    out, lengths = plain(sequence, batch_first, padding_value)
    sizes, dim = [*out.shape], int(batch_first)
    sizes[dim] = total_length - longest
    return torch.cat([out, out.new_full(sizes, padding_value)], dim), lengths


class Lengths:
    """The list, or array, of the lengths of some sequences: most code asks no more than to pack them by it."""

    def __init__(self, tensor: torch.Tensor, plain: Callable[[torch.Tensor], Any]) -> None:
        self.tensor, self._plain = tensor, plain

    def __len__(self) -> int:
        return len(self.tensor)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._plain(self.tensor))

    def __getitem__(self, index: Any) -> Any:
        return self._plain(self.tensor)[index]


def _listed(original: Any, patch: Patch) -> Callable[..., Any]:
    """`tolist` and `numpy`, where the code that asks packs sequences: a list would have the length of the example."""
    plain = original or getattr(torch.Tensor, patch.name)

    def listed(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        packs = "pack_padded_sequence" in sys._getframe(1).f_code.co_names
        if packs and patch.needed and self.dim() == 1 and isinstance(self.shape[0], torch.SymInt):
            return Lengths(self, plain)
        return plain(self, *args, **kwargs)

    return listed


def packed_by(padded: torch.Tensor, lengths: Any, batch_first: bool, enforce_sorted: bool) -> Any:
    """`pack_padded_sequence`, whose lengths may be such a list."""
    if isinstance(lengths, Lengths):
        lengths = lengths.tensor.to("cpu", torch.int64)
    return _plain["pack_padded_sequence"][0](padded, lengths, batch_first, enforce_sorted)


_LAYERS = (torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU)
_patches = (
    *(Patch(layer, "forward", _began) for layer in _LAYERS),
    Patch(torch.nn.RNNBase, "get_expected_hidden_size", _sized),
    Patch(torch.nn.LSTM, "get_expected_cell_size", _sized),
    Patch(torch._VF, "_pad_packed_sequence", _to_longest),
    Patch(pad_packed_sequence, "__code__", _entered(pad_packed_sequence, _pad)),
    Patch(pack_padded_sequence, "__code__", _entered(pack_padded_sequence, _pack)),
)


@cache
def _of_fakes() -> tuple[Patch, ...]:
    from torch._subclasses import FakeTensor  # a second to import
    from torch._subclasses.functional_tensor import FunctionalTensor

    kinds, names = (FakeTensor, FunctionalTensor), ("tolist", "numpy")
    return tuple(Patch(kind, name, _listed) for kind in kinds for name in names)


class PackedSequences(Patched):
    """While it is entered, this thread's torch.export follows packed sequences."""

    def __init__(self) -> None:
        super().__init__(*_patches, *_of_fakes())
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
