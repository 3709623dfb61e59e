"""A pipeline has the weights of the process until it is saved, and an op may be copied at any time."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

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


TABLE = torch.arange(12.0).reshape(3, 4)
HEAD = torch.nn.Linear(4, 2)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize(
    "view",
    [
        lambda x: TABLE[1:],
        lambda x: TABLE.t(),
        lambda x: TABLE[0].expand(3, 4),
        lambda x: TABLE.to(torch.float32),
        lambda x: TABLE.contiguous(),
        lambda x: TABLE[:, ::2],
        lambda x: HEAD.weight.detach(),
        lambda x: {"row": TABLE[0], "rest": TABLE[1:]},
        lambda x: [TABLE[i] for i in range(2)],
        lambda x: tracepack.while_loop(lambda w, i: i < 1, lambda w, i: (w, i + 1), TABLE, 0)[0],
        lambda x: tracepack.cond(x.sum() > 0, lambda: TABLE[1:], lambda: TABLE[:2]),
        lambda x: tracepack.cond(x.sum() > 0, lambda x: TABLE[1:], lambda x: x[:2], x),
    ],
)
def test_who_writes_to_a_result_writes_to_no_weight(view, grad) -> None:
    file, x = io.BytesIO(), torch.ones(3, 4)
    traced = tracepack.trace(view, x)
    traced.save(file)
    mod, beside = (tracepack.load(file.getvalue(), grad=grad) for _ in range(2))
    before = [(leaf.clone(), leaf.stride()) for leaf in pytree.tree_leaves(view(x))]
    for run in (traced, mod):
        for leaf in pytree.tree_leaves(run(x)):
            leaf.detach().zero_() if 0 not in leaf.stride() else leaf.detach()[0].zero_()
    for run in (traced, mod, beside):
        for leaf, (wanted, strides) in zip(pytree.tree_leaves(run(x)), before, strict=True):
            assert torch.equal(leaf, wanted)
            assert leaf.stride() == strides


def test_a_result_that_is_a_view_of_an_input_stays_one() -> None:
    mod = tracepack.trace(
        lambda x: tracepack.cond(x.sum() > 0, lambda x: TABLE[1:], lambda x: x[:2], x), torch.ones(3, 4)
    )
    x = -torch.ones(3, 4)
    mod(x).fill_(5.0)
    assert torch.equal(x[:2], torch.full((2, 4), 5.0))


def _both_ways(x):
    table = NAMED["both"]
    return x + torch.zeros(3) * torch.from_numpy(table) + table.max().item()


NUMBERS, NAMED, LIVE = np.arange(1.0, 4.0), {"a": np.arange(1.0, 4.0), "both": np.arange(1.0, 4.0)}, np.arange(1.0, 4.0)


@pytest.mark.parametrize(
    ("process", "array"),
    [
        (lambda x: x + NUMBERS.mean(), NUMBERS),
        (lambda x: x + float(NUMBERS[0]), NUMBERS),
        (lambda x: x + torch.tensor(NAMED["a"]), NAMED["a"]),
        (lambda x: x.numpy() + NUMBERS, NUMBERS),
        (lambda x: x + torch.zeros(3) * torch.from_numpy(NUMBERS) + float(NUMBERS[0]), NUMBERS),
        (_both_ways, NAMED["both"]),
    ],
)
def test_an_array_of_numpy_is_what_it_was_and_save_says_so(process, array) -> None:
    x, file = torch.ones(3, dtype=torch.float64), io.BytesIO()
    mod, wanted = tracepack.trace(process, x), process(x)
    array += 5
    try:
        assert str(mod(x)) == str(wanted)
        with pytest.warns(UserWarning, match=r"numpy '\w+' was written to after the trace"):
            mod.save(file)
        assert str(tracepack.load(file.getvalue())(x)) == str(wanted)
    finally:
        array -= 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod.save(io.BytesIO())


def test_an_array_that_is_captured_as_a_tensor_is_what_it_is_at_each_run() -> None:
    def process(x):
        return x + torch.from_numpy(LIVE)

    x, file = torch.ones(3, dtype=torch.float64), io.BytesIO()
    mod = tracepack.trace(process, x)
    LIVE[0] = 100.0
    assert torch.equal(mod(x), process(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod.save(file)
    assert torch.equal(tracepack.load(file.getvalue())(x), process(x))
