"""Integers at the ends of their types: what is proven of an index is what every emitter computes."""

import time

import numpy as np
import pytest
import torch

from tracepack.ops.comprehension import Options, define
from tracepack.ops.comprehension.expr import errors
from tracepack.ops.comprehension.language.parser import parse
from tracepack.ops.comprehension.language.typecheck import check
from tracepack.ops.comprehension.program.specialise import specialise

TORCH, CPP = Options("torch"), Options("naive")
EMITTERS = pytest.mark.parametrize("options", [TORCH, CPP, Options()], ids=["torch", "C++", "C++ by analysis"])
LEAST = -(1 << 31)
A = torch.arange(8.0) + 1


def run(statement, *inputs, options, gather="check", more=""):
    """A statement's result, of inputs A, and I and X where they are given."""
    kinds = {torch.int32: "int32", torch.int64: "int64", torch.uint32: "uint32", torch.float32: "float"}
    given = ", ".join(f"{kinds[t.dtype]}(N{n}) {name}" for n, (name, t) in enumerate(zip("AIJ", inputs, strict=False)))
    return define(f"def f({given}) -> (O) {{ {more} {statement} }}", gather=gather)(*inputs, options=options)


INSIDE = {
    # index: which of 0, 1, ... 7 it is for i in 0:8, by whole numbers without end
    "i / 4294967297": lambda i: i // 4294967297,
    "i % 4294967297": lambda i: i % 4294967297,
    "i / 2147483648": lambda i: i // 2147483648,
    "i % 2147483647": lambda i: i % 2147483647,
    "(i + 4294967296) - 4294967296": lambda i: i,
    "i - 2147483648 + 2147483648": lambda i: i,
    "int64(i) * 46341 * 46341 / 2147488281": lambda i: i,
    "(int64(i) + 2147483647) % 8": lambda i: (i + 2147483647) % 8,
    "(i * 4294967297) / 4294967297": lambda i: i,
    "(i * 5000000000) / 5000000000": lambda i: i,
    "(4294967296 * i + 3) % 8": lambda i: 3,
    "65536 * 65536 + i": lambda i: i,  # int32 wraps
    "(i * 46341 * 46341) % 8": lambda i: ((i * 46341 * 46341 + (1 << 31)) % (1 << 32) - (1 << 31)) % 8,
    "min(max(i * 1000000000, 0), 7)": lambda i: min(max((i * 10**9 + (1 << 31)) % (1 << 32) - (1 << 31), 0), 7),
}


@EMITTERS
@pytest.mark.parametrize("index", INSIDE)
def test_indices_that_are_inside(index, options):
    found = run(f"O(i) = A({index}) where i in 0:8", A, options=options)
    assert found.tolist() == [A[INSIDE[index](i)].item() for i in range(8)]


@pytest.mark.parametrize("index", [
    "(i * 46341) * 46341 / 65536 / 32768", "i * i / 46341", "(i * 46340 + 46341 * i) / 92681",
    "i + 2147483647 - 2147483647", "i * 1073741824 * 4 + i",
])  # fmt: skip
def test_products_that_wrap_are_refused(index):
    with pytest.raises(errors.OutOfBoundsError, match=r"'A' takes the values .*; An int32 may wrap|An int32 may wrap"):
        run(f"O(i) = A({index}) where i in 0:46342", torch.zeros(46343), options=TORCH)


@EMITTERS
def test_conditions_that_wrap_prove_nothing(options):
    """46341 squared is negative as an int32, so the condition holds where it would not of whole numbers."""
    statement = "O(i) = i * 46341 * 46341 < 8 ? A(i * 46341 * 46341) : 0.0 where i in 0:2"
    with pytest.raises(errors.IndexRangeError, match="an index of .*'A' is not in 0:8"):
        run(statement, A, options=options)
    assert run(statement, A, options=options, gather="clamp").tolist() == [1.0, 1.0]


NOTHING_DEPENDS_ON_IT = {
    "4611686018427387903 - A(I(i)) > 5 ? 3 : i": [3, 3, 3],
    "0 < 1 || A(I(i)) > 0 ? 3 : i": [3, 3, 3],
    "A(I(i)) > 0 && 1 < 0 ? 3 : i": [0, 1, 2],
    "J(A(I(i)) - A(I(i)))": [5, 5, 5],
    "J(i + 0 * A(I(i)))": [5, 6, 7],
}


@EMITTERS
@pytest.mark.parametrize("value", NOTHING_DEPENDS_ON_IT)
def test_an_index_is_checked_where_nothing_depends_on_it(value, options):
    numbers, wild, tame = torch.arange(8).to(torch.uint32), torch.tensor([1, 900, 2]), torch.tensor([1, 7, 2])
    statement = f"O(i) = {value} where i in 0:3"
    with pytest.raises(errors.IndexRangeError, match="an index of .*'A' is not in 0:8"):
        run(statement, numbers, wild, torch.arange(8) + 5, options=options)
    found = run(statement, numbers, tame, torch.arange(8) + 5, options=options)
    assert found.tolist() == NOTHING_DEPENDS_ON_IT[value]


@EMITTERS
def test_mixed_signs_prove_nothing(options):
    """A uint32 meets an int32 as an int32, where its upper half is negative; as an index it is not."""
    index = torch.tensor([3, 0xFFFFFFFF], dtype=torch.uint32)
    with pytest.raises(errors.IndexRangeError, match="an index of .*'A' is not in 0:8"):
        run("O(i) = I(i) < 8 ? A(I(i)) : 0.0", A, index, options=options)


@EMITTERS
def test_floats_as_indices(options):
    """What no int32 holds is the least one; the literal's fraction counts."""
    assert run("O(i) = A(int32(1.9 * i)) where i in 0:4", A, options=options).tolist() == [1.0, 2.0, 4.0, 6.0]
    wild = torch.tensor([float("nan"), float("inf"), -float("inf"), 3e9, 2.7])
    with pytest.raises(errors.IndexRangeError, match="an index of .*'A' is not in 0:8"):
        run("O(i) = A(int32(I(i)))", A, wild, options=options)
    expected = A[wild.to(torch.int32).clamp(0, 7).long()].tolist()
    assert run("O(i) = A(int32(I(i)))", A, wild, options=options, gather="clamp").tolist() == expected
    assert run("O(i) = A(min(max(int32(I(i)), 0), 7))", A, wild, options=options).tolist() == expected
    assert run("O(i) = A(min(max(int64(I(i)), 0), 7))", A, wild, options=options).tolist() == [1.0, 1.0, 1.0, 8.0, 3.0]
    with pytest.raises(errors.IndexRangeError):
        run("O(i) = A(int32(0.0 / 0.0) + i) where i in 0:2", A, options=options)


@EMITTERS
def test_floats_as_integers_of_every_width(options):
    """By whole numbers: an int32 for itself and narrower types, else an int64, or its least; then the low bits."""
    floats = [1.9, -1.9, 300.0, 1e10, 1e20, float("nan"), float("-inf"), -300.0, 70000.0, -70000.0, 3e9, -3e9] * 2
    kinds = [f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u")]
    statements = " ".join(f"O{kind}(i) = {kind}(A(i))" for kind in kinds)
    outputs = ", ".join(f"O{kind}" for kind in kinds)
    layer = define(f"def f(float(N) A) -> ({outputs}) {{ {statements} }}")
    for kind, found in zip(kinds, layer(torch.tensor(floats), options=options), strict=True):
        width, bits = (32 if kind[-1] in "86" or kind == "int32" else 64), int(kind.split("int")[1])
        wide = [int(np.float32(f)) if np.isfinite(f) else 1 << 70 for f in floats]
        wide = [w if -(1 << width - 1) <= w < 1 << width - 1 else -(1 << width - 1) for w in wide]
        low = [w % (1 << bits) for w in wide]
        expected = [w - (1 << bits) if kind[0] == "i" and w >= 1 << bits - 1 else w for w in low]
        assert found.tolist() == expected, kind


@EMITTERS
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_division_at_the_ends(options, kind):
    least = torch.iinfo(getattr(torch, kind)).min
    a = torch.tensor([least, least, 7, -7, 5], dtype=getattr(torch, kind))
    b = torch.tensor([-1, 1, -2, 2, 0], dtype=getattr(torch, kind))
    assert run("O(i) = A(i) / I(i)", a, b, options=options).tolist() == [least, least, -4, -4, 0]
    assert run("O(i) = A(i) % I(i)", a, b, options=options).tolist() == [0, 0, -1, 1, 0]
    assert run("O(i) = A(i) / (-1)", a, options=options).tolist() == [least, least, -7, 7, -5]


@EMITTERS
def test_values_at_the_ends(options):
    i = np.arange(4, dtype=np.int32)
    with np.errstate(over="ignore"):
        wrapped = i * np.int32(46341) * np.int32(46341)
    assert run("O(i) = i * 46341 * 46341 where i in 0:4", A, options=options).tolist() == wrapped.tolist()
    assert run("O(i) = i * 4294967297 where i in 0:4", A, options=options).tolist() == [
        4294967297 * k for k in range(4)
    ]
    assert run("O +=! i * 1073741824 where i in 0:4", A, options=options).item() == np.int32(6442450944 - (1 << 33))
    assert run("O(i) = int8(300) + 0 * i where i in 0:2", A, options=options).tolist() == [44, 44]
    assert run("O(i) = int32(3e9) + 0 * i where i in 0:2", A, options=options).tolist() == [LEAST, LEAST]


@EMITTERS
def test_a_temporary_s_index_is_tested(options):
    """The temporary is read where the index says, so it may not go into its reader without the test."""
    index = torch.tensor([0, 1 << 20], dtype=torch.int32)
    with pytest.raises(errors.IndexRangeError, match="an index of .*'T' is not in 0:8"):
        run("O(j) = T(I(j))", A, index, options=options, more="T(i) = A(i) + A(i)")
    found = run("O(j) = T(I(j))", A, index, options=options, more="T(i) = A(i) + A(i)", gather="clamp")
    assert found.tolist() == [2.0, 16.0]


@pytest.mark.parametrize(
    "index", ["(i * 65536 * 65537) % 8", "i / 4294967297", "int64(i) * 46341 * 46341 / 2147488281"]
)
@EMITTERS
def test_gradients_go_where_was_read(index, options):
    layer = define(f"def f(float(N) A) -> (O) {{ O(i) = A({index}) * (i + 1) where i in 0:8 }}")
    a = A.clone().requires_grad_()
    (found,) = torch.autograd.grad(layer(a, options=options).sum(), a)
    places = [(i * 65536 * 65537 + (1 << 31)) % (1 << 32) - (1 << 31) for i in range(8)]
    at = {"(": [p % 8 for p in places], "i ": [0] * 8}.get(index[:2].rstrip("i"), list(range(8)))
    at = [0] * 8 if index.startswith("i /") else at
    expected = torch.zeros(8).index_add_(0, torch.tensor(at), torch.arange(8.0) + 1)
    assert torch.equal(found, expected)


def test_what_no_int32_counts_is_refused():
    (definition,) = map(check, parse("def f(uint8(N) A) -> (O) { O(i) = A(i) }"))
    with pytest.raises(
        errors.OutOfBoundsError, match="'i' takes the values 0:3000000000, but an index variable is an int32"
    ):
        specialise(definition, [(3_000_000_000,)])


def test_texts_are_bounded():
    with pytest.raises(errors.ComprehensionSyntaxError, match="the number does not fit into an int64"):
        define("def f(float(N) A) -> (O) { O(i) = A(i + 9223372036854775808) }")
    with pytest.raises(errors.ComprehensionSyntaxError, match="the number does not fit into an int64"):
        define("def f(float(" + "9" * 5000 + ") A) -> (O) { O(i) = A(i) }")
    for text in ("(" * 500 + "A(i)" + ")" * 500, " + ".join(["A(i)"] * 500), "-" * 500 + "A(i)", "A(i) ? " * 500):
        with pytest.raises(errors.ComprehensionSyntaxError, match="the expression is nested deeper than 128"):
            define(f"def f(float(N) A) -> (O) {{ O(i) = {text} }}")
    lets = ", ".join(f"v{n + 1} = v{n} + v{n}" for n in range(40))
    with pytest.raises(errors.ComprehensionSyntaxError, match="the expression has more than 4096 parts"):
        define(f"def f(float(N) A) -> (O) {{ O(i) = v40 where v0 = A(i), {lets} }}")
    lets = ", ".join(f"v{n + 1} = v{n} - v{n}" for n in range(9))
    body = " ".join(f"O{n}(i) = v9 where v0 = A(i), {lets};" for n in range(64))
    with pytest.raises(errors.ComprehensionSyntaxError, match="all expressions have more than 8192 parts"):
        define(f"def f(float(N) A) -> (O0) {{ {body} }}")


@pytest.mark.parametrize(("sign", "count"), [("*", 7), ("-", 9)], ids=["parts", "levels"])
def test_gradients_are_bounded(sign, count):
    """Each of the many reads of one element has a gradient, which is a product of what stands on the way to it."""
    lets = ", ".join(f"v{n + 1} = v{n} {sign} v{n}" for n in range(count))
    layer = define(f"def f(float(N) A) -> (O) {{ O(i) = v{count} where v0 = A(i), {lets} }}")
    a = torch.full((3,), 1.0)
    began = time.process_time()
    torch.testing.assert_close(layer(a, options=TORCH), a if sign == "*" else a - a)
    with pytest.raises(errors.DerivativeError, match="the gradient by 'A' is too large; expected 32768 parts in"):
        layer(a.requires_grad_(), options=TORCH)
    assert time.process_time() - began < 20


@pytest.mark.parametrize("sign", ["+", "*"])
def test_long_expressions(sign):
    layer = define(f"def f(float(N) A) -> (O) {{ O(i) = {f' {sign} '.join(['A(i)'] * 100)} }}")
    a = torch.full((3,), 0.99, requires_grad=True)
    out = layer(a, options=TORCH)
    expected = a * 100 if sign == "+" else a**100
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(torch.autograd.grad(out.sum(), a), torch.autograd.grad(expected.sum(), a))


@EMITTERS
@pytest.mark.parametrize(("value", "expected"), [
    ("max(A(i), 3.5e38)", lambda a: a * float("inf")),
    ("min(A(i), 1e39)", lambda a: a),
    ("(A(i) < 1e39 ? A(i) : 0.0)", lambda a: a),
    ("A(i) == float(1e300)", lambda a: a < 0),
    ("max(half(A(i)), half(1e9))", lambda a: (a * float("inf")).half()),
    ("3.5e38", lambda a: a * float("inf")),
])  # fmt: skip
def test_numbers_that_are_too_large_for_their_type_are_infinite(value, expected, options):
    """Torch's functions refuse such a number of Python, by an error that is none of ours."""
    found = run(f"O(i) = {value} where i in 0:8", A, options=options)
    assert torch.equal(found, expected(A))


@EMITTERS
def test_an_index_inside_of_another_counts_only_where_its_side_is_taken(options):
    far, table = torch.tensor([200, 200, 1, 0], dtype=torch.int32), torch.tensor([2, 1, 3, 0], dtype=torch.int32)
    found = run("O(i) = (i < 2) ? 7 : A(I(J(i))) where i in 0:4", A, table, far, options=options)
    assert found.tolist() == [7, 7, 2, 3]
    with pytest.raises(errors.IndexRangeError, match="an index of (dimension 0 of )?'I' is not in 0:4"):
        run("O(i) = (i < 1) ? 7 : A(I(J(i))) where i in 0:4", A, table, far, options=options)
