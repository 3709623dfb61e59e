"""Calls that a kernel of torch is not made for, found by `tests.fuzz edges`, are refused before it."""

from __future__ import annotations

import numpy
import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, tensor
from tracepack.ops.graph.graph import Facts, Graph, Value
from tracepack.ops.graph.types import ANY, ARRAY

X = torch.arange(4.0)
NAN, TWO_ROWS = float("nan"), torch.zeros(2, 3)
UNFIT = {  # an operator, arguments that ended the process, hung it or showed memory; what is said; those that fit
    "a polynomial of NaN": ("aten.special_hermite_polynomial_he.default", [X * NAN, X], "of NaN", [X, X]),
    "one of a number": ("aten.special_chebyshev_polynomial_u.x_scalar", [NAN, X], "of NaN", [0.5, X]),
    "a degree without end": ("torch.special.chebyshev_polynomial_u", [X, X + 2**40], "degree of", [X, X]),
    "trials without end": ("torch.binomial", [X + float("inf"), X / 4], "no number of trials", [X, X / 4]),
    "trials of NaN": ("aten.binomial.default", [X * NAN, X / 4], "no number of trials", [X, X / 4, None]),
    "pairs without rows": ("aten._pdist_forward.default", [torch.ones(2, 2, 0, 4), 0.1], "no rows", [TWO_ROWS, 1.0]),
    "a loss of nothing": (
        "torch.nn.functional.multilabel_margin_loss", [TWO_ROWS[:0], TWO_ROWS[:0].long()], "a loss of nothing",
        [TWO_ROWS, TWO_ROWS.long()],
    ),
    "a sequence of falling sizes": (
        "torch._pad_packed_sequence", [X, torch.tensor([0, 1, 0, 1]), False, 0.0, 0], "packed sequence is malformed",
        [X, torch.tensor([3, 1]), False, 0.0, 0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNFIT)
def test_what_does_not_fit_a_kernel_is_refused_before_it(case) -> None:
    name, unfit, said, fit = UNFIT[case]

    def loaded(given):
        values = [Value(ANY) if isinstance(each, torch.Tensor) else each for each in given]
        held = tuple(value for value in values if isinstance(value, Value))
        node = apply(name, *values)
        return tracepack.load(archive_of(Graph(held, (node,), node.output)))

    with pytest.raises(tracepack.GuardError, match=said):
        loaded(unfit)(*(each for each in unfit if isinstance(each, torch.Tensor)))
    assert loaded(fit)(*(each for each in fit if isinstance(each, torch.Tensor))) is not None


@pytest.mark.parametrize(
    "name", ["torch.nn.functional.scaled_dot_product_attention", "aten.scaled_dot_product_attention.default"]
)
def test_attention_in_groups_of_no_heads_is_refused(name) -> None:
    queries, keys = tensor(2, 4, 3, 8), tensor(2, "H", 3, 8)
    node = apply(name, queries, keys, keys, enable_gqa=True)
    mod = tracepack.load(archive_of(Graph((queries, keys), (node,), node.output), Facts({"H": (1, 1)}, ())))
    q, k = torch.rand(2, 4, 3, 8), torch.rand(2, 2, 3, 8)
    with pytest.raises(tracepack.GuardError, match="attention in groups of no heads"):
        mod(q, k[:, :0])
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True)
    assert torch.equal(mod(q, k), wanted)


@pytest.mark.parametrize(
    "name", ["torch.nn.functional.scaled_dot_product_attention", "aten.scaled_dot_product_attention.default"]
)
@pytest.mark.parametrize("lengths", [(3, 4), (3, 1), (1, 3), (3, 0)])
def test_attention_to_more_keys_than_values_is_refused(name, lengths) -> None:
    """Torch's fast path reads as many keys as there are values, wherever the keys end."""
    queries, keys, values = Value(ANY), Value(ANY), Value(ANY)
    node = apply(name, queries, keys, values)
    mod = tracepack.load(archive_of(Graph((queries, keys, values), (node,), node.output)))
    q, k, v = torch.rand(2, 4, 5, 8), torch.rand(2, 4, lengths[0], 8), torch.rand(2, 4, lengths[1], 8)
    with pytest.raises(tracepack.GuardError, match="attention to other keys than values"):
        mod(q, k, v)
    assert torch.equal(mod(q, k, k), torch.nn.functional.scaled_dot_product_attention(q, k, k))


@pytest.mark.parametrize("name", ["torch.cov", "torch.Tensor.cov", "aten.cov.default"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 1), (2, 3)])
def test_a_covariance_leaves_its_argument_alone(name, shape) -> None:
    """With weights torch writes the difference to the mean into a single observation."""
    x, weights = torch.rand(shape, dtype=torch.float64) + 1, torch.ones(shape[-1:] or (1,), dtype=torch.float64)
    before, values = x.clone(), (Value(ANY), Value(ANY))
    node = apply(name, values[0], correction=0, aweights=values[1])
    got = tracepack.load(archive_of(Graph(values, (node,), node.output)))(x, weights)
    assert torch.equal(x, before)
    assert torch.equal(got, torch.cov(before.clone(), correction=0, aweights=weights))


@pytest.mark.parametrize("name", ["pinv", "svd"])
def test_singular_values_of_infinities_are_refused(name) -> None:
    """LAPACK searched for those of some without end."""
    x = Value(ARRAY)
    node = apply(f"numpy.linalg.{name}", x)
    mod = tracepack.load(archive_of(Graph((x,), (node,), node.output)))
    matrix = numpy.eye(3, dtype=numpy.float32) * 2
    assert mod(matrix) is not None
    for number in (numpy.inf, numpy.nan):
        matrix[1, 2] = number
        with pytest.raises(tracepack.GuardError, match="no singular values"):
            mod(matrix)


def test_only_norms_of_singular_values_ask_for_numbers() -> None:
    x = Value(ARRAY)
    for order, refused in ((None, False), (1, False), ("nuc", True), (2, True)):
        node = apply("numpy.linalg.norm", x, order)
        mod = tracepack.load(archive_of(Graph((x,), (node,), node.output)))
        if refused:
            with pytest.raises(tracepack.GuardError, match="no singular values"):
                mod(numpy.full((2, 2), numpy.inf))
        else:
            assert mod(numpy.full((2, 2), numpy.inf)) == numpy.inf
        assert order == "nuc" or mod(numpy.full(3, numpy.inf)) == numpy.inf  # a vector has none


@pytest.mark.parametrize(("last", "offsets"), [(False, []), (True, [0])])
def test_indices_without_a_bag_are_refused(last, offsets) -> None:
    """Torch ends the process where the largest of each bag is asked."""

    def bags(weight, indices, offsets):
        return torch.nn.functional.embedding_bag(indices, weight, offsets, mode="max", include_last_offset=last)

    weight, indices = torch.rand(12, 7), torch.tensor([1, 5, 4])
    mod = tracepack.trace(bags, weight, indices, torch.tensor([0, 1, 3]))
    assert torch.equal(mod(weight, indices, torch.tensor([0, 3])), bags(weight, indices, torch.tensor([0, 3])))
    with pytest.raises(tracepack.GuardError, match="there are indices and no bag; got "):
        mod(weight, indices, torch.tensor(offsets, dtype=torch.long))
