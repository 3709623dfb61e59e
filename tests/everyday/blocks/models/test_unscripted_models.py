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


@pytest.mark.parametrize("scripted", [False, True])
def test_a_loop_over_a_language_model_that_gives_its_cache_besides(model, scripted) -> None:
    called = tracepack.script(model) if scripted else model

    def by_name(ids, limit):
        out = list(ids)
        for _ in range(limit):
            best = int(called(torch.tensor([out])).logits[0, -1].argmax())
            if best == 3:
                break
            out.append(best)
        return out

    def by_place(ids, limit):
        out = list(ids)
        for _ in range(limit):
            out.append(int(called(input_ids=torch.tensor([out]))[0][0, -1].argmax()))
            if len(out) > 6 or called(torch.tensor([out]))["logits"][0, -1, 0] > 9:
                break
        return out

    def rows(ids, steps):
        for _ in range(steps):
            best = called(ids).logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, best], 1)
            if best.eq(3).all():
                break
        return ids

    with torch.no_grad():
        for process in (by_name, by_place):
            pipeline = loaded(process, [5, 6], 3)
            for ids, limit in (([7], 5), ([1, 2, 3, 4], 2), ([5, 6], 0)):
                assert pipeline(ids, limit) == process(ids, limit)
        pipeline = loaded(rows, torch.tensor([[5, 6]]), 3)
        for ids in (torch.tensor([[7]]), torch.tensor([[1, 2, 3], [3, 4, 5]])):
            assert torch.equal(pipeline(ids, 5), rows(ids, 5))
