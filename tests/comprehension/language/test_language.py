"""Grammar, types and range inference, as text of the checked program."""

import pytest
import torch

from tracepack.ops.comprehension import define
from tracepack.ops.comprehension.expr.dtypes import SCALARS, join
from tracepack.ops.comprehension.expr.text import pretty, pretty_program
from tracepack.ops.comprehension.language.lexer import tokens
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.program.specialise import specialise


def program(text: str, *shapes: tuple[int, ...]) -> str:
    return pretty_program(specialise(check(parse(text)[0]), list(shapes)))


def value(expression: str) -> str:
    text = f"def f(float(N) A, int32(N) I, float s) -> (B) {{ B(i) = {expression} }}"
    return pretty(check(parse(text)[0]).statements[0].value)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("A(i) + 2 * s", "(A(i) + (2 * s))"),
        ("A(i) - s - 1", "((A(i) - s) - 1)"),
        ("-A(i) * s", "(-A(i) * s)"),
        ("A(i) < s && s > 1 || !(s == 2)", "(((A(i) < s) && (s > 1)) || !(s == 2))"),
        ("s > 0 ? A(i) : s < 1 ? 1.0 : 2.0", "((s > 0) ? A(i) : ((s < 1) ? 1.0 : 2.0))"),
        ("max(A(i), s) % 3", "(max(A(i), s) % 3)"),
        ("float(I(i) / 2) * 1e-3", "(float32((I(i) / 2)) * 0.001)"),
        ("A(i) * A.0", "(A(i) * A.0)"),
        ("1. + .5 + A(i)", "((1.0 + 0.5) + A(i))"),
    ],
)
def test_precedence(written, read):
    assert value(written) == read


def test_the_longest_token_wins():
    assert [t.text for t in tokens("O(i) max=! A.1 max= max(a) +=!b <= 1.5e3")[:-1]] == [
        "O", "(", "i", ")", "max=!", "A", ".", "1", "max=", "max", "(", "a", ")", "+=!", "b", "<=", "1.5e3",
    ]  # fmt: skip


def test_comments_and_several_definitions():
    found = parse("# one\ndef f(float A) -> (B) { B = A } # two\ndef g() -> (B) { B(i) = i where i in 0:3 }")
    assert [d.name for d in found] == ["f", "g"]


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        ("int32", "float16", "float16"), ("float16", "float", "float32"), ("float", "double", "float64"),
        ("uint8", "uint16", "uint16"), ("uint8", "int8", "int8"), ("int8", "uint32", "int32"), ("bool", "int8", "int8"),
        ("int64", "int32", "int64"),
    ],
)  # fmt: skip
def test_joins(a, b, joined):
    assert str(join(SCALARS[a], SCALARS[b])) == str(join(SCALARS[b], SCALARS[a])) == joined


RANGES = [
    ("def f(float(H) I, float(K) W) -> (O) { O(h) +=! I(2*h+k) * W(k) }", [(11,), (3,)],
     "O(h) +=! (I(((2 * h) + k)) * W(k)) over h:5 k:3"),
    ("def f(float(N) A) -> (O) { O(i) = A(i+2) }", [(7,)], "O(i) = A(((i + -2) + 2)) over i:7"),
    ("def f(float(N) A) -> (O) { O(i) = A(N-1-i) }", [(7,)], "O(i) = A((6 - i)) over i:7"),
    ("def f(float(N) A) -> (O) { O(i) = A(i/3) }", [(4,)], "O(i) = A((i / 3)) over i:12"),
    ("def f(float(N) A, float(M) B) -> (O) { O(i) = A(i) + B(i) }", [(7,), (5,)], "O(i) = (A(i) + B(i)) over i:5"),
    ("def f(float(N) A) -> (O) { O(i) = A(i) where i in 2:5 }", [(7,)], "O(i) = A((i + 2)) over i:3"),
    ("def f(float(N) A) -> (O) { O(i) = A(i)\n O(i) = 1.0 where i in 2:5 }", [(7,)],
     "O(i) = A(i) over i:7\nO#1((i + 2)) = 1.0 from O over i:3"),
    ("def f(float(N) A) -> (O) { O max=! A(i) }", [(7,)], "O() max=! A(i) over i:7"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shapes", "expected"), RANGES)
def test_ranges(text, shapes, expected):
    assert program(text, *shapes) == expected


def test_output_types():
    layer = define(
        "def f(float16(N) A, int8(N) B) -> (X, double Y, Z) { X(i) = A(i) * B(i)\n Y(i) = X(i)\n Z(i) = B(i) < 3 }"
    )
    found = layer(torch.ones(3, dtype=torch.float16), torch.ones(3, dtype=torch.int8), options="torch")
    assert [t.dtype for t in found] == [torch.float16, torch.float64, torch.bool]


@pytest.mark.parametrize("options", ["torch", "conv"])
def test_scalars_and_sizes(options):
    layer = define("def f(float(N,M) A, float s, int32 k) -> (O) { O(i,j) = A(i,j) * s + k * A.1 + N }")
    a = torch.randn(4, 19)
    assert torch.allclose(layer(a, 0.5, 3, options=options), a * 0.5 + 3 * 19 + 4)


@pytest.mark.parametrize("options", ["torch", "conv"])
def test_contents_of_given_outputs(options):
    layer = define("def f(float(N,K) A) -> (O) { O(i) += A(i,k) }")
    a, out = torch.randn(3, 20), torch.ones(3)
    assert layer(a, outputs=out, options=options) is out
    assert torch.allclose(out, 1 + a.sum(1))


def test_outputs_may_be_written_into():
    layer = define("def f(float(N) A) -> (B, C) { B(i) = 2 * A(i)\n C(i) = B(i) + 1 }")
    given = [torch.empty(3), torch.empty(3)]
    assert layer(torch.ones(3), outputs=given) == given
    assert [t.tolist() for t in given] == [[2.0] * 3, [3.0] * 3]


def test_inputs_need_not_be_contiguous():
    a = torch.randn(5, 7)
    layer = define("def f(float(N,M) A) -> (B) { B(i,j) = A(i,j) * 2 }")
    assert torch.equal(layer(a.T), a.T * 2)
    assert torch.equal(layer(a[:, 1:]), a[:, 1:] * 2)
    negated = torch.tensor([[3 + 4j]]).conj().imag
    assert negated.is_neg()
    assert negated.is_contiguous()
    for _ in range(2):  # once with a look at the inputs, once as a call that was seen before
        assert layer(negated).tolist() == [[-8.0]]
