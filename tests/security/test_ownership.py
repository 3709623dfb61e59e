"""Whose memory a file may change: only what its signature names of the caller's, nothing of another pipeline's."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, body_of, call, one_node, tensor
from tracepack.ops.graph.errors import GraphError
from tracepack.ops.graph.graph import Constant, Graph, Node, Operator, Value
from tracepack.ops.graph.sharing.memory import touched
from tracepack.ops.graph.types import ANY, ARRAY, INT


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("torch.Tensor.unsqueeze_", ("x0", 0)),
        ("torch.Tensor.t_", ("x0",)),
        ("torch.Tensor.transpose_", ("x0", 0, 1)),
        ("torch.Tensor.squeeze_", ("x0",)),
        ("torch.Tensor.as_strided_", ("x0", [2], [1])),
        ("aten.unsqueeze_.default", ("x0", 0)),
        ("torch.detach_", ("x0",)),
    ],
)
def test_what_the_callers_tensor_says_of_itself_stays(name, args):
    x = tensor("N", "M")
    node = apply(name, *(x if arg == "x0" else arg for arg in args))
    mod = tracepack.load(archive_of(Graph((x,), (node,), node.output)))
    for _ in range(2):
        given = torch.rand(2, 3).requires_grad_("detach" in name)
        before = given.shape, given.stride(), given.requires_grad
        mod(given)
        assert (given.shape, given.stride(), given.requires_grad) == before


def test_a_weight_that_another_pipeline_has_stays(tmp_path):
    weight, x = Constant(torch.ones(4), "weight"), tensor()
    view = apply("torch.Tensor.view", weight, 2, 2, output=tensor("A", "B"))
    write = apply("torch.Tensor.add_", view.output, 1, output=tensor("A", "B"))
    shape = apply("torch.Tensor.unsqueeze_", weight, 0)
    out = apply("torch.Tensor.sum", write.output)
    path = tmp_path / "writes.tpk"
    path.write_bytes(archive_of(Graph((x,), (view, write, shape, out), out.output)))
    first, second = tracepack.load(path), tracepack.load(path)
    constant = first.program.graph.nodes[0].args[0].tensor
    assert constant.data_ptr() == second.program.graph.nodes[0].args[0].tensor.data_ptr()
    first(torch.ones(1))
    assert torch.equal(constant, torch.ones(4))
    assert float(second(torch.ones(1))) == 8.0


def test_the_signature_names_the_inputs_that_are_written():
    def process(x, y, z):
        x.add_(y)
        z[0] = 5
        w = y * 2
        w.mul_(3)
        return x + w

    mod = tracepack.trace(process, torch.ones(2), torch.ones(2), torch.zeros(2))
    assert mod.signature.startswith("(x: f32[N] (written), y: f32[M], z: f32[K] (written)) -> ")


def test_an_input_that_a_file_does_not_name_as_written_is_not():
    """Every way that the analysis must follow: views, ops, containers, choices, keywords."""
    x, y = tensor(), tensor()
    view = apply("torch.Tensor.view", x, -1, output=tensor())
    inner_in = tensor()
    inner_write = apply("aten.mul_.Tensor", inner_in, 2, output=tensor())
    body = body_of(Graph((inner_in,), (inner_write,), inner_write.output))
    through = call(body, view.output)
    keyword = apply("torch.add", 1, 1, out=y)
    graph = Graph((x, y), (through, keyword), through.output)
    assert touched(Graph((x, y), (view, *graph.nodes), graph.output)).inputs() == {0, 1}

    a, b, c, d = tensor(), tensor(), tensor(), tensor()
    branch = Graph((c,), (w := apply("torch.Tensor.zero_", c, output=tensor()),), w.output)
    other = Graph((d,), (), d)
    choice = apply("cond", a, branch, other, (b,), output=(tensor(),))
    assert touched(Graph((a, b), (choice,), choice.output)).inputs() == {1}

    fresh = apply("torch.mul", a, 2, output=tensor())
    write = apply("torch.Tensor.add_", fresh.output, b, output=tensor())
    assert touched(Graph((a, b), (fresh, write), write.output)).inputs() == set()


def through(*nodes):
    """Nodes over x, of which the last one is written."""

    def made(x):
        found = []
        for make in nodes:
            found.append(make(found[-1].output if found else x))
        return [*found, apply("torch.Tensor.add_", found[-1].output, 1)]

    return made


def drawn(name, *args, **kwargs):
    state = torch.Generator().get_state()

    def made(x):
        source = apply("py.generator", Constant(state.clone(), "g", mutable=True), True)
        kept = {key: x if value == "x" else value for key, value in kwargs.items()}
        return [source, apply("py.draw", source.output, name, tuple(x if a == "x" else a for a in args), kept)]

    return made


def first_of(x):
    return apply("py.getitem", x, 0)


HIDDEN = {
    "a draw in place": drawn("aten.add_.Tensor", "x", 1),
    "a draw that an option writes": drawn("torch.nn.functional.dropout", "x", 0.9, True, True),
    "a draw into out": drawn("torch.rand", [4], out="x"),
    "the start of a product": through(lambda x: apply("py.prod", [], x)),
    "a sum of lists": through(lambda x: apply("py.add", [x], []), first_of),
    "a list times a number": through(lambda x: apply("py.mul", [x], 2), first_of),
    "a median of one": through(lambda x: apply("py.statistics", "median_low", [x])),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_a_hidden_write_is_named(name):
    x = tensor()
    nodes = HIDDEN[name](x)
    graph = Graph((x,), tuple(nodes), nodes[-1].output)
    assert touched(graph).inputs() == {0}
    mod = tracepack.load(archive_of(graph))
    assert "(written)" in mod.signature
    given = torch.ones(4)
    mod(given)
    assert name.startswith("a draw that") or not torch.equal(given, torch.ones(4))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("torch.nn.functional.normalize", (torch.ones(5, 2), 2.0, 1, 1e-12, "x")),
        ("torch.functional.tensordot", (torch.ones(5, 2), torch.ones(2, 3), 1, "x")),
        ("torch.functional.norm", (torch.ones(5, 2), 2.0, 1, False, "x")),
    ],
)
def test_a_tensor_for_a_result_by_position_is_written(name, args):
    x = tensor("N")
    node = apply(name, *_placed(args, x))
    assert touched(Graph((x,), (node,), node.output)).written == {0}


@pytest.mark.parametrize(
    ("name", "args", "options", "given"),
    [
        ("torch.nn.functional.dropout1d", ("x", -1.0, True, True), {}, torch.ones(2, 3)),
        ("torch.nn.functional.dropout1d", ("x",), {"p": 0.5, "inplace": True}, torch.ones(2, 3)),
        ("torch.nn.functional.dropout3d", ("x", "none", True, True), {}, torch.ones(2, 3, 1, 2)),
        ("torch.Tensor.addbmm_", ("x", torch.ones(2, 4, 4), torch.ones(2, 4, 4)), {}, torch.ones(4)),
        ("aten.addbmm_.default", ("x", torch.ones(2, 4, 4), torch.ones(2, 4, 4)), {}, torch.ones(4)),
        ("aten.slow_conv_transpose2d.default", ("x", torch.ones(2, 3, 2, 2), [2, 2]), {}, torch.ones(2, 4, 4)),
    ],
)
def test_what_is_worked_on_in_place_keeps_its_sizes(name, args, options, given):
    """A dropout in place adds a dimension before it may fail, and others leave the one that they needed."""
    x = tensor(*[f"N{at}" for at in range(given.dim())])
    node = apply(name, *_placed(args, x), **options)
    graph = Graph((x,), (node,), node.output)
    assert touched(graph).reshaped == {0}
    shape = given.shape
    with contextlib.suppress(tracepack.NodeError):
        tracepack.load(archive_of(graph))(given)
    assert given.shape == shape


def _placed(args, x):
    """The arguments of a node: tensors as weights, and the input in the places of its name."""
    return [Constant(arg, "weight") if isinstance(arg, torch.Tensor) else x if arg == "x" else arg for arg in args]


OVERWRITING = {
    "median": ("numpy.median", (None, None, True)),
    "percentile": ("numpy.percentile", (50, None, None, True)),
    "nanquantile": ("numpy.nanquantile", (0.5, None, None, True)),
}


@pytest.mark.parametrize("name", OVERWRITING)
def test_an_option_of_numpy_by_position_is_seen(name):
    function, options = OVERWRITING[name]
    x = Value(ARRAY)
    node = apply(function, x, *options)
    assert touched(Graph((x,), (node,), node.output)).inputs() == {0}
    node = apply(function, x, *options[:-1], False)
    assert touched(Graph((x,), (node,), node.output)).inputs() == set()


@pytest.mark.parametrize("function", ["numpy.cumsum", "numpy.ndarray.cumsum", "numpy.take"])
def test_a_result_array_counts_whatever_the_file_calls_its_type(function):
    x = Value(ARRAY)
    view, zeros = apply("numpy.asarray", x), apply("numpy.zeros", 4)
    options = ([0, 1, 2, 3], 0) if function == "numpy.take" else (0, None)
    node = apply(function, zeros.output, *options, view.output)
    graph = Graph((x,), (view, zeros, node), node.output)
    assert touched(graph).inputs() == {0}
    given = np.ones(4)
    mod = tracepack.load(archive_of(graph))
    mod(given)
    assert "(written)" in mod.signature
    assert not given.any()


def test_a_sum_that_the_graph_calls_one_of_numbers_takes_no_list():
    x, listed = tensor(), Value(INT)
    nodes = (
        Node(Operator("py.list"), ([x],), {}, listed),
        joined := apply("py.add", listed, listed),
        item := apply("py.getitem", joined.output, 0),
        apply("torch.Tensor.add_", item.output, 1),
    )
    given = torch.ones(4)
    with pytest.raises(tracepack.GuardError, match="py.add was given a list"):
        tracepack.load(archive_of(Graph((x,), nodes, joined.output)))(given)
    assert torch.equal(given, torch.ones(4))


def test_arrays_that_numpy_writes_are_named():
    def process(a, b):
        np.add(a, b, out=a)
        return np.nan_to_num(b) * 2

    mod = tracepack.trace(process, np.ones(3, "float32"), np.ones(3, "float32"))
    assert mod.signature.startswith("(a: f32[N] (written), b: f32[M])")


def test_the_command_line_shows_it_too(tmp_path, capsys):
    from tracepack.cli import main

    path = tmp_path / "writes.tpk"
    path.write_bytes(one_node("torch.Tensor.add_", "x0", 1))
    assert main(["inspect", str(path)]) == 0
    assert "f32[N] (written)" in capsys.readouterr().out


HANDED_ON = [
    # an operator that may return its argument itself or a part of its memory, its dtype, other arguments, options
    ("torch.Tensor.half", "float16", (), {}),
    ("torch.Tensor.chalf", "complex32", (), {}),
    ("torch.dequantize", "float32", (), {}),
    ("torch.Tensor.dequantize", "float32", (), {}),
    ("torch.Tensor.unsafe_split", "float32", (2,), {}),
    ("aten.unsafe_split.Tensor", "float32", (2,), {}),
    ("aten.unsafe_split_with_sizes.default", "float32", ([2, 2],), {}),
    ("numpy.imag", "complex64", (), {}),
    ("numpy.fft.fft2", "complex64", (), {"axes": []}),
    ("numpy.fft.ifft2", "complex64", (), {"axes": []}),
    ("numpy.array", "float32", (), {"copy": None}),
    ("numpy.array", "float32", (), {"copy": False}),
    ("numpy.meshgrid", "float32", (), {"copy": False}),
]


@pytest.mark.filterwarnings("ignore:ComplexHalf support")
@pytest.mark.parametrize(("name", "dtype", "args", "options"), HANDED_ON)
def test_what_may_be_the_argument_itself_is_followed(name, dtype, args, options):
    x, made = tensor(dtype=dtype), Value(ANY)
    array = Node(Operator("torch.Tensor.numpy"), (x,), {}, Value(ARRAY))
    of_numpy = name.startswith("numpy.")
    node = Node(Operator(name), (array.output if of_numpy else x, *args), options, made)
    first = Node(Operator("py.getitem"), (made, 0), {}, Value(ANY))
    target = first.output if args or name == "numpy.meshgrid" else made
    write = Node(Operator("py.setitem"), (target, 0, 1), {}, Value(ANY))
    nodes = (*[array] * of_numpy, node, *[first] * (target is first.output), write)
    mod = tracepack.load(archive_of(Graph((x,), nodes, ())))
    given = torch.zeros(4, dtype=getattr(torch, dtype))
    mod.run({"x0": given})
    assert given.any()
    assert "(written)" in str(mod.signature)


def test_a_copy_of_numpys_is_new_memory():
    def process(x):
        y = np.array(x.numpy())
        y[0] = 1
        return y

    mod = tracepack.trace(process, torch.zeros(3))
    assert "(written)" not in str(mod.signature)


def test_a_subgraph_becomes_no_value():
    """A value that is a function could write where nobody follows."""
    x, inner, given = tensor(), tensor(), Value(ANY)
    write = apply("torch.Tensor.add_", inner, 1)
    writing, same = Graph((inner,), (write,), (write.output,)), Graph((given,), (), given)
    one, two = Value(ANY), Value(ANY)
    hand = Node(Operator("cond"), (True, same, same, [writing]), {}, one)
    run = Node(Operator("cond"), (True, one, one, [x]), {}, two)
    plain = Node(Operator("py.getitem"), ([writing], 0), {}, one)
    loop = Node(Operator("while_loop"), (writing, writing, (x,), (writing,)), {}, one)
    mapped = Node(Operator("map"), (writing, [[x]], [], x), {}, one)
    elsewhere = "a subgraph stands where none is called"
    for nodes, output, text in [
        ((hand, run), two, rf"node 0 \(cond\): {elsewhere}"),
        ((plain,), one, rf"node 0 \(py.getitem\): {elsewhere}"),
        ((loop,), one, rf"node 0 \(while_loop\): {elsewhere}"),
        ((mapped,), one, "map calls something that is not a subgraph"),
        ((run,), two, "cond calls something that is not a subgraph"),
        ((), writing, "the outputs: a subgraph is no value"),
    ]:
        inputs = (x, one) if nodes == (run,) else (x,)
        with pytest.raises(GraphError, match=text):
            tracepack.load(archive_of(Graph(inputs, nodes, output)))
