"""Calls that do not fit: each is an error of ours that names the parameter, never one of torch or the compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import tracepack
from tracepack.ops import slang
from tracepack.ops.slang.compile import client

SOURCE = """
struct Inner { float b; };
struct S { float a; Inner inner; };
float field(S s) { return s.a + s.inner.b; }
float defaulted(float x, float y = 2.0) { return x * y; }
float named(float self, float args) { return self - args; }
int2 both(int idx, float w, float x) { return int2(idx, int(w * x)); }
float product(float x, float y) { return x * y; }
struct Whole { int n; int2 m; };
void add(float x, inout float y) { y = y + x; }
void parts(float x, out S s) { s.a = x; s.inner.b = 2 * x; }
int whole(Whole s) { return s.n + s.m.x + s.m.y; }
"""


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(SOURCE)


def test_maps(module: slang.SlangModule) -> None:
    for wrong in (module.product.map, lambda **maps: module.product.map((0,), **maps)):
        with pytest.raises(
            slang.SlangArgumentError, match=r"a map for no parameter; got \['zz'\]; expected \['x', 'y'\]"
        ):
            wrong(zz=(1,))
    with pytest.raises(slang.SlangArgumentError, match="a map for no parameter; got 3 maps; expected"):
        module.product.map((0,), (0,), (0,))
    with pytest.raises(
        slang.SlangArgumentError, match="the axes of 'x' cannot be mapped; got object; expected a tensor"
    ):
        module.product.map(x=(0,))(object(), 1.0)


@pytest.mark.parametrize("axes", [0, "a", (-1,), (0, 0), (0.5,), (64,)])
def test_a_map_that_places_no_axes(module: slang.SlangModule, axes: object) -> None:
    with pytest.raises(
        slang.SlangArgumentError, match=r"the map of 'x' places no axes; got .*expected a different axis"
    ):
        module.product.map(x=axes)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"n": 1.5, "m": (1, 2)}, r"no tensor can be made for 's\.n'; got numbers that are not whole; expected int"),
        ({"n": 1, "m": (1, 2.5)}, r"'s\.m'; got numbers that are not whole; expected vector<int,2>"),
        ({"n": 1 << 40, "m": (1, 2)}, r"'s\.n'; got .*without overflow; expected int"),
        ({"n": np.array(["a"]), "m": (1, 2)}, r"the array for 's\.n' has the wrong dtype; got <U1; expected int"),
        ({"n": np.ones(2, ">i4"), "m": (1, 2)}, "the array for .* got >i4; expected int"),
    ],
)
def test_numbers_that_are_not_of_the_type(module: slang.SlangModule, value: object, text: str) -> None:
    assert module.whole({"n": 2.0, "m": (1, 2)}) == 5
    with pytest.raises(slang.SlangArgumentError, match=text):
        module.whole(value)


def test_a_number_beyond_all_floats(module: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangDtypeError, match="a number does not fit; got int too large"):
        module.product(10**400, 1.0)


def test_a_grid_in_a_map(module: slang.SlangModule) -> None:
    w, x = torch.rand(4, 1) * 9, torch.rand(4, 3) * 9
    found = module.both.map(idx=(1,), w=(0, 1), x=(0, 1))(slang.grid((3,)), w, x)
    assert torch.equal(found[..., 0], torch.arange(3, dtype=torch.int32).expand(4, 3))
    assert torch.equal(found[..., 1], (w * x).int())


def test_results(module: slang.SlangModule) -> None:
    x = torch.rand(3)
    for wrong in ("foo", 3, dict):
        with pytest.raises(slang.SlangArgumentError, match=r"no results of this kind; got .*expected a tensor to fill"):
            module.product(x, x, _result=wrong)
    torch.testing.assert_close(module.product(x, x, _result="tensor"), x * x)
    torch.testing.assert_close(torch.from_numpy(module.product(x, x, _result="numpy")), x * x)


def test_a_sparse_tensor(module: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangArgumentError, match=r"'x' is not strided; got torch\.sparse_coo.*Convert it with"):
        module.product(torch.eye(3).to_sparse(), 2.0)
    torch.testing.assert_close(module.product(torch.eye(3), 2.0), 2 * torch.eye(3))


def test_tensors_that_do_not_lie_in_one_piece(module: slang.SlangModule) -> None:
    module.product(torch.eye(3), 2.0)  # the plan of these sizes is known
    with pytest.warns(UserWarning, match="Sparse CSR"):
        compressed = torch.eye(3).to_sparse_csr()
    with pytest.raises(slang.SlangArgumentError, match=r"'x' is not strided; got torch\.sparse_csr"):
        module.product(compressed, 2.0)
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    with pytest.raises(slang.SlangArgumentError, match=r"'x' is not strided; got a nested tensor.*to_padded_tensor"):
        module.product(nested, 2.0)


def test_a_written_tensor_whose_elements_share_memory(module: slang.SlangModule) -> None:
    y = torch.ones(1)
    text = (
        r"elements of the tensor for 'y' share memory, .*; got strides \(0,\) for sizes \(3,\)\. Pass a clone of it\."
    )
    with pytest.raises(slang.SlangArgumentError, match=text):
        module.add(torch.ones(3), y.expand(3))
    assert y.tolist() == [1]


def test_written_arrays(module: slang.SlangModule) -> None:
    """Read-only ones were written, which ends the process where they are a file; backward ones were torch's error."""
    fixed, backward, x = np.zeros(3, dtype=np.float32), np.ones((2, 3), dtype=np.float32)[::-1, ::-1], torch.arange(3.0)
    fixed.flags.writeable = False
    with pytest.raises(slang.SlangArgumentError, match=r"the array for 'y' is read-only\. Pass a copy of it\."):
        module.add(x, fixed)
    with pytest.raises(slang.SlangArgumentError, match="the array for '_result' is read-only"):
        module.product(x, 2.0, _result=fixed)
    assert not fixed.any()
    assert module.product(fixed, 2.0).tolist() == [0, 0, 0]  # reading one is no warning
    module.add(x, backward)
    np.testing.assert_array_equal(backward, [[1, 2, 3], [1, 2, 3]])
    with pytest.raises(slang.SlangDtypeError, match="'_result' has a type that torch has not; got >f4"):
        module.product(x, 2.0, _result=np.zeros(3, dtype=">f4"))


def test_written_arrays_in_a_struct(module: slang.SlangModule) -> None:
    """They were left as they were, and the results returned."""
    given = {"a": np.zeros(2, dtype=np.float32), "inner": {"b": np.zeros(2, dtype=np.float32)}}
    assert module.parts(torch.tensor([1.0, 2.0]), given) is None
    np.testing.assert_array_equal(given["a"], [1, 2])
    np.testing.assert_array_equal(given["inner"]["b"], [2, 4])
    with pytest.raises(slang.SlangArgumentError, match=r"nothing can be written to 's\.a'; got 0\.0"):
        module.parts(torch.tensor([1.0, 2.0]), {"a": 0.0, "inner": {"b": torch.zeros(2)}})


def test_defaults_are_not_used(module: slang.SlangModule) -> None:
    with pytest.raises(slang.SlangArgumentError, match=r"'y' is missing\. A default of the Slang source is not used"):
        module.defaulted(3.0)
    assert module.defaulted(3.0, 4.0) == 12.0


def test_parameters_named_as_pythons(module: slang.SlangModule) -> None:
    assert module.named(self=3.0, args=1.0) == 2.0
    assert module.named(3.0, args=1.0) == 2.0


def test_unknown_fields(module: slang.SlangModule) -> None:
    assert module.field({"a": 1.0, "inner": {"b": 2.0}}) == 3.0
    with pytest.raises(
        slang.SlangArgumentError, match=r"'S' has no field 'z'; got a dict of .*expected \['a', 'inner'\]"
    ):
        module.field({"a": 1.0, "inner": {"b": 2.0}, "z": 2.0})
    with pytest.raises(slang.SlangArgumentError, match=r"'S' has no field 'inner\.c'"):
        module.field({"a": 1.0, "inner": {"b": 2.0, "c": 3.0}})


def test_a_byte_order_mark_and_a_null(tmp_path: Path) -> None:
    text = "float twice(float x) { return 2 * x; }\n"
    assert slang.load("\ufeff" + text).twice(2.0) == 4.0
    (tmp_path / "marked.slang").write_text(text, encoding="utf-8-sig")
    assert slang.load(tmp_path / "marked.slang").twice(2.0) == 4.0
    with pytest.raises(slang.SlangError, match="<text>:2: a character with the code 0 in the source"):
        slang.load(f"{text}\0{text}")
    (tmp_path / "latin.slang").write_bytes(f"{text}// \xfc\n".encode("latin-1"))
    with pytest.raises(slang.SlangError, match=r"latin\.slang:2: a Slang file is not UTF-8\. Save it as UTF-8"):
        slang.load(tmp_path / "latin.slang")


def test_an_interrupt_while_the_compiler_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer must not become that of the next request, which would be kept on the disk."""

    def interrupted(self: client.Service, process: object) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(client.Service, "_receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            slang.load("float first(float x) { return 1 * x; } // interrupted")
    for factor in (2, 3, 4):
        module = slang.load(f"float f{factor}(float x) {{ return {factor} * x; }} // after an interrupt")
        assert dir(module) == [f"f{factor}"]
        assert module[f"f{factor}"](1.0) == factor
    assert dir(slang.load("float first(float x) { return 1 * x; } // interrupted")) == ["first"]


def test_a_number_of_a_pipeline_that_does_not_fit() -> None:
    """A size or a number argument that its integer type would wrap is refused in every run, as in a plain call."""
    module = slang.load("float plus(float x, uint8_t n) { return x + n; }")
    x = torch.ones(2)
    sized = tracepack.trace(lambda x, y: module.plus(x, y.shape[0]), x, torch.ones(5))
    given = tracepack.trace(lambda x, n: module.plus(x, n), x, 5)
    operator = torch.export.export(_Plus(module), (x, 5), dynamic_shapes=(None, torch.export.Dim.DYNAMIC)).module()
    for run in (lambda n: sized(x, torch.ones(n)), lambda n: given(x, n), lambda n: operator(x, n)):
        assert torch.equal(run(255), x + 255)
        with pytest.raises(
            slang.SlangDtypeError, match=r"the number for 'n' does not fit; got 300; expected uint8_t, 0"
        ):
            run(300)


class _Plus(torch.nn.Module):
    def __init__(self, module: slang.SlangModule) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        return self.module.plus(x, n)
