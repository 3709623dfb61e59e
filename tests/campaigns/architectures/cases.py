"""One case of the campaign of architectures, the inputs and the configurations that many cases share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Inputs = dict[str, Any]


VOCABULARY = 96


@dataclass(frozen=True)
class Case:
    """One model to pack.

    Attributes:
        name: of the architecture.
        kind: ``text``, ``vision``, ``audio``, ``multimodal``, ``series`` or ``layer``.
        build: makes the model.
        inputs: makes its inputs at a batch size and a length.
        process: makes the processing function of an op; by default it calls the op with the inputs by name.
        sizes: the batch size and the length of the example, and of the other inputs.
    """

    name: str
    kind: str
    build: Callable[[], Any]
    inputs: Callable[[int, int], Inputs]
    process: Callable[[Any], Callable[..., Any]] | None = None
    sizes: tuple[tuple[int, int], tuple[int, int]] = ((2, 7), (3, 11))


def hf(model: str, config: str, **settings: Any) -> Callable[[], Any]:
    """Builds a model of transformers from a configuration."""

    def build() -> Any:
        import transformers

        made = getattr(transformers, config)(**settings)
        return getattr(transformers, model)(made).eval()

    return build


# -- inputs ----------------------------------------------------------------------------------------------------


def tokens(batch: int, length: int) -> Inputs:
    """Token ids and a mask in which every row but the first is padded on the right."""
    ids = torch.randint(5, VOCABULARY, (batch, length))
    mask = (torch.arange(length)[None] < (length - torch.arange(batch) % 3)[:, None]).long()
    return {"input_ids": ids, "attention_mask": mask}


def ids_only(batch: int, length: int) -> Inputs:
    """Token ids alone."""
    return {"input_ids": torch.randint(5, VOCABULARY, (batch, length))}


def translation(batch: int, length: int) -> Inputs:
    """What an encoder and a decoder take."""
    return {**tokens(batch, length), "decoder_input_ids": torch.randint(5, VOCABULARY, (batch, length - 2))}


def pixels(size: int, channels: int = 3) -> Callable[[int, int], Inputs]:
    """Images of a fixed size; the length is ignored."""
    return lambda batch, length: {"pixel_values": torch.rand(batch, channels, size, size)}


def images(step: int, channels: int = 3) -> Callable[[int, int], Inputs]:
    """Images whose height and width follow the length."""
    return lambda batch, length: {"pixel_values": torch.rand(batch, channels, step * length, step * length)}


def waves(batch: int, length: int) -> Inputs:
    """Sound at a length in steps of 160 samples."""
    return {"input_values": torch.randn(batch, 160 * length)}


def both(size: int) -> Callable[[int, int], Inputs]:
    """Token ids with a mask, and an image."""
    return lambda batch, length: {**tokens(batch, length), **pixels(size)(batch, length)}


# -- tables ----------------------------------------------------------------------------------------------------

BERT: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 64,
}  # fmt: skip


LLAMA: dict[str, Any] = {**BERT, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


BART: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 64,
}  # fmt: skip


GPT: dict[str, Any] = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


VIT: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40, "image_size": 16,
    "patch_size": 4,
}  # fmt: skip


WAV: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
    "conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2, "vocab_size": 32, "mask_time_prob": 0.0,
}  # fmt: skip
