"""`cond` and `while_loop`: both branches in the graph, the right one taken after loading, typed refusals."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tracepack


def reloaded(pipeline: tracepack.Pipeline) -> tracepack.Pipeline:
    file = io.BytesIO()
    pipeline.save(file)
    return tracepack.load(file.getvalue())


def agrees(process: Callable[..., Any], example: tuple[Any, ...], others: list[tuple[Any, ...]]) -> str:
    """Holds traced and loaded against eager; returns the text of the graph."""
    traced = tracepack.trace(process, *example)
    for pipeline in (traced, reloaded(traced)):
        for inputs in (example, *others):
            torch.testing.assert_close(pipeline(*inputs), process(*inputs), rtol=0, atol=0)
    return str(traced.graph)


POSITIVE, NEGATIVE = (torch.tensor([1.0, 2.0]),), (torch.tensor([-1.0, -2.0, -3.0]),)


def test_both_branches_are_recorded() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return tracepack.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x)

    text = agrees(process, POSITIVE, [NEGATIVE])
    assert "cond(" in text
    assert "torch.Tensor.mul" in text
    assert "torch.Tensor.sub" in text


def test_branches_call_ops_and_use_what_lies_outside() -> None:
    op, bias = tracepack.script(torch.nn.Linear(2, 2)), torch.tensor(0.5)

    def process(x: torch.Tensor, scale: float) -> dict[str, Any]:
        y = op(x)
        return tracepack.cond(
            y.sum() > 0,
            lambda a: {"a": op(a) * y, "n": 1},
            lambda a: {"a": a - x.shape[0] * scale * bias, "n": 2},
            x,
        )

    torch.manual_seed(0)
    agrees(process, (torch.randn(3, 2), 2.0), [(torch.randn(n, 2) * 3, 0.5 * n) for n in range(1, 8)])


def test_branches_nest() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        def inner(a: torch.Tensor) -> torch.Tensor:
            return tracepack.cond(x.max() > 2, lambda a: a + x, lambda a: a * 10, a)

        return tracepack.cond(x.sum() > 0, inner, lambda a: a * x.shape[0], x)

    agrees(process, POSITIVE, [NEGATIVE, (torch.tensor([3.0]),)])


def test_a_loop_runs_as_often_as_data_says() -> None:
    def process(x: torch.Tensor, factor: float) -> tuple[int, torch.Tensor]:
        return tracepack.while_loop(
            lambda i, y: (y.abs().max() < 100) & (i < 50), lambda i, y: (i + 1, y * factor), 0, x
        )

    agrees(process, (torch.ones(2), 2.0), [(torch.full((3,), 0.1), 1.5), (torch.full((1,), 200.0), 1.5)])


def test_what_a_loop_carries_may_grow() -> None:
    def process(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        grown = tracepack.while_loop(lambda y: y.sum() < 20, lambda y: torch.cat([y, y[:1] + 1]), x)
        return grown, grown.shape[0]

    agrees(process, (torch.ones(2),), [(torch.ones(5),), (torch.full((2,), 50.0),)])


def test_early_exit() -> None:
    """A cheap model decides alone where it is sure; the large one runs where it is not."""
    torch.manual_seed(1)
    small = tracepack.script(torch.nn.Linear(4, 3), name="small")
    large = tracepack.script(torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.Linear(64, 3)), name="large")

    def process(x: torch.Tensor) -> torch.Tensor:
        scores = small(x).softmax(-1)
        return tracepack.cond(scores.max() > 0.9, lambda: scores, lambda: large(x).softmax(-1))

    agrees(process, (torch.zeros(1, 4),), [(torch.randn(1, 4) * scale,) for scale in (0.1, 1, 10, 100)])


def test_a_write_into_an_operand_is_seen_outside() -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        tracepack.cond(x.sum() > 0, lambda y: y.add_(1) * 0, lambda y: y.mul_(3) * 0, y)
        return y

    agrees(process, POSITIVE, [NEGATIVE])


def test_an_operand_that_a_branch_gives_back_stays_apart_from_the_result(reloaded) -> None:
    """In the example the result is the operand itself; in other runs it is not, and the operand is used again."""
    outside = torch.tensor([7.0, 7.0])

    def chosen(x):
        y = tracepack.cond(x.sum() > 0, lambda v: v, lambda v: v * 10, x)
        return x + 1, y

    def looped(x):
        y = tracepack.while_loop(lambda v: v.sum() < 0, lambda v: v + 5, x)
        return x + 1, y

    def captured(x):
        y = tracepack.cond(x.sum() > 0, lambda: outside, lambda: outside * 2)
        return y + x, outside + x

    def twice(x):
        y, z = tracepack.cond(x.sum() > 0, lambda v: (v + 1,) * 2, lambda v: (v * 2, v * 3), x)
        return y + 0, z + 0

    def written(x):
        y = tracepack.cond(x.sum() > 0, lambda v: v, lambda v: v * 10, x * 1)
        y += 1
        return x, y

    for process in (chosen, looped, captured, twice, written):
        mod = tracepack.trace(process, torch.ones(2))
        for pipeline in (mod, reloaded(mod)):
            for x in (torch.ones(2), -torch.ones(2)):
                for got, wanted in zip(pipeline(x), process(x), strict=True):
                    assert torch.equal(got, wanted), process.__name__


def test_a_module_that_calls_cond() -> None:
    class Chooses(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    class ChoosesOurs(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return tracepack.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x)

    for module in (Chooses(), ChoosesOurs()):
        op = tracepack.script(module, name="chooses")
        pipeline = tracepack.trace(lambda x, op=op: op(x), POSITIVE[0])
        for mod in (pipeline, reloaded(pipeline)):
            assert mod(torch.tensor([1.0])).tolist() == [2.0]
            assert mod(torch.tensor([-1.0, -1.0])).tolist() == [-2.0, -2.0]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated:DeprecationWarning")
def test_a_script_function_with_branches() -> None:
    @torch.jit.script
    def branches(x: torch.Tensor) -> torch.Tensor:
        # TorchScript takes it as a branch in this form.
        if bool(x.sum() > 0):  # noqa: SIM108
            y = x * 2
        else:
            y = x - 1
        return y

    op = tracepack.script(branches, name="branches")
    pipeline = tracepack.trace(lambda x: op(x), POSITIVE[0])
    text = tracepack_text(pipeline)
    assert "cond(" in text
    for mod in (pipeline, reloaded(pipeline)):
        assert mod(torch.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
        assert mod(torch.tensor([-1.0, -2.0])).tolist() == [-2.0, -3.0]


def tracepack_text(pipeline: tracepack.Pipeline) -> str:
    from tracepack.ops.graph.text import graph_text

    return graph_text(pipeline.graph, bodies=True)


@pytest.mark.parametrize(
    ("process", "message"),
    [
        (lambda x: tracepack.cond(x.sum() > 0, lambda x: x, lambda x: (x, x), x), "the branches return different"),
        (lambda x: tracepack.cond(x.sum() > 0, lambda x: x, lambda x: x.long(), x), "got int64 of rank 1"),
        (lambda x: tracepack.cond(x > 0, lambda x: x, lambda x: x, x), "the condition must have one element"),
        (lambda x: tracepack.cond(x.sum() > 0, lambda: x.add_(1), lambda: x), "a branch writes to a tensor from"),
        (lambda x: tracepack.cond(x.sum() > 0, lambda x: x, lambda x: x.view(7), x), "a branch fails on the example"),
        (
            lambda x: tracepack.while_loop(lambda x: x.sum() < 9, lambda x: x.long(), x),
            "body returns another structure",
        ),
        (lambda x: tracepack.while_loop(lambda x: (x, x), lambda x: x, x), "must return one truth value"),
    ],
)
def test_refusals(process: Callable[..., Any], message: str) -> None:
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(process, torch.ones(2))
    error = caught.value
    assert "test_control_flow.py" in error.where  # which quotes the line above, texts included
    assert re.search(message, f"{error.what}; got {error.got}. {error.fix}")


def test_a_body_that_counts_for_itself_is_refused() -> None:
    calls: list[int] = []

    def body(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x + len(calls)

    with pytest.raises(tracepack.RecordError, match="a branch changes variable .calls. outside of it"):
        tracepack.trace(lambda x: tracepack.while_loop(lambda x: x.sum() < 9, body, x), torch.ones(2))


@pytest.mark.parametrize("draw", [torch.rand_like, lambda x: torch.rand(2, generator=torch.Generator())])
def test_random_numbers_in_a_branch_are_refused(draw: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(tracepack.RecordError, match="a branch draws random numbers"):
        tracepack.trace(lambda x: tracepack.cond(x.sum() > 0, lambda x: x * 1, draw, x), torch.ones(2))


@pytest.mark.usefixtures("no_blocks")
def test_an_error_that_a_branch_catches_is_refused() -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        try:
            return x.view(7)
        except RuntimeError:
            return x

    with pytest.raises(tracepack.RecordError, match="the function caught an error of torch"):
        tracepack.trace(lambda x: tracepack.cond(x.sum() > 0, lambda x: x * 1, branch, x), torch.ones(2))


def test_both_work_without_a_trace() -> None:
    x = torch.ones(2)
    assert tracepack.cond(x.sum() > 0, lambda x: "yes", lambda x: "no", x) == "yes"
    assert tracepack.while_loop(lambda i: i < 5, lambda i: i + 1, 0) == 5
    assert tracepack.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * 2), 0, x)[1].tolist() == [4.0, 4.0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tracepack.cond(True, 5, 6), "cond calls functions; got int; expected a function"),
        (lambda: tracepack.while_loop(lambda x: x, 5, 1), "while_loop calls functions; got int"),
        (lambda: tracepack.map(5, [1]), "map calls functions; got int"),
        (
            lambda: tracepack.map(lambda item: item, 5),
            "map takes a list of items; got int; expected a list or a tensor",
        ),
        (
            lambda: tracepack.cond(torch.ones(12) > 0, lambda: 1, lambda: 2),
            r"a condition of several elements decides nothing; got a tensor of shape \(12,\); expected one element",
        ),
        (
            lambda: tracepack.while_loop(lambda x: x > 0, lambda x: x - 1, torch.ones(2)),
            r"a condition of several elements decides nothing; got a tensor of shape \(2,\)",
        ),
    ],
)
def test_what_is_no_function_no_list_or_no_condition_is_refused(call, text) -> None:
    with pytest.raises(tracepack.SignatureError, match=text):
        call()


def test_branches_that_are_nested_deeper_than_a_file_may_hold_are_refused() -> None:
    def nested(x, depth):
        return x if depth == 0 else tracepack.cond(x.sum() > depth, lambda x: nested(x, depth - 1), torch.neg, x)

    mod = reloaded(tracepack.trace(lambda x: nested(x, 17), torch.ones(3)))
    for x in (torch.ones(30), torch.ones(12), torch.zeros(1)):
        assert torch.equal(mod(x), nested(x, 17))
    with pytest.raises(tracepack.RecordError, match="nested more than 17 deep"):
        tracepack.trace(lambda x: nested(x, 18), torch.ones(3))


def test_an_op_that_refuses_the_example_in_a_try_is_not_swallowed() -> None:
    op = tracepack.script(torch.nn.Linear(4, 3))

    def process(x, y):
        try:
            return op(y)
        except Exception:
            return x + 1

    with pytest.raises(tracepack.LoweringError, match="the model itself fails on this example"):
        tracepack.trace(process, torch.rand(2), torch.rand(3, 1))
