"""Small random-weight models of many architectures: what the campaign of architectures packs and reruns.

Every entry builds a tiny model from a configuration (nothing is downloaded) and says how its inputs are made at a
batch size and a length. The sizes are as small as each architecture takes.
"""

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

_BERT: dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 64,
}  # fmt: skip
_LLAMA: dict[str, Any] = {**_BERT, "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_BART: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 64,
}  # fmt: skip
_T5: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4,
}  # fmt: skip
_GPT: dict[str, Any] = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
_VIT: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40, "image_size": 16,
    "patch_size": 4,
}  # fmt: skip
_WAV: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40,
    "conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2, "vocab_size": 32, "mask_time_prob": 0.0,
}  # fmt: skip

_TEXT_ENCODERS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("bert", "BertModel", "BertConfig", _BERT),
    ("bert-classifier", "BertForSequenceClassification", "BertConfig", {**_BERT, "num_labels": 5}),
    ("roberta", "RobertaModel", "RobertaConfig", _BERT),
    ("xlm-roberta", "XLMRobertaForTokenClassification", "XLMRobertaConfig", _BERT),
    ("camembert", "CamembertForMaskedLM", "CamembertConfig", _BERT),
    ("distilbert", "DistilBertModel", "DistilBertConfig",
     {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 40, "max_position_embeddings": 64}),
    ("albert", "AlbertModel", "AlbertConfig", {**_BERT, "embedding_size": 16}),
    ("electra", "ElectraModel", "ElectraConfig", {**_BERT, "embedding_size": 16}),
    ("deberta", "DebertaModel", "DebertaConfig", {**_BERT, "relative_attention": True, "pos_att_type": "p2c|c2p"}),
    ("deberta-v2", "DebertaV2Model", "DebertaV2Config",
     {**_BERT, "relative_attention": True, "pos_att_type": "p2c|c2p", "position_buckets": 16, "norm_rel_ebd": "layer_norm"}),
    ("mpnet", "MPNetModel", "MPNetConfig", _BERT),
    ("modernbert", "ModernBertModel", "ModernBertConfig", {**_BERT, "pad_token_id": 0, "local_attention": 8}),
    ("convbert", "ConvBertModel", "ConvBertConfig", {**_BERT, "embedding_size": 32}),
    ("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", {**_BERT, "embedding_size": 32}),
    ("mobilebert", "MobileBertModel", "MobileBertConfig",
     {**_BERT, "embedding_size": 16, "true_hidden_size": 32, "intra_bottleneck_size": 32}),
    ("roformer", "RoFormerModel", "RoFormerConfig", _BERT),
    ("ernie", "ErnieModel", "ErnieConfig", _BERT),
    ("esm", "EsmModel", "EsmConfig", {**_BERT, "pad_token_id": 1, "mask_token_id": 3, "position_embedding_type": "rotary"}),
    ("fnet", "FNetModel", "FNetConfig", {**_BERT, "use_tpu_fourier_optimizations": False}),
    ("funnel", "FunnelModel", "FunnelConfig",
     {"vocab_size": VOCABULARY, "block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 32, "n_head": 4, "d_head": 8,
      "d_inner": 40}),
    ("xlnet", "XLNetModel", "XLNetConfig", {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 40}),
    ("layoutlm", "LayoutLMModel", "LayoutLMConfig", _BERT),
    ("longformer", "LongformerModel", "LongformerConfig", {**_BERT, "attention_window": 4}),
    ("canine", "CanineModel", "CanineConfig",
     {**_BERT, "num_hash_buckets": 32, "downsampling_rate": 2, "local_transformer_stride": 4}),
    ("nystromformer", "NystromformerModel", "NystromformerConfig", {**_BERT, "num_landmarks": 4, "segment_means_seq_len": 4}),
    ("rembert", "RemBertModel", "RemBertConfig", {**_BERT, "input_embedding_size": 16}),
    ("roberta-prelayernorm", "RobertaPreLayerNormModel", "RobertaPreLayerNormConfig", _BERT),
    ("megatron-bert", "MegatronBertModel", "MegatronBertConfig", _BERT),
    ("big-bird", "BigBirdModel", "BigBirdConfig", _BERT),
    ("data2vec-text", "Data2VecTextModel", "Data2VecTextConfig", _BERT),
    ("ibert", "IBertModel", "IBertConfig", _BERT),
    ("luke", "LukeModel", "LukeConfig", {**_BERT, "entity_vocab_size": 10, "entity_emb_size": 16}),
]  # fmt: skip

_DECODERS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("gpt2", "GPT2LMHeadModel", "GPT2Config", _GPT),
    ("gpt-neo", "GPTNeoForCausalLM", "GPTNeoConfig",
     {"vocab_size": VOCABULARY, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 64,
      "attention_types": [[["global", "local"], 1]], "window_size": 4}),
    ("gpt-neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", _BERT),
    ("gptj", "GPTJForCausalLM", "GPTJConfig", {**_GPT, "rotary_dim": 4}),
    ("opt", "OPTForCausalLM", "OPTConfig", {**_BERT, "ffn_dim": 40, "word_embed_proj_dim": 32}),
    ("bloom", "BloomForCausalLM", "BloomConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    ("llama", "LlamaForCausalLM", "LlamaConfig", _LLAMA),
    ("mistral", "MistralForCausalLM", "MistralConfig", {**_LLAMA, "sliding_window": 4}),
    ("mixtral", "MixtralForCausalLM", "MixtralConfig", {**_LLAMA, "num_local_experts": 4}),
    ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", _LLAMA),
    ("qwen3", "Qwen3ForCausalLM", "Qwen3Config", {**_LLAMA, "head_dim": 8}),
    ("gemma", "GemmaForCausalLM", "GemmaConfig", {**_LLAMA, "head_dim": 8}),
    ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", {**_LLAMA, "head_dim": 8, "sliding_window": 4}),
    ("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", {**_LLAMA, "head_dim": 8, "sliding_window": 4}),
    ("phi", "PhiForCausalLM", "PhiConfig", _LLAMA),
    ("phi3", "Phi3ForCausalLM", "Phi3Config", _LLAMA),
    ("falcon", "FalconForCausalLM", "FalconConfig", _BERT),
    ("stablelm", "StableLmForCausalLM", "StableLmConfig", _LLAMA),
    ("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", _LLAMA),
    ("olmo", "OlmoForCausalLM", "OlmoConfig", _LLAMA),
    ("olmoe", "OlmoeForCausalLM", "OlmoeConfig", {**_LLAMA, "num_experts": 4, "num_experts_per_tok": 2}),
    ("cohere", "CohereForCausalLM", "CohereConfig", _LLAMA),
    ("granite", "GraniteForCausalLM", "GraniteConfig", _LLAMA),
    ("mpt", "MptForCausalLM", "MptConfig", {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    ("codegen", "CodeGenForCausalLM", "CodeGenConfig", {**_GPT, "rotary_dim": 4}),
    ("ctrl", "CTRLLMHeadModel", "CTRLConfig", {**_GPT, "dff": 40}),
    ("xglm", "XGLMForCausalLM", "XGLMConfig",
     {"vocab_size": VOCABULARY, "d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 40, "max_position_embeddings": 64}),
    ("mamba", "MambaForCausalLM", "MambaConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
    ("biogpt", "BioGptForCausalLM", "BioGptConfig", _BERT),
    ("gpt-bigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", _GPT),
    ("olmo2", "Olmo2ForCausalLM", "Olmo2Config", _LLAMA),
    ("qwen2-moe", "Qwen2MoeForCausalLM", "Qwen2MoeConfig", {**_LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24}),
    ("glm", "GlmForCausalLM", "GlmConfig", {**_LLAMA, "head_dim": 8}),
    ("nemotron", "NemotronForCausalLM", "NemotronConfig", _LLAMA),
    ("persimmon", "PersimmonForCausalLM", "PersimmonConfig", _LLAMA),
    ("smollm3", "SmolLM3ForCausalLM", "SmolLM3Config", _LLAMA),
    ("cohere2", "Cohere2ForCausalLM", "Cohere2Config", {**_LLAMA, "sliding_window": 4}),
    ("granitemoe", "GraniteMoeForCausalLM", "GraniteMoeConfig", {**_LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}),
    ("gpt-oss", "GptOssForCausalLM", "GptOssConfig", {**_LLAMA, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}),
    ("deepseek-v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", {**_LLAMA, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "qk_nope_head_dim": 8, "moe_intermediate_size": 16, "first_k_dense_replace": 1}),
    ("rwkv", "RwkvForCausalLM", "RwkvConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32, "intermediate_size": 40, "context_length": 64}),
]  # fmt: skip

_TRANSLATORS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("t5", "T5ForConditionalGeneration", "T5Config", _T5),
    ("mt5", "MT5ForConditionalGeneration", "MT5Config", _T5),
    ("umt5", "UMT5ForConditionalGeneration", "UMT5Config", _T5),
    ("bart", "BartForConditionalGeneration", "BartConfig", _BART),
    ("mbart", "MBartForConditionalGeneration", "MBartConfig", _BART),
    ("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", _BART),
    ("marian", "MarianMTModel", "MarianConfig", {**_BART, "pad_token_id": 0, "decoder_start_token_id": 0}),
    ("m2m100", "M2M100ForConditionalGeneration", "M2M100Config", _BART),
    ("blenderbot", "BlenderbotForConditionalGeneration", "BlenderbotConfig", _BART),
    ("prophetnet", "ProphetNetForConditionalGeneration", "ProphetNetConfig",
     {"vocab_size": VOCABULARY, "hidden_size": 32, "num_encoder_layers": 2, "num_decoder_layers": 2, "encoder_ffn_dim": 40,
      "decoder_ffn_dim": 40, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "max_position_embeddings": 64}),
    ("longt5", "LongT5ForConditionalGeneration", "LongT5Config", {**_T5, "local_radius": 4}),
    ("led", "LEDForConditionalGeneration", "LEDConfig", {**{k: v for k, v in _BART.items() if k!="max_position_embeddings"}, "attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}),
    ("switch-transformers", "SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", {**_T5, "num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_decoder_layers": 2}),
    ("plbart", "PLBartForConditionalGeneration", "PLBartConfig", _BART),
]  # fmt: skip

_VISION: list[tuple[str, str, str, dict[str, Any], Callable[[int, int], Inputs]]] = [
    ("vit", "ViTForImageClassification", "ViTConfig", _VIT, pixels(16)),
    ("deit", "DeiTModel", "DeiTConfig", _VIT, pixels(16)),
    ("beit", "BeitModel", "BeitConfig", {**_VIT, "use_relative_position_bias": True}, pixels(16)),
    ("dinov2", "Dinov2Model", "Dinov2Config", {**_VIT, "mlp_ratio": 1}, pixels(16)),
    ("swin", "SwinModel", "SwinConfig",
     {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}, pixels(32)),
    ("swinv2", "Swinv2Model", "Swinv2Config",
     {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4}, pixels(32)),
    ("convnext", "ConvNextModel", "ConvNextConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}, images(16)),
    ("convnextv2", "ConvNextV2Model", "ConvNextV2Config", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}, images(16)),
    ("resnet", "ResNetForImageClassification", "ResNetConfig",
     {"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_labels": 4}, images(16)),
    ("regnet", "RegNetModel", "RegNetConfig",
     {"embedding_size": 8, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "groups_width": 4}, images(16)),
    ("mobilenet-v1", "MobileNetV1Model", "MobileNetV1Config", {"depth_multiplier": 0.25}, images(16)),
    ("mobilenet-v2", "MobileNetV2Model", "MobileNetV2Config", {"depth_multiplier": 0.25}, images(16)),
    ("efficientnet", "EfficientNetModel", "EfficientNetConfig", {"width_coefficient": 0.1, "depth_coefficient": 0.1, "hidden_dim": 128}, images(16)),
    ("poolformer", "PoolFormerModel", "PoolFormerConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1]}, images(16)),
    ("segformer", "SegformerForSemanticSegmentation", "SegformerConfig",
     {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "decoder_hidden_size": 16}, images(16)),
    ("mobilevit", "MobileViTModel", "MobileViTConfig",
     {"hidden_sizes": [16, 16, 16], "neck_hidden_sizes": [8, 8, 8, 8, 16, 16, 16], "image_size": 64}, pixels(64)),
    ("levit", "LevitModel", "LevitConfig", {"image_size": 64, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 3, 4],
     "depths": [1, 1, 1], "key_dim": [8, 8, 8]}, pixels(64)),
    ("pvt", "PvtModel", "PvtConfig", {"image_size": 64, "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1],
     "num_attention_heads": [1, 1, 2, 2]}, pixels(64)),
    ("hiera", "HieraModel", "HieraConfig", {"image_size": [32, 32], "patch_size": [3, 3], "patch_stride": [2, 2], "patch_padding": [1, 1],
     "embed_dim": 16, "depths": [1, 1], "num_heads": [1, 2], "query_stride": [2, 2], "num_query_pool": 1,
     "masked_unit_size": [4, 4], "masked_unit_attention": [True, False]}, pixels(32)),
    ("focalnet", "FocalNetModel", "FocalNetConfig",
     {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "hidden_sizes": [16, 32], "focal_levels": [1, 1], "focal_windows": [3, 3]}, pixels(32)),
    ("yolos", "YolosForObjectDetection", "YolosConfig", {**_VIT, "image_size": [16, 16], "num_detection_tokens": 4}, pixels(16)),
    ("cvt", "CvtModel", "CvtConfig", {"embed_dim": [8, 16, 16], "num_heads": [1, 2, 2], "depth": [1, 2, 3], "cls_token": [False, False, True]}, images(16)),
    ("pvt-v2", "PvtV2Model", "PvtV2Config", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "image_size": 64}, pixels(64)),
    ("swiftformer", "SwiftFormerModel", "SwiftFormerConfig", {"depths": [1, 1, 1, 1], "embed_dims": [8, 8, 16, 16], "image_size": 64}, pixels(64)),
    ("mobilevitv2", "MobileViTV2Model", "MobileViTV2Config", {"image_size": 64, "width_multiplier": 0.25, "base_attn_unit_dims": [16, 16, 16]}, pixels(64)),
    ("dinov3-vit", "DINOv3ViTModel", "DINOv3ViTConfig", _VIT, pixels(16)),
    ("vit-msn", "ViTMSNModel", "ViTMSNConfig", _VIT, pixels(16)),
    ("glpn", "GLPNForDepthEstimation", "GLPNConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "decoder_hidden_size": 16}, images(16)),
    ("bit", "BitModel", "BitConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "embedding_size": 8, "num_groups": 2}, images(16)),
    ("dpt", "DPTForDepthEstimation", "DPTConfig", {**_VIT, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 8, "is_hybrid": False}, pixels(16)),
    ("videomae", "VideoMAEModel", "VideoMAEConfig", {**_VIT, "num_frames": 4, "tubelet_size": 2}, lambda b, n: {"pixel_values": torch.rand(b, 4, 3, 16, 16)}),
]  # fmt: skip

_AUDIO: list[tuple[str, str, str, dict[str, Any]]] = [
    ("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", _WAV),
    ("hubert", "HubertModel", "HubertConfig", _WAV),
    ("wavlm", "WavLMModel", "WavLMConfig", _WAV),
    ("unispeech", "UniSpeechModel", "UniSpeechConfig", _WAV),
    ("sew", "SEWModel", "SEWConfig", {**_WAV, "squeeze_factor": 2}),
    ("data2vec-audio", "Data2VecAudioModel", "Data2VecAudioConfig", {**_WAV, "conv_pos_kernel_size": 7}),
    (
        "wav2vec2-conformer",
        "Wav2Vec2ConformerModel",
        "Wav2Vec2ConformerConfig",
        {**_WAV, "conv_depthwise_kernel_size": 5},
    ),
    (
        "sew-d",
        "SEWDModel",
        "SEWDConfig",
        {**_WAV, "squeeze_factor": 2, "position_buckets": 8, "max_position_embeddings": 32},
    ),
    ("unispeech-sat", "UniSpeechSatModel", "UniSpeechSatConfig", _WAV),
]


def _simple(kind: str, rows: list[Any], inputs: Callable[[int, int], Inputs]) -> list[Case]:
    return [Case(name, kind, hf(model, config, **settings), inputs) for name, model, config, settings in rows]


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
        made = config(text_config=text(**_LLAMA_CLIP).to_dict(), vision_config=vision(**_VIT).to_dict(), **own)
        return getattr(transformers, f"{name}Model")(made).eval()

    return build


_LLAMA_CLIP = {**_BERT, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


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


_MIXED: list[Case] = [
    Case("clip", "multimodal", _clip_config("CLIP"), both(16)),
    Case("siglip", "multimodal", _clip_config("Siglip"), both(16)),
    Case("altclip-text", "multimodal", _clip_config("ChineseCLIP"), both(16)),
    Case("vilt", "multimodal", hf("ViltModel", "ViltConfig", **_VIT, vocab_size=VOCABULARY, max_position_embeddings=64, max_image_length=-1), both(16)),
    Case("git", "multimodal", hf("GitForCausalLM", "GitConfig", vision_config=_VIT, **_BERT), both(16)),
    Case("blip", "multimodal", hf("BlipForConditionalGeneration", "BlipConfig",
         text_config={**_LLAMA_CLIP, "encoder_hidden_size": 32, "sep_token_id": 3}, vision_config=_VIT), both(16)),
    Case("layoutlmv3", "multimodal", hf("LayoutLMv3Model", "LayoutLMv3Config", **{**_BERT, "coordinate_size": 4, "shape_size": 8,
         "max_2d_position_embeddings": 64, "input_size": 16, "patch_size": 4, "rel_pos_bins": 8, "max_rel_pos": 16, "rel_2d_pos_bins": 8, "max_rel_2d_pos": 16}),
         lambda b, n: {**_layoutlm(b, n), **pixels(16)(b, n)}),
    Case("whisper", "audio", hf("WhisperForConditionalGeneration", "WhisperConfig", vocab_size=VOCABULARY, num_mel_bins=8, d_model=32,
         encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=40,
         max_source_positions=30, max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
         suppress_tokens=None, begin_suppress_tokens=None), _whisper),
    Case("ast", "audio", hf("ASTModel", "ASTConfig", **{k: v for k, v in _VIT.items() if k != "image_size"}, max_length=32, num_mel_bins=16,
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
    Case("clipseg", "multimodal", hf("CLIPSegModel", "CLIPSegConfig", text_config={**_BERT, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}, vision_config=_VIT, projection_dim=16), both(16)),
    Case("visual-bert", "multimodal", hf("VisualBertModel", "VisualBertConfig", **_BERT, visual_embedding_dim=12), lambda b, n: {**tokens(b, n), "visual_embeds": torch.rand(b, 5, 12), "visual_attention_mask": torch.ones(b, 5)}),
    Case("llava", "multimodal", hf("LlavaForConditionalGeneration", "LlavaConfig", text_config={**_LLAMA, "model_type": "llama"}, vision_config={**_VIT, "model_type": "clip_vision_model"}, image_token_index=4, vision_feature_layer=-1), lambda b, n: {"input_ids": torch.cat([torch.full((b, 16), 4), torch.randint(5, VOCABULARY, (b, n))], 1), "pixel_values": torch.rand(b, 3, 16, 16)}),
    Case("perceiver", "text", hf("PerceiverModel", "PerceiverConfig", num_latents=6, d_latents=16, d_model=12, num_blocks=1, num_self_attends_per_block=1, num_self_attention_heads=2, num_cross_attention_heads=2), lambda b, n: {"inputs": torch.rand(b, n, 12)}),
]  # fmt: skip


def transformers_cases() -> list[Case]:
    """Every architecture of transformers, run once forward."""
    return [
        *_simple("text", _TEXT_ENCODERS, tokens),
        *_simple("text", _DECODERS, tokens),
        *_simple("text", _TRANSLATORS, translation),
        *[Case(n, "vision", hf(m, c, **s), make, sizes=((2, 4), (3, 6))) for n, m, c, s, make in _VISION],
        *_simple("audio", _AUDIO, waves),
        *_MIXED,
    ]
