"""Functions of transformers in a recorded function are refused with the form that works, and plain outside of it."""

from __future__ import annotations

import functools

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


def test_a_tokenizer_that_is_no_op_is_refused_on_texts_of_run_time():
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "a": 2}, unk_token="[UNK]"))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]")
    for process, example in ((lambda text: fast(text), "a"), (lambda texts: fast(texts, padding=True), ["a", "b"])):
        with pytest.raises(tracepack.RecordError, match="Make an op of it before, .*= tracepack.script"):
            tracepack.trace(process, example)
    mod = tracepack.trace(lambda x: x + torch.tensor(fast("a")["input_ids"]), torch.ones(1))
    assert mod(torch.zeros(1)).tolist() == [2.0]
