"""What a Slang function has no derivative for is an error in every way of asking, never a zero or a missing tangent."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import torch
import torch.autograd.forward_ad as forward
from torch.autograd.functional import hessian, jacobian

import tracepack as tp
from tracepack.ops import slang
from tracepack.ops.comprehension.expr.errors import DerivativeError

pytestmark = [
    # torch's forward mode compiles its own decompositions with torch.jit.script when it is first used.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
    # torch.compile reads the gradient of every argument.
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"),
]

Function = Callable[[torch.Tensor], torch.Tensor]
QUARTIC = "[Differentiable] float quartic(float x) { return 2 * x * x * x * x + 8 * x - 1; }"
PLAIN = "float plain(float x) { return x * x; }"
SECOND = (
    r"quartic\(float x\): Slang functions can be differentiated once, and a second derivative was asked for\. Write"
)
FORWARD = r"float x\): Slang functions have no forward-mode derivative\. Use torch\.autograd\.grad or \.backward\(\)"
SEVERAL = r"gradients of Slang functions are not taken several at once\. Leave is_grads_batched=True and vectorize=True"
FUNC = r"Slang functions cannot be differentiated by torch\.func\. Use torch\.autograd\.grad"


class Model(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x) + 0


@pytest.fixture(scope="module")
def module() -> slang.SlangModule:
    return slang.load(QUARTIC + PLAIN)


@pytest.fixture(scope="module")
def ways(module: slang.SlangModule) -> dict[str, Function]:
    function, file, x = module.quartic, io.BytesIO(), torch.rand(3)
    op = tp.script(function)
    tp.trace(lambda x: op(x * 1.0), x).save(file)
    return {
        "eager": function,
        "op": op,
        "kernel": function.kernel(x),
        "compiled": torch.compile(lambda x: function(x) + 0, backend="eager"),
        "exported": torch.export.export(Model(function), (x,)).module(),
        "loaded": tp.load(file.getvalue(), trust=True, grad=True),
        "vmap": torch.vmap(function),
    }


@pytest.fixture(autouse=True)
def fresh_dynamo() -> None:
    """What one test compiled under a transform would be met by the next."""
    torch._dynamo.reset()


WAYS = pytest.mark.parametrize("way", ["eager", "op", "kernel", "compiled", "exported", "loaded", "vmap"])


@WAYS
def test_one_derivative_is_there(ways: dict[str, Function], way: str) -> None:
    x = torch.randn(3, requires_grad=True)
    for create_graph in (False, True):
        (found,) = torch.autograd.grad(ways[way](x).sum(), x, create_graph=create_graph)
        torch.testing.assert_close(found.detach(), 8 * x.detach() ** 3 + 8)
    torch.testing.assert_close(jacobian(ways[way], x.detach()), torch.diag(8 * x.detach() ** 3 + 8))


@WAYS
def test_a_second_derivative_is_refused(ways: dict[str, Function], way: str) -> None:
    function, w = ways[way], torch.randn(3, requires_grad=True)
    with pytest.raises(slang.SlangError, match=SECOND):
        hessian(lambda x: function(x).sum(), torch.rand(3))
    for x in (w, w * 2):  # the function's argument a leaf, and not
        (first,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        with pytest.raises(slang.SlangError, match=SECOND):
            torch.autograd.grad(first.sum(), x, retain_graph=True)
        with pytest.raises(slang.SlangError, match=SECOND):
            torch.autograd.grad(first.sum(), x, allow_unused=True)


@WAYS
def test_forward_mode_is_refused(ways: dict[str, Function], way: str) -> None:
    function, x = ways[way], torch.rand(3)
    refused = (slang.SlangError, RuntimeError) if way == "compiled" else slang.SlangError  # dynamo wraps it in its own
    with forward.dual_level(), pytest.raises(refused, match="Slang functions have no forward-mode derivative"):
        function(forward.make_dual(x, torch.ones(3)))
    with torch.no_grad(), forward.dual_level(), pytest.raises(refused, match="have no forward-mode derivative"):
        function(forward.make_dual(x, torch.ones(3)))
    if way == "compiled":
        return  # torch.compile looks into our Python below torch.func, and complains of that; see the next test
    with pytest.raises(slang.SlangError, match=f"{FORWARD}|{FUNC}"):
        torch.func.jvp(function, (x,), (torch.ones(3),))
    with pytest.raises(slang.SlangError, match=f"{FORWARD}|{FUNC}"):
        torch.func.jacfwd(function)(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_forward_mode_inside_of_a_compiled_function_is_refused(module: slang.SlangModule, backend: str) -> None:
    def by_hand(x: torch.Tensor) -> torch.Tensor:
        with forward.dual_level():
            return forward.unpack_dual(module.quartic(forward.make_dual(x, torch.ones(3)))).tangent

    def by_func(x: torch.Tensor) -> torch.Tensor:
        return torch.func.jvp(module.quartic, (x,), (torch.ones(3),))[1]

    for function in (by_hand, by_func):
        with pytest.raises(RuntimeError, match="Slang functions have no forward-mode derivative"):
            torch.compile(function, backend=backend)(torch.rand(3))


@WAYS
def test_a_tensor_without_a_tangent_is_taken(ways: dict[str, Function], way: str) -> None:
    if way in ("vmap", "compiled"):
        pytest.skip("under torch.vmap and torch.compile nothing tells that a tensor has no tangent: all are refused")
    x = torch.rand(3)
    with forward.dual_level():
        torch.testing.assert_close(ways[way](x), 2 * x**4 + 8 * x - 1)


@WAYS
def test_several_gradients_at_once(ways: dict[str, Function], way: str) -> None:
    x = torch.rand(3, requires_grad=True)
    y = ways[way](x)
    with pytest.raises(slang.SlangError, match=SEVERAL):
        torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, retain_graph=True)
    with pytest.raises(slang.SlangError, match=SEVERAL):
        jacobian(ways[way], x.detach(), vectorize=True)
    rows = torch.vmap(lambda row: torch.autograd.grad(y, x, row, retain_graph=True)[0])(torch.eye(3))
    torch.testing.assert_close(rows, torch.diag(8 * x.detach() ** 3 + 8))


def test_several_outputs_under_vmap() -> None:
    module = slang.load("[Differentiable] void powers(float x, out float a, out float b) { a = x * x; b = x * x * x; }")
    x = torch.rand(3, requires_grad=True)
    _, cube = module.powers(x)  # the gradient of the other output is missing
    rows = torch.vmap(lambda row: torch.autograd.grad(cube, x, row, retain_graph=True)[0])(torch.eye(3))
    torch.testing.assert_close(rows, torch.diag(3 * x.detach() ** 2))


@pytest.mark.parametrize("name", ["quartic", "plain"])
@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.jacrev, torch.func.hessian])
def test_torch_func_is_refused(module: slang.SlangModule, name: str, transform: Callable[..., Function]) -> None:
    for function in (module[name], torch.vmap(module[name])):
        with pytest.raises(slang.SlangError, match=FUNC):
            transform(lambda x, f=function: f(x).sum())(torch.rand(3))


def test_a_function_without_a_derivative_has_no_tangent(module: slang.SlangModule) -> None:
    with forward.dual_level(), pytest.raises(slang.SlangError, match=FORWARD):
        module.plain(forward.make_dual(torch.rand(3), torch.ones(3)))


def test_comprehensions() -> None:
    """Their second derivatives are right; forward mode and several gradients at once are refused."""
    layer, x = tp.comprehension.define("def f(float(N) X) -> (Y) { Y(n) = X(n) * X(n) * X(n) }"), torch.rand(3)
    torch.testing.assert_close(hessian(lambda x: layer(x).sum(), x), torch.diag(6 * x))
    with forward.dual_level(), pytest.raises(DerivativeError, match="'f' has no forward-mode derivative"):
        layer(forward.make_dual(x, torch.ones(3)))
    several = "gradients of layers are not taken several at once. Leave is_grads_batched=True, vectorize=True"
    with pytest.raises(DerivativeError, match=several):
        jacobian(layer, x, vectorize=True)
    compiled = torch.compile(lambda x: layer(x) + 0, backend="eager")
    with forward.dual_level(), pytest.raises(RuntimeError, match="'f' has no forward-mode derivative"):
        compiled(forward.make_dual(x, torch.ones(3)))
    with pytest.raises(DerivativeError, match=several):
        jacobian(compiled, x, vectorize=True)
    w = x.clone().requires_grad_()
    y = layer(w)
    with pytest.raises(DerivativeError, match=several):
        torch.vmap(lambda row: torch.autograd.grad(y, w, row, retain_graph=True)[0])(torch.eye(3))
