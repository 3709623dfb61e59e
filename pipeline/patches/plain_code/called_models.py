"""Models and ops that a block calls: each form of call is recorded once, as a closed graph, on its largest call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch.utils import _pytree as pytree

from ....ops.graph.errors import RecordError, TracepackError
from ....ops.graph.graph import Graph, Record
from ....ops.graph.sharing.memory import touched
from ....ops.graph.types import SCALARS
from ....ops.lowering.layouts import in_order
from ....ops.lowering.user_model.isolate import KeptModel
from ....ops.lowering.user_model.write_marks import WriteMark
from ....ops.op import InferenceOp
from ....ops.runtime.placement import home_of
from ....ops.runtime.plan import Plan
from ....ops.runtime.primitives.plain_code.block_tensors import memory_of
from ....ops.runtime.primitives.plain_code.objects.model_call import ModelCall, unheard
from ....ops.runtime.primitives.plain_code.objects.model_outputs import OUTPUTS, as_outputs, is_outputs, without_caches
from ....ops.runtime.state import is_stateful
from ....ops.runtime.user_code import attribute, user_line
from ....ops.script import script
from ....ops.tracing_hook import recording
from ...recording.branch import BranchRecording
from ...recording.control_flow import ControlFlow
from ...recording.recorder import Recorder
from .call_forms import CallForm
from .plain_literals import NOT_PLAIN

MOST_TRIED = 8
"""Other inputs on which a block is tried that does not call each of its models on the example."""
CALLS = "it calls the model "
"""How the reasons begin why a block cannot call a model."""
_AS_OP = "Make an op of it before: model = tracepack.script(model)."
_ZEROS = "Begin with a tensor in place of None: state = torch.zeros(…)."
_GENERATES = (
    "Make an op of it before, model = tracepack.script(model), and write the loop with tracepack.while_loop, as 'Text "
    "generation' in docs/guide.md does."
)
_GIVES = "Let it give tensors, alone or in tuples, lists and dicts."


def is_model(thing: Any) -> bool:
    """Whether a block calls a thing by a graph."""
    return isinstance(thing, torch.nn.Module | InferenceOp)


class CalledModel:
    """A model that a block calls in one form: on the example the model itself, then what was recorded of it.

    Args:
        thing: a model or an op.
        form: of the calls; None where the text hands it on, and it is called with arguments by their places.
        kinds: of the arguments, where it is called with several; None where the first call tells them.
    """

    def __init__(self, thing: Any, form: CallForm | None, kinds: Sequence[Any] | None = None) -> None:
        self.thing, self.form, self.kinds, self.key = thing, form, kinds, repr((form, kinds))
        self.name = str(attribute(thing, "name", "") or type(thing).__name__)
        self.largest: tuple[Any, ...] | None = None
        self.orders: list[list[int]] = []  # of the dimensions of what it gives, in memory

    def __call__(self, *args: Any) -> Any:
        """Runs the model as Python does, and notes the call."""
        found = self._noted(args)
        self.largest = found if self.largest is None or _size(found) > _size(self.largest) else self.largest
        return self.answer(*args)

    def answer(self, *args: Any) -> Any:
        """What the model gives."""
        with recording(None), torch.no_grad():
            return as_outputs(unheard(self._alone, *args))

    def _noted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Copies of arguments.

        Raises:
            RecordError: no graph takes them, or an earlier call had others.
        """
        if bad := [each for each in args if type(each) is not torch.Tensor and type(each) not in SCALARS]:
            zeros = _GENERATES if type(self.thing).__module__.startswith("transformers.") else _ZEROS
            fix = zeros if bad[0] is None else "Write its parts in the call: model(x, (h, c))."
            raise self._error(f"is given a {type(bad[0]).__name__}", fix)
        if self.largest is not None and kind_of_call(args) != kind_of_call(self.largest):
            raise self._error("is given several dtypes or ranks", "Give it the same kinds each time.")
        return tuple(each.detach().clone() if isinstance(each, torch.Tensor) else each for each in args)

    def _alone(self, *args: Any) -> Any:
        """Runs the model, which stays as it was.

        Raises:
            RecordError: it draws random numbers, writes to its buffers, or gives a weight.
        """
        model = self.thing if isinstance(self.thing, torch.nn.Module) else attribute(self.thing, "model", None)
        is_module = isinstance(model, torch.nn.Module)
        buffers = [*model.buffers()] if is_module else []
        copies, random = [each.clone() for each in buffers], torch.get_rng_state()
        before = [(each, WriteMark(each, copy), copy) for each, copy in zip(buffers, copies, strict=True)]
        try:
            with KeptModel(self.thing) if self.thing is model else nullcontext():
                found = self.called(*args)
                changed = [part for part in before if part[1].is_written]
        finally:
            is_drawn = not torch.equal(random, torch.get_rng_state())
            torch.set_rng_state(random)
        for buffer, _, content in changed:
            buffer.copy_(content)
        if changed or is_drawn:
            what = "writes to its buffers" if changed else "draws random numbers"
            raise self._error(what, "Put it into evaluation mode, model.eval(), or call it outside of the loop.")
        weights = {memory_of(each) for each in (*model.parameters(), *buffers)} if is_module else set[int]()
        self.orders = [_order(each) for each in pytree.tree_leaves(found)]
        if any(memory_of(each) in weights for each in pytree.tree_leaves(found) if isinstance(each, torch.Tensor)):
            raise self._error("gives a weight or a buffer itself", "Let it give a copy: self.weight.clone().")
        return found

    def called(self, *args: Any) -> Any:
        """The result for the arguments that its form leaves open."""
        return self._as(self.thing, *args)

    def _as(self, thing: Any, *args: Any) -> Any:
        return without_caches(thing(*args) if self.form is None else self.form.call(thing, args))

    def recorded(self, recorder: Recorder) -> tuple[Graph, ModelCall]:
        """The graph of the model, and what runs it on the example.

        Raises:
            RecordError: it cannot be recorded, or each call hangs on those before.
        """
        example = self._example(recorder)
        leaves, spec = pytree.tree_flatten(example)
        try:
            found = ControlFlow(recorder, "a block").record(self.called, leaves, spec, carried=True)
        except TracepackError as error:
            lowered = self._lowered(recorder, leaves, spec)
            if lowered is None:
                fix = error.fix if isinstance(self.thing, InferenceOp) else _AS_OP
                raise self._error(f"cannot be recorded: {error.what}", fix) from error
            found = lowered
        if found.lifted:
            raise self._error("uses values from outside", "Give it all that it uses.")
        graph = found.graph({})
        try:
            output = _tree(found.spec, iter(graph.output))
        except TypeError as error:
            raise self._error(f"gives a {error}", _GIVES) from None
        if bad := [each for each in found.results if not isinstance(each, torch.Tensor)]:
            raise self._error(f"gives a {type(bad[0]).__name__}", _GIVES)
        graph = Graph(graph.inputs, graph.nodes, output)
        if is_stateful(graph) or touched(graph).written:
            raise self._error("has state, or writes to its arguments", "Hand the state through its arguments.")
        return graph, ModelCall(Plan(graph, home=home_of(example)).checked)

    def _lowered(self, recorder: Recorder, leaves: Sequence[Any], spec: Any) -> BranchRecording | None:
        """The recording of an op of the model, as `nn.LSTM` needs one, whose code asks for sizes; None if it fails."""
        if not isinstance(self.thing, torch.nn.Module):
            return None
        try:
            op = script(self.thing, training=getattr(self.thing, "training", False), contiguous=True)
            return ControlFlow(recorder, "a block").record(partial(self._laid_out, op), leaves, spec, carried=True)
        except TracepackError:
            return None

    def _laid_out(self, op: InferenceOp, *args: Any) -> Any:
        """What an op gives, in memory as the model gives it: sums round as things lie."""
        found, spec = pytree.tree_flatten(self._as(op, *args))
        pairs = zip(found, self.orders, strict=True)
        laid = [in_order(each, order) if order != sorted(order) else each for each, order in pairs]
        return pytree.tree_unflatten(laid, spec)

    def _example(self, recorder: Recorder) -> tuple[Any, ...]:
        """The call that it is recorded on: the largest one, since a size of one may come out fixed."""
        known = _examples.get(_Calls()).setdefault(self.thing, {})
        found, earlier = self.largest, known.get(self.key)
        with recorder.within(), torch._C.DisableTorchFunction():
            if earlier is not None and (found is None or kind_of_call(earlier) == kind_of_call(found)):
                found = earlier if found is None or _size(earlier) > _size(found) else found
        if found is None:
            raise self._error("is not called on the example", "Trace with an example on which it is called.")
        known[self.key] = found
        return found

    def kinds_taken(self) -> Sequence[Any] | None:
        """The kinds of its calls, in this recording or before; None where there was none."""
        known = self.largest or _examples.get(_Calls()).get(self.thing, {}).get(self.key)
        return self.kinds if known is None else kind_of_call(known)

    def is_known(self) -> bool:
        """Whether it was called, in this recording or before."""
        return self.largest is not None or self.key in _examples.get(_Calls()).get(self.thing, {})

    def _error(self, what: str, fix: str) -> RecordError:
        return RecordError(f"{CALLS}{self.name}, which {what}", where=str(user_line() or ""), fix=fix)


def _is_called(thing: Any) -> bool:
    return not isinstance(thing, CalledModel) or thing.is_known()


_Calls = WeakKeyDictionary[Any, dict[str, tuple[Any, ...]]]
_examples: ContextVar[_Calls] = ContextVar("_examples")
"""The largest calls of models in a trace: a second recording on other inputs may call one less, or not at all."""


@contextmanager
def calls_of_trace() -> Iterator[None]:
    """While it is entered, calls of models are kept for later recordings: what the process did before counts not."""
    token = _examples.set(WeakKeyDictionary())
    try:
        yield
    finally:
        _examples.reset(token)


def _size(args: Sequence[Any]) -> tuple[int, int]:
    """Orders calls by the sizes that stay free, then by how much they take."""
    shapes = [each.shape for each in args if isinstance(each, torch.Tensor)]
    return sum(size > 1 for shape in shapes for size in shape), sum(shape.numel() for shape in shapes)


def _order(thing: Any) -> list[int]:
    """The dimensions of a tensor from the one whose steps in memory are the longest."""
    return sorted(range(thing.dim()), key=lambda dim: -thing.stride()[dim]) if isinstance(thing, torch.Tensor) else []


def kind_of_call(args: Sequence[Any]) -> list[Any]:
    """The dtypes and ranks of the arguments of a call, or their classes where they are no tensors."""
    return [(each.dtype, each.dim()) if isinstance(each, torch.Tensor) else type(each) for each in args]


def _tree(spec: Any, left: Iterator[Any]) -> Any:
    """The containers of what a model gives, in the form of the IR.

    Raises:
        TypeError: a block has none of that class.
    """
    if spec.is_leaf():
        return next(left)
    parts = [_tree(each, left) for each in spec.children()]
    if spec.type in (tuple, list):
        return spec.type(parts)
    if spec.type is dict:
        return dict(zip(spec.context, parts, strict=True))
    if is_outputs(spec.type):
        return OUTPUTS, dict(zip(spec.context, parts, strict=True))
    kind: Any = spec.context if isinstance(spec.context, type) else spec.type
    if issubclass(kind, tuple) and getattr(kind, "_fields", None):
        return Record(kind.__name__, tuple(kind._fields), tuple(parts))
    raise TypeError(kind.__name__)


def recorded_models(
    recorder: Recorder,
    given: Sequence[Any],
    run: Callable[[list[Any]], Any],
    others: Callable[[], Iterator[list[Any]]],
) -> tuple[list[Any], list[Any], Any]:
    """What a graph gives a block, what runs it, and what the block gives, where models are among what it is given.

    Args:
        recorder: of the function.
        given: the arguments of the block.
        run: runs it on some.
        others: gives other ones, on which it may call models that it does not call on the example.

    Raises:
        RecordError: a model cannot be recorded, or holds for some of its calls only.
    """
    run([*given])
    for other in islice(others(), 0 if all(map(_is_called, given)) else MOST_TRIED):
        with suppress(Exception):
            run(other)
        if all(map(_is_called, given)):
            break
    pairs = [each.recorded(recorder) if isinstance(each, CalledModel) else (each, each) for each in given]
    try:
        calls = [call for _, call in pairs]
        return [graph for graph, _ in pairs], calls, run(calls)
    except RecordError as error:  # the models themselves answered
        names = " or ".join(dict.fromkeys(each.name for each in given if isinstance(each, CalledModel)))
        why = error.what.removeprefix(f"{NOT_PLAIN}: ")
        what = f"{CALLS}{names}, which as recorded on its largest call fails on another one: {why}"
        raise RecordError(what, where=error.where, fix=error.fix) from error
