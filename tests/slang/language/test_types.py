"""Each type of Slang against the same formula in torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from tracepack.ops import slang

INTEGERS = {
    "add_i8": torch.int8,
    "add_u8": torch.uint8,
    "add_i16": torch.int16,
    "add_i32": torch.int32,
    "add_i64": torch.int64,
}


@pytest.mark.parametrize(("name", "dtype"), INTEGERS.items())
def test_integers(types: slang.SlangModule, name: str, dtype: torch.dtype) -> None:
    a, b = torch.tensor([1, 2, 100], dtype=dtype), torch.tensor([3, 4, 5], dtype=dtype)
    found = types[name](a, b)
    assert found.dtype == dtype
    assert torch.equal(found, a + b)


def test_unsigned_32(types: slang.SlangModule) -> None:
    found = types.add_u32(torch.tensor([1, 2], dtype=torch.uint32), 3)
    assert found.dtype == torch.uint32
    assert found.tolist() == [4, 5]


def test_half_float_double(types: slang.SlangModule) -> None:
    for name, dtype in (("half_twice", torch.float16), ("double_twice", torch.float64), ("twice", torch.float32)):
        x = torch.tensor([0.5, -3.0], dtype=dtype)
        assert torch.equal(types[name](x), 2 * x)


def test_half_gradient(types: slang.SlangModule) -> None:
    x = torch.tensor([0.5, -3.0], dtype=torch.float16, requires_grad=True)
    types.half_square(x).sum().backward()
    assert torch.equal(x.grad, 2 * x.detach())


def test_bools(types: slang.SlangModule) -> None:
    a, b = torch.tensor([True, True, False]), torch.tensor([True, False, False])
    assert torch.equal(types.both(a, b), a & b)
    assert torch.equal(types.both(a, True), a)
    assert types.positive(torch.tensor([1.0, -1.0])).tolist() == [True, False]
    assert types.choose(a, 1.0, 2.0).tolist() == [1.0, 1.0, 2.0]


def test_vectors_and_matrices(types: slang.SlangModule) -> None:
    m, v = torch.randn(3, 3), torch.randn(7, 3)
    torch.testing.assert_close(types.transformed(m, v), v @ m.T)
    torch.testing.assert_close(types.scaled(v, 2.0), 2 * v)
    torch.testing.assert_close(
        types.scaled((1.0, 2.0, 3.0), torch.tensor([1.0, 2.0])), torch.tensor([[1.0, 2, 3], [2, 4, 6]])
    )
    a, b = torch.randn(4, 2), torch.randn(4, 3)
    torch.testing.assert_close(types.outer(a, b), a[:, :, None] * b[:, None, :])


def test_gradients_of_vectors_and_matrices(types: slang.SlangModule) -> None:
    m, v = torch.randn(3, 3, requires_grad=True), torch.randn(7, 3, requires_grad=True)
    weight = torch.randn(7, 3)
    found = torch.autograd.grad((types.transformed(m, v) * weight).sum(), (m, v))
    expected = torch.autograd.grad(((v @ m.T) * weight).sum(), (m, v))
    torch.testing.assert_close(found, expected)


def test_arrays(types: slang.SlangModule) -> None:
    a = torch.randn(6, 5, requires_grad=True)
    weights = torch.arange(1.0, 6.0)
    found = types.sum5(a)
    torch.testing.assert_close(found, a.detach() @ weights)
    found.sum().backward()
    torch.testing.assert_close(a.grad, weights.expand(6, 5))
    large = torch.randn(3, 100)
    torch.testing.assert_close(types.big(large), large.sum(1), rtol=1e-5, atol=1e-5)
    assert types.powers(torch.tensor([2.0, 3.0])).tolist() == [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]]


@dataclass
class Ray:
    origin: torch.Tensor
    direction: torch.Tensor


@pytest.mark.parametrize("make", [dict, Ray], ids=["dict", "dataclass"])
def test_structs(types: slang.SlangModule, make: type) -> None:
    origin, direction = torch.randn(3), torch.randn(5, 3)
    ray = make(origin=origin, direction=direction)
    t = torch.randn(5)
    torch.testing.assert_close(types.at(ray, t), origin + t[:, None] * direction)
    back = types.reversed(ray)
    torch.testing.assert_close(back, {"origin": origin.expand(5, 3), "direction": -direction})


def test_gradients_of_structs(types: slang.SlangModule) -> None:
    pair = {"x": torch.randn(4, requires_grad=True), "y": torch.randn(4, 2, requires_grad=True)}
    leaves = list(pair.values())
    found = torch.autograd.grad(types.combine(pair).sum(), leaves)
    expected = torch.autograd.grad((pair["x"] * pair["y"][:, 0] + pair["y"][:, 1]).sum(), leaves)
    torch.testing.assert_close(found, expected)
    out = types.doubled(pair)
    found = torch.autograd.grad(out["x"].sum() + 3 * out["y"].sum(), leaves)
    torch.testing.assert_close(found, (torch.full((4,), 2.0), torch.full((4, 2), 6.0)))


def test_nested_struct_with_a_field_without_gradient(types: slang.SlangModule) -> None:
    x, y, z, label = (torch.randn(size, requires_grad=True) for size in ((4,), (4, 2), (4,), (4,)))
    out = types.deep({"pair": {"x": x, "y": y}, "z": z, "label": label})
    torch.testing.assert_close(out, x * z + y[:, 1] * label)
    found = torch.autograd.grad(out.sum(), (x, z, label), allow_unused=True)
    assert found[2] is None
    torch.testing.assert_close(found[:2], (z.detach(), x.detach()))


def test_out_parameters_are_returned_or_filled(types: slang.SlangModule) -> None:
    x = torch.randn(5, requires_grad=True)
    s, c = types.sincos_of(x)
    torch.testing.assert_close((s, c), (x.sin(), x.cos()))
    found = torch.autograd.grad(s.sum() + 2 * c.sum(), x)[0]
    torch.testing.assert_close(found, x.cos() - 2 * x.sin())
    filled = torch.empty(5)
    assert types.sincos_of(x.detach(), s=filled) is not None
    torch.testing.assert_close(filled, x.detach().sin())
    result, square = types.with_out(x)
    torch.testing.assert_close((result, square), (x + 1, x * x))


def test_only_one_output_is_used(types: slang.SlangModule) -> None:
    x = torch.randn(5, requires_grad=True)
    torch.testing.assert_close(torch.autograd.grad(types.with_out(x)[1].sum(), x)[0], 2 * x.detach())


def test_functions_without_a_result(types: slang.SlangModule) -> None:
    counts = torch.zeros(3, dtype=torch.int32)
    assert types.count(counts) is None
    assert counts.tolist() == [1, 1, 1]
    assert types.count(4) == 5


def test_inout_keeps_gradients(types: slang.SlangModule) -> None:
    leaf, by = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    x = leaf * 1
    types.grow(x, by)
    found = torch.autograd.grad(x.sum(), (leaf, by))
    torch.testing.assert_close(found, (by.detach(), leaf.detach()))


def test_generics_and_overloads(types: slang.SlangModule) -> None:
    for dtype in (torch.float16, torch.float32, torch.float64):
        x = torch.tensor([1.5, 2.0], dtype=dtype)
        found = types.product(x, x)
        assert found.dtype == dtype
        assert torch.equal(found, x * x)
    v = torch.randn(3, 4, requires_grad=True)
    torch.testing.assert_close(types.halved(v), v / 2)
    types.halved(v).sum().backward()
    torch.testing.assert_close(v.grad, torch.full((3, 4), 0.5))
    assert types.twice(torch.tensor([1, 2], dtype=torch.int32)).dtype == torch.int32
    assert types.twice(1.5) == 3.0
    assert types.twice(2) == 4


def test_a_generic_size_may_change_from_call_to_call(types: slang.SlangModule) -> None:
    for size in (2, 3, 4):
        v = torch.randn(5, size)
        torch.testing.assert_close(types.halved(v), v / 2)


def test_generic_arguments_by_name(types: slang.SlangModule) -> None:
    a, b = torch.randn(6, 8, requires_grad=True), torch.randn(5)
    found, expected = types["ends<8, 5>"](a, b), a[:, -1] * 8 + b[0] * 5
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(torch.autograd.grad(found.sum(), a), torch.autograd.grad(expected.sum(), a))
    x = torch.tensor([1.5], dtype=torch.float64)
    assert types["product<double>"](x, x).item() == 2.25
    for name in ("ends<8>", "ends<nothing>", "plain<8>"):
        with pytest.raises(slang.UnknownFunctionError, match=f"no function '{name}' in the Slang module"):
            types[name]


def test_arrays_of_structs(types: slang.SlangModule) -> None:
    x, y = torch.randn(5, 4, requires_grad=True), torch.randn(4, 2, requires_grad=True)
    found, expected = types.dots({"x": x, "y": y}), (x * torch.arange(1.0, 5) * y[:, 1]).sum(-1)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(each.sum(), (x, y)) for each in (found, expected)))
    found = types.two_of({"x": x, "y": y}, 2.0)
    torch.testing.assert_close(found["x"], torch.stack([x, 2 * x], -1))
    torch.testing.assert_close(found["y"], torch.stack([y, 2 * y], -2).expand(5, 4, 2, 2))
    pairs = {"x": torch.randn(7, 50), "y": torch.randn(50, 2)}
    expected = (pairs["x"] * torch.arange(50)).sum(1) + pairs["y"][:, 1].sum()
    torch.testing.assert_close(types.many(pairs), expected, rtol=1e-4, atol=1e-3)
    with pytest.raises(
        slang.SlangShapeError, match=r"'p\[\].x' has the wrong sizes; got \(5, 3\); expected \(\.\.\., 4\)"
    ):
        types.dots({"x": torch.ones(5, 3), "y": y})


def test_an_array_of_structs_in_a_struct(types: slang.SlangModule) -> None:
    x, y, z = torch.randn(7, 4, requires_grad=True), torch.randn(7, 4, 2), torch.randn(7)
    found = types.inside({"pairs": {"x": x, "y": y}, "z": z})
    torch.testing.assert_close(found, x[:, 2] * z + y[:, 0, 0])
    expected = torch.zeros(7, 4)
    expected[:, 2] = z
    torch.testing.assert_close(torch.autograd.grad(found.sum(), x)[0], expected)


FLOATS = """
import "slangpy";
[Differentiable] double squared(int idx, IDiffTensor<double, 1> x) { return x[idx] * x[idx]; }
[Differentiable] half half_squared(int idx, IDiffTensor<half, 1> x) { return x[idx] * x[idx]; }
[Differentiable] float length2(int idx, IDiffTensor<float3, 1> x) { return dot(x[idx], x[idx]); }
"""


def test_whole_tensors_of_every_float_type() -> None:
    tensors, index = slang.load(FLOATS), slang.grid((4,))
    for function, dtype in ((tensors.squared, torch.float64), (tensors.half_squared, torch.float16)):
        x = torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
        function(index, x).sum().backward()
        assert torch.equal(x.grad, 2 * x.detach())
    assert torch.autograd.gradcheck(
        lambda x: tensors.squared(index, x), (torch.randn(4, dtype=torch.float64, requires_grad=True),)
    )
    v = torch.randn(4, 3, requires_grad=True)
    tensors.length2(index, v).sum().backward()
    torch.testing.assert_close(v.grad, 2 * v.detach())


def test_numbers_and_numpy(types: slang.SlangModule) -> None:
    assert types.plain(3.0) == 9.0
    assert types.plain([3.0, 1.0]).tolist() == [9.0, 1.0]
    assert types.plain(np.float32(3)) == 9.0
    found = types.plain(np.array([1.0, 2.0], dtype=np.float32))
    assert torch.equal(found, torch.tensor([1.0, 4.0]))


def test_views(tensors: slang.SlangModule) -> None:
    t = torch.randn(4, 2, 3)
    torch.testing.assert_close(tensors.total(t[0]), t[0].sum())
    torch.testing.assert_close(tensors.total(t), t.sum((1, 2)))
    sizes = torch.rand(5, 3)
    torch.testing.assert_close(tensors.volume(sizes), sizes.prod(1).sum())
    grid = torch.zeros(2, 3)
    tensors.positions(slang.grid((2, 3)), grid)
    assert grid.tolist() == [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]
    assert tensors.flat(slang.grid((2, 3))).tolist() == [[0, 1, 2], [10, 11, 12]]


def test_a_view_keeps_what_is_not_written(tensors: slang.SlangModule) -> None:
    target = torch.full((4,), 7.0)
    tensors.even_only(slang.grid((4,)), target)
    assert target.tolist() == [1.0, 7.0, 1.0, 7.0]
