"""Models and ops that a block calls: each form of call is recorded once, as a closed graph on the block's largest call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils import _pytree as pytree

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import Graph
from ....ops.graph.memory import touched
from ....ops.graph.types import SCALARS
from ....ops.lowering.user_model.isolate import KeptModel
from ....ops.op import InferenceOp
from ....ops.runtime.placement import home_of
from ....ops.runtime.plan import Plan
from ....ops.runtime.primitives.plain_code.objects.model_call import ModelCall, unheard
from ....ops.runtime.state import is_stateful
from ....ops.runtime.user_code import attribute, user_line
from ....ops.tracing_hook import recording
from ...recording.control_flow import ControlFlow
from ...recording.recorder import Recorder
from .plain_literals import UnplainError

GIVEN: Any = object()
"""Stands for an argument in the form of a call, where that is no literal."""
Form = tuple[tuple[str, Any], ...]
"""The arguments of a call: the keyword of each, empty for one by its place, and `GIVEN` or its literal."""
CALLS = "it calls the model "
"""How the reasons begin why a block cannot call a model."""
_CONTAINERS = (tuple, list, dict)


def is_model(thing: Any) -> bool:
    """Whether a block calls a thing by a graph."""
    return isinstance(thing, torch.nn.Module | InferenceOp)


def form_of(node: ast.Call) -> tuple[Form, list[ast.expr]]:
    """The form of a call in the text of a block, and the arguments that stand for `GIVEN` in it.

    Raises:
        UnplainError: it unpacks arguments.
    """
    pairs = [("", each) for each in node.args] + [(each.arg, each.value) for each in node.keywords]
    if any(name is None or isinstance(each, ast.Starred) for name, each in pairs):
        raise UnplainError(f"it unpacks the arguments of a model: {ast.unparse(node)}")
    form = tuple((name or "", each.value if isinstance(each, ast.Constant) else GIVEN) for name, each in pairs)
    return form, [each for _, each in pairs if not isinstance(each, ast.Constant)]


class CalledModel:
    """A model that a block calls in one form: on the example the model itself, then what was recorded of it.

    Args:
        thing: a model or an op.
        form: of the calls; None where the text hands it on, and it is called with arguments by their places.
    """

    def __init__(self, thing: Any, form: Form | None) -> None:
        self.thing, self.form = thing, form
        self.name = str(attribute(thing, "name", "") or type(thing).__name__)
        self.largest: tuple[Any, ...] | None = None

    def __call__(self, *args: Any) -> Any:
        """Runs the model as Python does, and notes the call."""
        found = self._noted(args)
        self.largest = found if self.largest is None or _size(found) > _size(self.largest) else self.largest
        with recording(None), torch.no_grad():
            return unheard(self._alone, *args)

    def _noted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copies of arguments.

        Raises:
            RecordError: no graph takes them, or an earlier call had others.
        """
        if bad := [each for each in args if type(each) is not torch.Tensor and type(each) not in SCALARS]:
            raise self._error(f"is given a {type(bad[0]).__name__}", "Give it tensors, numbers and texts.")
        if self.largest is not None and [*map(_kind, args)] != [*map(_kind, self.largest)]:
            raise self._error("is given several dtypes or ranks", "Give it the same kinds each time.")
        return tuple(each.detach().clone() if isinstance(each, torch.Tensor) else each for each in args)

    def _alone(self, *args: Any) -> Any:
        """Runs the model, which stays as it was.

        Raises:
            RecordError: it draws random numbers, or writes to its buffers.
        """
        is_module = isinstance(self.thing, torch.nn.Module)
        buffers = [*self.thing.buffers()] if is_module else []
        before, random = [(each, each._version, each.clone()) for each in buffers], torch.get_rng_state()
        try:
            with KeptModel(self.thing) if is_module else nullcontext():
                found = self.called(*args)
                changed = [pair for pair in before if pair[0]._version != pair[1]]
        finally:
            is_drawn = not torch.equal(random, torch.get_rng_state())
            torch.set_rng_state(random)
        for buffer, _, content in changed:
            buffer.copy_(content)
        if changed or is_drawn:
            what = "writes to its buffers" if changed else "draws random numbers"
            raise self._error(what, "Put it into evaluation mode, model.eval(), or call it outside of the loop.")
        return found

    def called(self, *args: Any) -> Any:
        """The result for the arguments that its form leaves open."""
        if self.form is None:
            return self.thing(*args)
        left = iter(args)
        pairs = [(name, next(left) if value is GIVEN else value) for name, value in self.form]
        return self.thing(*[each for name, each in pairs if not name], **{name: e for name, e in pairs if name})

    def recorded(self, recorder: Recorder) -> tuple[Graph, ModelCall]:
        """The graph of the model, and what runs it on the example.

        Raises:
            RecordError: it cannot be recorded, or each call hangs on those before.
        """
        example = self._example()
        leaves, spec = pytree.tree_flatten(example)
        try:
            found = ControlFlow(recorder, "a block").record(self.called, leaves, spec, carried=True)
        except RecordError as error:
            raise self._error(f"cannot be recorded: {error.what}", error.fix) from error
        if found.lifted:
            raise self._error("uses values from outside", "Give it all that it uses.")
        graph = found.graph({})
        output = pytree.tree_unflatten([*graph.output], found.spec) if _is_plain(found.spec) else None
        if output is None or any(not isinstance(each, torch.Tensor) for each in found.results):
            raise self._error("gives more than tensors in tuples, lists and dicts", "Return tensors of it.")
        graph = Graph(graph.inputs, graph.nodes, output)
        if is_stateful(graph) or touched(graph).written:
            raise self._error("has state, or writes to its arguments", "Hand the state through its arguments.")
        return graph, ModelCall(Plan(graph, home=home_of(example)).checked)

    def _example(self) -> tuple[Any, ...]:
        """The call that it is recorded on: the largest one, since a size of one may come out fixed."""
        known = _examples.setdefault(self.thing, {})
        key = repr([(name, value is GIVEN or value) for name, value in self.form or ()]) if self.form else ""
        found = self.largest
        earlier = known.get(key)
        if earlier is not None and (found is None or ([*map(_kind, earlier)] == [*map(_kind, found)])):
            found = earlier if found is None or _size(earlier) > _size(found) else found
        if found is None:
            raise self._error("is not called on the example", "Trace with an example on which it is called.")
        known[key] = found
        return found

    def _error(self, what: str, fix: str) -> RecordError:
        return RecordError(f"{CALLS}{self.name}, which {what}", where=str(user_line() or ""), fix=fix)


_examples: WeakKeyDictionary[Any, dict[str, tuple[Any, ...]]] = WeakKeyDictionary()
"""The largest calls of models: a second recording on other inputs may call one less, or not at all."""


def _size(args: Sequence[Any]) -> tuple[int, int]:
    """Orders calls by the sizes that stay free, then by how much they take."""
    shapes = [each.shape for each in args if isinstance(each, torch.Tensor)]
    return sum(size > 1 for shape in shapes for size in shape), sum(shape.numel() for shape in shapes)


def _kind(thing: Any) -> Any:
    return (thing.dtype, thing.dim()) if isinstance(thing, torch.Tensor) else type(thing)


def _is_plain(spec: Any) -> bool:
    """Whether containers are those that a block has."""
    if spec.is_leaf():
        return True
    return spec.type in _CONTAINERS and all(map(_is_plain, spec.children()))


def recorded_models(recorder: Recorder, given: Sequence[Any], run: Callable[[list[Any]], Any]) -> tuple[list[Any], Any]:
    """What a graph gives a block, and what the block gives, where models are among what it is given.

    Args:
        recorder: of the function.
        given: the arguments of the block.
        run: runs it on some.
    """
    run([*given])
    pairs = [each.recorded(recorder) if isinstance(each, CalledModel) else (each, each) for each in given]
    return [graph for graph, _ in pairs], run([call for _, call in pairs])
