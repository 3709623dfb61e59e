"""Blocks that call models: they answer as Python does, and refuse what is not right for each call."""

from __future__ import annotations

import warnings

import pytest
import torch

import tracepack
from tests.everyday.blocks.models import of_generation as generation
from tests.everyday.blocks.models import of_services as services
from tests.everyday.blocks.test_blocks import blocks
from tests.everyday.case import Case, check, loaded
from tracepack.ops.graph.graph import BodyCall
from tracepack.ops.graph.traverse import bodies, walk


def rows(count: int, scale: float = 1.0) -> torch.Tensor:
    """Some rows of four numbers."""
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(count)) * scale


def ids(*shape: int) -> torch.Tensor:
    """Some words."""
    return torch.randint(0, 12, shape, generator=torch.Generator().manual_seed(sum(shape)))


PROMPTS = [[[1, 2], 2], [[5], 12], [[4, 4, 4], 3], [[7, 8], 30], [[], 0]]
TEXTS = [[["x"]], [["q", " q"]], [[" ab", "c", "ab", "dd", "e"]], [[]]]
ROWS = [[rows(3), 2], [rows(1, 9.0), 20], [rows(5) * 0.01, 4], [torch.zeros(2, 4), 0]]
CASES = {
    "greedy": Case(generation.greedy, [[1, 2], 6], PROMPTS),
    "greedy without gradients": Case(generation.greedy_without_gradients, [[1, 2], 6], PROMPTS),
    "greedy with a mask": Case(generation.greedy_with_a_mask, [[1, 2], 6], PROMPTS),
    "answer": Case(generation.answer, ["hi"], [[""], ["hello"], ["zz top"], ["q"]]),
    "scored": Case(generation.scored, [[1, 2], 4], [[[1], 0], [[5], 7], [[3, 3], 2], [[8, 9, 1], 15]]),
    "beam": Case(generation.beam, [[1], 2, 3], [[[1], 3, 9], [[4, 5], 1, 4], [[1], 2, 0], [[9, 2], 4, 4]]),
    "speculative": Case(generation.speculative, [[1, 2], 6], [[[1], 3], [[4, 5, 6], 12], [[9], 20], [[2, 2], 1]]),
    "batch": Case(
        generation.batch, [ids(2, 3), 6], [[ids(1, 2), 4], [ids(4, 5), 12], [ids(3, 1), 30], [ids(2, 7), 3]]
    ),
    "states": Case(
        generation.states, [torch.ones(1, 3), 4],
        [[torch.zeros(1, 3), 9], [torch.full((1, 3), -2.0), 2], [torch.arange(3.0)[None], 0]],
    ),
    "embedded": Case(services.embedded, [["a", "bb", " a"]], TEXTS),
    "windows": Case(
        services.windows, [[1, 2, 3, 4, 5], 3, 2],
        [[[1], 3, 2], [[1, 2, 3], 3, 1], [[*range(12)], 4, 3], [[5, 5, 5, 5], 2, 1]],
    ),
    "retried": Case(services.retried, [rows(2), 3], ROWS),
    "settled": Case(services.settled, [rows(2)], [[rows(1)], [rows(5, 9.0)], [torch.zeros(1, 4)], [torch.ones(3, 4)]]),
    "rank": Case(services.rank, [["a", "B", "b"]], TEXTS),
    "cascade": Case(
        services.cascade, [[rows(1), rows(2), -rows(1)]], [[[]], [[rows(3)]], [[rows(1, 9.0), -rows(4), rows(2)]]]
    ),
    "handed on": Case(services.handed_on, [rows(2), 3], ROWS),
    "written": Case(services.written, [rows(2) + 2, 3], [[rows(3) + 1, 9], [rows(1), 0], [torch.zeros(5, 4), 2]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_loops_that_call_a_model_are_run_as_they_are_written(name) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(CASES[name])


def test_the_op_in_a_block_is_one_of_the_file() -> None:
    mod = loaded(generation.speculative, [1, 2], 6)
    assert blocks(mod)
    assert [body.name for body in bodies(mod.graph)] == ["Words", "Words"]
    assert len([node for node in walk(mod.graph) if isinstance(node.target, BodyCall)]) == 2
    assert mod.placement == {"Words": "cpu", "Words#2": "cpu"}


@pytest.mark.skipif(torch.cuda.is_available(), reason="on a machine without a card")
@pytest.mark.filterwarnings("ignore:.*runs on the CPU")
def test_an_op_for_a_card_that_a_block_calls_is_placed_as_anywhere() -> None:
    process = _until(tracepack.script(services.Encoder(), device=0))
    data = _saved(tracepack.trace(process, [1, 2], 5))
    assert blocks(tracepack.load(data, gpu_ops="cpu"))
    with pytest.raises(tracepack.PlacementError, match="op 'Encoder': it needs cuda:0, which this machine lacks"):
        tracepack.load(data)
    mod = tracepack.load(data, gpu_ops="cpu")
    assert mod.placement == {"Encoder": "cpu"}
    assert mod([3], 9) == process([3], 9)


def test_an_engine_takes_the_op_in_a_block() -> None:
    mod = loaded(services.retried, rows(2), 3)
    mod.optimize([{"x": rows(3), "limit": 4}, {"x": rows(2), "limit": 2}])
    for x in (rows(3), rows(7, 5.0)):
        assert torch.allclose(mod(x, 9)["y"], services.retried(x, 9)["y"], atol=1e-5)


class _Fails(torch.nn.Module):
    def forward(self, x):
        return x[5] * 2


fails = _Fails()


def _caught(x, limit: int):
    k = 0
    while k < limit:
        try:
            y = fails(x)
        except IndexError:
            return -1
        if float(y.sum()) > 2:
            break
        k += 1
    return k


def test_no_handler_catches_what_the_graph_of_a_model_raises() -> None:
    mod = loaded(_caught, torch.zeros(7), 3)
    assert mod(torch.ones(6), 4) == _caught(torch.ones(6), 4)
    with pytest.raises(tracepack.TracepackError, match="index 5 is out of bounds"):
        mod(torch.ones(3), 4)


def test_other_kinds_of_arguments_than_in_the_trace_are_refused_where_the_model_is_called() -> None:
    mod = loaded(generation.greedy, [1, 2], 6)
    with pytest.raises(
        tracepack.GuardError,
        match=r"logits = model.*calls a model with other kinds of arguments than on the example of the trace; "
        "got float32 of rank 2; expected int64 of rank 2",
    ):
        mod([], 3)


def test_gradients_are_refused() -> None:
    mod = tracepack.trace(services.retried, rows(2), 3)
    with pytest.raises(tracepack.RecordError, match="gradients are not kept: a block of plain Python calls a model"):
        tracepack.load(_saved(mod), grad=True)


def _saved(mod) -> bytes:
    import io

    file = io.BytesIO()
    mod.save(file)
    return file.getvalue()


def test_a_budget_of_time_ends_a_loop_that_calls_a_model() -> None:
    mod = tracepack.load(_saved(tracepack.trace(services.settled, rows(2))), budget={"seconds": 60})
    assert torch.equal(mod(rows(5))[0], services.settled(rows(5))[0])

    def endless(x):
        while float(x.sum()) < 1e9:
            x = services.encoder(x[:, :1].expand(-1, 4)).sum() * 0 + x
            x = x * (2 if float(x.sum()) > 1 else 1)
        return x

    assert torch.equal(tracepack.trace(endless, rows(2).abs() * 9)(rows(3).abs() * 9), endless(rows(3).abs() * 9))
    mod = tracepack.load(_saved(tracepack.trace(endless, rows(2).abs() * 9)), budget={"seconds": 0.5})
    with pytest.raises(tracepack.BudgetError, match="takes longer than its budget"):
        mod(torch.zeros(2, 4))


dropping, norm = services.Encoder().train(), torch.nn.BatchNorm1d(4).train()


class _Weight(torch.nn.Module):
    def __init__(self, copies: bool = False) -> None:
        super().__init__()
        self.w, self.copies = torch.nn.Parameter(torch.ones(2, 4)), copies

    def forward(self, x):
        return x, (self.w.clone() if self.copies else self.w[:1])


weight, copied = _Weight().requires_grad_(False), _Weight(copies=True).requires_grad_(False)


class _Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        return x + self.count


counting = tracepack.script(_Counting(), device="cpu")


def _until(function):
    """A loop that no recording follows."""

    def process(ids: list[int], limit: int):
        out = list(ids)
        while len(out) < limit:
            y = function(torch.tensor([out]).float().mean() * BASE)
            nxt = int(y.sum() * 10) % 12
            if nxt == 11:
                break
            out.append(nxt)
        return out

    return process


BASE = rows(2)


def _of_two_kinds(x):
    return services.encoder(x) + services.encoder(x[:1].double().float()[0])


class _Rounds(torch.nn.Module):
    def forward(self, x):
        for i in range(x.shape[1]):
            x = x + x[:, i : i + 1] / 2
        return x


rounds = tracepack.script(_Rounds(), device="cpu")


def _of_sizes(x):
    return rounds(x[:, : 2 + int(x.sum() * 10) % 2])


def _pair(x):
    pair = (x[:, :3], x[:, 1:])
    return generation.cell(x[:, :3], pair)["y"]


def _unpacked(x):
    return services.encoder(*[x])


EVALUATION = "Put it into evaluation mode, model.eval()"
REFUSED = {
    "statistics": (norm, f"BatchNorm1d, which writes to its buffers. {EVALUATION}"),
    "state": (counting, "_Counting, which has state, or writes to its arguments. Hand the state through its arg"),
    "a weight": (lambda x: weight(x)[1] * x.sum(), "_Weight, which gives a weight or a buffer itself. Let it give a"),
    "two kinds": (_of_two_kinds, "Encoder, which is given several dtypes or ranks. Give it the same kinds each time"),
    "sizes": (_of_sizes, "_Rounds, which as recorded on its largest call fails on another one: the sizes do not sat"),
    "a tuple": (_pair, "Cell, which is given a tuple. Write its parts in the call: model(x, (h, c))."),
}


@pytest.mark.parametrize(("function", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_right_for_each_call_is_refused(function, said) -> None:
    before = [each.clone() for each in norm.buffers()]
    with pytest.raises(tracepack.RecordError) as caught:
        tracepack.trace(_until(function), [1, 2], 5)
    assert "if nxt == 11:" in str(caught.value)
    assert f"It cannot be a block of plain Python: it calls the model {said}" in str(caught.value)
    assert all(map(torch.equal, norm.buffers(), before))


@pytest.mark.parametrize("function", [dropping, tracepack.script(dropping, device="cpu", training=True)])
def test_a_model_that_draws_random_numbers_is_refused(function) -> None:
    state = torch.get_rng_state()
    with pytest.raises(tracepack.TracepackError, match="draws random numbers"):
        tracepack.trace(_until(function), [1, 2], 5)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_copy_of_a_weight_is_a_result_as_any() -> None:
    process = _until(lambda x: copied(x)[1] * x.sum())
    mod = loaded(process, [1, 2], 5)
    for ids_ in ([], [3], [4, 4, 4]):
        assert mod(ids_ or [7], 9) == process(ids_ or [7], 9)


def test_a_model_that_the_example_does_not_call_is_refused() -> None:
    unseen = tracepack.script(services.Encoder(), device="cpu")

    def process(ids: list[int], limit: int):
        out = list(ids)
        while len(out) < limit:
            y = torch.tensor([out]).float().mean() * BASE
            if 1234.5 < float(y.abs().sum()) < 2345.6:
                y = unseen(y)
            nxt = int(y.sum() * 10) % 12
            if nxt == 11:
                break
            out.append(nxt)
        return out

    with pytest.raises(tracepack.RecordError, match="Encoder, which is not called on the example. Trace with an exam"):
        tracepack.trace(process, [1, 2], 5)
    mod = loaded(process, [500, 2], 5)
    for given in ([1, 2], [700], [900, 1, 1]):
        assert mod(given, 6) == process(given, 6)
