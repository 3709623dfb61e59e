"""Models that a function calls as they are, and no recording follows: the refusal says to make an op of them."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import loaded

transformers = pytest.importorskip("transformers", reason="transformers is part of the dev requirements")


@pytest.fixture(scope="module")
def model():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=20, **sizes)).eval()


def test_a_flag_that_a_model_takes_of_a_size(model) -> None:
    def process(ids):
        first = model(ids, use_cache=True)
        return model(ids[:, -1:], past_key_values=first.past_key_values).logits

    words = r"takes plain flags.*Make an op of the model before the function, and call that: model = tracepack.script"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, torch.tensor([[3, 4, 5], [6, 7, 8]]))
    examples = torch.tensor([[9, 4, 5, 2, 1]]), torch.tensor([[1, 2], [3, 3], [4, 5]])
    with torch.no_grad():
        wanted = [process(ids) for ids in examples]
    model = tracepack.script(model)  # the form
    pipeline = loaded(process, torch.tensor([[3, 4, 5], [6, 7, 8]]))
    for ids, logits in zip(examples, wanted, strict=True):
        torch.testing.assert_close(pipeline(ids), logits, rtol=1e-4, atol=1e-4)


def test_a_cache_of_a_language_model_that_begins_as_none(model) -> None:
    def process(ids, n):
        past, found = None, ids
        for _ in range(n):
            given = model(ids, past_key_values=past, use_cache=True)
            past, ids = given.past_key_values, given.logits[:, -1].argmax(-1, keepdim=True)
            found = torch.cat([found, ids], 1)
        return found

    words = (
        r"is given a NoneType. Make an op of it before, model = tracepack.script\(model\), and write the loop with "
        "tracepack.while_loop, as 'Text generation' in docs/guide.md does"
    )
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, torch.tensor([[3, 4, 5]]), 3)
