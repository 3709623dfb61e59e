"""A pipeline, or a function with choices and loops on data, that torch.compile must bring into one graph."""

from __future__ import annotations

import pytest
import torch

import tracepack

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own


@pytest.fixture(autouse=True)
def _forgotten():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def one_graph(function):
    return torch.compile(lambda x: function(x), backend="aot_eager", fullgraph=True)


DECIDING = {
    "a choice": lambda x: tracepack.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x),
    "a loop": lambda x: tracepack.while_loop(lambda v: v.sum() < 100, lambda v: v.abs() * 2 + 1, x),
    "a choice in a loop": lambda x: tracepack.while_loop(
        lambda v: v.sum() < 100,
        lambda v: tracepack.cond(v.max() > 3, lambda u: u.abs() + 5, lambda u: u.abs() * 2 + 1, v),
        x,
    ),
}


@pytest.mark.parametrize("name", DECIDING)
@pytest.mark.parametrize("traced", [False, True])
def test_choices_and_loops_on_data_are_in_the_graph(name, traced):
    process = DECIDING[name]
    compiled = one_graph(tracepack.trace(process, torch.rand(3, 4)) if traced else process)
    for x in (torch.rand(3, 4), -torch.rand(3, 4), torch.rand(5, 4) * 9):
        torch.testing.assert_close(compiled(x), process(x))


@pytest.mark.parametrize(
    "process",
    [
        lambda x: tracepack.cond(x.shape[0] > 2, lambda v: v * 2, lambda v: v - 1, x),
        lambda x: tracepack.while_loop(lambda v: v.shape[0] < 9, lambda v: torch.cat([v, v]), x),
    ],
)
def test_what_sizes_decide_is_decided_while_torch_compiles(process):
    compiled = one_graph(process)
    for rows in (2, 3):
        x = torch.rand(rows, 4)
        torch.testing.assert_close(compiled(x), process(x))


def test_where_the_graph_may_be_cut_a_choice_may_give_what_it_was_given():
    mod = tracepack.trace(lambda x: tracepack.cond(x.sum() > 0, lambda v: v, lambda v: -v, x), torch.rand(3))
    compiled = torch.compile(lambda x: mod(x), backend="aot_eager")
    for x in (torch.rand(3), -torch.rand(3)):
        assert torch.equal(compiled(x), x.abs())


def checked(x):
    assert x.shape[0] > 1
    return x * 2 if x.shape[0] % 3 == 0 and x.shape[1] != 7 else x


@pytest.mark.parametrize("options", [{}, {"fullgraph": True}])
def test_guards_on_sizes_are_asked_for_each_size(options):
    mod = tracepack.trace(checked, torch.rand(3, 4))
    compiled = torch.compile(lambda x: mod(x), backend="eager", dynamic=True, **options)
    for rows in (3, 6, 9):
        x = torch.rand(rows, 4)
        assert torch.equal(compiled(x), x * 2)
    with pytest.raises((tracepack.GuardError, torch._dynamo.exc.Unsupported)):
        compiled(torch.rand(4, 4))
