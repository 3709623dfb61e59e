"""Errors inside a run: they name the node, its op, the line and the arguments, and keep the original as the cause."""

from __future__ import annotations

import pytest
import torch

import tracepack


def test_torch_code_names_the_line_and_the_arguments_of_its_own_call() -> None:
    def process(x, i):
        rows = x[i]
        return rows + torch.zeros(x.shape[0], 4)[:2]

    mod = tracepack.trace(process, torch.rand(3, 4), torch.tensor([0, 1]))
    with pytest.raises(tracepack.NodeError) as caught:
        mod(torch.rand(3, 4), torch.tensor([7, 7]))
    text = str(caught.value)
    assert text.startswith("node torch.Tensor.__getitem__ (test_run_errors.py:")
    assert text.endswith(
        "in process: rows = x[i]): IndexError: index 7 is out of bounds for dimension 0 with size 3; "
        "arguments: float32[3, 4], int64[2]; recorded with f32[N,M], i64[K]"
    )
    assert isinstance(caught.value.__cause__, IndexError)


class Pick(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return self.linear(x).index_select(1, i)


@pytest.mark.parametrize("saved", [False, True])
def test_a_node_of_an_op_names_the_op_the_model_s_line_and_the_call(reloaded, saved) -> None:
    op = tracepack.script(Pick(), device="cpu", contiguous=True)

    def process(x, i):
        y = op(x, i)
        return y * 2

    mod = tracepack.trace(process, torch.rand(3, 4), torch.tensor([0, 1]))
    mod = reloaded(mod) if saved else mod
    for _ in range(2):  # both the checked and the fast way
        mod(torch.rand(3, 4), torch.tensor([0, 1]))
        with pytest.raises(tracepack.NodeError) as caught:
            mod(torch.rand(3, 4), torch.tensor([0, 5]))
        text = str(caught.value)
        assert text.startswith("node aten.index_select.default of op 'Pick' (test_run_errors.py:")
        assert "in forward: return self.linear(x).index_select(1, i)), called at test_run_errors.py:" in text
        assert "in process: y = op(x, i): " in text
        assert "arguments: float32[3, 2], int64[2]; recorded with " in text
        assert isinstance(caught.value.__cause__, (RuntimeError, IndexError))


def test_weights_and_numbers_are_shown_with_the_tensors() -> None:
    table = torch.rand(5, 3)

    def process(x, n):
        return torch.roll(x, n, 0) @ table

    mod = tracepack.trace(process, torch.rand(4, 5), 2)
    with pytest.raises(
        tracepack.NodeError, match=r"matmul.*arguments: float32\[4, 6\], float32\[5, 3\]; recorded with"
    ):
        mod(torch.rand(4, 6), 2)


def test_another_number_of_results_is_a_guard() -> None:
    def process(x):
        a, b = x.unbind(0)
        return a + b

    mod = tracepack.trace(process, torch.rand(2, 4))
    with pytest.raises((tracepack.GuardError, tracepack.SignatureError)):
        mod(torch.rand(3, 4))


def test_the_error_of_a_loop_on_data_names_its_line() -> None:
    def process(x, k):
        return x.reshape(k.item(), -1)

    mod = tracepack.trace(process, torch.rand(4, 6), torch.tensor(3))
    with pytest.raises(tracepack.NodeError) as caught:
        mod(torch.rand(4, 6), torch.tensor(5))
    assert "return x.reshape(k.item(), -1)" in str(caught.value)
    assert "arguments: float32[4, 6], 5" in str(caught.value)


def test_an_error_in_a_branch_names_the_line_inside_and_the_choice() -> None:
    def process(x):
        def on_true(y):
            return y.reshape(2, 3)

        return tracepack.cond(x.sum() > 0, on_true, lambda y: y[:6].reshape(3, 2).t() * 1, x)

    mod = tracepack.trace(process, torch.ones(6))
    with pytest.raises(tracepack.NodeError) as caught:
        mod(torch.ones(7))
    assert str(caught.value).startswith("node torch.Tensor.reshape (test_run_errors.py:")
    assert "in on_true: return y.reshape(2, 3)), in a branch of cond at test_run_errors.py:" in str(caught.value)
    assert "shape '[2, 3]' is invalid for input of size 7; arguments: float32[7]" in str(caught.value)


def test_an_error_in_a_loop_names_the_line_inside_and_the_loop() -> None:
    def process(x, y):
        return tracepack.while_loop(lambda x: x.sum() < 10, lambda x: (x + 1).view(x.shape[0], -1)[:, 0] + y, x)

    mod = tracepack.trace(process, torch.ones(2), torch.ones(1))
    with pytest.raises(tracepack.NodeError, match="in a branch of while_loop at test_run_errors.py") as caught:
        mod(torch.ones(2), torch.ones(3))
    assert "arguments: float32[2], float32[3]" in str(caught.value)


def test_a_dict_of_a_run_that_lacks_a_key_says_so_as_a_table_does() -> None:
    def second(x):
        scores = dict(enumerate(x.tolist()))
        return scores[1]

    mod = tracepack.trace(second, torch.rand(3))
    x = torch.rand(2)
    assert mod(x) == second(x)
    with pytest.raises(
        tracepack.GuardError, match=r"return scores\[1\]\): the dict has no such key; got 1; expected a key"
    ):
        mod(torch.rand(1))
