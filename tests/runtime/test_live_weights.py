"""A pipeline has the weights of the process until it is saved, and an op may be copied at any time."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import tracepack

X = torch.rand(3, 4, 5, 5, generator=torch.Generator().manual_seed(0))
NORMS = {
    "instance norm": lambda: nn.InstanceNorm2d(4, affine=True),
    "instance norm with statistics": lambda: nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
    "batch norm": lambda: nn.BatchNorm2d(4),
    "batch norm without statistics": lambda: nn.BatchNorm2d(4, track_running_stats=False),
    "group norm": lambda: nn.GroupNorm(2, 4),
    "layer norm": lambda: nn.LayerNorm(5),
}


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", NORMS)
def test_weights_that_change_in_the_process_change_in_the_pipeline(name, training) -> None:
    model = NORMS[name]().train(training)
    op = tracepack.script(model, training=training, name="net")
    mod = tracepack.trace(lambda x: op(x), X)
    mod(X)
    with torch.no_grad():
        model.weight.fill_(5.0)
        model.bias.fill_(-1.0)
    plain = copy.deepcopy(model)
    torch.testing.assert_close(mod(X), plain(X).detach())


@pytest.mark.parametrize("name", NORMS)
def test_each_step_of_training_is_that_of_torch(name) -> None:
    model = NORMS[name]().train()
    op, file = tracepack.script(model, training=True, name="net"), io.BytesIO()
    tracepack.trace(lambda x: op(x), X).save(file)
    loaded, plain = tracepack.load(file.getvalue(), grad=True), copy.deepcopy(model)
    optimizers = [torch.optim.SGD(weights, 0.5) for weights in (loaded.weights().values(), plain.parameters())]
    for _ in range(4):
        losses = []
        for function, optimizer in zip((loaded, plain), optimizers, strict=True):
            loss = (function(X) - X.flip(0)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        torch.testing.assert_close(*losses)
    for key, value in plain.named_parameters():
        torch.testing.assert_close(loaded.weights()[f"net.{key}"], value)


@pytest.mark.filterwarnings("ignore:.*isinstance.treespec:FutureWarning")
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda op: pickle.loads(pickle.dumps(op))])
def test_an_op_that_was_traced_is_copied_with_its_model(copied) -> None:
    model = nn.Linear(5, 2)
    op = tracepack.script(model)
    wanted = tracepack.trace(lambda x: op(x), X)(X)
    twin = copied(op)
    with torch.no_grad():
        model.weight.zero_()
    assert torch.equal(tracepack.trace(lambda x: twin(x), X)(X), wanted)
