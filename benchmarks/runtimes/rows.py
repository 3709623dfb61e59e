"""The models of `benchmarks.models`: each with its inputs, and as a user of tracepack writes its pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import tracepack
from benchmarks import architectures


@dataclass(frozen=True)
class Model:
    """A row: a module, its inputs by name, and inputs of another size; with a tokenizer, the inputs are texts.

    Ours is traced, and the peers' model is exported, with the other size, which has no batch of 1: that would be fixed.
    """

    name: str
    module: torch.nn.Module
    inputs: dict[str, Any]
    other: dict[str, Any]
    tokenizer: str = ""

    def pipeline(self) -> tracepack.Pipeline:
        """The row as a user of tracepack writes it."""
        op = tracepack.script(self.module, name="model", contiguous=True)
        if self.tokenizer:
            tokenize = tracepack.tokenizer(self.tokenizer)

            def process(texts: list[str]) -> torch.Tensor:
                batch = tokenize(texts)
                return op(batch["input_ids"], batch["attention_mask"])

            return tracepack.trace(process, self.other["texts"])
        names = ", ".join(self.inputs)
        return tracepack.trace(eval(f"lambda {names}: op({names})", {"op": op}), *self.other.values())

    def tensors(self, inputs: dict[str, Any]) -> dict[str, torch.Tensor]:
        """What a peer is fed: the inputs, tokenized where they are texts."""
        if not self.tokenizer:
            return inputs
        found = architectures.tokenizer(self.tokenizer).encode_batch(inputs["texts"])
        ids, mask = [each.ids for each in found], [each.attention_mask for each in found]
        return {"ids": torch.tensor(ids), "mask": torch.tensor(mask)}


def models() -> dict[str, Callable[[], Model]]:
    """The rows, each made when it is asked for."""

    def row(name: str, module: Callable[[], torch.nn.Module], make: Callable[..., Any], *sizes: Any) -> None:
        def made() -> Model:
            torch.manual_seed(0)
            return Model(name, module().eval(), make(*sizes[0]), make(*sizes[1]))

        found[name] = made

    found: dict[str, Callable[[], Model]] = {}
    row("resnet18 1x224", architectures.ResNet18, architectures.images, (1, 224), (2, 192))
    row("bert 6x384 8x64", architectures.bert, architectures.tokens, (8, 64), (4, 48))
    row("bert 6x384 1x16", architectures.bert, architectures.tokens, (1, 16), (2, 20))
    row("vit-tiny 2x224", architectures.vit, architectures.images, (2, 224), (3, 224))
    row("mlp 10x256", architectures.Mlp, architectures.vectors, (1, 256), (3, 256))
    row("lstm 2x128 4x50", architectures.Lstm, architectures.sequences, (4, 50, 128), (2, 30, 128))
    row("whisper encoder", architectures.whisper, architectures.spectra, (1, 80, 3000), (2, 80, 3000))
    found["minilm search"] = lambda: Model("minilm search", *architectures.minilm())
    row("gpt2 step", architectures.Decoder, architectures.step, (1, 64), (2, 80))
    return found
