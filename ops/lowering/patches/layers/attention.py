"""Torch's fast paths of attention, of which torch.export has other code: they differ where a mask hides what it hides.

In evaluation mode `nn.MultiheadAttention` and `nn.TransformerEncoderLayer` call one operator of C++ each. It leaves
masked scores out of the softmax, where the other code adds minus infinity to them: a score that overflows is then no
number. A row of which all is masked has no numbers in the one, and zeros in the other. So while a model is exported,
the layers ask torch whether it takes the fast path as they do without an export, and get the same steps here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.modules import activation

from ..lock import Patch, Patched

_OF_HEADS = 2
"""The kind of a mask that has a row for each head: both of the others in one."""


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    mask: torch.Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """`torch._native_multi_head_attention` of one tensor, step by step."""
    parts = F.linear(query, qkv_weight, qkv_bias).chunk(3, -1)
    q, k, v = (torch.unflatten(part, -1, (num_heads, embed_dim // num_heads)).transpose(1, 2) for part in parts)
    weights = None
    if mask is None and not need_weights:
        found = F.scaled_dot_product_attention(q, k, v)
    else:
        scores = (q / math.sqrt(embed_dim // num_heads)) @ k.transpose(-1, -2)
        if mask is not None:
            scores = scores.masked_fill(_for_heads(mask.bool(), mask_type), -torch.inf)
        weights = scores.softmax(-1)
        found = weights @ v
    out = F.linear(found.transpose(1, 2).flatten(2), proj_weight, proj_bias)
    if not need_weights or weights is None:
        return out, None
    return out, weights.sum(1) / num_heads if average_attn_weights else weights


def _for_heads(mask: torch.Tensor, kind: int | None) -> torch.Tensor:
    """A mask of queries and keys (0), of the keys of each sequence (1), or of both, for each head."""
    if kind == 1:
        return mask[:, None, None, :]
    return mask if kind == _OF_HEADS or mask.dim() > _OF_HEADS else mask[None, None]


def encoder_layer(
    src: torch.Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    proj_weight: torch.Tensor,
    proj_bias: torch.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *parts: Any,
) -> torch.Tensor:
    """`torch._transformer_encoder_layer_fwd`, step by step; the parts are of norms and linear layers, and masks."""
    (weight1, bias1, weight2, bias2, up, up_bias, down, down_bias), masks = parts[:8], parts[8:]
    mask, kind = (*masks, None, None)[:2]

    def first(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (embed_dim,), weight1, bias1, eps)

    def second(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (embed_dim,), weight2, bias2, eps)

    def attended(x: torch.Tensor) -> torch.Tensor:
        heads = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return attention(x, x, x, embed_dim, num_heads, *heads, mask, need_weights=False, mask_type=kind)[0]

    def forward(x: torch.Tensor) -> torch.Tensor:
        wide = F.linear(x, up, up_bias)
        return F.linear(F.gelu(wide) if use_gelu else F.relu(wide), down, down_bias)

    if norm_first:
        src = src + attended(first(src))
        return src + forward(second(src))
    src = first(src + attended(src))
    return second(src + forward(src))


def _instead(function: Callable[..., Any]) -> Callable[[Any, Patch], Callable[..., Any]]:
    """What calls a function while a model is exported."""

    def replace(original: Any, patch: Patch) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return (function if patch.needed else original)(*args, **kwargs)

        return call

    return replace


def _asked(original: Any, patch: Patch) -> Callable[..., Any]:
    """Whether tensors have functions of their own: those of an export do not count, but where tensors are nested."""

    def has_torch_function(tensors: Any) -> Any:
        asks = sys._getframe(1).f_locals.get("self")
        is_layer = isinstance(asks, torch.nn.MultiheadAttention | torch.nn.TransformerEncoderLayer)
        return False if patch.needed and is_layer else original(tensors)

    return has_torch_function


_patches = (
    Patch(torch.overrides, "has_torch_function", _asked),
    Patch(activation, "_is_make_fx_tracing", _instead(lambda: False)),
    Patch(torch, "_native_multi_head_attention", _instead(attention)),
    Patch(torch, "_transformer_encoder_layer_fwd", _instead(encoder_layer)),
)


class FastPaths(Patched):
    """While it is entered, this thread's torch.export follows torch's fast paths of attention."""

    def __init__(self) -> None:
        super().__init__(*_patches)
