"""Text generation: a decoder of transformers and its loop, packed into one file that needs no transformers.

`model.generate` is Python around the model, which stays behind when a file is packed. Here the loop is written with
`tracepack.while_loop`: the prompt is read once, then one token at a time goes through the model with its cache of keys
and values, until all texts have ended. One file takes the likeliest token, the other draws one. Both answer as
`model.generate` does, token for token, for prompts of any length and number.

The model is a small Llama with random weights, so that the sample downloads nothing.

    python samples/generate.py      # needs the package transformers
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import tracepack

VOCABULARY, PAD, END = 512, 0, 1
LONGEST = 32  # tokens that a call may make
TEMPERATURE, BEST = 0.7, 50
Choice = Callable[[torch.Tensor, Any], torch.Tensor]


def decoder() -> torch.nn.Module:
    """A small Llama, with a weight that makes it end its texts now and then."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=176, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, pad_token_id=PAD, bos_token_id=None, eos_token_id=END,
        initializer_range=0.15,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.lm_head.weight[END] *= 2.5
    return model


def generated(decode: Any, choose: Choice, ids: torch.Tensor, mask: torch.Tensor, steps: Any) -> torch.Tensor:
    """The prompts with the tokens that follow them.

    Args:
        decode: the op of the decoder.
        choose: takes the logits [N, V] of the next token and the number of the step, and returns the tokens [N].
        ids: int64 [N, L], the prompts, padded on the left.
        mask: int64 [N, L], 0 where a prompt is padded.
        steps: how many tokens follow at most.

    Returns:
        int64 [N, L + M], with M the length of the longest text that follows; texts that ended before are padded.
    """
    from transformers import DynamicCache

    assert steps <= LONGEST, "more tokens than random numbers are drawn for"

    def read(ids: torch.Tensor, mask: torch.Tensor, places: torch.Tensor, past: Any) -> tuple[torch.Tensor, Any]:
        """The logits of the next token, and the keys and values of each layer."""
        out = decode(
            input_ids=ids, attention_mask=mask, position_ids=places, past_key_values=DynamicCache(past), use_cache=True
        )
        return out.logits[:, -1], [(layer.keys, layer.values) for layer in out.past_key_values.layers]

    def unfinished(step: Any, ids: torch.Tensor, mask: torch.Tensor, ended: torch.Tensor, past: Any) -> torch.Tensor:
        return (step < steps) & ~ended.all()

    def follow(step: Any, ids: torch.Tensor, mask: torch.Tensor, ended: torch.Tensor, past: Any) -> tuple[Any, ...]:
        mask = torch.cat([mask, torch.ones_like(mask[:, :1])], dim=1)
        logits, past = read(ids[:, -1:], mask, mask.sum(1, keepdim=True) - 1, past)
        token = torch.where(ended, PAD, choose(logits, step))
        return step + 1, torch.cat([ids, token[:, None]], dim=1), mask, ended | (token == END), past

    # A column that the mask hides makes a prompt of one token one of two: torch's exporter tells a size of 1 apart.
    ids, mask = (torch.cat([torch.zeros_like(each[:, :1]), each], dim=1) for each in (ids, mask))
    places = (mask.cumsum(1) - 1).clamp(min=0)
    logits, past = read(ids, mask, places, None)
    token = choose(logits, 0)
    state = (1, torch.cat([ids, token[:, None]], dim=1), mask, token == END, past)
    return tracepack.while_loop(unfinished, follow, *state)[1][:, 1:]


def greedy(decode: Any) -> Callable[..., Any]:
    """A processing function that takes the likeliest token."""

    def process(ids: torch.Tensor, mask: torch.Tensor, steps: int) -> torch.Tensor:
        return generated(decode, lambda logits, step: logits.argmax(-1), ids, mask, steps)

    return process


def sampled(decode: Any) -> Callable[..., Any]:
    """A processing function that draws tokens: `Pipeline.seed` decides which.

    A loop draws no random numbers, so they are drawn before it, for the most steps that there can be. A token is drawn
    as torch.multinomial draws it: the largest of the probabilities, each divided by an exponential random number. So
    the generator gives the tokens that it gives in `model.generate`.
    """
    generator = torch.Generator()

    def process(ids: torch.Tensor, mask: torch.Tensor, steps: int) -> torch.Tensor:
        sizes = (ids.shape[0], VOCABULARY)
        noise = torch.stack([torch.empty(sizes).exponential_(generator=generator) for _ in range(LONGEST)])

        def draw(logits: torch.Tensor, step: Any) -> torch.Tensor:
            scores = logits / TEMPERATURE
            scores = scores.masked_fill(scores < scores.topk(BEST).values[:, -1:], float("-inf"))
            return (scores.softmax(-1) / noise[step]).argmax(-1)

        return generated(decode, draw, ids, mask, steps)

    return process


def prompts() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Prompts of several lengths and numbers, each with its mask; some are padded."""
    found = []
    for number, length, padded in ((1, 5, 0), (2, 9, 4), (4, 3, 0), (3, 40, 17), (1, 1, 0), (3, 1, 0)):
        ids, mask = torch.randint(2, VOCABULARY, (number, length)), torch.ones(number, length, dtype=torch.int64)
        ids[0, :padded], mask[0, :padded] = PAD, 0
        found.append((ids, mask))
    return found


def pack(folder: Path) -> None:
    """Packs both files, and writes down what `model.generate` answers."""
    model = decoder()
    decode = tracepack.script(model, name="decoder")
    examples = prompts()
    ids, mask = examples[1]
    for name, process in (("greedy", greedy(decode)), ("sampled", sampled(decode))):
        start = time.perf_counter()
        pipeline = tracepack.trace(process, ids, mask, 4)
        pipeline.save(str(folder / f"{name}.tpk"))
        size = (folder / f"{name}.tpk").stat().st_size / 1e6
        print(f"packed {name} in {time.perf_counter() - start:.1f} s: {size:.1f} MB, {pipeline.signature}")

    answers = []
    for seed, (ids, mask) in enumerate(examples):
        torch.manual_seed(seed)
        options = {"attention_mask": mask, "max_new_tokens": LONGEST}
        likely = model.generate(ids, do_sample=False, **options)
        drawn = model.generate(ids, do_sample=True, temperature=TEMPERATURE, top_k=BEST, top_p=1.0, **options)
        answers.append({"ids": ids, "mask": mask, "greedy": likely, "sampled": drawn})
    lists = [{key: tensor.tolist() for key, tensor in answer.items()} for answer in answers]
    (folder / "answers.json").write_text(json.dumps(lists))


def run(folder: Path) -> None:
    """Loads both files where there is no `transformers`, and compares."""
    sys.modules["transformers"] = None  # type: ignore[assignment]  # any import of it now fails
    count = ended = 0
    for name in ("greedy", "sampled"):
        pipeline = tracepack.load(str(folder / f"{name}.tpk"))
        for seed, answer in enumerate(json.loads((folder / "answers.json").read_text())):
            ids, mask = torch.tensor(answer["ids"]), torch.tensor(answer["mask"])
            if pipeline.stateful:
                pipeline.seed(seed)
            found = pipeline(ids, mask, LONGEST)
            assert found.tolist() == answer[name], (name, seed)
            count += found.shape[1] - ids.shape[1]
            ended += int((found[:, ids.shape[1] :] == END).any(1).sum())
            short = pipeline.session()
            if pipeline.stateful:
                short.seed(seed)
            assert short(ids, mask, 3).tolist() == [row[: ids.shape[1] + 3] for row in answer[name]]
    print(
        f"{count} steps in {seed + 1} batches of prompts: all tokens are those of model.generate, without transformers"
    )
    print(f"{ended} texts ended before")
    assert ended > 0


def main() -> None:
    """Packs in this process and generates in a fresh one."""
    if len(sys.argv) == 2:
        run(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        pack(Path(folder))
        sys.stdout.flush()
        subprocess.run([sys.executable, __file__, folder], check=True)


if __name__ == "__main__":
    main()
