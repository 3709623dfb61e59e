"""Bounds that a file reaches by other ways: numbers of numpy, widths behind names, texts that stand often, depth."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, tensor
from tracepack import comprehension
from tracepack.ops.graph.graph import Graph, Literal, Node, Operator, Value
from tracepack.ops.graph.guards import Expression
from tracepack.ops.graph.types import ANY, ARRAY, TensorType
from tracepack.ops.runtime.primitives.callables import resolve
from tracepack.ops.runtime.safety.patterns import is_linear

X = torch.ones(3)


def run(*nodes):
    """Loads and runs a graph of one input whose nodes follow each other."""
    value = nodes[0] if isinstance(nodes[0], Value) else tensor()
    nodes = nodes[1:] if isinstance(nodes[0], Value) else nodes
    return tracepack.load(archive_of(Graph((value,), nodes, nodes[-1].output))).run({"x0": X})


def deep(wrap):
    """A list in 150 lists more with each of 400 rounds."""
    count, inner, test = Value(ANY), Value(ANY), Value(ANY)
    less = apply("py.lt", count, 400)
    more, held = apply("py.add", test, 1), inner
    for _ in range(150):
        held = wrap((held,))
    rounds, last = Value(ANY), Value(ANY)
    ask = Graph((count, Value(ANY)), (less,), (less.output,))
    body = Graph((test, inner), (more,), (more.output, held))
    return Node(Operator("while_loop"), (ask, body, (0, wrap((1,)))), {}, (rounds, last)), last


@pytest.mark.parametrize("wrap", [list, tuple])
def test_lists_are_nested_to_a_depth(wrap):
    loop, last = deep(wrap)
    made = apply("torch.zeros", [3])
    with pytest.raises(tracepack.TracepackError, match="lists are nested too deeply; expected at most 256 levels"):
        run(loop, made, apply("py.getitem", made.output, last))


def test_numbers_of_numpy_count_from_a_file():
    with pytest.raises(tracepack.TracepackError, match="a text or a list grows too large"):
        run(apply("py.mul", "a", Literal("numpy.int64", str(1 << 26))))
    with pytest.raises(tracepack.TracepackError, match="round has too many digits"):
        run(apply("py.round", 5, Literal("numpy.int64", str(-(10**9)))))


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("py.mul", ("a", np.int64(1 << 26)), "a text or a list grows too large"),
        ("py.mul", ([1], np.int64(1 << 26)), "a text or a list grows too large"),
        ("py.mul", ([1], torch.tensor(1 << 26)), "a text or a list grows too large"),
        ("py.round", (5, np.int64(-(10**9))), "round has too many digits"),
        ("py.mod", ("%(a)99999999d", {"a": 1}), "a text grows too large"),
        ("py.mod", ("%9999d" * 20_000, (1,) * 20_000), "a text grows too large"),
        ("py.str_join", ("b" * 1000, "a" * (1 << 20)), "the text of str.join grows too large"),
        ("py.str_casefold", ("\u0390" * (1 << 24),), "the text of str.casefold grows too large"),
        ("py.format", ("\\" * (1 << 23) + "a", "", "r"), "a text grows too large"),
        ("py.json_dumps", (["a" * (1 << 20)] * 20,), "the text of a list grows too large"),
        ("py.re_split", ("()" * 40, 0, "a" * (1 << 20)), "a pattern finds too many groups"),
        ("py.str_rfind", ("a" * (1 << 20), "b" + "a" * (1 << 19)), "str.rfind takes too long"),
        ("py.prod", ([1] * 4, [0]), "a product starts with a number"),
        ("py.sorted", (["a" * (1 << 20)] * 2000,), "the texts of a list are too long"),
        ("py.counted", (["a" * (1 << 20)] * 2000, "b"), "the texts of a list are too long"),
        ("py.statistics", ("stdev", [1 << 65_000, 1.5]), "a number is too large for a statistic"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("py.") else "",
)  # fmt: skip
def test_other_ways_to_what_is_bounded(name, args, text):
    began = time.process_time()
    with pytest.raises(tracepack.TracepackError, match=text):
        resolve(name)(*args)
    assert time.process_time() - began < 20


@pytest.mark.parametrize("name", ["py.frexp", "py.size"])
def test_a_tuple_is_no_number(name):
    args = (0.5,) if name == "py.frexp" else (Value(TensorType("float32", ("N",))), None)
    first = apply(name, *args)
    second = apply("py.mul", first.output, 1 << 26)
    nodes = (args[0], first, second) if name == "py.size" else (first, second)
    with pytest.raises(tracepack.TracepackError, match="a text or a list grows too large"):
        run(*nodes)


@pytest.mark.parametrize("name", ["py.tolist", "py.rows", "py.list"])
def test_an_expanded_tensor_makes_no_long_list(name):
    made = apply("torch.zeros", [1])
    wide = apply("torch.Tensor.expand", made.output, 1 << 26)
    with pytest.raises(tracepack.TracepackError, match="a list grows too large"):
        run(made, wide, apply(name, wide.output))


def test_a_pattern_looks_at_few_characters_from_each_place():
    assert not is_linear("(?:(?:(?:a{64}){64}){32})b", 0)
    assert is_linear("(?:a{8}){8}b", 0)


def test_a_budget_of_bytes_runs_an_operator_once():
    x = tensor()
    array = Node(Operator("torch.Tensor.numpy"), (x,), {}, Value(ARRAY))
    add = Node(Operator("py.iadd"), (array.output, 1.0), {}, Value(ARRAY))
    data = archive_of(Graph((x,), (array, add), add.output))
    for budget in (None, {"bytes": 1 << 30}):
        given = torch.zeros(3)
        assert np.array_equal(tracepack.load(data, budget=budget).run({"x0": given}), np.ones(3))
        assert torch.equal(given, torch.ones(3))


def test_numbers_of_a_guard_have_64_bits():
    assert Expression.parse(f"N != {2**64 - 1}")
    with pytest.raises(tracepack.GraphError, match="a guard expression is outside of the grammar"):
        Expression.parse(f"N != {2**64}")


ENDLESS = "O +=! A(0) * float(i * j) where i in 0:2000000000, j in 0:2000000000"


def test_a_kernel_is_within_the_budget():
    layer = comprehension.define("def f(float(N) A) -> (O) { O(i) +=! A(i) * float(j) where j in 0:100000 }")
    op = tracepack.script(layer)
    mod = tracepack.trace(lambda x: op(x), X)
    file = io.BytesIO()
    mod.save(file)
    assert tracepack.load(file.getvalue(), budget={"seconds": 60, "bytes": 1 << 20})(X).shape == (3,)
    with pytest.raises(tracepack.BudgetError, match="the run takes more memory than its budget"):
        tracepack.load(file.getvalue(), budget={"bytes": 4})(X)
    with pytest.raises(
        tracepack.BudgetError, match="the kernel f takes longer than the budget; got 100000000000 steps"
    ):
        tracepack.load(file.getvalue(), budget={"seconds": 5})(torch.ones(1_000_000))  # the plan takes of it, too


def test_a_statement_takes_a_bounded_number_of_steps():
    layer = comprehension.define(f"def f(float(N) A) -> (O) {{ {ENDLESS} }}")
    with pytest.raises(tracepack.TracepackError, match="takes 4000000000000000000 steps, and at most 281474976710656"):
        layer(X, options="torch")
    many = "\n".join("O(i) = A(i)" for _ in range(257))
    with pytest.raises(tracepack.TracepackError, match="the definition has 257 statements, and at most 256 are taken"):
        comprehension.define(f"def f(float(N) A) -> (O) {{ {many} }}")


def test_statistics_without_an_option_are_written():
    x, mean, var = tensor("N", "M"), tensor("M"), tensor("M")
    node = Node(
        Operator("aten._batch_norm_with_update.default"), (x, None, None, mean, var, False, 1e-5), {},
        tuple(tensor() for _ in range(4)),
    )  # fmt: skip
    mod = tracepack.load(archive_of(Graph((x, mean, var), (node,), ())))
    assert str(mod.signature).count("(written)") == 2
