"""Linear layers that `torch.ao.quantization.quantize_dynamic` made, as plain operators that give the same bits.

Their weights are objects of TorchScript, which torch.export refuses and no file holds. On the twin of a model a layer
of plain tensors takes the place of each: it computes with `torch._int_mm`, which is as fast, and what it is compared
with is torch's own layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.ao.nn.quantized import dynamic
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ...graph.errors import LoweringError

_LEVELS = 127
"""The levels of an activation are 0 to 127: one bit less than 8, so that no sum of two products leaves 16 bits."""

_MIDDLE = 64
"""What is taken off a level: rounding can give 128, which is no int8."""

_LEAST_SCALE = float.fromhex("0x1.ffb480p-15")
"""Torch rounds smaller scales up to this one: 6.1e-5 as a float32."""


@dataclass(frozen=True)
class _Weights:
    """The tensors of a layer: weights of int8, turned; what a zero point of 1 adds up to; the scale; and the bias."""

    packed: Any
    turned: torch.Tensor
    total: torch.Tensor
    scale: torch.Tensor
    bias: torch.Tensor


_known: WeakKeyDictionary[torch.nn.Module, _Weights] = WeakKeyDictionary()


def with_plain_layers(model: Any, twin: Any, name: str) -> Any:
    """The twin of a model, with a layer of plain tensors for each dynamically quantized one.

    Args:
        model: the user's model, which is only read.
        twin: of the model; None where it has none.
        name: the op's name.

    Raises:
        LoweringError: a layer is of a kind for which there is no plain one.
    """
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    if not any(map(_is_quantized, parts)):
        return twin
    refused = next((part for part in parts if _is_quantized(part) and not _is_linear(part)), None)
    if refused is not None or twin is None:
        raise LoweringError(
            "this dynamically quantized layer cannot be lowered",
            where=f"op {name!r}",
            got=type(model if refused is None else refused).__name__ + " of torch.ao.nn.quantized.dynamic",
            expected="Linear with weights of qint8",
            fix="Quantize the linear layers only: quantize_dynamic(model, {torch.nn.Linear}).",
        )
    others = dict(zip(map(id, twin.modules()), parts, strict=True))  # the order of a twin's parts is that of the model
    if _is_linear(twin):
        return PlainLinear(others[id(twin)])
    made: dict[int, PlainLinear] = {}
    for part in list(twin.modules()):
        for key, child in part._modules.items():
            if child is not None and _is_linear(child):
                part._modules[key] = made.setdefault(id(child), PlainLinear(others[id(child)]))
    return twin


def with_plain_tensors(twin: Any) -> Any:
    """The twin of a model; parameters of tensor subclasses, as torchao's, are made anew of plain tensors in it."""
    if isinstance(twin, torch.nn.Module) and any(map(is_traceable_wrapper_subclass, twin.parameters())):
        from torch._functorch._aot_autograd import subclass_parametrization  # a second to import

        subclass_parametrization.unwrap_tensor_subclass_parameters(twin)
    return twin


def _is_quantized(part: Any) -> bool:
    return type(part).__module__.startswith("torch.ao.nn.quantized.dynamic")


def _is_linear(part: Any) -> bool:
    whole = type(part) is dynamic.Linear and part._packed_params.dtype == torch.qint8
    return whole and not bool(_zero_points(part.weight()).any())


def _zero_points(weight: torch.Tensor) -> torch.Tensor:
    if weight.qscheme() == torch.per_tensor_affine:
        return torch.tensor(weight.q_zero_point())
    return weight.q_per_channel_zero_points()


def _weights(layer: Any) -> _Weights:
    """The tensors of a layer; the same ones in each call, so that the bodies of an op share them."""
    packed = layer._packed_params._packed_params
    known = _known.get(layer)
    if known is not None and known.packed is packed:
        return known
    weight, bias = torch.ops.quantized.linear_unpack(packed)
    one = weight.qscheme() == torch.per_tensor_affine
    scales = torch.full((weight.shape[0],), weight.q_scale()) if one else weight.q_per_channel_scales()
    whole = weight.int_repr()
    found = _Weights(
        packed,
        whole.t().contiguous(),
        whole.to(torch.int32).sum(1, dtype=torch.int32),
        scales.to(torch.float32),
        torch.zeros(weight.shape[0]) if bias is None else bias.detach().to(torch.float32),
    )
    _known[layer] = found
    return found


class PlainLinear(torch.nn.Module):
    """A dynamically quantized linear layer: while it is exported, of plain operators; else torch's own.

    Args:
        layer: torch's own.
    """

    turned: torch.Tensor
    total: torch.Tensor
    scale: torch.Tensor
    bias: torch.Tensor

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self._own = [layer]  # in a list, where torch.export does not look for it
        weights = _weights(layer)
        for name in ("turned", "total", "scale", "bias"):
            self.register_buffer(name, getattr(weights, name))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer's result: of floats [..., in], floats [..., out]."""
        if not torch.compiler.is_exporting():
            found: torch.Tensor = self._own[0](x)
            return found
        rows = x if x.dim() == 2 else x[None] if x.dim() == 1 else x.reshape(-1, x.shape[-1])
        scale, zero = _levels(rows)
        levels = (torch.round(rows * (1.0 / scale)) + zero).clamp(0, 255)
        products = torch._int_mm((levels - _MIDDLE).to(torch.int8), self.turned)
        whole = products + (_MIDDLE - zero).to(torch.int32) * self.total
        # In float64 the product is exact, and the sum is rounded once, as by the one instruction that torch's code is.
        sums = whole.to(torch.float32).to(torch.float64) * (scale * self.scale).to(torch.float64)
        found = (sums + self.bias.to(torch.float64)).to(torch.float32)
        return found if x.dim() == 2 else found.reshape(*x.shape[:-1], self.turned.shape[1])


def _levels(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The scale and the zero point of activations: float32 numbers without dimensions.

    As torch's `ChooseQuantizationParams` chooses them: in float64, but for the ends of the range.
    """
    zero = x.new_zeros(1)  # in the range anyway, and all of it where there are no rows
    ends = torch.cat([x.amin(-1).flatten(), zero]).amin(), torch.cat([x.amax(-1).flatten(), zero]).amax()
    least, most = (end.float() for end in ends)
    scale = (most.double() - least.double()) / _LEVELS
    lost = (scale.float() == 0) | (1.0 / scale.float()).isinf()
    scale = torch.where(lost, 0.1, scale)
    small, by, edge = scale < _LEAST_SCALE, _LEAST_SCALE / scale.float(), _LEAST_SCALE * _LEVELS
    wider = torch.where(least == 0, least, torch.where(most == 0, -edge, least * by))
    higher = torch.where(least == 0, edge, torch.where(most == 0, most, most * by))
    least, most = torch.where(small, wider, least).double(), torch.where(small, higher, most).double()
    scale = torch.where(small, _LEAST_SCALE, scale)
    nearer = -(least / scale).abs() < _LEVELS - (most / scale).abs()  # the end that adds the smaller terms
    point = torch.round(torch.where(nearer, -least / scale, _LEVELS - most / scale)).clamp(0, _LEVELS)
    return scale.float(), point.float()
