"""Small random-weight models of many architectures: what the campaign of architectures packs and reruns.

Every entry builds a tiny model from a configuration (nothing is downloaded) and says how its inputs are made at a
batch size and a length. The sizes are as small as each architecture takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.campaigns.architectures.cases import (
    BART,
    BERT,
    GPT,
    LLAMA,
    VIT,
    VOCABULARY,
    WAV,
    Case,
    Inputs,
    hf,
    images,
    pixels,
    tokens,
    translation,
    waves,
)
from tests.campaigns.architectures.mixed import MIXED

T5: dict[str, Any] = {
    "vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 40, "num_layers": 2, "num_heads": 4,
}  # fmt: skip


_TEXT_ENCODERS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("bert", "BertModel", "BertConfig", BERT),
    ("bert-classifier", "BertForSequenceClassification", "BertConfig", {**BERT, "num_labels": 5}),
    ("roberta", "RobertaModel", "RobertaConfig", BERT),
    ("xlm-roberta", "XLMRobertaForTokenClassification", "XLMRobertaConfig", BERT),
    ("camembert", "CamembertForMaskedLM", "CamembertConfig", BERT),
    ("distilbert", "DistilBertModel", "DistilBertConfig",
     {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 40, "max_position_embeddings": 64}),
    ("albert", "AlbertModel", "AlbertConfig", {**BERT, "embedding_size": 16}),
    ("electra", "ElectraModel", "ElectraConfig", {**BERT, "embedding_size": 16}),
    ("deberta", "DebertaModel", "DebertaConfig", {**BERT, "relative_attention": True, "pos_att_type": "p2c|c2p"}),
    ("deberta-v2", "DebertaV2Model", "DebertaV2Config",
     {**BERT, "relative_attention": True, "pos_att_type": "p2c|c2p", "position_buckets": 16, "norm_rel_ebd": "layer_norm"}),
    ("mpnet", "MPNetModel", "MPNetConfig", BERT),
    ("modernbert", "ModernBertModel", "ModernBertConfig", {**BERT, "pad_token_id": 0, "local_attention": 8}),
    ("convbert", "ConvBertModel", "ConvBertConfig", {**BERT, "embedding_size": 32}),
    ("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", {**BERT, "embedding_size": 32}),
    ("mobilebert", "MobileBertModel", "MobileBertConfig",
     {**BERT, "embedding_size": 16, "true_hidden_size": 32, "intra_bottleneck_size": 32}),
    ("roformer", "RoFormerModel", "RoFormerConfig", BERT),
    ("ernie", "ErnieModel", "ErnieConfig", BERT),
    ("esm", "EsmModel", "EsmConfig", {**BERT, "pad_token_id": 1, "mask_token_id": 3, "position_embedding_type": "rotary"}),
    ("fnet", "FNetModel", "FNetConfig", {**BERT, "use_tpu_fourier_optimizations": False}),
    ("funnel", "FunnelModel", "FunnelConfig",
     {"vocab_size": VOCABULARY, "block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 32, "n_head": 4, "d_head": 8,
      "d_inner": 40}),
    ("xlnet", "XLNetModel", "XLNetConfig", {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 40}),
    ("layoutlm", "LayoutLMModel", "LayoutLMConfig", BERT),
    ("longformer", "LongformerModel", "LongformerConfig", {**BERT, "attention_window": 4}),
    ("canine", "CanineModel", "CanineConfig",
     {**BERT, "num_hash_buckets": 32, "downsampling_rate": 2, "local_transformer_stride": 4}),
    ("nystromformer", "NystromformerModel", "NystromformerConfig", {**BERT, "num_landmarks": 4, "segment_means_seq_len": 4}),
    ("rembert", "RemBertModel", "RemBertConfig", {**BERT, "input_embedding_size": 16}),
    ("roberta-prelayernorm", "RobertaPreLayerNormModel", "RobertaPreLayerNormConfig", BERT),
    ("megatron-bert", "MegatronBertModel", "MegatronBertConfig", BERT),
    ("big-bird", "BigBirdModel", "BigBirdConfig", BERT),
    ("data2vec-text", "Data2VecTextModel", "Data2VecTextConfig", BERT),
    ("ibert", "IBertModel", "IBertConfig", BERT),
    ("luke", "LukeModel", "LukeConfig", {**BERT, "entity_vocab_size": 10, "entity_emb_size": 16}),
]  # fmt: skip


_DECODERS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("gpt2", "GPT2LMHeadModel", "GPT2Config", GPT),
    ("gpt-neo", "GPTNeoForCausalLM", "GPTNeoConfig",
     {"vocab_size": VOCABULARY, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "max_position_embeddings": 64,
      "attention_types": [[["global", "local"], 1]], "window_size": 4}),
    ("gpt-neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", BERT),
    ("gptj", "GPTJForCausalLM", "GPTJConfig", {**GPT, "rotary_dim": 4}),
    ("opt", "OPTForCausalLM", "OPTConfig", {**BERT, "ffn_dim": 40, "word_embed_proj_dim": 32}),
    ("bloom", "BloomForCausalLM", "BloomConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    ("llama", "LlamaForCausalLM", "LlamaConfig", LLAMA),
    ("mistral", "MistralForCausalLM", "MistralConfig", {**LLAMA, "sliding_window": 4}),
    ("mixtral", "MixtralForCausalLM", "MixtralConfig", {**LLAMA, "num_local_experts": 4}),
    ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", LLAMA),
    ("qwen3", "Qwen3ForCausalLM", "Qwen3Config", {**LLAMA, "head_dim": 8}),
    ("gemma", "GemmaForCausalLM", "GemmaConfig", {**LLAMA, "head_dim": 8}),
    ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", {**LLAMA, "head_dim": 8, "sliding_window": 4}),
    ("gemma3", "Gemma3ForCausalLM", "Gemma3TextConfig", {**LLAMA, "head_dim": 8, "sliding_window": 4}),
    ("phi", "PhiForCausalLM", "PhiConfig", LLAMA),
    ("phi3", "Phi3ForCausalLM", "Phi3Config", LLAMA),
    ("falcon", "FalconForCausalLM", "FalconConfig", BERT),
    ("stablelm", "StableLmForCausalLM", "StableLmConfig", LLAMA),
    ("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", LLAMA),
    ("olmo", "OlmoForCausalLM", "OlmoConfig", LLAMA),
    ("olmoe", "OlmoeForCausalLM", "OlmoeConfig", {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2}),
    ("cohere", "CohereForCausalLM", "CohereConfig", LLAMA),
    ("granite", "GraniteForCausalLM", "GraniteConfig", LLAMA),
    ("mpt", "MptForCausalLM", "MptConfig", {"vocab_size": VOCABULARY, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    ("codegen", "CodeGenForCausalLM", "CodeGenConfig", {**GPT, "rotary_dim": 4}),
    ("ctrl", "CTRLLMHeadModel", "CTRLConfig", {**GPT, "dff": 40}),
    ("xglm", "XGLMForCausalLM", "XGLMConfig",
     {"vocab_size": VOCABULARY, "d_model": 32, "num_layers": 2, "attention_heads": 4, "ffn_dim": 40, "max_position_embeddings": 64}),
    ("mamba", "MambaForCausalLM", "MambaConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}),
    ("biogpt", "BioGptForCausalLM", "BioGptConfig", BERT),
    ("gpt-bigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", GPT),
    ("olmo2", "Olmo2ForCausalLM", "Olmo2Config", LLAMA),
    ("qwen2-moe", "Qwen2MoeForCausalLM", "Qwen2MoeConfig", {**LLAMA, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "shared_expert_intermediate_size": 24}),
    ("glm", "GlmForCausalLM", "GlmConfig", {**LLAMA, "head_dim": 8}),
    ("nemotron", "NemotronForCausalLM", "NemotronConfig", LLAMA),
    ("persimmon", "PersimmonForCausalLM", "PersimmonConfig", LLAMA),
    ("smollm3", "SmolLM3ForCausalLM", "SmolLM3Config", LLAMA),
    ("cohere2", "Cohere2ForCausalLM", "Cohere2Config", {**LLAMA, "sliding_window": 4}),
    ("granitemoe", "GraniteMoeForCausalLM", "GraniteMoeConfig", {**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2}),
    ("gpt-oss", "GptOssForCausalLM", "GptOssConfig", {**LLAMA, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}),
    ("deepseek-v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", {**LLAMA, "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "kv_lora_rank": 8, "q_lora_rank": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "qk_nope_head_dim": 8, "moe_intermediate_size": 16, "first_k_dense_replace": 1}),
    ("rwkv", "RwkvForCausalLM", "RwkvConfig", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "attention_hidden_size": 32, "intermediate_size": 40, "context_length": 64}),
]  # fmt: skip


_TRANSLATORS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("t5", "T5ForConditionalGeneration", "T5Config", T5),
    ("mt5", "MT5ForConditionalGeneration", "MT5Config", T5),
    ("umt5", "UMT5ForConditionalGeneration", "UMT5Config", T5),
    ("bart", "BartForConditionalGeneration", "BartConfig", BART),
    ("mbart", "MBartForConditionalGeneration", "MBartConfig", BART),
    ("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", BART),
    ("marian", "MarianMTModel", "MarianConfig", {**BART, "pad_token_id": 0, "decoder_start_token_id": 0}),
    ("m2m100", "M2M100ForConditionalGeneration", "M2M100Config", BART),
    ("blenderbot", "BlenderbotForConditionalGeneration", "BlenderbotConfig", BART),
    ("prophetnet", "ProphetNetForConditionalGeneration", "ProphetNetConfig",
     {"vocab_size": VOCABULARY, "hidden_size": 32, "num_encoder_layers": 2, "num_decoder_layers": 2, "encoder_ffn_dim": 40,
      "decoder_ffn_dim": 40, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "max_position_embeddings": 64}),
    ("longt5", "LongT5ForConditionalGeneration", "LongT5Config", {**T5, "local_radius": 4}),
    ("led", "LEDForConditionalGeneration", "LEDConfig", {**{k: v for k, v in BART.items() if k!="max_position_embeddings"}, "attention_window": 4, "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}),
    ("switch-transformers", "SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", {**T5, "num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_decoder_layers": 2}),
    ("plbart", "PLBartForConditionalGeneration", "PLBartConfig", BART),
]  # fmt: skip


_VISION: list[tuple[str, str, str, dict[str, Any], Callable[[int, int], Inputs]]] = [
    ("vit", "ViTForImageClassification", "ViTConfig", VIT, pixels(16)),
    ("deit", "DeiTModel", "DeiTConfig", VIT, pixels(16)),
    ("beit", "BeitModel", "BeitConfig", {**VIT, "use_relative_position_bias": True}, pixels(16)),
    ("dinov2", "Dinov2Model", "Dinov2Config", {**VIT, "mlp_ratio": 1}, pixels(16)),
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
    ("yolos", "YolosForObjectDetection", "YolosConfig", {**VIT, "image_size": [16, 16], "num_detection_tokens": 4}, pixels(16)),
    ("cvt", "CvtModel", "CvtConfig", {"embed_dim": [8, 16, 16], "num_heads": [1, 2, 2], "depth": [1, 2, 3], "cls_token": [False, False, True]}, images(16)),
    ("pvt-v2", "PvtV2Model", "PvtV2Config", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "image_size": 64}, pixels(64)),
    ("swiftformer", "SwiftFormerModel", "SwiftFormerConfig", {"depths": [1, 1, 1, 1], "embed_dims": [8, 8, 16, 16], "image_size": 64}, pixels(64)),
    ("mobilevitv2", "MobileViTV2Model", "MobileViTV2Config", {"image_size": 64, "width_multiplier": 0.25, "base_attn_unit_dims": [16, 16, 16]}, pixels(64)),
    ("dinov3-vit", "DINOv3ViTModel", "DINOv3ViTConfig", VIT, pixels(16)),
    ("vit-msn", "ViTMSNModel", "ViTMSNConfig", VIT, pixels(16)),
    ("glpn", "GLPNForDepthEstimation", "GLPNConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2], "decoder_hidden_size": 16}, images(16)),
    ("bit", "BitModel", "BitConfig", {"hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "embedding_size": 8, "num_groups": 2}, images(16)),
    ("dpt", "DPTForDepthEstimation", "DPTConfig", {**VIT, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 8, "is_hybrid": False}, pixels(16)),
    ("videomae", "VideoMAEModel", "VideoMAEConfig", {**VIT, "num_frames": 4, "tubelet_size": 2}, lambda b, n: {"pixel_values": torch.rand(b, 4, 3, 16, 16)}),
]  # fmt: skip


_AUDIO: list[tuple[str, str, str, dict[str, Any]]] = [
    ("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", WAV),
    ("hubert", "HubertModel", "HubertConfig", WAV),
    ("wavlm", "WavLMModel", "WavLMConfig", WAV),
    ("unispeech", "UniSpeechModel", "UniSpeechConfig", WAV),
    ("sew", "SEWModel", "SEWConfig", {**WAV, "squeeze_factor": 2}),
    ("data2vec-audio", "Data2VecAudioModel", "Data2VecAudioConfig", {**WAV, "conv_pos_kernel_size": 7}),
    (
        "wav2vec2-conformer",
        "Wav2Vec2ConformerModel",
        "Wav2Vec2ConformerConfig",
        {**WAV, "conv_depthwise_kernel_size": 5},
    ),
    (
        "sew-d",
        "SEWDModel",
        "SEWDConfig",
        {**WAV, "squeeze_factor": 2, "position_buckets": 8, "max_position_embeddings": 32},
    ),
    ("unispeech-sat", "UniSpeechSatModel", "UniSpeechSatConfig", WAV),
]


def _simple(kind: str, rows: list[Any], inputs: Callable[[int, int], Inputs]) -> list[Case]:
    return [Case(name, kind, hf(model, config, **settings), inputs) for name, model, config, settings in rows]


def transformers_cases() -> list[Case]:
    """Every architecture of transformers, run once forward."""
    return [
        *_simple("text", _TEXT_ENCODERS, tokens),
        *_simple("text", _DECODERS, tokens),
        *_simple("text", _TRANSLATORS, translation),
        *[Case(n, "vision", hf(m, c, **s), make, sizes=((2, 4), (3, 6))) for n, m, c, s, make in _VISION],
        *_simple("audio", _AUDIO, waves),
        *MIXED,
    ]
