"""Checks of rows of several lengths before torch runs on them: bags, which offsets tell apart, and packed sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ....graph.errors import GuardError
from ....graph.traverse import leaves


def of_bags(function: Callable[..., Any]) -> Callable[..., Any]:
    """`embedding_bag`, which checks its offsets: torch writes no result for a bag that ends before it begins.

    Where the largest of each bag is asked, indices without a bag end the process.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        offsets = args[2] if len(args) > 2 else kwargs.get("offsets")
        if type(offsets) is torch.Tensor:
            if offsets.dim() != 1:
                raise GuardError("the offsets of bags are no list", got=list(offsets.shape), expected="one dimension")
            if bool((offsets[1:] < offsets[:-1]).any()):
                got = offsets.tolist()[:8]
                raise GuardError("the offsets of bags fall", got=got, expected="offsets that do not fall")
            given = [*args[:2], kwargs.get("input"), kwargs.get("indices")]
            found = [each for each in given if type(each) is torch.Tensor and not each.is_floating_point()]
            modes = [each for each in (*args[4:7], kwargs.get("mode")) if type(each) in (int, str)]
            last = (
                args[7:8] if not args or args[0].is_floating_point() else args[9:10]
            )  # the weight comes first, or not
            bags = offsets.numel() - bool(last[0] if last else kwargs.get("include_last_offset", False))
            if bags <= 0 and found and found[0].numel() and (2 in modes or "max" in modes):
                raise GuardError("there are indices and no bag", got=offsets.tolist(), expected="offsets of a bag")
        return function(*args, **kwargs)

    return call


def of_recurrent(function: Callable[..., Any]) -> Callable[..., Any]:
    """A recurrent layer that checks the number of its weights, and that all of it is of floats: torch reads past few.

    Weights follow the hidden state, then whether there are biases, the number of layers, and flags.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        lists = [arg for arg in args if isinstance(arg, list | tuple)]
        weights = kwargs.get("params", lists[-1] if lists else ())
        flags = [arg for arg in args if isinstance(arg, bool)]
        biases = flags[0] if flags else kwargs.get("has_biases")
        both = flags[2] if len(flags) > 2 else kwargs.get("bidirectional")
        layers = next((arg for arg in args if type(arg) is int), kwargs.get("num_layers", 0))
        each = layers * (2 if both else 1)
        wanted = [each * (4 if biases else 2), each * (5 if biases else 3)]  # with projections there is one more
        if len(weights) not in wanted:
            raise GuardError("the weights of a recurrent layer are too few", got=len(weights), expected=wanted[0])
        first, state = args[0] if args else kwargs.get("input", kwargs.get("data")), kwargs.get("hx", args[1:])
        hidden = [t for t in leaves(state) if isinstance(t, torch.Tensor) and t.dim() == 3]
        if not isinstance(first, torch.Tensor) or not all(t.is_floating_point() for t in (first, *hidden, *weights)):
            raise GuardError("a recurrent layer takes floats", expected="input, state and weights of floats")
        if first.dim() > 3 or not hidden:
            got = list(first.shape)
            raise GuardError("a recurrent layer takes sequences", got=got, expected="input and state of 3 dimensions")
        return function(*args, **kwargs)

    return call


def of_packed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A recurrent layer that checks its packed sequence: torch reads past the data of a malformed one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and isinstance(args[1], torch.Tensor) and not _is_hidden_state(args, kwargs):
            _check_packed(args[0], args[1])
        elif isinstance(kwargs.get("batch_sizes"), torch.Tensor):
            _check_packed(args[0] if args else kwargs.get("data"), kwargs["batch_sizes"])
        return function(*args, **kwargs)

    return call


def _is_hidden_state(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the sequence is not packed: then weights and a flag follow the second tensor, its hidden state.

    In the form for a packed sequence a tensor follows it, or two lists where the layer is an LSTM.
    """
    flag = args[3] if len(args) > 3 else kwargs.get("has_biases")
    whole = isinstance(flag, bool) and "params" not in kwargs and "hx" not in kwargs
    return whole and len(args) > 2 and isinstance(args[2], list | tuple)


def of_padded(function: Callable[..., Any]) -> Callable[..., Any]:
    """What takes a packed sequence apart, and checks it: torch writes past its result for a malformed one."""

    def call(data: torch.Tensor, batch_sizes: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(data, torch.Tensor) and type(batch_sizes) is torch.Tensor:
            _check_packed(data, batch_sizes, range(1, data.dim() + 1))
        return function(data, batch_sizes, *args, **kwargs)

    return call


def _check_packed(data: Any, sizes: torch.Tensor, dimensions: Sequence[int] = (2,)) -> None:
    right = sizes.dim() == 1 and sizes.dtype is torch.int64 and sizes.numel() > 0 and sizes.device.type == "cpu"
    right = right and isinstance(data, torch.Tensor) and data.dim() in dimensions
    counts = sizes.tolist() if right else []
    if not counts or counts != sorted(counts, reverse=True) or counts[-1] < 1 or sum(counts) != data.size(0):
        raise GuardError(
            "the packed sequence is malformed",
            got=f"batch sizes {counts[:8]}",
            expected="falling batch sizes that add up to all rows",
        )
