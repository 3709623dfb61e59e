"""Sizes that a pipeline needs behind a slice, a kernel or a product: the signature says them, and nothing beyond."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tracepack
from tracepack.ops.graph.errors import SignatureError

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning")
LINEAR = tracepack.script(torch.nn.Linear(4, 3), device="cpu")
PRODUCT = tracepack.script(
    tracepack.comprehension.define(
        "def product(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", name="product"
    ),
    device="cpu",
)


class Positive(torch.nn.Module):
    """Its number of rows hangs on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.linear(x)
        return found[found[:, 0] > 0]


class Named(torch.nn.Module):
    """Texts in it keep it TorchScript."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor, names: list[str]) -> tuple[torch.Tensor, list[str]]:
        return self.linear(x), [name.upper() for name in names]


class Keeping(torch.nn.Module):
    """The same, with state."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.last = torch.nn.Linear(4, 3), torch.zeros(1)

    def forward(self, x: torch.Tensor, names: list[str]) -> tuple[torch.Tensor, list[str]]:
        self.last = self.linear(x)
        return self.last * 1, [name.upper() for name in names]


def scripted(model: torch.nn.Module) -> tracepack.InferenceOp:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at the import of this file
        return tracepack.script(torch.jit.script(model), device="cpu")


SCRIPTED = scripted(torch.nn.Linear(4, 3))
VARYING = tracepack.script(Positive(), device="cpu")
X, Y = torch.rand(3, 5), torch.rand(5, 2)

NEEDED = {
    "a model behind a slice": (lambda x: LINEAR(x[:, 1:]), (X,), "(x: f32[N,5])", [(3, 4)]),
    "a ScriptModule behind a slice": (lambda x: SCRIPTED(x[:, 1:]), (X,), "(x: f32[N,5])", [(3, 4)]),
    "a model whose rows data decides": (lambda x: VARYING(x[:, 1:]), (X,), "(x: f32[N,5])", [(3, 4)]),
    "its result beside": (
        lambda x, y: (VARYING(x[:, 1:]).sum(), VARYING(y * 2)), (X, X[:, :4]), "(x: f32[N,5], y: f32[M,4])",
        [(3, 4), (3, 4)],
    ),
    "a product": (lambda x, y: x @ y, (X, Y), "(x: f32[N,M], y: f32[M,K])", [(3, 5), (4, 2)]),
    "a product of slices": (
        lambda x, y: x[:, 1:] @ y, (X, Y[1:]), "(x: f32[N,M], y: f32[K,L])", [(3, 5), (5, 2)],
    ),
    "a comprehension": (
        lambda x, y: PRODUCT(x, y), (X, Y), "(x: f32[N,M], y: f32[M,K])", [(3, 5), (3, 2)],
    ),
    "a comprehension of an inner value": (
        lambda x, y: PRODUCT(x.exp(), y * 2), (X, Y), "(x: f32[N,M], y: f32[M,K])", [(3, 5), (3, 2)],
    ),
    "a list of sizes": (lambda x: sum(x.split([2, 3], 1)[0].unbind(1)), (X,), "(x: f32[N,5])", [(3, 6)]),
    "channels": (
        lambda x: torch.nn.functional.conv1d(x.mul(2), torch.ones(1, 3, 1)), (X[None],), "(x: f32[N,3,M])", [(1, 4, 5)],
    ),
    "beside data": (
        lambda x, y: (x[x > 0.5].sum(), x @ y), (X, Y), "(x: f32[N,M], y: f32[M,K])", [(3, 5), (4, 2)],
    ),
    "beside a number": (
        lambda x, y, k: (x[:, k:].sum(), x @ y), (X, Y, 1), "(x: f32[N,M], y: f32[M,K], k: int)", None,
    ),
}  # fmt: skip
GRU = tracepack.script(torch.nn.GRUCell(5, 4), device="cpu")
FREE = {
    "equal sizes that are read as numbers": (
        lambda x, h: LINEAR(GRU(x * 2, h * 1)), (X, torch.rand(3, 4)), (torch.rand(2, 5), torch.rand(2, 4)),
    ),
    "sizes that broadcast": (lambda x, y: x + y, (X, X.clone()), (torch.rand(2, 4), torch.rand(1, 4))),
    "one row for all": (lambda x, y: x * y, (X, torch.rand(5)), (torch.rand(2, 4), torch.rand(1))),
    "as many as there are": (lambda x, y: x[:, : y.shape[0]], (X, torch.rand(5)), (torch.rand(2, 4), torch.rand(9))),
    "as a number says": (lambda x, k: LINEAR(x[:, k:]), (X, 1), (torch.rand(2, 7), 3)),
    "padded to a size": (
        lambda x: LINEAR(torch.nn.functional.pad(x, (0, 4 - x.shape[1]))), (torch.rand(3, 2),), (torch.rand(2, 3),),
    ),
    "as many items": (lambda x, y: x.view(y.shape) * y, (X, X.clone()), (torch.rand(4, 1), torch.rand(2, 2))),
    "the first ones": (lambda x: LINEAR(x[:, :4]), (X,), (torch.rand(2, 9),)),
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_what_is_needed_is_in_the_signature(name) -> None:
    process, examples, wanted, refused = NEEDED[name]
    mod = tracepack.trace(process, *examples)
    assert mod.signature.partition(" -> ")[0] == wanted
    if refused:
        with pytest.raises(SignatureError, match="dimension|sizes"):
            mod(*map(torch.rand, refused))


@pytest.mark.parametrize("name", FREE)
def test_what_may_be_otherwise_stays_free(name) -> None:
    process, examples, others = FREE[name]
    mod = tracepack.trace(process, *examples)
    torch.testing.assert_close(mod(*others), process(*others), rtol=0, atol=0)


def test_a_size_that_follows_from_another_is_a_condition() -> None:
    mod = tracepack.trace(lambda x, y: x[:, 1:] @ y, X, Y[1:])
    assert mod.signature == "(x: f32[N,M], y: f32[K,L]) -> f32[N,L] where K == M - 1"
    with pytest.raises(SignatureError, match=r"do not satisfy K == M - 1; got .*M = 5 .*"):
        mod(X, Y)
    assert mod(torch.rand(2, 8), torch.rand(7, 3)).shape == (2, 3)


def test_a_vector_of_slang_has_its_size() -> None:
    pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")
    module = tracepack.slang.load("float norm(float3 p) { return sqrt(dot(p, p)); }")
    norm = tracepack.script(module.norm, device="cpu")
    mod = tracepack.trace(lambda p: norm(p[..., 2:]), torch.rand(6, 5))
    assert mod.signature == "(p: f32[N,5]) -> f32[N]"
    with pytest.raises(SignatureError, match="dimension 1 has a wrong size; got 4 .* expected 5"):
        mod(torch.rand(6, 4))
    assert tracepack.trace(lambda p: norm(p), torch.rand(6, 3)).signature == "(p: f32[N,3]) -> f32[N]"


@pytest.mark.filterwarnings("ignore::tracepack.OpaqueOpWarning")
def test_a_model_that_stays_torchscript_has_its_sizes() -> None:
    op = scripted(Named())
    mod = tracepack.trace(lambda x: op(x[:, 1:], ["a"])[0], X)
    assert mod.signature == "(x: f32[N,5]) -> f32[N,3]"
    with pytest.raises(SignatureError, match="dimension 1 has a wrong size; got 4 .* expected 5"):
        mod(torch.rand(6, 4))
    other = torch.rand(4, 5)
    torch.testing.assert_close(mod(other), op(other[:, 1:], ["a"])[0], rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore::tracepack.OpaqueOpWarning")
def test_a_model_with_state_is_not_run_without_data() -> None:
    """It would keep a tensor without data."""
    op = scripted(Keeping())
    mod = tracepack.trace(lambda x: op(x[:, 1:], ["a"])[0], X)
    assert mod.signature == "(x: f32[N,M]) -> f32[N,?]"
    torch.testing.assert_close(mod(X), op(X[:, 1:], ["a"])[0], rtol=0, atol=0)


@pytest.mark.parametrize(
    "process",
    [
        lambda x: LINEAR(torch.from_numpy(x.astype(np.float32))),
        lambda x: LINEAR(torch.from_numpy(x).float()),
        lambda x: LINEAR(torch.tensor(x, dtype=torch.float32)),
        lambda x: LINEAR(torch.as_tensor(np.asarray(x, dtype=np.float32))),
    ],
)
def test_the_columns_of_an_array_are_those_of_the_op_that_takes_it(process) -> None:
    mod = tracepack.trace(process, np.random.default_rng(0).random((5, 4)))
    assert mod.signature == "(x: f64[N,4]) -> f32[N,3]"
    assert mod.inputs[0].shape == ("N", 4)
    with pytest.raises(
        SignatureError, match="input 'x': dimension 1 has a wrong size; got 3 in shape .2, 3.; expected"
    ):
        mod(np.zeros((2, 3)))


def test_the_columns_of_an_estimator_are_in_the_signature() -> None:
    pytest.importorskip("skl2onnx", reason="the extra 'onnx' is not installed")
    from sklearn.preprocessing import StandardScaler

    rows = np.random.default_rng(0).random((9, 4)).astype(np.float32)
    op = tracepack.script(StandardScaler().fit(rows), example=rows)
    for example in (rows, torch.from_numpy(rows)):
        mod = tracepack.trace(lambda x: op(x), example)
        assert mod.signature == "(x: f32[N,4]) -> f32[N,4]"


def test_an_array_that_is_reshaped_before_has_sizes_of_its_own() -> None:
    mod = tracepack.trace(lambda x: LINEAR(torch.from_numpy(x).reshape(-1, 4)), np.zeros((2, 8), np.float32))
    assert mod.signature.startswith("(x: f32[N,M]) -> ")
    assert mod(np.zeros((3, 4), np.float32)).shape == (3, 3)
    turned = tracepack.trace(lambda x: LINEAR(torch.from_numpy(x).clone().t_()), np.zeros((4, 2), np.float32))
    assert turned(np.zeros((4, 5), np.float32)).shape == (5, 3)


LAYER = tracepack.script(torch.nn.Linear(4, 3).eval(), device="cpu")


def carrying(x):
    state = torch.zeros(3)
    for row in x:
        state = state * 0.5 + LAYER(row)
    return state


@pytest.mark.parametrize(
    "process",
    [
        lambda x: torch.stack([LAYER(row) for row in x]),
        lambda x: tracepack.map(LAYER, x),
        lambda x: [LAYER(row) + place for place, row in enumerate(x)],
        lambda x: [LAYER(row) + LAYER(other) for row, other in zip(x, x * 2, strict=True)],
        carrying,
    ],
)
def test_what_a_model_needs_of_rows_is_a_size_of_the_input(process) -> None:
    mod = tracepack.trace(process, torch.rand(2, 4))
    assert mod.signature.startswith("(x: f32[N,4])")
    assert mod.json_schema()["properties"]["inputs"]["properties"]["x"]["x-shape"] == ["N", 4]
    torch.testing.assert_close(mod(x := torch.rand(5, 4)), process(x), rtol=0, atol=0)
    with pytest.raises(tracepack.SignatureError, match="dimension 1 has a wrong size; got 5 in shape"):
        mod(torch.rand(2, 5))


def test_rows_of_rows_have_the_size_that_a_model_needs() -> None:
    mod = tracepack.trace(lambda x: [[LAYER(row) for row in rows] for rows in x], torch.rand(2, 3, 4))
    assert mod.signature == "(x: f32[N,M,4]) -> any"


def ending(x):
    state = torch.zeros(3)
    for row in x:
        if row.sum() > 3:
            break
        state = state + LAYER(row)
    return state


@pytest.mark.parametrize("process", [lambda x: [LAYER(row) for row in x if row.sum() > 1], ending])
def test_rows_that_a_model_may_never_see_are_free(process) -> None:
    mod = tracepack.trace(process, torch.ones(2, 4) / 2)
    assert mod.signature.startswith("(x: f32[N,M])")
    torch.testing.assert_close(mod(x := torch.ones(2, 5) * 9 * (1 if process is ending else -1)), process(x))
