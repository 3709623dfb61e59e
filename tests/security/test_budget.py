"""Budgets: what a run may spend, and the bounds that hold without one."""

from __future__ import annotations

import re
import threading
import time

import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, one_node, tensor
from tests.security.test_bodies import twice_each
from tracepack.ops.graph.graph import Graph, Node, Value
from tracepack.ops.graph.types import ANY, INT

X = torch.arange(4.0)


def endless(with_nodes: bool) -> bytes:
    """A loop whose test never fails; with nodes in it or without any."""
    x, a, b = tensor(), tensor(), tensor()
    test = Graph((a,), (), (True,))
    step = apply("aten.add.Tensor", b, 1, output=tensor())
    body = Graph((b,), (step,), (step.output,)) if with_nodes else Graph((b,), (), (b,))
    loop = apply("while_loop", test, body, (x,), output=(tensor(),))
    return archive_of(Graph((x,), (loop,), loop.output))


@pytest.mark.parametrize("with_nodes", [True, False])
def test_a_loop_without_end_ends_with_the_time(with_nodes):
    mod = tracepack.load(endless(with_nodes), budget={"seconds": 0.3})
    began = time.monotonic()
    with pytest.raises(tracepack.BudgetError, match=r"takes longer than its budget; expected 0.3 seconds at most"):
        mod(X)
    assert time.monotonic() - began < 60
    with pytest.raises(tracepack.BudgetError, match="takes longer"):  # the next run starts anew
        mod.session()(X)


def test_memory_is_foreseen_before_it_is_taken():
    for data in (one_node("torch.zeros", [10**10]), one_node("torch.Tensor.repeat", "x0", 10**11),
                 one_node("aten.full.default", [10**6, 10**6], 1.0)):  # fmt: skip
        with pytest.raises(
            tracepack.BudgetError, match=r"takes more memory than its budget; got \d+; expected 1000000"
        ):
            tracepack.load(data, budget={"bytes": 1_000_000})(X)


def test_the_plan_of_the_first_run_counts():
    """Ops are written out wherever they are called, which takes a small file longer than its own nodes foretell."""
    data = archive_of(twice_each(13))
    with pytest.raises(tracepack.BudgetError, match="more memory than its budget; got 100544512; expected 1048576"):
        tracepack.load(data, budget={"bytes": 1 << 20})(X)
    assert torch.equal(tracepack.load(data, budget={"bytes": 1 << 30, "seconds": 600})(X), X + 8192)
    mod = tracepack.load(data, budget={"seconds": 0.05})
    began = time.process_time()
    with pytest.raises(tracepack.BudgetError, match=r"takes longer than its budget; expected 0.05 seconds at most"):
        mod(X)
    assert time.process_time() - began < 0.5  # the whole plan takes more than a second
    assert mod.state() == {}  # the time of a run that was ended does not count for what follows


def test_a_size_of_nothing_counts_as_one():
    """Operators go through a batch of empty tensors, and `unbind` makes a tensor for each."""
    data = one_node("torch.zeros", [2**40, 0])
    assert tracepack.load(data)(X).shape == (2**40, 0)
    with pytest.raises(tracepack.BudgetError, match="takes more memory than its budget; got 4398046511104; expected"):
        tracepack.load(data, budget={"bytes": 1 << 30})(X)


def test_memory_is_counted_over_the_whole_run():
    x, a, b = tensor(), tensor(), tensor()
    step = apply("aten.cat.default", [b, b], output=tensor())
    loop = apply("while_loop", Graph((a,), (), (True,)), Graph((b,), (step,), (step.output,)), (x,), output=(tensor(),))
    mod = tracepack.load(archive_of(Graph((x,), (loop,), loop.output)), budget={"bytes": 10_000_000})
    with pytest.raises(tracepack.BudgetError, match="takes more memory"):
        mod(X)


def test_a_run_within_its_budget_answers_as_without_one(cell_file):
    path, module, x, h = cell_file
    expected = module(x, h)
    mod = tracepack.load(path, budget={"seconds": 60, "bytes": 1 << 30})
    for _ in range(3):
        for got, wanted in zip(mod(x, h), expected, strict=True):
            assert torch.equal(got, wanted)
    results = []
    threads = [threading.Thread(target=lambda: results.append(mod(x, h)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(torch.equal(result, expected[0]) for result in results)


def test_the_fast_path_has_nothing_of_it(cell_file):
    plain, limited = tracepack.load(cell_file[0]), tracepack.load(cell_file[0], budget={"seconds": 60})
    plain(*cell_file[2:]), limited(*cell_file[2:])
    names = {value.__qualname__ for value in plain._runner.plan.fast.__globals__.values() if callable(value)}
    assert not any("Budget" in name for name in names)
    names = {getattr(v, "__qualname__", "") for v in limited._runner.plan.fast.__globals__.values()}
    assert any("Budget" in name for name in names)


@pytest.mark.parametrize(
    "budget",
    [{}, {"seconds": 0}, {"seconds": -1}, {"minutes": 1}, {"bytes": True}, {"bytes": "1 GB"}, 5, [("seconds", 1)]],
)
def test_what_is_no_budget_is_refused(cell_file, budget):
    with pytest.raises(tracepack.SignatureError, match="budget has a wrong form; got"):
        tracepack.load(cell_file[0], budget=budget)


@pytest.mark.parametrize("item", [[1], "a", (1.5,)])
def test_texts_and_lists_count_towards_the_bytes(item):
    nodes = [apply("py.mul", item, 100_000) for _ in range(20)]
    mod = tracepack.load(scalars(*nodes), budget={"bytes": 1 << 20})
    with pytest.raises(tracepack.BudgetError, match="takes more memory than its budget"):
        mod(X)
    assert len(tracepack.load(scalars(*nodes), budget={"bytes": 1 << 26})(X)) == 100_000


# -- without a budget ------------------------------------------------------------------------------------------


def scalars(*nodes: Node) -> bytes:
    return archive_of(Graph((tensor(),), nodes, nodes[-1].output))


def squares(count: int, name: str = "py.mul") -> bytes:
    """A number, or a text, that is multiplied with itself again and again."""
    start = apply("py.add", 3, 4, output=Value(INT))
    nodes = [start]
    for _ in range(count):
        nodes.append(apply(name, nodes[-1].output, nodes[-1].output, output=Value(INT)))
    return scalars(*nodes)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (scalars(apply("py.pow", 9, 10**9)), "an integer grows too large; got 4000000000 bits"),
        (scalars(apply("py.lshift", 1, 10**12)), "an integer grows too large"),
        (scalars(apply("py.mul", "text", 10**12)), "a text or a list grows too large"),
        (scalars(apply("py.mul", [1], 10**10)), "a text or a list grows too large"),
        (scalars(apply("py.mod", "%1000000000d", 5)), "a text grows too large"),
        (scalars(apply("py.mod", "%*d", (10**9, 5))), "a text grows too large"),
        (scalars(apply("py.round", 5, -(10**9))), "round has too many digits"),
        (squares(60), "an integer grows too large"),
    ],
)
def test_numbers_and_texts_of_a_file_are_bounded(data, text):
    with pytest.raises(tracepack.TracepackError, match=text):
        tracepack.load(data)(X)


def test_lists_and_texts_that_double_are_bounded():
    for first in (["a"], "ab", (1,)):
        nodes = [apply("py.add", first, first)]
        for _ in range(60):
            nodes.append(apply("py.add", nodes[-1].output, nodes[-1].output))
        with pytest.raises(tracepack.TracepackError, match="a text or a list grows too large"):
            tracepack.load(scalars(*nodes))(X)


def test_a_number_that_grows_in_a_loop_is_bounded():
    x, a, b = tensor(), Value(ANY), Value(ANY)
    step = apply("py.mul", b, b, output=Value(ANY))
    loop = apply(
        "while_loop", Graph((a,), (), (True,)), Graph((b,), (step,), (step.output,)), (3,), output=(Value(ANY),)
    )
    with pytest.raises(tracepack.TracepackError, match="an integer grows too large"):
        tracepack.load(archive_of(Graph((x,), (loop,), loop.output)))(X)


def test_sizes_are_computed_without_a_check():
    """The arithmetic on sizes, of which models have much, is written out as before."""
    mod = tracepack.trace(lambda x: x.reshape(x.shape[0] * x.shape[1] + 0 * x.shape[0]), torch.rand(2, 3))
    mod(torch.rand(3, 4))
    assert " * " in mod._runner.plan.source


@pytest.mark.parametrize("limit", [float("inf"), 10**400, 1 << 62, 1e300])
def test_a_limit_without_end_is_none(limit):
    data = one_node("torch.zeros", [3])
    for budget in ({"seconds": limit}, {"bytes": limit}, {"seconds": limit, "bytes": limit}):
        assert torch.equal(tracepack.load(data, budget=budget)(X), torch.zeros(3))


def test_arguments_of_load_and_save_that_no_number_holds_are_refused(tmp_path):
    data = one_node("torch.zeros", [3])
    for packages in (5, True, b"torchvision", {"a": 1}):
        with pytest.raises(tracepack.ArchiveError, match="packages is no list of names; got"):
            tracepack.load(data, packages=packages)
    mod = tracepack.trace(lambda x: x + 1, X)
    with pytest.raises(tracepack.SignatureError, match="tolerance"):
        mod.save(tmp_path / "a.tpk", examples=[{"x": X}], tolerance=10**400)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("trust", ["no", "False", 0, 1, None, []])
def test_what_is_no_flag_trusts_nothing(tmp_path, trust) -> None:
    path = tmp_path / "double.tpk"
    tracepack.trace(lambda x: x * 2, torch.ones(3)).save(path)
    with pytest.raises(tracepack.ArchiveError, match=rf"trust is no flag; got {re.escape(repr(trust))}; expected True"):
        tracepack.load(path, trust=trust)
