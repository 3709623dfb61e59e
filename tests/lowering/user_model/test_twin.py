"""The twin of a model: what it shares, what it has anew, and what other threads see of the model meanwhile."""

from __future__ import annotations

import threading
import weakref
from functools import partial

import pytest
import torch
from torch import nn

import tracepack
from tests.lowering.questions.exporting import is_exporting
from tests.lowering.test_threads import elsewhere
from tracepack.ops.lowering.user_model.twin import twin

X = torch.rand(3, 4)


class Peeked(nn.Module):
    """While it is exported, another thread looks at the user's own module and runs it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.drop = nn.Linear(4, 4), nn.Dropout(0.0)
        self.note = None

    def forward(self, x):
        if is_exporting() and threading.current_thread() is threading.main_thread():
            SEEN.append(elsewhere(look))
        self.note = x.shape
        return self.drop(self.linear(x))


def look():
    kinds = [type(parameter) for parameter in PEEKED.parameters()]
    return PEEKED.training, PEEKED.drop.training, kinds, PEEKED.note, PEEKED(X)


PEEKED, SEEN = Peeked(), []


@pytest.mark.parametrize("training", [True, False])
def test_another_thread_runs_the_very_module_that_is_lowered(training) -> None:
    PEEKED.train(training)
    SEEN.clear()
    op = tracepack.script(PEEKED, example=torch.rand(2, 4))
    wanted = nn.functional.linear(X, PEEKED.linear.weight, PEEKED.linear.bias)
    assert torch.allclose(op(X), wanted, atol=1e-6)
    assert SEEN
    for mode, mode_of_part, kinds, note, answer in SEEN:
        assert mode is mode_of_part is training
        assert kinds == [nn.Parameter, nn.Parameter]
        assert note in (None, X.shape)
        assert torch.allclose(answer, wanted, atol=1e-6)


def test_threads_that_run_and_script_one_module_all_get_its_answers() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()).eval()
    wanted, done, wrong = model(X), threading.Event(), []

    def runs() -> None:
        while not done.is_set():
            got = model(X)
            if type(got) is not torch.Tensor or not torch.equal(got, wanted):
                wrong.append(got)

    threads = [threading.Thread(target=runs, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            assert torch.allclose(tracepack.script(model, example=X)(X), wanted, atol=1e-6)
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    assert not wrong


class Parts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.in_order = [self.second, self.first]
        self.by_name = {"again": (self.first, "text")}
        self.method, self.bound = self.scaled, partial(self.scaled, factor=3.0)
        self.table, self.names = torch.arange(4.0), ["a", "b"]
        self.rnn = nn.GRU(4, 4, batch_first=True)

    def scaled(self, x, factor=2.0):
        return self.first(x) * factor

    def forward(self, x):
        for part in self.in_order:
            x = part(x)
        x = self.by_name["again"][0](x) + self.table
        return self.rnn((self.method(x) + self.bound(x))[:, None])[0]


def test_a_twin_has_parts_containers_and_methods_anew_and_shares_tensors_and_the_rest() -> None:
    model = Parts().eval()
    other = twin(model)
    assert torch.equal(other(X), model(X))
    assert all(a is not b for a, b in zip(model.modules(), other.modules(), strict=True))
    assert dict(model.named_parameters()).keys() == dict(other.named_parameters()).keys()
    assert all(a is b for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert other.first.weight is other.second.weight is model.first.weight
    assert other.in_order == [other.second, other.first]
    assert other.by_name == {"again": (other.first, "text")}
    assert other.method.__self__ is other.bound.func.__self__ is other
    assert other.names is model.names
    assert other.table is model.table
    other.rnn.weight_ih_l0 = nn.Parameter(torch.zeros(12, 4))
    assert model.rnn._flat_weights[0] is model.rnn.weight_ih_l0


def test_a_hook_that_removes_itself_does_so_in_the_twin_alone() -> None:
    model = nn.Linear(4, 4)
    model._output_capturing_hooks_installed = True  # as models of transformers say
    handles = [model.register_forward_hook(lambda module, args, result: result * 2)]
    other = twin(model)
    other._forward_hooks.clear()
    assert len(model._forward_hooks) == 1
    assert torch.equal(other(X) * 2, model(X))
    handles[0].remove()


def _by_closure(model):
    scale = model.first
    model.register_forward_hook(lambda module, args, result: result + scale.bias.sum())


def _by_weak_reference(model):
    model.second.parent = weakref.ref(model)


def _by_object(model):
    class Holder:
        held = None

    model.holder = Holder()
    model.holder.held = {"deep": [model.second]}


def _by_container_of_a_hook(model):
    parts = model.in_order
    model.register_forward_hook(lambda module, args, result: parts[0](result[:, 0]))


def _by_wrapped_forward(model):
    before = model.forward
    model.forward = lambda x: before(x) * 2


@pytest.mark.parametrize(
    "lead", [_by_closure, _by_weak_reference, _by_object, _by_container_of_a_hook, _by_wrapped_forward]
)
def test_a_model_that_something_shared_leads_back_to_has_no_twin_and_is_lowered_itself(lead) -> None:
    model = Parts().eval()
    lead(model)
    assert twin(model) is None
    op = tracepack.script(model, example=X)
    y = torch.rand(5, 4)
    assert torch.allclose(op(y), model(y), atol=1e-5)


KNOWN: dict[int, float] = {}


class Known(nn.Module):
    """Finds its factor by its own identity."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        KNOWN[id(self)] = 3.0

    def forward(self, x):
        return self.linear(x) * KNOWN[id(self)]


def test_a_model_that_is_known_by_its_identity_is_lowered_itself() -> None:
    model = Known().eval()
    assert torch.allclose(tracepack.script(model, example=X)(X), model(X), atol=1e-6)
