"""Architectures of more than one kind of input: images with text, sound, series, decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.campaigns.architectures.cases import BERT, LLAMA, VIT, VOCABULARY, Case, Inputs, both, hf, pixels, tokens


def _whisper(batch: int, length: int) -> Inputs:
    return {
        "input_features": torch.randn(batch, 8, 60),
        "decoder_input_ids": torch.randint(5, VOCABULARY, (batch, length)),
    }


def _clip_config(name: str) -> Callable[[], Any]:
    def build() -> Any:
        import transformers

        text, vision = getattr(transformers, f"{name}TextConfig"), getattr(transformers, f"{name}VisionConfig")
        config = getattr(transformers, f"{name}Config")
        own = {"projection_dim": 16} if name != "Siglip" else {}
        made = config(text_config=text(**LLAMA_CLIP).to_dict(), vision_config=vision(**VIT).to_dict(), **own)
        return getattr(transformers, f"{name}Model")(made).eval()

    return build


LLAMA_CLIP = {**BERT, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def _layoutlm(batch: int, length: int) -> Inputs:
    corner = torch.randint(0, 30, (batch, length, 2))
    return {**tokens(batch, length), "bbox": torch.cat([corner, corner + torch.randint(1, 30, (batch, length, 2))], -1)}


def _series(batch: int, length: int) -> Inputs:
    return {"past_values": torch.randn(batch, 32, 3)}


def _decisions(batch: int, length: int) -> Inputs:
    return {
        "states": torch.randn(batch, length, 5), "actions": torch.randn(batch, length, 2),
        "returns_to_go": torch.randn(batch, length, 1), "timesteps": torch.arange(length).repeat(batch, 1),
        "attention_mask": torch.ones(batch, length, dtype=torch.long),
    }  # fmt: skip


MIXED: list[Case] = [
    Case("clip", "multimodal", _clip_config("CLIP"), both(16)),
    Case("siglip", "multimodal", _clip_config("Siglip"), both(16)),
    Case("altclip-text", "multimodal", _clip_config("ChineseCLIP"), both(16)),
    Case("vilt", "multimodal", hf("ViltModel", "ViltConfig", **VIT, vocab_size=VOCABULARY, max_position_embeddings=64, max_image_length=-1), both(16)),
    Case("git", "multimodal", hf("GitForCausalLM", "GitConfig", vision_config=VIT, **BERT), both(16)),
    Case("blip", "multimodal", hf("BlipForConditionalGeneration", "BlipConfig",
         text_config={**LLAMA_CLIP, "encoder_hidden_size": 32, "sep_token_id": 3}, vision_config=VIT), both(16)),
    Case("layoutlmv3", "multimodal", hf("LayoutLMv3Model", "LayoutLMv3Config", **{**BERT, "coordinate_size": 4, "shape_size": 8,
         "max_2d_position_embeddings": 64, "input_size": 16, "patch_size": 4, "rel_pos_bins": 8, "max_rel_pos": 16, "rel_2d_pos_bins": 8, "max_rel_2d_pos": 16}),
         lambda b, n: {**_layoutlm(b, n), **pixels(16)(b, n)}),
    Case("whisper", "audio", hf("WhisperForConditionalGeneration", "WhisperConfig", vocab_size=VOCABULARY, num_mel_bins=8, d_model=32,
         encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=40,
         max_source_positions=30, max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
         suppress_tokens=None, begin_suppress_tokens=None), _whisper),
    Case("ast", "audio", hf("ASTModel", "ASTConfig", **{k: v for k, v in VIT.items() if k != "image_size"}, max_length=32, num_mel_bins=16,
         frequency_stride=4, time_stride=4), lambda b, n: {"input_values": torch.randn(b, 32, 16)}),
    Case("encodec", "audio", hf("EncodecModel", "EncodecConfig", num_filters=4, hidden_size=16, codebook_size=32, codebook_dim=16,
         upsampling_ratios=[4, 2], num_lstm_layers=1, target_bandwidths=[24.0], sampling_rate=8000), lambda b, n: {"input_values": torch.randn(b, 1, 160 * n)}),
    Case("patchtst", "series", hf("PatchTSTModel", "PatchTSTConfig", num_input_channels=3, context_length=32, patch_length=8, patch_stride=8,
         d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=40, do_mask_input=False), _series),
    Case("patchtsmixer", "series", hf("PatchTSMixerModel", "PatchTSMixerConfig", num_input_channels=3, context_length=32, patch_length=8, patch_stride=8,
         d_model=16, num_layers=2), _series),
    Case("decision-transformer", "series", hf("DecisionTransformerModel", "DecisionTransformerConfig", state_dim=5, act_dim=2, hidden_size=32,
         n_layer=2, n_head=4, max_ep_len=64), _decisions),
    Case("dac", "audio", hf("DacModel", "DacConfig", encoder_hidden_size=8, downsampling_ratios=[2, 4], decoder_hidden_size=16, n_codebooks=2, codebook_size=16, codebook_dim=4), lambda b, n: {"input_values": torch.randn(b, 1, 160*n)}),
    Case("clipseg", "multimodal", hf("CLIPSegModel", "CLIPSegConfig", text_config={**BERT, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}, vision_config=VIT, projection_dim=16), both(16)),
    Case("visual-bert", "multimodal", hf("VisualBertModel", "VisualBertConfig", **BERT, visual_embedding_dim=12), lambda b, n: {**tokens(b, n), "visual_embeds": torch.rand(b, 5, 12), "visual_attention_mask": torch.ones(b, 5)}),
    Case("llava", "multimodal", hf("LlavaForConditionalGeneration", "LlavaConfig", text_config={**LLAMA, "model_type": "llama"}, vision_config={**VIT, "model_type": "clip_vision_model"}, image_token_index=4, vision_feature_layer=-1), lambda b, n: {"input_ids": torch.cat([torch.full((b, 16), 4), torch.randint(5, VOCABULARY, (b, n))], 1), "pixel_values": torch.rand(b, 3, 16, 16)}),
    Case("perceiver", "text", hf("PerceiverModel", "PerceiverConfig", num_latents=6, d_latents=16, d_model=12, num_blocks=1, num_self_attends_per_block=1, num_self_attention_heads=2, num_cross_attention_heads=2), lambda b, n: {"inputs": torch.rand(b, n, 12)}),
]  # fmt: skip
