"""Models that switch gradients off inside, or have a custom backward, neither of which an export shows.

The graph of such a model gives right results, but perhaps other gradients. So the gradients of a model that switches
them off are compared with those of the graph; where they differ, the graph is marked as one without gradients, as it
is with a custom backward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CellType, FunctionType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from ..graph.graph import Body, Graph, Node, Operator
from ..graph.traverse import own_constants
from ..graph.types import TensorType
from ..runtime.placement import home_of_body
from ..runtime.plan import Plan
from ..runtime.primitives.random import draws_undone
from ..runtime.user_code import attribute, functions_in, is_users, names_in
from .agreement.flat_results import same_leaves
from .call import separate
from .convert.layout_guards import with_gradient_guards
from .patches.lock import Patch, Patched
from .user_model.held_weights import HeldWeights

_heard: list[type] = []
_T: Any = torch.Tensor
_ASKS = (_T.requires_grad.__get__, _T.is_leaf.__get__, _T.grad_fn.__get__, _T.register_hook)


def _noting(original: Any, patch: Patch) -> Any:
    @classmethod  # type: ignore[misc]  # it replaces one
    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if patch.needed:
            _heard.append(cls)
        return original.__get__(None, cls)(*args, **kwargs)

    return apply


_applied = Patch(torch.autograd.Function, "apply", _noting)


class Questions(TorchFunctionMode):
    """While it is entered, finds out whether gradients may take another way than the model's results.

    So it is where the model sets or asks for the mode of gradients, has a custom backward, or asks whether a tensor
    takes gradients, as one does that then hangs a hook on it. Afterwards `decides` says so, and `custom` names a class
    with a custom backward that is not torch's own. `held` knows the weights that the model was seen to use.

    Args:
        model: the model.
        expected: how often the caller of the model switches the mode.
    """

    def __init__(self, model: Any, expected: int) -> None:
        super().__init__()
        self.switches, self.expected, self.asks = 0, expected, False
        self.held = HeldWeights()
        self._names_mode = _names_mode(model)
        self._patched = Patched(_applied)

    def __enter__(self) -> Any:
        _heard.clear()
        self._patched.__enter__()
        return super().__enter__()  # type: ignore[no-untyped-call]  # torch leaves it untyped

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._patched.__exit__(*exc)
        self.decides = bool(_heard) or self.switches > self.expected or self.asks or self._names_mode
        self.custom = next((cls.__name__ for cls in _heard if not cls.__module__.startswith("torch.")), "")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every torch function."""
        if func is torch._C._set_grad_enabled:
            self.switches += 1
        self.asks = self.asks or func in _ASKS
        result = func(*args, **(kwargs or {}))
        self.held.note((args, kwargs), result)
        return result


def _names_mode(model: Any) -> bool:
    """Whether the code of a model's forward, or of a function that it calls, names what torch tells no mode of."""
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else [model]
    pending = [*_methods(parts, "forward"), *(part for part in parts if isinstance(part, FunctionType))]
    seen = set[int]()
    while pending:
        function = pending.pop()
        if id(function) in seen or len(seen) > _MOST_FUNCTIONS or not is_users(function.__code__.co_filename):
            continue
        seen.add(id(function))
        names = names_in(function.__code__)
        if not _MODES.isdisjoint(names):
            return True
        cells = [cell.cell_contents for cell in function.__closure__ or () if cell != _EMPTY]
        found = [*(function.__globals__.get(name) for name in names), *cells]
        pending += [each for each in found if isinstance(each, FunctionType)]
        pending += [each for name in names for each in _methods(parts, name)]
    return False


def _methods(parts: Sequence[Any], name: str) -> Iterator[FunctionType]:
    """The methods of a name that the user's own classes of some parts have."""
    for kind in {type(part) for part in parts}:
        yield from functions_in(getattr(kind, name, None))


_EMPTY = CellType()
_MODES = frozenset(("inference_mode", "is_grad_enabled", "is_inference_mode_enabled"))
_MOST_FUNCTIONS = 2000


def without_gradients(
    body: Body, model: Any, reference: Callable[..., Any], tensors: Sequence[Any], custom: str
) -> Body:
    """The body, marked if its gradients are not those of the model, or come from a backward that no file holds.

    Args:
        body: the lowered model.
        model: the user's model.
        reference: the model with gradients, as a function of flat tensors.
        tensors: the example.
        custom: the name of a class with a backward that is not torch's own; no trial tells what that does elsewhere.
    """
    if custom:
        return _marked(body, f"op {body.name!r}: {custom} has a custom backward, which is not recorded")
    if _same_gradients(body, model, reference, tensors):
        return body
    return _marked(body, f"op {body.name!r} switches gradients off inside, or has a backward of its own")


def with_plain_inputs(body: Body, reference: Callable[[], Callable[..., Any]], tensors: Sequence[Any]) -> Body:
    """The body, with guards against inputs that require gradients if the model answers otherwise for these.

    Args:
        body: the lowered model.
        reference: makes the model in its initial state, as a function of flat tensors.
        tensors: the example.
    """
    kinds = [value.type for value in body.graph.inputs]
    leaves = [_leaf(t, kind) for t, kind in zip(tensors, kinds, strict=True)]
    try:
        with draws_undone(lambda: reference()(*separate(tensors))):
            plain, asked = (pytree.tree_leaves(reference()(*given)) for given in (separate(tensors), leaves))
    except Exception:  # the model takes none of these
        return body
    if not same_leaves(plain, asked):
        body.graph = with_gradient_guards(body.graph)
    return body


def without_hooks(body: Body, model: Any, weights: HeldWeights) -> Body:
    """The body, marked if hooks change or see the gradients of the model, or go on in what made a tensor that it holds.

    A pipeline has neither. It is marked, too, where the model holds one of its weights a second time, and that without
    gradients, which the export does not tell from the weight.
    """
    constants = own_constants(body.graph)
    if any(constant.tensor.grad_fn is not None for constant in constants):
        return _marked(body, f"op {body.name!r} holds a tensor that was computed with gradients")
    if weights.are_unclear(body.graph):
        return _marked(body, f"op {body.name!r} holds a weight a second time, detached and not as a buffer")
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    own = [parameter for module in modules for parameter in module.parameters(recurse=False)]
    if not any(map(has_hooks, [*modules, *own, *(constant.tensor for constant in constants)])):
        return body
    return _marked(body, f"op {body.name!r} has hooks on its gradients, which no file holds")


def has_hooks(thing: Any) -> bool:
    """Whether a module or a tensor has hooks on its gradients."""
    return any(attribute(thing, name) for name in _HOOKS)


_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_post_accumulate_grad_hooks")


def _marked(body: Body, text: str) -> Body:
    nodes = (Node(Operator("py.own_backward"), (text,)), *body.graph.nodes)
    body.graph = Graph(body.graph.inputs, nodes, body.graph.output)
    return body


def _same_gradients(body: Body, model: Any, reference: Callable[..., Any], tensors: Sequence[Any]) -> bool:
    plan = Plan(body.graph, home=home_of_body(body, tensors), grad=True)
    weights = _some_weights(model) if isinstance(model, torch.nn.Module) else []
    kinds = [value.type for value in body.graph.inputs]
    for number, (scale, losses) in enumerate(_TRIED):
        given = [_leaf(t, kind, scale) for t, kind in zip(tensors, kinds, strict=True)]
        wanted, found = (_gradients(function, given, weights, losses) for function in (reference, plan.fast))
        if wanted is None or found is None:
            if number == 0:
                return False  # a model that cannot be differentiated here is not trained either
        elif not all(_near(a, b) for a, b in zip(wanted, found, strict=True)):
            return False
    return True


def _squares(result: torch.Tensor) -> torch.Tensor:
    return result.to(torch.float64).square().sum()


def _waves(height: float, result: torch.Tensor) -> torch.Tensor:
    """A loss whose gradients have both signs and some size, whatever the result is."""
    count = torch.arange(result.numel(), dtype=torch.float64, device=result.device)
    return (result.to(torch.float64) * (height * torch.cos(count * 1.7 + 0.4)).reshape(result.shape)).sum()


# A backward may cut its gradients off at a size or by their sign, and a part without gradients may be 0 on the example.
_TRIED: tuple[tuple[float, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    (1, _squares),
    (1, partial(_waves, 1)),
    (1, partial(_waves, 1e4)),
    (-1, partial(_waves, 1)),
    (300, partial(_waves, 1)),
)


def _gradients(
    function: Callable[..., Any], given: Sequence[Any], weights: Sequence[Any], loss: Callable[..., Any]
) -> list[Any] | None:
    """The gradients of inputs and weights in a loss of the results; None where it has none."""
    given = [t.detach().requires_grad_(t.requires_grad) if isinstance(t, torch.Tensor) else t for t in given]
    leaves = [t for t in given if isinstance(t, torch.Tensor) and t.requires_grad]
    try:
        with torch.enable_grad():
            results = [r for r in pytree.tree_leaves(function(*given)) if isinstance(r, torch.Tensor)]
            totals = [loss(r) for r in results if r.requires_grad]
            wanted = [*leaves, *weights]
            return list(torch.autograd.grad(totals, wanted, allow_unused=True)) if totals else [None] * len(wanted)
    except Exception:
        return None


MOST_WEIGHTS, MOST_ELEMENTS = 16, 1 << 22


def _some_weights(model: torch.nn.Module) -> list[torch.Tensor]:
    """A few parameters from all parts of a model, so that their gradients need little memory."""
    small: list[torch.Tensor] = [p for p in model.parameters() if p.requires_grad and p.numel() <= MOST_ELEMENTS]
    return small[:: max(1, len(small) // MOST_WEIGHTS)]


def _leaf(tensor: Any, kind: Any, scale: float = 1) -> Any:
    if not isinstance(tensor, torch.Tensor) or not isinstance(kind, TensorType):
        return tensor
    copy = tensor.detach().clone()
    return copy.mul_(scale).requires_grad_() if copy.is_floating_point() else copy


def _near(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    if a is None or b is None:
        given = a if b is None else b
        return given is None or not bool(given.any())
    return torch.allclose(a, b, rtol=1e-3, atol=1e-4 * float(a.abs().max()) if a.numel() else 0.0, equal_nan=True)
