# ruff: noqa: E501 - texts of comprehensions read better on one line
"""Every error of the language: its class, its text, and the place that its caret points at."""

import warnings

import numpy as np
import pytest
import torch

import tracepack as tp
from tracepack.ops.comprehension import ComprehensionError, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.graph.errors import TracepackError

# text with ^ before the place (removed before parsing), class, message
BAD = [
    ("def f(float(N) A) -> (B) { B(i) = A(i) ^", "ComprehensionSyntaxError", "expected an identifier but found the end of the text"),
    ("def f(float(N) A) -> (B) ^B(i) = A(i) }", "ComprehensionSyntaxError", "expected '{' but found 'B'"),
    ("def f(float(N) A) -> (B) { B(i) ^A(i) }", "ComprehensionSyntaxError", "expected an assignment such as '=' or '+=!' but found 'A'"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) + ^} ", "ComprehensionSyntaxError", "expected an expression but found '}'"),
    ("def f(float(N) A) -> (B) { B(i^+1) = A(i) }", "ComprehensionSyntaxError", "expected ')' but found '+'"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) ^@ 2 }", "ComprehensionSyntaxError", "unexpected character '@'"),
    ("def f(float(N) A) -> (^int B) { B(i) = A(i) }", "ComprehensionSyntaxError", "expected a type but found 'int'"),
    ("def f(float(N) A) -> (C, ^int(N) B) { B(i) = A(i) }", "ComprehensionSyntaxError", "expected a type but found 'int'"),
    ("def f(^N A) -> (B) { B(i) = A(i) }", "ComprehensionSyntaxError", "expected a type but found 'N'"),
    ("def f(float(N) A) -> (B) { B(i) = ^C(i) }", "UndefinedNameError", "undefined variable 'C'"),
    ("def f(float(N) A) -> (B, ^C) { B(i) = A(i) }", "UndefinedNameError", "undefined variable 'C': no statement writes it"),
    ("def f(float(N) A) -> (B) { B(i) +=! A(i+k) where k in 0:^Q }", "UndefinedNameError", "undefined variable 'Q'"),
    ("^def f(float(N) A) -> () { }", "UndefinedNameError", "the definition returns nothing"),
    ("def f(float(N) A, float(N) ^A) -> (B) { B(i) = A(i) }", "AlreadyDefinedError", "'A' is already defined"),
    ("def f(float(N) A) -> (B) { B(i,^i) = A(i) }", "AlreadyDefinedError", "'i' is already defined"),
    ("def f(float(N) A) -> (B) { B(^N) = A(N) }", "AlreadyDefinedError", "'N' is already defined"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where ^N = i }", "AlreadyDefinedError", "'N' is already defined"),
    ("def f(float(N) A) -> (^A) { A(i) = A(i) }", "AlreadyDefinedError", "'A' is already defined"),
    ("def f(float(N,M) A) -> (B) { B(i) = ^A(i) }", "DimensionCountError", "'A': expected 2 dimensions but found 1"),
    ("def f(float(N,M) A) -> (B) { B(i) = A(i,i) ^B(i,j) = A(i,j) }", "DimensionCountError", "'B': expected 1 dimensions but found 2"),
    ("def f(float(N) A) -> (B) { B(i) = ^A.1 + A(i) }", "DimensionCountError", "'A': expected 1 dimensions but found 2"),
    ("def f(float(N) A) -> (B) { B(i) = ^exp(A(i), 1) }", "ArityError", "'exp': expected 1 arguments but found 2"),
    ("def f(float(N) A) -> (B) { B(i) = ^max(A(i)) }", "ArityError", "'max': expected 2 arguments but found 1"),
    ("def f(float(N) A) -> (B) { B(i) = A(^A(i)) }", "OperandTypeError", "expected integral but found float32"),
    ("def f(float(N) A) -> (B) { B(i) = ^A(i) ? 1 : 2 }", "OperandTypeError", "expected boolean but found float32"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) > 0 && ^A(i) }", "OperandTypeError", "expected boolean but found float32"),
    ("def f(bool(N) A) -> (B) { B(i) = ^A(i) + 1 }", "OperandTypeError", "expected a number but found bool"),
    ("def f(bool(N,K) A) -> (B) { B(i) +=! ^A(i,k) }", "OperandTypeError", "a reduction expected a number but found bool"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) ^A(i) = B(i) }", "ImmutableInputError", "'A' is an input, and inputs are immutable"),
    ("def f(float(N,K) A) -> (B) { ^B(i) = A(i,k) }", "ReductionError", "'k' is only on the right side, and '=' does not reduce"),
    ("def f(double(N) A) -> (float B) { B(i) = ^A(i) }", "NarrowingError", "cannot assign float64 to 'B' of float32 without a cast"),
    ("def f(float(N) A) -> (B) { B(i) = int32(A(i)) B(i) = ^A(i) }", "NarrowingError", "cannot assign float32 to 'B' of int32 without a cast"),
    ("def f(int32(N) A) -> (B) { B(i) = A(i) where i in 0:^A(0) }", "TensorAccessError", "tensor accesses may not be in the bounds of a range"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) B(i) = ^B(N-1-i) }", "TensorAccessError", "'B' is read at other places than the one being written"),
    ("def f(float(N) A) -> (B) { ^t(i) += A(i) B(i) = t(i) }", "ContentsError", "'t' has no contents to accumulate into"),
    ("def f(float(N) A) -> (B) { B(i) +=! A(i) * ^k }", "RangeInferenceError", "the range of 'k' cannot be inferred"),
    ("def f(float(N) A) -> (B) { B(i) = i > 0 ? A(^i) : 0.0 }", "RangeInferenceError", "the range of 'i' cannot be inferred"),
]  # fmt: skip


def split_caret(marked: str) -> tuple[str, int]:
    at = marked.index("^")
    return marked[:at] + marked[at + 1 :], at + 1


@pytest.mark.parametrize(("marked", "kind", "message"), BAD, ids=lambda x: x[:40] if isinstance(x, str) else "")
def test_text(marked, kind, message):
    text, column = split_caret(marked)
    with pytest.raises(ComprehensionError) as caught:
        define(text)
    error = caught.value
    assert type(error) is getattr(errors, kind)
    assert message in str(error)
    if error.at is not None and kind != "RangeInferenceError":
        assert (error.at.line, error.at.column) == (1, column)
    assert str(error).splitlines()[-1] == " " * (4 + error.at.column - 1) + "^"


def test_place_counts_lines():
    with pytest.raises(errors.UndefinedNameError, match="line 3, column 10") as caught:
        define("# a comment\ndef f(float(N) A) -> (B) {\n  B(i) = C(i)\n}")
    assert str(caught.value).endswith("      B(i) = C(i)\n             ^")


RUN = [
    ("def f(float(N,N) A) -> (B) { B(i) = A(i,i) }", [(3, 4)], "SizeMismatchError", "dimension 1 has size 4, but 'N' is 3"),
    ("def f(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }", [(3,), (4,)], "SizeMismatchError", "input 'B': dimension 0 has size 4, but 'N' is 3"),
    ("def f(float(N,3) A) -> (B) { B(i,j) = A(i,j) }", [(2, 4)], "SizeMismatchError", "dimension 1 has size 4, but it must be 3"),
    ("def f(float(N) A) -> (float(3) B) { B(i) = A(i) where i in 0:2 }", [(5,)], "SizeMismatchError", "'B' has sizes (2,), but its annotation says (3,)"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) }", [(3, 4)], "DimensionCountError", "input 'A': expected 1 dimensions but found 2"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) * A(i+5) }", [(4,)], "EmptyRangeError", "the range of 'i' is empty"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 3:3 }", [(4,)], "EmptyRangeError", "the range of 'i' is empty; got 3:3"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:9 }", [(4,)], "OutOfBoundsError", "index 0 of 'A' takes the values 0:9, but the dimension's size is 4"),
    ("def f(float(N) A) -> (B) { B(i) = A(i)\n B(i) = A(0) where i in 2:9 }", [(4,)], "OutOfBoundsError", "'B' is written at 2:9"),
    ("def f(float(N) A) -> (B) { B(i) += A(i) }", [(4,)], "ComprehensionInputError", "'B' is accumulated into and has no contents"),
    ("def f(float(N) A, float s) -> (B) { B(i) = A(i) * s }", [(4,)], "ComprehensionInputError", "'f' takes 2 inputs; got 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shapes", "kind", "message"), RUN)
def test_sizes(text, shapes, kind, message):
    layer = define(text)
    with pytest.raises(getattr(errors, kind)) as caught:
        layer(*(torch.zeros(s) for s in shapes), options="torch")
    assert message in str(caught.value)


def test_inputs():
    layer = define("def f(float(N) A) -> (B) { B(i) = A(i) }")
    with pytest.raises(
        errors.ComprehensionInputError, match=r"has another type; got torch\.float64; expected torch\.float32"
    ):
        layer(torch.zeros(3, dtype=torch.float64))
    with pytest.raises(errors.ComprehensionInputError, match="input 'A' of 'f' is no tensor; got list"):
        layer([1.0])


def test_numbers():
    """A number of numpy is a number, and one that its parameter does not hold is refused, not cut."""
    layer = define("def f(float(N) A, int32 k, float s) -> (B) { B(i) = A(i) * k + s }")
    a = torch.arange(3.0)
    assert layer(a, np.int64(3), np.float32(0.5)).tolist() == [0.5, 3.5, 6.5]
    assert layer(a, True, 1).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(errors.ComprehensionInputError, match=r"input 'k' of 'f' is no int32; got 2\.7"):
        layer(a, 2.7, 0.5)
    with pytest.raises(
        errors.ComprehensionInputError, match="input 'k' of 'f' does not fit into int32; got 1099511627776"
    ):
        layer(a, 1 << 40, 0.5)
    with pytest.raises(errors.ComprehensionInputError, match="input 's' of 'f' is no tensor; got complex"):
        layer(a, 1, np.complex64(2))


def test_arrays_that_torch_cannot_share():
    layer = define("def f(float(N) A) -> (B) { B(i) = 2.0 * A(i) }")
    records = np.zeros(4, [("at", "i1"), ("value", "f4")])
    records["value"] = range(4)
    for array in (np.arange(4, dtype=">f4"), records["value"], np.arange(4, dtype="f4")[::-1][::-1]):
        assert layer(array).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_inputs_without_memory_in_rows():
    layer = define("def f(float(N) A) -> (B) { B(i) = A(i) }")
    with pytest.raises(
        errors.ComprehensionInputError, match=r"'A' of 'f' is no dense tensor; got torch\.sparse_coo\. Give x\.to_dense"
    ):
        layer(torch.ones(3).to_sparse())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, once in a process: nested tensors are a prototype
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(errors.ComprehensionInputError, match="is no dense tensor; got a nested tensor"):
        layer(nested)


def test_inputs_by_name():
    """Whatever a parameter is called, and in whatever order they come; the page's own arguments keep their names."""
    layer = define("def f(float(N) A, float(N) self, float(N) inputs) -> (B) { B(i) = A(i) - self(i) * inputs(i) }")
    a, b, c = torch.randn(3, 4)
    expected = layer(a, b, c)
    assert torch.equal(layer(inputs=c, self=b, A=a), expected)
    assert torch.equal(layer(a, inputs=c, self=b, options="single_thread"), expected)
    assert torch.equal(tp.trace(lambda x, y: layer(x, self=y, inputs=x), a, b)(b, c), layer(b, c, b))
    assert torch.equal(torch.compile(lambda x: layer(self=x, A=x, inputs=x), backend="eager")(a), layer(a, a, a))
    with pytest.raises(
        errors.ComprehensionInputError, match=r"'f' has no input 'C'; expected \['A', 'self', 'inputs'\]"
    ):
        layer(a, b, C=c)
    with pytest.raises(errors.ComprehensionInputError, match="input 'A' of 'f' is given twice"):
        layer(a, b, A=c)
    with pytest.raises(errors.ComprehensionInputError, match="input 'self' of 'f' is missing; expected"):
        layer(a, inputs=c)


def test_definitions():
    with pytest.raises(errors.ComprehensionInputError, match="the comprehension is no text; got int"):
        define(3)
    two = "def f(float(N) A) -> (B) { B(i) = A(i) } def g(float(N) A) -> (B) { B(i) = 2 * A(i) }"
    with pytest.raises(errors.UndefinedNameError, match="there are several definitions"):
        define(two)
    with pytest.raises(errors.UndefinedNameError, match="there is no definition 'h'"):
        define(two, name="h")
    with pytest.raises(errors.AlreadyDefinedError, match="'f' is already defined"):
        define(two.replace("def g", "def f"), name="f")
    assert define(two, name="g")(torch.ones(2)).tolist() == [2.0, 2.0]


def test_constants():
    with pytest.raises(errors.ConstantsError, match="the text names the constant 'sh'"):
        define("def f(float(N) A) -> (B) {{ B(i) = A({sh}*i) }}", constants={})
    with pytest.raises(errors.ConstantsError, match="written twice"):
        define("def f(float(N) A) -> (B) { B(i) = A(i) }", constants={"sh": 1})


@pytest.mark.parametrize("options", ["torch", "conv"])
def test_indices_at_run_time(options):
    text = "def f(float(V,D) T, int64(N) I) -> (O) { O(i,j) = T(I(i),j) }"
    table = torch.arange(12.0).reshape(4, 3)
    for wrong in (-1, 4):
        with pytest.raises(errors.IndexRangeError, match="of 'T' is not in 0:4"):
            define(text)(table, torch.tensor([0, wrong]), options=options)
    with pytest.raises(errors.IndexRangeError, match=r"of 'T' is not in 0:0\. There is no element to take"):
        define(text, gather="clamp")(table[:0], torch.tensor([0]), options=options)
    clamped = define(text, gather="clamp")(table, torch.tensor([-5, 9]), options=options)
    assert torch.equal(clamped, table[[0, 3]])


def test_all_are_tracepack_errors():
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]
    assert all(issubclass(e, TracepackError) for e in kinds if not issubclass(e, Warning))


def test_outputs_whose_elements_share_memory():
    layer = define("def f(float(N) A) -> (B) { B(i) = A(i) }")
    with pytest.raises(
        ComprehensionError, match=r"elements of outputs= share memory, .* got \[\(0,\)\]\. Pass a clone"
    ):
        layer(torch.ones(3), outputs=[torch.ones(1).expand(3)])
