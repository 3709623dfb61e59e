"""Generation inside a processing function: a few tokens in a loop, with a KV cache that ops hand on, and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.campaigns.architectures.cases import (
    BART,
    BERT,
    GPT,
    LLAMA,
    T5,
    VOCABULARY,
    Case,
    Inputs,
    hf,
    ids_only,
    tokens,
)

STEPS = 3


def with_cache(op: Any) -> Callable[..., Any]:
    """Greedy decoding of a decoder: the prompt first, then one token at a time with the cache."""

    def process(input_ids: torch.Tensor) -> torch.Tensor:
        out = op(input_ids=input_ids, use_cache=True)
        ids = input_ids
        for _ in range(STEPS):
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, token], dim=1)
            out = op(input_ids=token, past_key_values=out.past_key_values, use_cache=True)
        return torch.cat([ids, out.logits[:, -1].argmax(-1, keepdim=True)], dim=1)

    return process


def changed_cache(op: Any) -> Callable[..., Any]:
    """Decoding with a cache that the function made, and that the op changes in place."""

    def process(input_ids: torch.Tensor) -> torch.Tensor:
        from transformers import DynamicCache

        cache, token, ids = DynamicCache(), input_ids, input_ids
        for _ in range(STEPS):
            token = op(input_ids=token, past_key_values=cache, use_cache=True).logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, token], dim=1)
        return ids

    return process


def handed_on(op: Any) -> Callable[..., Any]:
    """One step of decoding whose cache comes in and goes out as tensors, between runs of the pipeline."""

    def process(input_ids: torch.Tensor, past: list[list[torch.Tensor]]) -> Any:
        from transformers import DynamicCache

        out = op(input_ids=input_ids, past_key_values=DynamicCache(past), use_cache=True)
        return out.logits, [[layer.keys, layer.values] for layer in out.past_key_values.layers]

    return process


def _past(batch: int, length: int) -> Inputs:
    past = [[torch.randn(batch, 2, length, 8) for _ in range(2)] for _ in range(2)]
    return {"input_ids": torch.randint(5, VOCABULARY, (batch, 1)), "past": past}


def without_cache(op: Any) -> Callable[..., Any]:
    """Greedy decoding that reads everything again for each token."""

    def process(input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        for _ in range(STEPS):
            logits = op(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits
            input_ids = torch.cat([input_ids, logits[:, -1].argmax(-1, keepdim=True)], dim=1)
            attention_mask = torch.cat([attention_mask, torch.ones_like(attention_mask[:, :1])], dim=1)
        return input_ids

    return process


def translated(op: Any) -> Callable[..., Any]:
    """Decoding of an encoder-decoder model, the encoder run once, with a cache."""

    def process(input_ids: torch.Tensor) -> torch.Tensor:
        ids = torch.zeros_like(input_ids[:, :1])
        out = op(input_ids=input_ids, decoder_input_ids=ids, use_cache=True)
        for _ in range(STEPS):
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, token], dim=1)
            out = op(
                encoder_outputs=(out.encoder_last_hidden_state,),
                decoder_input_ids=token,
                past_key_values=out.past_key_values,
                use_cache=True,
            )
        return ids

    return process


_CACHED: list[tuple[str, str, str, dict[str, Any]]] = [
    ("gpt2", "GPT2LMHeadModel", "GPT2Config", GPT),
    ("gpt-neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", BERT),
    ("llama", "LlamaForCausalLM", "LlamaConfig", LLAMA),
    ("qwen2", "Qwen2ForCausalLM", "Qwen2Config", LLAMA),
    ("opt", "OPTForCausalLM", "OPTConfig", {**BERT, "ffn_dim": 40, "word_embed_proj_dim": 32}),
    ("gemma2", "Gemma2ForCausalLM", "Gemma2Config", {**LLAMA, "head_dim": 8, "sliding_window": 64}),
]


def generation_cases() -> list[Case]:
    """Every way of generation, with a few models each."""
    cases = [
        Case(f"{name}-generates", "generation", hf(model, config, **settings), ids_only, with_cache)
        for name, model, config, settings in _CACHED
    ]
    llama, t5, bart = (
        hf("LlamaForCausalLM", "LlamaConfig", **LLAMA),
        hf("T5ForConditionalGeneration", "T5Config", **T5),
        hf("BartForConditionalGeneration", "BartConfig", **BART),
    )
    return [
        *cases,
        Case("llama-changes-its-cache", "generation", llama, ids_only, changed_cache),
        Case("llama-hands-its-cache-on", "generation", llama, _past, handed_on),
        Case("llama-without-cache", "generation", llama, tokens, without_cache),
        Case("t5-generates", "generation", t5, _longer, translated),
        Case("bart-generates", "generation", bart, _longer, translated),
    ]


def _longer(batch: int, length: int) -> Inputs:
    return {"input_ids": torch.randint(5, VOCABULARY, (batch, length))}
