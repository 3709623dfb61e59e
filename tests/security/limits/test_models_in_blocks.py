"""Blocks of forged files that call graphs: with other arguments than these take, with other things, and without end."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, body_of, call, tensor
from tracepack.ops.graph.errors import GraphError, GuardError
from tracepack.ops.graph.graph import BodyCall, Constant, Graph, Node, Value
from tracepack.ops.graph.types import ANY, INT


def _doubling() -> Graph:
    """A closed graph that calls an op, which doubles a vector of float32."""
    value = tensor()
    node = apply("aten.mul.Tensor", value, 2, output=tensor())
    body, given = body_of(Graph((value,), (node,), (node.output,))), tensor()
    made = call(body, given)
    return Graph((given,), (Node(made.target, made.args, {}, (made.output,)),), made.output)


def _file(text: str, *args: object) -> bytes:
    """The archive of a block that is given x and something else."""
    x = tensor()
    node = apply("py.plain_code", text, "any", x, *args)
    return archive_of(Graph((x,), (node,), node.output))


def _run(code: str, **terms: object) -> object:
    return tracepack.load(_file(f"def block(Tx, M0):\n {code}", _doubling()), **terms)(torch.ones(2))


def test_a_block_calls_a_graph() -> None:
    assert torch.equal(_run("return M0(M0(Tx))"), torch.full((2,), 4.0))
    assert torch.equal(_run("return sum(map(M0, [Tx, Tx + 1]))"), torch.full((2,), 6.0))


CALLED_WRONGLY = {
    "none": ("return M0()", "got nothing; expected float32 of rank 1"),
    "too many": ("return M0(Tx, Tx)", "got float32 of rank 1, float32 of rank 1; expected float32 of rank 1"),
    "another rank": ("return M0(Tx[0])", "got float32 of rank 0; expected float32 of rank 1"),
    "another dtype": ("return M0(Tx.double())", "got float64 of rank 1; expected float32 of rank 1"),
    "a text": ("return M0('a')", "got str; expected float32 of rank 1"),
    "a list": ("return M0([Tx])", "got list; expected float32 of rank 1"),
    "itself": ("return M0(M0)", "got ModelCall; expected float32 of rank 1"),
    "caught": ("try: return M0(1)\n except Exception: return 1", "got int; expected float32 of rank 1"),
}


@pytest.mark.parametrize(("code", "said"), CALLED_WRONGLY.values(), ids=CALLED_WRONGLY)
def test_other_arguments_than_a_graph_takes_are_refused(code, said) -> None:
    with pytest.raises(GuardError, match="calls a model with other kinds of arguments") as caught:
        _run(code)
    assert said in str(caught.value)


REACHED = {
    "its function": ("return M0.function", "asks a function for an attribute"),
    "its graph": ("return M0.function.graph", "asks a function for an attribute"),
    "its text": ("return str(M0)", "can be made a text; got ModelCall"),
    "its text in a list": ("return f'{[M0]}'", "can be made a text; got ModelCall"),
    "itself as the result": ("return [M0]", "got list; expected a value that an archive can hold"),
    "a field": ("M0.kinds = []\n return 1", "sets an attribute of a ModelCall"),
    "a copy": ("return copy.deepcopy(M0)(1)", "other kinds of arguments"),
}


@pytest.mark.parametrize(("code", "said"), REACHED.values(), ids=REACHED)
def test_nothing_of_a_graph_is_reached_but_its_call(code, said) -> None:
    with pytest.raises(tracepack.TracepackError) as caught:
        _run(code)
    assert said in str(caught.value)


def test_keywords_are_no_arguments_of_a_graph() -> None:
    with pytest.raises(tracepack.TracepackError, match="unexpected keyword argument 'x'"):
        _run("return M0(x=Tx)")


def _with_any() -> Graph:
    value = Value(ANY)
    return Graph((value,), (), value)


MALFORMED = {
    "a number is called": (("def block(Tx, M0):\n return 1", 5), "calls what is no graph over tensors"),
    "a graph is not called": (("def block(Tx, G0):\n return 1", _doubling()), "is given a graph that it does not call"),
    "a graph over anything": (("def block(Tx, M0):\n return 1", _with_any()), "calls what is no graph over tensors"),
    "too few": (("def block(Tx, M0, M1):\n return 1", _doubling()), "another number of arguments"),
    "too many": (("def block(Tx):\n return 1", _doubling()), "another number of arguments"),
    "in a list": (("def block(Tx, G0):\n return 1", [_doubling()]), "a subgraph stands where none is called"),
    "in place of the kind": (("def block(Tx, /, *, M0):\n return 1", _doubling()), "another number of arguments"),
}


@pytest.mark.parametrize(("args", "said"), MALFORMED.values(), ids=MALFORMED)
def test_graphs_stand_where_a_block_calls_them_and_nowhere_else(args, said) -> None:
    with pytest.raises(GraphError) as caught:
        tracepack.load(_file(*args))
    assert said in str(caught.value)


def test_a_weight_that_a_graph_gives_is_a_copy_in_each_call() -> None:
    constant, given = Constant(torch.ones(3), "w"), tensor()
    view = apply("torch.Tensor.view", constant, -1, output=tensor())
    data = _file("def block(Tx, M0):\n y = M0(Tx)\n y[0] = 9.0\n return M0(Tx)", Graph((given,), (view,), view.output))
    assert torch.equal(tracepack.load(data)(torch.ones(2)), torch.ones(3))


def test_a_block_does_not_write_to_its_argument_through_a_graph() -> None:
    given = tensor()
    data = _file("def block(Tx, M0):\n y = M0(Tx)\n y += 1\n return y", Graph((given,), (), given))
    x = torch.ones(2)
    with pytest.raises(GuardError, match="writes to a tensor that is not its own"):
        tracepack.load(data)(x)
    assert torch.equal(x, torch.ones(2))


@pytest.mark.parametrize("code", ["while True: Tx = M0(Tx) / 2", "def f(x): return f(M0(x)) + f(x)\n return f(Tx)"])
def test_a_budget_ends_a_block_that_calls_a_graph_for_ever(code) -> None:
    with pytest.raises(tracepack.TracepackError, match=r"takes longer than its budget|maximum recursion depth"):
        _run(code, budget={"seconds": 0.3})


def test_numbers_of_a_graph_are_numbers_of_their_own_type() -> None:
    number = Value(INT)
    node = apply("py.add", number, 1, output=Value(INT))
    data = _file("def block(Tx, M0):\n return M0(Tx.shape[0])", Graph((number,), (node,), node.output))
    assert tracepack.load(data)(torch.ones(4)) == 5
    data = _file("def block(Tx, M0):\n return M0(Tx.shape[0] > 0)", Graph((number,), (node,), node.output))
    with pytest.raises(GuardError, match="got bool; expected int"):
        tracepack.load(data)(torch.ones(4))


def test_a_budget_of_memory_holds_in_the_graph_that_a_block_calls() -> None:
    given = tensor()
    big = apply("aten.repeat.default", given, [1000], output=tensor())
    data = _file("def block(Tx, M0):\n a = []\n while True: a.append(M0(Tx))", Graph((given,), (big,), big.output))
    with pytest.raises(tracepack.BudgetError, match="takes more memory than its budget"):
        tracepack.load(data, budget={"bytes": 1 << 24})(torch.ones(100))


def test_the_op_of_a_block_is_listed() -> None:
    mod = tracepack.load(_file("def block(Tx, M0):\n return M0(Tx)", _doubling()))
    assert mod.placement == {"inner": "cpu"}
    assert isinstance(_doubling().nodes[0].target, BodyCall)
