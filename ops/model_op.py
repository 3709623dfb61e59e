"""ModelOp: an op that is a torch model, lowered once for each structure of call."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .graph.device import CPU, Device
from .graph.errors import LoweringError, SignatureError
from .graph.graph import BodyCall, Constant, Target, Value
from .graph.kernel import Kernel
from .graph.traverse import calling, leaves, own_constants
from .lowering.call import Call, flatten_call
from .lowering.convert.nodes import Shared
from .lowering.held_objects import finish, objects_in
from .lowering.lower import Lowered, lower
from .lowering.patches.compile_flags import CompileFlags
from .lowering.patches.fx_patcher import FxPatcher
from .lowering.patches.lock import KeptProcess, lowering
from .lowering.user_model.buffers import KeptBuffers, apart, own_model, tensors_of
from .lowering.user_model.isolate import InferenceForm, KeptModel
from .lowering.user_model.writes import FixedTensors
from .op import InferenceOp, KernelOp, model_device
from .runtime.checks import input_check, require_contiguous
from .runtime.interrupts.alarm import ALARM
from .runtime.interrupts.held_signal import HeldSignal
from .runtime.placement import home_of
from .runtime.plan import Plan
from .runtime.state import State, is_stateful
from .runtime.user_code import signature_of
from .tracing_hook import current, note_model, recording, runs_as_scripted, runs_plainly


@dataclass
class _BodyApplication:
    target: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    plan: Plan
    out_spec: Any
    state: State
    objects: list[Any]  # objects among the caller's arguments, which the call may change

    here: Device

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = self.plan.run([_on(leaf, self.here) for leaf in args])
        assert isinstance(self.target, BodyCall)
        return apart(result, [constant.tensor for constant in own_constants(self.target.body.graph)])

    def rebuild(self, result: Any) -> Any:
        assert isinstance(self.target, BodyCall)
        outputs = leaves(self.target.body.graph.output)  # a fixed output is a plain value, and no run-time value
        fixed = [r if isinstance(o, Value | Constant) else o for o, r in zip(outputs, result, strict=True)]
        return finish(pytree.tree_unflatten(fixed, self.out_spec), self.objects)


Lowerer = Callable[[Call, Sequence[Any]], Lowered]


class ModelOp(InferenceOp):
    """An op that is a model, lowered to a graph when it is first traced, once for each structure of call.

    Args:
        model: the user's model, which is never changed.
        name: the op's name.
        device: the device that it runs on.
        contiguous: whether a non-contiguous output is made contiguous, and not refused.
        training: whether the model keeps its own mode, instead of evaluation mode.
        fallback: makes a kernel of a model that cannot be lowered; None where there is none.

    Attributes:
        engine: the engine that runs the op in a pipeline; empty for the flat function.
    """

    def __init__(
        self,
        model: Any,
        name: str,
        device: Device,
        *,
        contiguous: bool = False,
        training: bool = False,
        lowerer: Lowerer | None = None,
        fallback: Callable[[LoweringError], Kernel] | None = None,
    ) -> None:
        super().__init__(name, device)
        self.model, self.contiguous, self.training, self.fallback = model, contiguous, training, fallback
        self.lowerer = lowerer or self._lower
        self.state, self.engine = State(), ""
        self._shared: Shared = {}
        self._lowered: dict[Any, list[tuple[Lowered, Plan]]] = {}
        self._kernel: KernelOp | None = None
        self._copy: Any = None
        self._is_known = False
        self._has_moved = False  # whether the model has state of its own by now, which no graph has

    def __getstate__(self) -> dict[str, Any]:
        """What a copy, and pickle, take: the model. A copy lowers it anew, in its initial state."""
        fresh: dict[str, Any] = {"_shared": {}, "_lowered": {}, "_copy": None, "state": State(), "_has_moved": False}
        return {**self.__dict__, **fresh}

    # -- running ---------------------------------------------------------------------------------------------

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the lowered graph where there is one for this structure of call, else the model itself."""
        args, kwargs = self._moved(args), self._moved(kwargs)
        call, tensors = self._split(*self._canonical(args, kwargs))
        found = self._find(call, tensors)
        if self._kernel is not None:
            return self._kernel.run(args, self._with_defaults(args, kwargs))
        if found is None and self._keeps_state and not runs_plainly():
            found = self.lowered(call, tensors)  # the model does not have the state of the graphs
        moved = self._has_moved and not runs_as_scripted()
        if found is not None and not moved and not (runs_plainly() and not is_stateful(found[0].body.graph)):
            lowered, plan = found
            result = pytree.tree_unflatten(list(plan.run(tensors)), lowered.out_spec)
            return finish(result, objects_in((args, kwargs)))
        if found is None:
            note_model()
        return self._run_model(args, kwargs)

    def _run_model(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if runs_plainly() and _lies_on(self.model, self.here):
            mine = (
                lowering() if isinstance(self.model, torch.nn.Module) else nullcontext()
            )  # the model has its own flags
            with mine, torch.no_grad(), InferenceForm(self.model, self.training):  # attributes that it sets stay
                result = self.model(*args, **kwargs)
        elif isinstance(self.model, torch.nn.Module):
            with lowering():  # another thread may be lowering this very module
                result = self._run_module(args, kwargs)
        else:
            with torch.no_grad():
                result = self.model(*args, **kwargs)
        leaves, spec = pytree.tree_flatten(result)
        if self.contiguous:
            return pytree.tree_unflatten([_contiguous(leaf) for leaf in leaves], spec)
        require_contiguous(self.name, [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)])
        return result

    def _run_module(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the user's model; if it changes its buffers, they are restored, and a copy keeps the new state."""
        model = self._resident()
        with torch.no_grad(), KeptModel(self.model) as held, InferenceForm(model, self.training):
            if model is not self.model:
                return apart(model(*args, **kwargs), tensors_of(model))
            with KeptBuffers(model) as before, self._watched():
                result = apart(model(*args, **kwargs), tensors_of(model))  # as a graph gives them
                self._has_moved = self._has_moved or held.changed or before.changed
                if before.changed:
                    self._copy = own_model(model)
                    before.undo()
            return result

    @property
    def _keeps_state(self) -> bool:
        """Whether a graph of the op keeps state, which is then not in the model."""
        return any(is_stateful(found[0].body.graph) for each in tuple(self._lowered.values()) for found in each)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Runs the model for the first time, and refuses it if it writes to a tensor that is no buffer."""
        if self._is_known:
            yield
            return
        fixed = FixedTensors(self.model, self.name)
        with fixed:
            yield
        fixed.refuse_writes()
        self._is_known = True

    def _resident(self) -> Any:
        """The model to run: the user's own where it is on the op's device and keeps no state, else a copy."""
        if self._copy is not None:
            return self._copy
        if isinstance(self.model, torch.jit.ScriptModule):
            from .torchscript.inspect import own_copy

            self._copy = own_copy(self.model, str(self.here))
            return self._copy
        if not isinstance(self.model, torch.nn.Module) or model_device(self.model) in (None, self.here):
            return self.model
        if self._copy is None:
            self._copy = own_model(self.model).to(str(self.here))
        return self._copy

    def _moved(self, tree: Any) -> Any:
        device = str(self.here)
        return pytree.tree_map_only(torch.Tensor, lambda t: t if str(t.device) == device else t.to(device), tree)

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature of the model, for `inspect.signature`."""
        return signature_of(self.model.forward if isinstance(self.model, torch.nn.Module) else self.model)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the positional parameters of the model's call."""
        try:
            return tuple(self.__signature__.parameters)
        except (TypeError, ValueError):
            return ()

    # -- lowering --------------------------------------------------------------------------------------------

    def application(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as one node; lowers the model if no body fits it yet."""
        if self._is_opaque(args, kwargs):
            assert self._kernel is not None
            return self._kernel.application(args, self._with_defaults(args, kwargs))
        args, kwargs = self._canonical(args, kwargs)
        call, tensors = self._taken_apart(args, kwargs, free=self.lowerer == self._lower)
        try:
            lowered, plan = self.lowered(call, _plain(tensors))
        except LoweringError:
            if None not in call.kinds:
                raise
            call, tensors = self._taken_apart(args, kwargs, free=False)
            lowered, plan = self.lowered(call, tensors)
        objects = objects_in((args, kwargs))
        return _BodyApplication(
            BodyCall(lowered.body), tuple(tensors), {}, plan, lowered.out_spec, self.state, objects, self.here
        )

    def _with_defaults(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The keywords with the defaults of a ScriptFunction, which its file does not keep."""
        if not isinstance(self.model, torch.jit.ScriptFunction):
            return kwargs
        schema: Any = self.model.schema  # torch's types take the property for a method
        open_ones = schema.arguments[len(args) :]
        return {**{each.name: each.default_value for each in open_ones if each.has_default_value()}, **kwargs}

    def _taken_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any], free: bool) -> tuple[Call, list[Any]]:
        """Splits the call into structure and tensors; sizes among the arguments stay free, or are guarded."""
        recorder = current()
        if recorder is None:
            return self._split(args, kwargs)
        return self._split(args, kwargs, recorder.plain, is_open if free else lambda leaf: False)

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any], *rules: Any) -> tuple[Call, list[Any]]:
        """The structure and the tensors of a call; one with a tensor twice, as attention to itself, is another one."""
        return flatten_call(args, kwargs, self.parameters, *rules)

    def _is_opaque(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the op is a kernel, which takes numbers and strings that are decided at run time."""
        if self._kernel is None and self.fallback is not None:
            recorder = current()
            plain = (args, kwargs) if recorder is None else recorder.concrete((args, kwargs))
            try:
                call, tensors = self._split(*self._canonical(*plain))
                self.lowered(call, tensors)
            except LoweringError as error:
                self._kernel = KernelOp(self.fallback(error), self.name, self.device)
        return self._kernel is not None

    def _canonical(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call with as many arguments by position as possible, so that both forms share a body."""
        names = self.parameters
        while len(args) < len(names) and names[len(args)] in kwargs:
            name = names[len(args)]
            args, kwargs = (*args, kwargs[name]), {k: v for k, v in kwargs.items() if k != name}
        return args, kwargs

    def lowered(self, call: Call, tensors: Sequence[Any]) -> tuple[Lowered, Plan]:
        """The body for a call, lowered now if none fits.

        Raises:
            LoweringError: the model cannot be lowered.
        """
        found = self._find(call, tensors)
        if found is not None:
            return found
        recorder = current()
        if recorder is not None and recorder.settled:
            raise SignatureError("the op was not lowered for inputs of this structure", where=f"op {self.name!r}")
        with lowering(), HeldSignal(signal.SIGINT), HeldSignal(ALARM), FxPatcher(), CompileFlags():
            return self._find(call, tensors) or self._lowered_now(
                call, tensors
            )  # another thread may have lowered it meanwhile

    def _lowered_now(self, call: Call, tensors: Sequence[Any]) -> tuple[Lowered, Plan]:
        tensors = self._beside_model(tensors)
        with recording(None), KeptProcess():
            lowered = self.lowerer(call, tensors)
        lowered.body.engine = self.engine
        found = (lowered, Plan(calling(lowered.body), lambda body: self.here, state=self.state))
        self._lowered.setdefault(_key(call), []).append(found)
        input_check(lowered.body)(*tensors)
        return found

    def _beside_model(self, tensors: Sequence[Any]) -> list[Any]:
        """An example where the model is lowered: on its own device, and on the CPU for TorchScript."""
        where = model_device(self.model) if isinstance(self.model, torch.nn.Module) else None
        where = CPU if isinstance(self.model, torch.jit.ScriptModule) else where
        return list(tensors) if where is None else [_on(leaf, where) for leaf in tensors]

    def _find(self, call: Call, tensors: Sequence[Any]) -> tuple[Lowered, Plan] | None:
        return next((found for found in tuple(self._lowered.get(_key(call), [])) if found[0].fits(tensors)), None)

    def _lower(self, call: Call, tensors: Sequence[Any]) -> Lowered:
        return lower(
            self.model, call, tensors,
            name=self.name, device=str(self.device), contiguous=self.contiguous, shared=self._shared,
            training=self.training,
        )  # fmt: skip


def is_open(leaf: Any) -> bool:
    """Whether a leaf is a size of a recording, or a number computed from sizes, that is not negative."""
    return issubclass(type(leaf), torch.SymInt) and _plain([leaf])[0] >= 0


def _plain(leaves_: Sequence[Any]) -> list[Any]:
    recorder = current()
    return list(leaves_) if recorder is None else list(recorder.concrete(tuple(leaves_)))


def _key(call: Call) -> Any:
    fixed = tuple((type(leaf).__name__, repr(leaf)) for leaf in call.fixed)
    return str(call.spec), fixed, call.kinds, call.first, torch.get_default_dtype()


def _on(leaf: Any, device: Device) -> Any:
    """A tensor on a device; anything else as it is."""
    if not isinstance(leaf, torch.Tensor) or leaf.device.type == "meta" or home_of([leaf]) == device:
        return leaf
    return leaf.to(str(device))


def _contiguous(leaf: Any) -> Any:
    return leaf.contiguous() if isinstance(leaf, torch.Tensor) else leaf


def _lies_on(model: Any, device: Device) -> bool:
    return not isinstance(model, torch.nn.Module) or model_device(model) in (None, device)
