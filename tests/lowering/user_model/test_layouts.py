"""What a model asks about the memory of its inputs, and about their gradients: guarded, or refused."""

from __future__ import annotations

import io

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import tracepack

X = torch.rand(2, 3, 4, 4)
CONV, NORM = nn.Conv2d(3, 3, 3).eval(), nn.BatchNorm2d(3).eval()
LAST = torch.channels_last


def in_order(*order):
    return X.permute(order).contiguous().permute(order)


class Asking(nn.Module):
    def __init__(self, question):
        super().__init__()
        self.question = question

    def forward(self, x):
        return x * 2 if self.question(x) else x * 3


def traced(question):
    op = tracepack.script(Asking(question), contiguous=True)
    return tracepack.trace(lambda x: op(x), X)


OF_CHANNELS_LAST = {
    "contiguous": lambda x: x.is_contiguous(memory_format=LAST),
    "permuted": lambda x: x.permute(0, 2, 3, 1).is_contiguous(),
    "stride": lambda x: x.stride(1) == 1,
    "order": lambda x: x.dim_order() == (0, 2, 3, 1),
    "torch's own helper": lambda x: torch._prims_common.suggest_memory_format(x) == LAST,
    "contiguous() is x": lambda x: x.contiguous(memory_format=LAST) is x,
    "to() is x": lambda x: x.to(memory_format=LAST) is x,
    "a sum": lambda x: (x + 1).is_contiguous(memory_format=LAST),
    "a concatenation": lambda x: torch.cat([x, x]).stride(1) == 1,
    "a convolution": lambda x: CONV(x).is_contiguous(),
    "a norm": lambda x: NORM(x).is_contiguous(memory_format=LAST),
    "a pool": lambda x: F.max_pool2d(x, 2).stride(1) == 1,
    "a resize": lambda x: F.interpolate(x, scale_factor=2).is_contiguous(),
}
OF_OTHERS = {
    "transpose": (lambda x: x.transpose(1, 2).is_contiguous(), in_order(0, 2, 1, 3)),
    "permute": (lambda x: x.permute(1, 0, 2, 3).is_contiguous(), in_order(1, 0, 2, 3)),
    "a part": (lambda x: x[:, 0].is_contiguous(), in_order(1, 0, 2, 3)),
    "mT": (lambda x: x.mT.is_contiguous(), in_order(0, 1, 3, 2)),
    "no stride": (lambda x: x.stride(0) == 0, X[:1].expand(2, 3, 4, 4)),
}


@pytest.mark.parametrize(
    ("question", "given"),
    [*((q, X.to(memory_format=LAST)) for q in OF_CHANNELS_LAST.values()), *OF_OTHERS.values()],
    ids=[*OF_CHANNELS_LAST, *OF_OTHERS],
)
def test_a_layout_with_another_answer_is_stopped(question, given):
    mod = traced(question)
    assert torch.equal(mod(X), Asking(question)(X))
    assert not torch.equal(Asking(question)(given) * 6, mod(X) * 6)
    with pytest.raises(tracepack.GuardError, match="the model's answer depends on how its inputs lie in memory"):
        mod(given)


REFUSED = {
    "whether a tensor is a view": (lambda x: x._is_view(), lambda x: x._base is None),
    "where a tensor begins in its memory": (lambda x: x.storage_offset() == 0,),
    "where a tensor lies in memory": (lambda x: x.data_ptr() == 8,),
    "whether a tensor's memory is shared": (lambda x: x.is_shared(),),
    "whether a tensor was made for inference": (lambda x: x.is_inference(),),
    "the version of a tensor": (lambda x: x._version == 0,),
    "whether a tensor is a negative view": (lambda x: x.is_neg(), torch.is_neg),
}


@pytest.mark.parametrize(("what", "question"), [(what, q) for what, each in REFUSED.items() for q in each])
def test_what_no_guard_says_is_refused(what, question):
    with pytest.raises(tracepack.LoweringError, match=f"the model asks {what}, which no graph holds"):
        traced(question)


def test_a_model_may_ask_about_its_own_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.weight if self.weight.storage_offset() == 0 else x

    assert torch.equal(tracepack.script(Tied(), example=torch.rand(2, 3))(torch.ones(2, 3)), torch.ones(2, 3))


def test_an_input_that_requires_a_gradient_is_stopped():
    mod = traced(lambda x: x.requires_grad)
    file = io.BytesIO()
    mod.save(file)
    for each in (mod, tracepack.load(file.getvalue())):
        assert torch.equal(each(X), X * 3)
        for _ in range(2):
            with pytest.raises(tracepack.GuardError, match="depends on whether its inputs require gradients"):
                each(X.clone().requires_grad_())


def test_a_parameter_is_stopped_where_a_model_asks_for_its_class():
    mod = traced(lambda x: isinstance(x, nn.Parameter))
    assert torch.equal(mod(X), X * 3)
    with pytest.raises(tracepack.SignatureError, match="a Parameter gives another answer"):
        mod(nn.Parameter(X, requires_grad=False))


class Inferring(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        with torch.inference_mode():
            y = self.first(x)
        return self.second(y.clone())


class Enabled(Inferring):
    def forward(self, x):
        return self.first(x) * 2 if torch.is_grad_enabled() else self.first(x) * 3


class Historic(Inferring):
    def forward(self, x):
        y = self.first(x)
        return y * 2 if y.grad_fn is not None else y * 3


@pytest.mark.parametrize("kind", [Inferring, Enabled, Historic])
def test_gradients_that_a_model_turns_on_are_refused(kind):
    op, file = tracepack.script(kind()), io.BytesIO()
    tracepack.trace(lambda x: op(x), torch.rand(2, 3)).save(file)
    with pytest.raises(tracepack.RecordError, match="gradients are not kept: op '.*' switches gradients off inside"):
        tracepack.load(file.getvalue(), grad=True)


def test_the_function_itself_and_channels_last():
    def process(x):
        return x * 2 if x.to(memory_format=LAST) is x else x * 3

    with pytest.raises(tracepack.RecordError, match="the recorded graph does not answer as the function does"):
        tracepack.trace(process, X)
