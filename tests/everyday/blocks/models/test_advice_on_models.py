"""A model that a function calls as it is: what a refusal in it says to do with the model."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

import tracepack
from tests.campaigns.check import difference

X = torch.rand(2, 3)
IMAGES = torch.rand(2, 3, 4, 4)


class Dropping(torch.nn.Module):
    """A model that calls the function, as many do."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(self.linear(x), 0.5, self.training)


MODELS = {
    "a layer": (torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5)), X),
    "the function": (Dropping(), X),
    "a recurrent network": (torch.nn.GRU(3, 4, 2, dropout=0.5), X),
    "batch norm": (torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1), torch.nn.BatchNorm2d(3)), IMAGES),
}


class Service:
    """A service that holds its model."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_train_mode_is_named_and_the_form_holds(name: str) -> None:
    net, example = MODELS[name]
    form = "net is in train mode: write net.eval() before the trace, or make an op of it before and call that: net = "
    with pytest.raises(tracepack.RecordError, match=re.escape(form + "tracepack.script(net).")):
        tracepack.trace(lambda x: net(x), example)
    op = tracepack.script(net)
    assert net.training
    scripted = tracepack.trace(lambda x: op(x), example)
    net.eval()
    try:
        mod = tracepack.trace(lambda x: net(x), example)
        assert difference(net(example + 1.0), mod(example + 1.0)) == ""
        assert difference(net(example + 1.0), scripted(example + 1.0)) == ""
    finally:
        net.train()


@pytest.mark.parametrize("name", MODELS)
def test_the_model_of_a_service_is_named_as_the_service_does(name: str) -> None:
    net, example = MODELS[name]
    with pytest.raises(tracepack.RecordError, match=re.escape("self.model is in train mode: write self.model.eval()")):
        tracepack.trace(Service(net), example)


def test_a_dropout_outside_of_a_model_says_how_to_leave_it_out() -> None:
    with pytest.raises(tracepack.RecordError, match="pass training=False, as F.dropout.x, p, training=False. does"):
        tracepack.trace(lambda x: F.dropout(x, 0.5), X)
    mod = tracepack.trace(lambda x: F.dropout(x, 0.5, training=False), X)
    assert torch.equal(mod(X + 1.0), X + 1.0)


def low(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x @ x.T


def test_autocast_goes_into_an_op_of_the_model_or_of_a_function() -> None:
    net = torch.nn.Linear(3, 2).eval()

    def embed(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = net(x)
        return y.float()

    words = "autocast cannot be recorded. Make an op of the model, or of a function with those lines, before, and call "
    form = 'that without autocast: op = tracepack.script(torch.autocast("cpu", dtype=torch.bfloat16)(net)).'
    with pytest.raises(tracepack.RecordError, match=re.escape(words + form)):
        tracepack.trace(embed, X)
    with pytest.raises(tracepack.RecordError, match=re.escape(words + form.replace("(net)", "(model)"))):
        tracepack.trace(low, X)
    op = tracepack.script(torch.autocast("cpu", dtype=torch.bfloat16)(net))
    mod = tracepack.trace(lambda x: op(x).float(), X)
    lines = tracepack.script(torch.autocast("cpu", dtype=torch.bfloat16)(lambda x: x @ x.T))
    product = tracepack.trace(lambda x: lines(x), X)
    for x in (X + 1.0, torch.rand(4, 3)):
        assert difference(embed(x).detach(), mod(x)) == ""
        assert difference(low(x), product(x)) == ""


def test_noise_of_a_function_is_no_matter_of_its_model() -> None:
    net = torch.nn.Linear(3, 3)
    with pytest.raises(tracepack.RecordError, match="Draw inside `with tracepack.drawing.generator.:`, with generator"):
        tracepack.trace(lambda x: net(x) + torch.randn(3), X)


def test_a_model_of_a_package_that_branches_is_to_be_an_op() -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    bert = transformers.BertModel(transformers.BertConfig(vocab_size=20, **sizes)).eval()
    ids, mask = torch.randint(20, (2, 5)), torch.ones(2, 5, dtype=torch.long)

    def embed(ids, mask):
        return bert(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]

    form = "Make an op of the model before the function, and call that: bert = tracepack.script(bert)."
    with pytest.raises(tracepack.RecordError, match=re.escape(form)):
        tracepack.trace(embed, ids, mask)
    wanted = embed(ids[:, :3], mask[:, :3])
    bert = tracepack.script(bert)
    mod = tracepack.trace(embed, ids, mask)
    assert torch.allclose(mod(ids[:, :3], mask[:, :3]), wanted, atol=1e-6)


def test_a_cache_is_made_in_the_function() -> None:
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=50, **sizes)).eval()
    decode, ids = tracepack.script(model), torch.randint(50, (1, 3))

    def follow(ids, cache):
        return decode(input_ids=ids, past_key_values=cache).logits

    cache = transformers.DynamicCache()
    model(ids, past_key_values=cache)
    form = "Pass its keys and values, [(layer.keys, layer.values) for layer in cache.layers], and write DynamicCache("
    with pytest.raises(tracepack.SignatureError, match=re.escape(form)):
        tracepack.trace(follow, ids, cache)
    kept = transformers.DynamicCache()
    with pytest.raises(tracepack.RecordError, match=re.escape("Make the cache in the function, DynamicCache()")):
        tracepack.trace(lambda ids: follow(ids, kept), ids)

    past = [(layer.keys.clone(), layer.values.clone()) for layer in cache.layers]
    with pytest.warns(UserWarning, match="the length of 'past' is fixed to 1, because part 0 of an item requires grad"):
        mod = tracepack.trace(lambda ids, past: follow(ids, transformers.DynamicCache(past)), ids[:, :2], past)
    with torch.no_grad():
        assert torch.allclose(mod(ids[:, :1], past), model(ids[:, :1], past_key_values=cache).logits, atol=1e-6)
