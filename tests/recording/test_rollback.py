"""A trace leaves the tensors around the function as they were, also where it is refused for writing to them."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import tracepack


def _uses(norm, history, how):
    """Processing functions that are refused for what they write, or fail after they wrote."""

    def process(x):
        match how:
            case "layer":
                return norm(x)
            case "functional":
                return torch.nn.functional.batch_norm(x, norm.running_mean, norm.running_var, training=True)
            case "view":
                history[0] += x[0]
                return x + history
            case "raises":
                norm(x)
                raise ValueError("mine")
            case "fails only when recorded":
                norm(x)
                return {json.dumps(x.shape[0]): x}

    return process


@pytest.mark.parametrize("how", ["layer", "functional", "view", "raises", "fails only when recorded"])
def test_a_refused_trace_leaves_everything_as_it_was(how):
    norm, history = nn.BatchNorm1d(4).train(), torch.zeros(3, 4)
    before = {name: tensor.clone() for name, tensor in norm.state_dict().items()}
    error = ValueError if how == "raises" else tracepack.RecordError
    with pytest.raises(error):
        tracepack.trace(_uses(norm, history, how), torch.rand(3, 4))
    assert all(torch.equal(tensor, before[name]) for name, tensor in norm.state_dict().items())
    assert history.abs().sum() == 0


def test_the_line_that_writes_to_a_tensor_from_outside_is_shown():
    history = torch.zeros(4)

    def process(x):
        y = x + history
        history.add_(1)
        return y

    text = r"test_rollback.py:\d+ in process: history.add_\(1\): the function changes a tensor that is not one of its"
    with pytest.raises(tracepack.RecordError, match=text):
        tracepack.trace(process, torch.rand(3, 4))


def test_running_statistics_of_a_functional_layer_are_a_change():
    """torch counts up no version for them."""
    mean, var = torch.zeros(4), torch.ones(4)

    def process(x):
        return torch.nn.functional.batch_norm(x, mean, var, training=True)

    with pytest.raises(tracepack.RecordError, match="the function changes a tensor that is not one of its inputs"):
        tracepack.trace(process, torch.rand(3, 4))
    mod = tracepack.trace(lambda x: torch.nn.functional.batch_norm(x, mean, var), torch.rand(3, 4))
    assert torch.equal(mod(x := torch.rand(2, 4)), torch.nn.functional.batch_norm(x, mean, var))


def test_a_tensor_that_is_reshaped_before_a_trace_fails_gets_its_shape_again():
    history = torch.arange(3.0).reshape(3, 1)

    def process(x):
        y = history.t_().add_(1) + x.permute(1, 0).transpose_(0, 1).sum()
        return {json.dumps(x.shape[0]): y}

    with pytest.raises(tracepack.RecordError):
        tracepack.trace(process, torch.rand(3, 1))
    assert torch.equal(history, torch.arange(3.0).reshape(3, 1))
    assert history.stride() == (1, 1)
