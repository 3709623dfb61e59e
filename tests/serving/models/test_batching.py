"""Requests that are run together get what they get alone, and a bad one among them fails alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import torch

import tracepack
from tests.security.forge import archive_of, tensor
from tracepack.ops.graph.graph import Facts, Graph
from tracepack.serving import ServingConfig
from tracepack.serving.models.execution import Executor, Passage
from tracepack.serving.models.model import ServedModel
from tracepack.serving.models.repository import Repository
from tracepack.serving.models.row_check import why_not_by_rows
from tracepack.serving.protocol.interface import Interface
from tracepack.serving.protocol.messages import InferRequest, NamedTensor

N = 64


def served(pipeline: tracepack.Pipeline, **settings: Any) -> ServedModel:
    config = ServingConfig.of({"max_batch": 32, **settings})
    model = ServedModel("m", "1", pipeline, Executor(config), config)
    model.warm([])
    return model


def requests(*tensors: torch.Tensor) -> list[InferRequest]:
    return [InferRequest({"x": NamedTensor("x", "FP32", tuple(x.shape), x)}, id=str(i)) for i, x in enumerate(tensors)]


async def all_at_once(model: ServedModel, given: list[InferRequest]) -> tuple[list[Any], list[Passage]]:
    passages = [Passage() for _ in given]
    answers = await asyncio.gather(*map(model.infer, given, passages), return_exceptions=True)
    return list(answers), passages


def test_each_gets_its_own_rows_bit_for_bit() -> None:
    pipeline = tracepack.trace(lambda x: {"y": x * 3 - 1, "all": (x.sum(-1), x > 0)}, torch.rand(3, 4))
    given = [torch.randn(rows, 4) for rows in (1, 2, 5, 1, 7, 3) * 10]
    answers, passages = asyncio.run(all_at_once(served(pipeline), requests(*given)))
    for x, answer in zip(given, answers, strict=True):
        alone = pipeline.run({"x": x})
        wanted = {"y": alone["y"], "all.0": alone["all"][0], "all.1": alone["all"][1]}
        assert {output.name for output in answer.outputs} == wanted.keys()
        assert all(torch.equal(output.value, wanted[output.name]) for output in answer.outputs)
    assert [answer.id for answer in answers] == [str(index) for index in range(60)]
    assert max(passage.requests for passage in passages) > 1, "nothing was run together"
    assert max(passage.rows for passage in passages) <= 32


def test_a_network_within_rounding() -> None:
    op = tracepack.script(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.LayerNorm(16)))
    pipeline = tracepack.trace(lambda x: op(x), torch.rand(3, 8))
    given = [torch.randn(1, 8) for _ in range(N)]
    answers, passages = asyncio.run(all_at_once(served(pipeline), requests(*given)))
    for x, answer in zip(given, answers, strict=True):
        torch.testing.assert_close(answer.outputs[0].value, pipeline.run({"x": x}), rtol=1e-5, atol=1e-5)
    assert max(passage.requests for passage in passages) > 1


@pytest.mark.parametrize("bad", [torch.randn(1, 5), torch.randn(4), torch.ones(1, 4, dtype=torch.int32)])
def test_sizes_and_dtypes_that_do_not_fit_fail_alone(bad) -> None:
    pipeline = tracepack.trace(lambda x: x @ torch.ones(4, 4), torch.rand(3, 4))
    given = [torch.randn(1, 4), bad, torch.randn(2, 4)]
    answers, _ = asyncio.run(all_at_once(served(pipeline), requests(*given)))
    assert isinstance(answers[1], tracepack.SignatureError | tracepack.NodeError)
    for index in (0, 2):
        torch.testing.assert_close(answers[index].outputs[0].value, pipeline.run({"x": given[index]}))


def test_a_request_whose_data_fails_the_batch_fails_alone() -> None:
    op = tracepack.script(torch.nn.Embedding(4, 3))
    pipeline = tracepack.trace(lambda x: op(x), torch.tensor([0, 1, 2]))
    model = served(pipeline)
    assert model.why_not_by_rows == ""
    given = [torch.tensor([0, 1]), torch.tensor([9]), torch.tensor([3])]
    rows = [InferRequest({"x": NamedTensor("x", "INT64", tuple(x.shape), x)}) for x in given]
    answers, _ = asyncio.run(all_at_once(model, rows))
    assert isinstance(answers[1], tracepack.NodeError)
    for index in (0, 2):
        assert torch.equal(answers[index].outputs[0].value, pipeline.run({"x": given[index]}))


def test_other_sizes_than_the_first_are_run_apart() -> None:
    pipeline = tracepack.trace(lambda x: x.softmax(-1), torch.rand(3, 4))
    given = [torch.randn(1 + index % 3, 4 + index % 2) for index in range(N)]
    answers, passages = asyncio.run(all_at_once(served(pipeline), requests(*given)))
    for x, answer in zip(given, answers, strict=True):
        assert torch.equal(answer.outputs[0].value, pipeline.run({"x": x}))
    assert max(passage.requests for passage in passages) > 1


def test_a_delay_gathers_requests_that_come_one_after_the_other() -> None:
    pipeline = tracepack.trace(lambda x: x + 1, torch.rand(3, 4))
    model = served(pipeline, max_delay_ms=10_000, max_batch=4)

    async def one_by_one() -> list[Passage]:
        passages, tasks = [Passage() for _ in range(4)], []
        for request, passage in zip(requests(*[torch.zeros(1, 4)] * 4), passages, strict=True):
            tasks.append(asyncio.ensure_future(model.infer(request, passage)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return passages

    assert [passage.requests for passage in asyncio.run(one_by_one())] == [4] * 4


@pytest.mark.parametrize(
    ("process", "x", "reason"),
    [
        (lambda x: x * 2, torch.rand(3, 2), ""),
        (lambda x: torch.cumsum(x, 1), torch.rand(3, 2), ""),
        (lambda x: torch.cumsum(x, 0), torch.rand(3, 2), "a row gives other outputs beside other rows than alone"),
        (lambda x: x.flip(0), torch.rand(3, 2), "a row gives other outputs beside other rows than alone"),
        (lambda x: x - x.mean(0), torch.rand(3, 2), "a row gives other outputs beside other rows than alone"),
        (lambda x: x / x.abs().max().clamp(min=10), torch.rand(3, 2), "a row gives other outputs"),
        (lambda x: x * x.isnan().any().logical_not(), torch.rand(3, 2), "a row gives other outputs"),
        (lambda x: x.sum(0), torch.rand(3, 2), "its inputs and outputs do not all share a free first size"),
        (lambda x: (x, x.shape[0]), torch.rand(3, 2), "its inputs and outputs do not all share a free first size"),
        (lambda x: torch.cat([x, x]), torch.rand(3, 2), "its inputs and outputs do not all share a free first size"),
        (lambda x: x if x.shape[0] > 2 else x.sum(), torch.rand(3, 2), "a condition is on the size N"),
        (lambda x: [t.upper() for t in x], ["a", "b"], "its inputs and outputs do not all share a free first size"),
    ],
)
def test_what_may_be_run_together(process, x, reason) -> None:
    pipeline = tracepack.trace(process, x)
    assert why_not_by_rows(pipeline, []).startswith(reason)
    assert bool(why_not_by_rows(pipeline, [])) == bool(reason)


PIXELS = torch.randint(0, 255, (2, 3, 8, 8), dtype=torch.uint8)
WHOLE = torch.randint(0, 255, (2, 16))


@pytest.mark.parametrize(
    ("process", "x"),
    [
        (lambda x: x.float() / x.max(), PIXELS),
        (lambda x: x - x.amin(), WHOLE),
        (lambda x: torch.where((x > 100).any(), x // 2, x), WHOLE),
        (lambda x: torch.where((x < 0).any(), -x, x), WHOLE),
        (lambda x: x + (x == 7).any(), WHOLE),
        (lambda x: x / torch.where((x > 1).any(), 255.0, 1.0), torch.rand(2, 3, 8, 8)),
        (lambda x: x * (1 + (x > 1e6).any()), torch.rand(2, 8)),
        (lambda x: torch.where(x.isinf().any(), x * 0, x), torch.rand(2, 8)),
        (lambda x: torch.where((x.abs() < 1e-3).all(), x * 1000, x), torch.rand(2, 8)),
        (lambda x: torch.where((x < 9e9).cumsum(0) > 16, x * 0, x), torch.rand(2, 8)),
        (lambda x: torch.where((x < 9e9).cumsum(0) >= 60, x * 0, x), torch.rand(2, 8)),
        (lambda x: x | x.any(), torch.rand(2, 9) > 0.5),
        (lambda x: x & x.all(), torch.rand(2, 9) > 0.5),
    ],
)  # fmt: skip
def test_what_depends_on_rows_that_are_unlike_this_one_is_run_alone(process, x) -> None:
    """Random rows are like each other, so that a maximum or an any says the same of one and of all of them."""
    assert why_not_by_rows(tracepack.trace(process, x), []) == "a row gives other outputs beside other rows than alone"


def mean_of_large(x):
    y = x.clone()
    y[x.amax(1) > 40] = y[x.amax(1) > 40].mean()
    return y


def above_a_quantile(x):
    norm = x.norm(dim=1)
    return (norm > norm.quantile(0.9).clamp(min=9.0)).float()


def mean_of_large_integers(n):
    return torch.where(n > 50, (n * (n > 50)).sum() // (n > 50).sum().clamp(min=1), n)


@pytest.mark.parametrize(
    ("process", "x"),
    [
        (mean_of_large, torch.randn(3, 4) * 60),
        (above_a_quantile, torch.randn(3, 4)),
        (mean_of_large_integers, torch.tensor([3, 80, 90])),
    ],
)
def test_what_ties_large_rows_alone_is_run_alone(process, x) -> None:
    assert why_not_by_rows(tracepack.trace(process, x), []) == "a row gives other outputs beside other rows than alone"


@pytest.mark.parametrize(("most", "alone"), [(300, True), (64, False)])
def test_as_many_rows_are_tried_as_are_run_together(most, alone) -> None:
    mod = tracepack.trace(lambda x: torch.where((x < 9e9).cumsum(0) >= 299, x * 0, x), torch.rand(2, 8))
    assert bool(served(mod, max_batch=most).why_not_by_rows) is alone


@pytest.mark.parametrize("words", [2, 30, 5000])
def test_integers_beyond_a_table_are_not_asked_for_by_rows(words) -> None:
    op = tracepack.script(
        torch.nn.Sequential(torch.nn.Embedding(words, 8), torch.nn.Linear(8, 3), torch.nn.Softmax(-1))
    )
    assert why_not_by_rows(tracepack.trace(lambda ids: op(ids), torch.zeros(2, 5, dtype=torch.int64)), []) == ""


def test_integers_that_could_break_a_gpu_are_those_of_examples(monkeypatch) -> None:
    pipeline = tracepack.trace(lambda x: x + (x == 7).any(), PIXELS)
    monkeypatch.setattr(type(pipeline), "placement", property(lambda _: {"op": "cuda:0"}))  # no GPU is needed for that
    asked: list[int] = []
    run = type(pipeline).run
    monkeypatch.setattr(type(pipeline), "run", lambda self, feed: asked.append(int(feed["x"].max())) or run(self, feed))
    assert why_not_by_rows(pipeline, []) == ""
    assert max(asked) == 1
    assert why_not_by_rows(pipeline, [{"x": PIXELS // 2}]) == "a row gives other outputs beside other rows than alone"
    assert 1 < max(asked) <= 127


@pytest.mark.parametrize(
    "layers",
    [
        (torch.nn.Linear(384, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8), torch.nn.Softmax(-1)),
        (torch.nn.LayerNorm(384), torch.nn.Linear(384, 8), torch.nn.LayerNorm(8), torch.nn.Sigmoid()),
        (torch.nn.Linear(384, 16), torch.nn.BatchNorm1d(16), torch.nn.Tanh(), torch.nn.Linear(16, 2)),
    ],
)
def test_rounding_alone_keeps_no_network_from_batches(layers) -> None:
    op = tracepack.script(torch.nn.Sequential(*layers).eval())
    assert why_not_by_rows(tracepack.trace(lambda x: op(x), torch.rand(3, 384)), []) == ""


def test_golden_examples_find_what_random_rows_do_not() -> None:
    def mixed(x):
        return torch.where((x.max() > 40) & (x.max() < 60), x * 0, x)

    pipeline = tracepack.trace(mixed, torch.rand(3, 2))
    example = {"x": torch.tensor([[1.0, 2], [50, 1], [0, 0]])}
    assert why_not_by_rows(pipeline, [example]) == "a row gives other outputs beside other rows than alone"


def test_random_rows_find_what_golden_examples_do_not() -> None:
    pipeline = tracepack.trace(lambda x: x * (x.min() >= 0), torch.rand(3, 2))
    assert why_not_by_rows(pipeline, [{"x": torch.rand(3, 2)}]) == (
        "a row gives other outputs beside other rows than alone"
    )  # fmt: skip


def test_the_metadata_says_why_not() -> None:
    model = served(tracepack.trace(lambda x: x - x.mean(0), torch.rand(3, 2)))
    assert model.metadata()["parameters"]["batching"] == "off: a row gives other outputs beside other rows than alone"
    model = served(tracepack.trace(lambda x: x - 1, torch.rand(3, 2)))
    assert model.metadata()["parameters"]["batching"] == "up to 32 rows"
    assert Interface(model.pipeline, "m").outputs.keys() == {"out"}


def test_a_run_that_takes_too_long_is_answered(monkeypatch) -> None:
    import threading

    pipeline, go = tracepack.trace(lambda x: x + 1, torch.rand(3, 4)), threading.Event()
    model = served(pipeline, timeout=0.05, max_batch=1)
    monkeypatch.setattr(pipeline._runner, "run", lambda feed: go.wait(60))
    (answer,), _ = asyncio.run(all_at_once(model, requests(torch.zeros(1, 4))))
    go.set()
    assert str(answer) == "the request took too long; expected at most 0.05 s"
    assert answer.status == 504


def test_a_request_that_waits_too_long_for_its_batch_is_answered(monkeypatch) -> None:
    """Those that wait behind a run are answered in time, and the batch that comes later goes without them."""
    import threading

    pipeline, runs, go = tracepack.trace(lambda x: x + 1, torch.rand(3, 4)), threading.Event(), threading.Event()
    model = served(pipeline, timeout=0.1)
    monkeypatch.setattr(pipeline._runner, "run", lambda feed: runs.set() or go.wait(60))

    async def ask() -> list[Any]:
        first = asyncio.ensure_future(all_at_once(model, requests(torch.zeros(1, 4))))
        assert await asyncio.to_thread(runs.wait, 60)
        late, _ = await all_at_once(model, requests(*[torch.zeros(1, 4)] * 3))
        go.set()
        return [*late, *(await first)[0]]

    assert [str(answer) for answer in asyncio.run(ask())] == ["the request took too long; expected at most 0.1 s"] * 4


def test_runs_that_cost_less_than_a_batch_go_alone(monkeypatch) -> None:
    model = served(tracepack.trace(lambda x: x + 1, torch.rand(3, 4)))
    monkeypatch.setattr(model.pace, "note", lambda size, seconds: None)  # however busy this machine is
    model.pace._known[(16).bit_length()] = (1e-5, 1e-5)  # what a run on one row of four numbers takes
    given = requests(*[torch.full((1, 4), float(i)) for i in range(8)])
    answers, passages = asyncio.run(all_at_once(model, given))
    assert [answer.outputs[0].value[0, 0].item() for answer in answers] == [i + 1.0 for i in range(8)]
    assert {passage.requests for passage in passages} == {1}


def test_a_full_queue_is_said() -> None:
    pipeline = tracepack.trace(lambda x: x + 1, torch.rand(3, 4))
    model = served(pipeline, max_queue=3)
    answers, _ = asyncio.run(all_at_once(model, requests(*[torch.zeros(1, 4)] * 5)))
    refused = [answer for answer in answers if isinstance(answer, Exception)]
    assert [answer.status for answer in refused] == [429, 429]
    assert str(refused[0]) == "model 'm': too many requests wait; expected 3 at most"


@pytest.mark.parametrize("size", [1 << 40, 1 << 30, -3])
def test_sizes_that_a_file_fixes_make_no_random_rows(size) -> None:
    x = tensor("N", size)
    mod = tracepack.load(archive_of(Graph((x,), (), x), Facts({"N": (0, 0)}, ())))
    assert why_not_by_rows(mod, []) == "no rows were found that it takes"


def test_a_file_of_very_many_outputs_is_not_compared() -> None:
    x = tensor("N")
    mod = tracepack.load(archive_of(Graph((x,), (), [x] * 5000), Facts({"N": (0, 0)}, ())))
    assert why_not_by_rows(mod, []) == "it has more than 1000 inputs and outputs"


def test_a_version_is_a_number_where_its_digits_are_those_of_one() -> None:
    pipeline = tracepack.trace(lambda x: x + 1, torch.rand(2))
    repository = Repository({"m": dict.fromkeys(("10", "9", "²"), pipeline)}, ServingConfig.of({}))
    repository.load_all()
    assert repository.model("m").version == "²"  # as every name, after the numbers
    repository = Repository({"m": dict.fromkeys(("10", "9"), pipeline)}, ServingConfig.of({}))
    repository.load_all()
    assert repository.model("m").version == "10"
