"""Hidden states and attentions of models of transformers, which put hooks into themselves when they are asked."""

from __future__ import annotations

import io

import pytest
import torch

import tracepack

transformers = pytest.importorskip("transformers")
IDS = torch.tensor([[1, 2, 3], [4, 5, 6]])


def bert(**options):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    return transformers.BertModel(transformers.BertConfig(vocab_size=20, **sizes, **options)).eval()


def loaded(process, example):
    tracepack.trace(process, example).save(file := io.BytesIO())
    return tracepack.load(file.getvalue())


CASES = {
    "asked by the call": ({}, {"output_hidden_states": True}, "hidden_states"),
    "asked by the config": ({"output_hidden_states": True}, {}, "hidden_states"),
    "attentions": ({"attn_implementation": "eager"}, {"output_attentions": True}, "attentions"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_layers_give_is_recorded(name) -> None:
    config, asked, wanted = CASES[name]
    model = bert(**config)
    op = tracepack.script(model)
    mod = loaded(lambda ids: list(op(input_ids=ids, **asked)[wanted]), IDS)
    for ids in (IDS, torch.tensor([[7, 8, 9, 1]])):
        plain = model(input_ids=ids, **asked)[wanted]
        found = mod(ids)
        assert len(found) == len(plain) == (3 if wanted == "hidden_states" else 2)
        for one, other in zip(found, plain, strict=True):
            torch.testing.assert_close(one, other.detach())


def test_the_model_stays_as_it_was() -> None:
    model = bert()
    op = tracepack.script(model)
    tracepack.trace(lambda ids: op(input_ids=ids, output_hidden_states=True).hidden_states[0], IDS)
    assert not any(each._forward_hooks for each in model.modules())
    assert "_output_capturing_hooks_installed" not in vars(model)
    assert len(model(IDS, output_hidden_states=True).hidden_states) == 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("config", "id2label = model.config.id2label"),
        ("to", "script\\(model, device=…\\)"),
        ("eval", "leave the line out"),
    ],
)
def test_what_an_op_has_not_is_said_with_a_form(name, words) -> None:
    op = tracepack.script(bert())
    with pytest.raises(AttributeError, match=f"an op of tracepack has no '{name}'. .*{words}"):
        tracepack.trace(lambda ids: getattr(op, name) and op(input_ids=ids).pooler_output, IDS)
