"""Functions of transformers in a recorded function are refused with the form that works, and plain outside of it."""

from __future__ import annotations

import copy
import functools
from typing import Any

import pytest
import tokenizers
import torch

import tracepack

transformers = pytest.importorskip("transformers", reason="transformers is part of the dev requirements")
IDS = torch.tensor([[3, 4, 5]])


@pytest.fixture(scope="module")
def model():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=20, **sizes)).eval()


@pytest.mark.parametrize("asked", ["at the call", "by the config"])
def test_hidden_states_and_attentions_of_a_fresh_model_are_those_of_the_model(asked, reloaded):
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    extra = {"output_hidden_states": True, "output_attentions": True}
    config = transformers.BertConfig(
        vocab_size=20, attn_implementation="eager", **sizes, **(extra if asked == "by the config" else {})
    )
    fresh = transformers.BertModel(config).eval()
    plain = copy.deepcopy(fresh)
    op, keywords = tracepack.script(fresh), extra if asked == "at the call" else {}

    def process(ids):
        out = op(input_ids=ids, **keywords)
        return list(out.hidden_states), list(out.attentions)

    loaded = reloaded(tracepack.trace(process, IDS))
    for ids in (IDS, torch.tensor([[7, 3, 9, 2, 4], [1, 1, 2, 3, 5]])):
        want, (states, attentions) = plain(input_ids=ids, **extra), loaded(ids)
        assert (len(states), len(attentions)) == (3, 2)
        for one, other in zip((*states, *attentions), (*want.hidden_states, *want.attentions), strict=True):
            torch.testing.assert_close(one, other)
    assert not any(part._forward_hooks for part in fresh.modules())
    assert not any("_output_capturing_hooks_installed" in vars(part) for part in fresh.modules())


def test_generate_is_refused_with_its_line_and_the_form_that_works(model):
    def process(ids):
        return model.generate(ids, max_new_tokens=2)

    words = (
        r"test_transformers.py:\d+ in process: .*: model.generate\(...\) is Python around the model, which no record"
        r"ing holds. Write its loop with tracepack.while_loop, as 'Text generation' in docs/guide.md"
    )
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, IDS)
    assert model.generate(IDS, min_new_tokens=2, max_new_tokens=2).shape == (1, 5)


def test_generate_that_was_bound_before_is_refused_with_the_form_that_works(model):
    write = functools.partial(model.generate, max_new_tokens=2)
    words = r"model.generate\(...\) is Python around the model, which no recording holds. Write its loop with tracepack"
    with pytest.raises(tracepack.RecordError, match=r"test_transformers.py:\d+ in <lambda>: .*" + words):
        tracepack.trace(lambda ids: write(ids), IDS)
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(model.generate, IDS)


def test_generate_inside_a_scripted_model_is_refused_with_the_form_that_works(model):
    class Writer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model.generate(ids, max_new_tokens=2, do_sample=False)

    words = (
        r"op 'Writer', .*: model.generate\(...\) is Python around the model, which cannot be lowered. Script the model "
        r"alone, and write the loop with tracepack.while_loop, as 'Text generation' in docs/guide.md"
    )
    op = tracepack.script(Writer(), device="cpu")
    with pytest.raises(tracepack.LoweringError, match=words):
        tracepack.trace(lambda ids: op(ids), IDS)


def test_an_op_names_the_loop_that_stands_for_generate(model):
    op = tracepack.script(model)
    assert not hasattr(op, "generate")
    words = "an op of tracepack has no 'generate'. Write its loop with tracepack.while_loop"
    with pytest.raises(tracepack.TracepackError, match=f"^test_transformers.py:.*: {words}"):
        tracepack.trace(lambda ids: op.generate(ids), IDS)
    with pytest.raises(AttributeError, match=words):
        op.generate(IDS)


@pytest.mark.parametrize(
    ("asked", "form"),
    [
        (lambda op: op.config.id2label, r"Keep what is asked of it before .*: id2label = model.config.id2label"),
        (lambda op: op.eval(), r"It runs as model.eval\(\) does: leave the line out"),
        (lambda op: op.to("cpu"), r"It stays where it was scripted for: tracepack.script\(model, device=…\)"),
    ],
    ids=["config", "eval", "to"],
)
def test_an_op_names_what_stands_for_the_config_and_the_methods_of_its_model(model, asked, form):
    op = tracepack.script(model)
    with pytest.raises(AttributeError, match=rf"an op of tracepack has no '\w+'\. {form}"):
        tracepack.trace(lambda ids: (asked(op), op(ids)), IDS)


def test_the_columns_of_a_tokenizer_go_to_the_device_of_an_op(model, reloaded):
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2}, unk_token="[UNK]"))
    tok, op = tracepack.script(made), tracepack.script(model)
    loaded = reloaded(tracepack.trace(lambda text: op(tok(text).to(op.device).input_ids).logits, "a"))
    assert torch.equal(loaded("a"), op(torch.tensor([[2]])).logits)


def test_a_tokenizer_that_is_no_op_is_refused_on_texts_of_run_time():
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2}, unk_token="[UNK]"))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]")
    for process, example in ((lambda text: fast(text), "a"), (lambda texts: fast(texts, padding=True), ["a", "b"])):
        with pytest.raises(tracepack.RecordError, match="Make an op of it before, .*= tracepack.script"):
            tracepack.trace(process, example)
    mod = tracepack.trace(lambda x: x + torch.tensor(fast("a")["input_ids"]), torch.ones(1))
    assert mod(torch.zeros(1)).tolist() == [2.0]


def both() -> tuple[Any, Any]:
    words = {"hello": 0, "world": 1, "[UNK]": 2, "[PAD]": 3}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return plain, transformers.PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="[UNK]", pad_token="[PAD]")


PLAIN, OF_TRANSFORMERS = both()
CALLS = {
    "encode of tokenizers": (lambda text: PLAIN.encode(text).ids, "hello"),
    "encode_batch of tokenizers": (lambda texts: [each.ids for each in PLAIN.encode_batch(texts)], ["hello", "world"]),
    "a call": (lambda text: OF_TRANSFORMERS(text)["input_ids"], "hello"),
    "encode": (lambda text: OF_TRANSFORMERS.encode(text), "hello"),
    "tokenize": (lambda text: OF_TRANSFORMERS.tokenize(text), "hello"),
    "convert_tokens_to_ids": (lambda text: OF_TRANSFORMERS.convert_tokens_to_ids(text), "hello"),
    "decode": (lambda ids: OF_TRANSFORMERS.decode(ids), torch.tensor([0, 1])),
    "decode of each": (lambda ids: [OF_TRANSFORMERS.decode(each) for each in ids], torch.tensor([0, 1])),
    "batch_decode": (lambda ids: OF_TRANSFORMERS.batch_decode(ids), torch.tensor([[0, 1]])),
    "convert_ids_to_tokens": (lambda ids: OF_TRANSFORMERS.convert_ids_to_tokens(ids.tolist()), torch.tensor([0, 1])),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_tokenizer_in_the_function_is_refused_with_the_op_to_make(name) -> None:
    words = r"was given (a text|ids) of the recording. Make an op of it before, .* tokenizer = tracepack.script\(token"
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(*CALLS[name])


@pytest.mark.parametrize("made", [PLAIN, OF_TRANSFORMERS])
def test_the_op_of_a_tokenizer_does_what_was_refused(made) -> None:
    tokenizer = tracepack.script(made)
    mod = tracepack.trace(lambda texts: tokenizer(texts)["input_ids"], ["hello", "world"])
    assert mod(["world hello", "hello there"]).tolist() == [[1, 0], [0, 2]]
    back = tracepack.trace(lambda ids: (tokenizer.decode(ids), tokenizer.batch_decode(ids[None])), torch.tensor([0, 1]))
    assert back(torch.tensor([1, 1, 0])) == ("world world hello", ["world world hello"])
    tokens = tracepack.trace(lambda ids: tokenizer.convert_ids_to_tokens(ids), torch.tensor([0, 1]))
    assert tokens(torch.tensor([1, 0])) == ["world", "hello"]
