"""What a file may call: operators by grade, with arguments of their schema, on memory that somebody wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, one_node, tensor
from tracepack.ops.graph.graph import Graph, Literal, Value
from tracepack.ops.graph.operators import names as operators
from tracepack.ops.graph.operators.names import Row
from tracepack.ops.graph.types import ANY, ARRAY, INT
from tracepack.ops.runtime.primitives.wrapped import wrapper

X = torch.arange(4.0)
EMITTED = Path(__file__).parents[1] / "campaigns" / "architectures" / "emitted.txt"


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "text"),
    [
        ("aten.zeros.default", ([2],), {"dtype": 99}, "wrong dtype; got 99; expected Optional"),
        ("aten.zeros.default", ([2],), {"dtype": Value(INT)}, "wrong dtype"),
        ("aten.zeros.default", ([2],), {"layout": 7}, "wrong layout; got 7"),
        ("aten.clone.default", ("x0",), {"memory_format": -1}, "wrong memory_format; got -1"),
        ("aten.sum.dim_IntList", ("x0", [2**63]), {}, "wrong dim; got"),
        ("aten.sum.dim_IntList", ("x0", ["a"]), {}, "wrong dim"),
        ("aten.add.Tensor", ("x0",), {}, "wrong other; got nothing; expected Tensor"),
        ("aten.add.Tensor", ("x0", "x0", 1), {}, "wrong arguments; got 3 by position"),
        ("aten.add.Tensor", ("x0", "x0"), {"scale": 2}, "wrong arguments; got 'scale'"),
        ("aten.add.Tensor", ("x0", "text"), {}, "wrong other; got text; expected Tensor"),
        ("aten.cat.default", (["x0"] * 70_000,), {}, "wrong tensors"),
        ("torch.zeros", (2,), {"dtype": 6}, "wrong dtype; got 6"),
        ("torch.sum", ("x0",), {"dim": 2**70}, "expected an integer of 64 bits"),
        ("numpy.zeros", (2, "object"), {}, "expected one of numpy's words"),
        ("numpy.zeros", (2, b"O"), {}, "expected one of numpy's words"),
        ("py.draw", ("x0", "aten.from_file.default", [], {}), {}, "is not on the list of allowed operators"),
        ("py.draw", ("x0", "py.pow", (9, 9), {}), {}, "py.draw names an operator that draws nothing"),
    ],
)  # fmt: skip
def test_an_argument_that_the_schema_has_not_is_refused_at_load(name, args, kwargs, text):
    if any(isinstance(value, Value) for value in kwargs.values()):
        size, x = Value(INT), tensor()
        node = apply(name, *args, **dict.fromkeys(kwargs, size))
        data = archive_of(Graph((x, size), (node,), node.output))
    else:
        data = one_node(name, *args, **kwargs)
    with pytest.raises((tracepack.GraphError, tracepack.UnknownOperatorError), match=text):
        tracepack.load(data)


@pytest.mark.parametrize(
    "literal",
    [Literal("dtype", "qint8"), Literal("dtype", "load"), Literal("layout", "sparse_coo"), Literal("layout", "_mkldnn"),
     Literal("memory_format", "float32"), Literal("numpy.dtype", "object"), Literal("numpy.dtype", "V8")],
)  # fmt: skip
def test_a_literal_is_in_a_closed_table(literal):
    key = "dtype" if literal.kind == "numpy.dtype" else literal.kind
    family = "numpy.zeros" if literal.kind == "numpy.dtype" else "torch.zeros"
    with pytest.raises(
        (tracepack.GraphError, tracepack.NodeError), match="no |not a literal|the literal is not one of numpy"
    ):
        tracepack.load(one_node(family, 2, **{key: literal}))(X)


@pytest.mark.parametrize(
    "name", ["aten.set_data.default", "aten.add.out", "aten._test_check_tensor.default", "aten.mul.Scalar_out"]
)
def test_forms_that_no_recording_has_are_not_listed(name):
    with pytest.raises(tracepack.UnknownOperatorError, match=f"operator '{name}' is not on the list"):
        tracepack.load(one_node(name, "x0", "x0", inputs=2))


def test_an_operator_for_trusted_files_is_named(monkeypatch):
    entry = Row(operators.TRUSTED, operators.FRESH, 300, "signal 11 in call 7")
    monkeypatch.setattr(operators, "row", {"torch.abs": entry}.get)
    data = one_node("torch.abs", "x0")
    text = "operator 'torch.abs' is for trusted files only: signal 11 in call 7. Pass trust=True"
    with pytest.raises(tracepack.TrustError, match=text):
        tracepack.load(data)
    assert torch.equal(tracepack.load(data, trust=True)(-X), X)


def test_every_operator_of_the_table_has_a_grade_and_calls():
    assert len(operators.allowed()) > 2500
    for name in operators.allowed():
        entry = operators.row(name)
        assert entry.grade in (operators.PROVEN, operators.WRAPPED, operators.TRUSTED), name
        assert entry.effect in ("fresh", "view", "writes", "writes-any", "reshapes"), name
        assert entry.calls >= 2000, name  # as docs/security.md says
        assert bool(entry.reason) == (entry.grade != operators.PROVEN), name


def test_what_the_architectures_emit_needs_no_trust():
    """The list is written by the campaign of architectures, which loads each file without trust."""
    emitted = EMITTED.read_text(encoding="utf-8").split()
    assert len(emitted) > 200
    for name in emitted:
        operators.check_name(name)
        assert operators.grade(name) in (operators.PROVEN, operators.WRAPPED), name


EMPTY = [
    ("torch.empty", ([1000],), {}),
    ("torch.empty_like", ("x0",), {}),
    ("torch.empty_strided", ([10, 10], [20, 2]), {}),
    ("torch.empty_permuted", ([10, 10], [1, 0]), {}),
    ("torch.Tensor.new_empty", ("x0", [1000]), {}),
    ("torch.Tensor.new_empty_strided", ("x0", [10, 10], [1, 10]), {}),
    ("aten.empty.memory_format", ([1000],), {}),
    ("aten.empty_like.default", ("x0",), {}),
    ("aten.empty_strided.default", ([10, 10], [0, 3]), {}),
    ("aten.empty_permuted.default", ([10, 10], [1, 0]), {}),
    ("aten.new_empty.default", ("x0", [1000]), {}),
    ("aten.new_empty_strided.default", ("x0", [10, 10], [1, 10]), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), EMPTY)
def test_memory_that_a_file_asks_for_is_filled(name, args, kwargs):
    mod = tracepack.load(one_node(name, *args, **kwargs))
    x = torch.full((1000,), 7.0)
    for _ in range(20):
        secret = torch.full((1000,), 7.0)
        del secret  # its memory is what the allocator gives next
        result = mod(x)
        assert not result.any()
        assert result.dtype is torch.float32


def test_every_operator_that_gives_memory_unwritten_is_filled():
    from tracepack.ops.runtime.primitives.wrapped import FILLED

    listed = {name for name in operators.allowed() if "empty" in name.split(".")[1:][-1] or ".empty" in name}
    listed |= {name for name in operators.allowed() if "new_empty" in name}
    assert listed == set(FILLED)
    assert all(operators.grade(name) == operators.WRAPPED for name in FILLED)


def test_a_subgraph_is_given_to_control_flow_only():
    x, inner = tensor(), tensor()
    node = apply("torch.abs", x, Graph((inner,), (), inner))
    with pytest.raises(tracepack.GraphError, match=r"node 0 \(torch.abs\): a subgraph stands where none is called"):
        tracepack.load(archive_of(Graph((x,), (node,), node.output)))


def test_what_an_operator_of_a_drawing_is_given_is_checked_too():
    x, made = tensor(), Value(ANY)
    node = apply("py.draw", x, "torch.randn", ([2],), {"dtype": 6}, output=made)
    with pytest.raises(tracepack.GraphError, match="operator torch.randn was given a wrong dtype; got 6"):
        tracepack.load(archive_of(Graph((x,), (node,), made)))


@pytest.mark.parametrize("offsets", [[0, 3, 0, 3], [0, 3, 2]])
def test_bags_that_end_before_they_begin_are_refused(offsets) -> None:
    def bags(weight, indices, offsets):
        return torch.nn.functional.embedding_bag(indices, weight, offsets, mode="sum")

    weight, indices = torch.rand(12, 7), torch.tensor([1, 5, 4, 5, 9])
    mod = tracepack.trace(bags, weight, indices, torch.tensor([0, 3]))
    rising = torch.tensor([0, 1, 1, 4])
    assert torch.equal(mod(weight, indices, rising), bags(weight, indices, rising))
    with pytest.raises(tracepack.GuardError, match=r"the offsets of bags fall; got \[0, 3,"):
        mod(weight, indices, torch.tensor(offsets))


@pytest.mark.parametrize("pivots", [[-1, 1, 1], [1, 1, -1], [-1, -1, -1], [-1, -2, 1]])
@pytest.mark.parametrize("name", ["aten.linalg_ldl_solve.default", "torch.linalg.ldl_solve"])
def test_pivots_of_half_a_block_are_refused(name, pivots) -> None:
    factors, rows, b = tensor("N", "N"), tensor("K", dtype="int32"), tensor("N", "M")
    node = apply(name, factors, rows, b)
    mod = tracepack.load(archive_of(Graph((factors, rows, b), (node,), node.output)))
    matrix, right = torch.rand(3, 3), torch.rand(3, 2)
    matrix = matrix + matrix.T
    found = torch.linalg.ldl_factor(matrix)
    torch.testing.assert_close(matrix @ mod(*found, right), right, rtol=1e-3, atol=1e-3)
    with pytest.raises(tracepack.GuardError, match="the pivots are none of ldl_factor"):
        mod(found[0], torch.tensor(pivots, dtype=torch.int32), right)


LEAST, ONE = torch.tensor([-(2**63), 4]), torch.tensor([-1, 2])
IMAGE = torch.rand(1, 1, 4, 4)
NEARLY_RIGHT = {  # an operator, what it is right for, what it is not, and why
    "aten.linalg_ldl_solve.default": (
        [torch.eye(3), torch.tensor([1, 2, 3]).int(), torch.rand(3, 2)],
        [torch.eye(3).expand(2, 3, 3), torch.ones(2, 3).int(), torch.rand(4, 2, 3, 2)],
        "there are more right sides than factors",
    ),
    "aten.lu_unpack.default": (
        [torch.eye(3), torch.tensor([1, 2, 3]).int()], [torch.eye(3), torch.ones(3, 1).int()],
        r"the pivots do not fit the factors; got \[3, 1\]; expected \[3\]",
    ),
    "aten.grid_sampler_2d.default": (
        [IMAGE, torch.rand(1, 2, 2, 2), 1, 2, True], [IMAGE, torch.rand(1, 2, 2, 2), 5, 0, False], "no mode of a grid"
    ),
    "aten._upsample_bilinear2d_aa.default": (
        [IMAGE, [3, 2], False, 1.5, 0.5], [IMAGE, [6, 4], False, 1.5, 0.5], "got 4 by 0.5; expected 4"
    ),
    "aten.lcm.default": ([ONE, ONE], [LEAST, ONE], "the least integer has no divisors"),
    "aten.div.Tensor_mode": ([LEAST, -ONE], [LEAST, ONE], "the least integer cannot be divided by -1; got int64"),
    "aten.fractional_max_pool3d.default": (
        [torch.rand(1, 1, 5, 5, 5), [2, 2, 2], [2, 2, 2], torch.rand(1, 1, 3)],
        [torch.rand(1, 1, 5, 5, 5), [-(2**62), 2, 2], [2, 2, 2], torch.rand(1, 1, 3)], "an argument is too large",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEARLY_RIGHT)
def test_what_is_nearly_right_reaches_no_kernel(name) -> None:
    right, wrong, text = NEARLY_RIGHT[name]
    named = {"rounding_mode": "trunc"} if "mode" in name else {}
    base, which = name.removeprefix("aten.").split(".")
    wanted = getattr(getattr(torch.ops.aten, base), which)(*right, **named)

    def run(args):
        given = [arg for arg in args if isinstance(arg, torch.Tensor)]
        values = [tensor(*arg.shape, dtype=str(arg.dtype).removeprefix("torch.")) for arg in given]
        places = iter(values)
        node = apply(name, *(next(places) if isinstance(arg, torch.Tensor) else arg for arg in args), **named)
        return tracepack.load(archive_of(Graph(tuple(values), (node,), node.output)))(*given)

    torch.testing.assert_close(run(right), wanted)
    with pytest.raises(tracepack.GuardError, match=text):
        run(wrong)


@pytest.mark.parametrize("name", ["aten._scaled_dot_product_flash_attention_for_cpu.default", "aten._ctc_loss.default"])
def test_what_no_check_makes_safe_needs_trust(name) -> None:
    q = tensor("B", "H", "L", "E")
    with pytest.raises(tracepack.TrustError, match=name):
        tracepack.load(archive_of(Graph((q,), (node := apply(name, q, q, q),), node.output)))


@pytest.mark.parametrize("name", ["native_batch_norm", "_native_batch_norm_legit_functional"])
def test_a_batch_norm_has_the_statistics_that_it_needs(name) -> None:
    x, mean = tensor("N", "C", "L"), Value(ANY)
    data = torch.rand(3, 2, 4)
    for training, statistics, right in [(True, 2, True), (False, 2, True), (False, 5, False), (True, 5, False)]:
        made = apply("torch.zeros", (statistics,), output=mean)
        node = apply(f"aten.{name}.default", x, None, None, mean, mean, training, 0.1, 1e-5)
        mod = tracepack.load(archive_of(Graph((x,), (made, node), node.output)))
        if right:
            wanted = torch.nn.functional.batch_norm(data, torch.zeros(2), torch.zeros(2), training=training)
            torch.testing.assert_close(mod(data)[0], wanted)
        else:
            with pytest.raises(tracepack.GuardError, match=r"channels; got \[\[3, 2, 4\], \[5\], \[5\]\]"):
                mod(data)


def test_a_batch_norm_without_statistics_takes_those_of_the_batch() -> None:
    def norm(x):
        return torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[0]

    mod, x = tracepack.trace(norm, torch.rand(3, 2, 4)), torch.rand(5, 2, 3)
    torch.testing.assert_close(mod(x), norm(x))
    x, weight = tensor("N", "C", "L"), tensor("C")
    for node in (
        apply("torch.native_batch_norm", x, None, None, None, None, False, True, 1e-5),
        apply("torch.native_batch_norm", x, weight, weight, None, None, False, 0.1, 1e-5),
        apply("torch.native_batch_norm", x, weight, weight, weight, None, False, 0.1, 1e-5),
        apply("aten._native_batch_norm_legit.no_stats", x, weight, weight, False, 0.1, 1e-5),
    ):
        with pytest.raises(tracepack.GuardError, match="do not fit its channels"):
            tracepack.load(archive_of(Graph((x, weight), (node,), node.output)))(torch.rand(3, 2, 4), torch.ones(2))


@pytest.mark.parametrize("text", ["O", "object", "V8", "U9", "f4,O", "M8[s]"])
@pytest.mark.parametrize("function", ["numpy.ndarray.astype", "numpy.ndarray.view", "numpy.full_like"])
def test_a_dtype_that_a_run_computes_is_one_of_numbers(function, text):
    x = Value(ARRAY)
    made = apply("py.str_strip", text)
    node = apply(function, x, *([0] if function == "numpy.full_like" else []), made.output)
    with pytest.raises(tracepack.GuardError, match="numpy was given a text; .* expected one of numpy's words"):
        tracepack.load(archive_of(Graph((x,), (made, node), node.output)))(X.numpy())


def test_numpy_makes_no_array_of_objects():
    x = Value(ARRAY)
    node = apply("numpy.array", [None, 1])
    with pytest.raises(tracepack.GuardError, match="numpy made an array of objects"):
        tracepack.load(archive_of(Graph((x,), (node,), node.output)))(X.numpy())


def test_an_operator_is_graded_wrapped_where_a_check_of_ours_precedes_it():
    """`resolve` looks for a check by the grade, so that a grade that hid one would leave the operator without it."""
    names = operators.allowed()
    found = {name for name in names if not name.startswith("py.") and wrapper(name) is not None}
    assert found == {name for name in names if operators.grade(name) == operators.WRAPPED}


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
@pytest.mark.parametrize("name", ["torch.linalg.qr", "aten.qr.default", "torch.geqrf", "torch.triangular_solve"])
def test_matrices_without_elements_are_counted(name) -> None:
    """Each of them calls LAPACK, and all together take no memory that a budget could count."""
    x = tensor("N", "A", "B")
    node = apply(name, x, x) if "solve" in name else apply(name, x)
    mod = tracepack.load(archive_of(Graph((x,), (node,), node.output)))
    assert mod(torch.zeros(5, 0, 0))[0].shape == (5, 0, 0)
    with pytest.raises(tracepack.GuardError, match="too many empty matrices; got .1099511627776, 0, 0.; expected"):
        mod(torch.zeros(2**40, 0, 0))


@pytest.mark.parametrize("name", ["torch.median", "torch.Tensor.nanmedian", "aten.median.dim", "aten.nanmedian.dim"])
def test_a_median_of_one_element_that_is_shown_many_times_reads_no_other(name) -> None:
    x = tensor("N", "M", dtype="int64")
    node = apply(name, x, 1)
    mod = tracepack.load(archive_of(Graph((x,), (node,), node.output)))
    for size in (10, 1000):
        values, indices = mod(torch.ones(3, 1, dtype=torch.int64).expand(3, size))
        assert values.tolist() == [1, 1, 1]
        assert all(0 <= index < size for index in indices.tolist())


CUT, LEAST_32 = {"rounding_mode": "trunc"}, torch.full((4,), -(2**31), dtype=torch.int32)
DIVISIONS = {  # an operator of integers, what it is called with, and its keywords: each ended the process
    "a number by a tensor": ("aten.div.Tensor_mode", [-(2**63), torch.full((4,), -1)], CUT),
    "a tensor of another width": ("torch.div", [torch.tensor(-(2**31)), -LEAST_32.sign().abs()], CUT),
    "what wraps to -1": ("torch.divide", [LEAST_32, torch.tensor(2**32 - 1)], CUT),
    "by keyword, the rounding first": ("torch.div", [], CUT | {"other": torch.tensor([-1]), "input": LEAST[:1]}),
    "an operator of Python": ("torch.Tensor.__truediv__", [LEAST[:1], -1], CUT),
    "its older name": ("torch.Tensor.__div__", [LEAST[:1], -1], CUT),
    "in place": ("torch.Tensor.__itruediv__", [LEAST[:1].clone(), -1], CUT),
    "a divisor of another width": ("torch.gcd", [torch.tensor(-(2**31)), -LEAST_32.sign().abs()], {}),
    "a multiple by keyword": ("torch.lcm", [], {"other": torch.tensor([-1]), "input": LEAST[:1]}),
}


@pytest.mark.parametrize("case", DIVISIONS)
def test_the_least_integer_is_divided_by_minus_one_in_no_form(case) -> None:
    name, args, named = DIVISIONS[case]
    given = [*args, *(value for value in named.values() if isinstance(value, torch.Tensor))]
    values = [Value(ANY) for _ in given]
    tensors = iter(values[len(args) :])
    keywords = {key: next(tensors) if isinstance(value, torch.Tensor) else value for key, value in named.items()}
    node = apply(name, *values[: len(args)], **keywords)
    mod = tracepack.load(archive_of(Graph(tuple(values), (node,), node.output)))
    with pytest.raises(tracepack.GuardError, match="the least integer "):
        mod(*given)
    halves = [value * 0 + 2 if isinstance(value, torch.Tensor) else 2 for value in given]
    assert mod(*halves).flatten()[0] == (1 if named.get("rounding_mode") else 2)
