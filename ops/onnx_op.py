"""OnnxOp: an op that is an ONNX model, called with a tensor or a list of strings for each of its inputs.

In graphs it is a body with one node, which calls the kernel: so its inputs are checked, its sizes named, and its device
chosen as those of every op are.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from .graph.device import Device
from .graph.errors import SignatureError
from .graph.graph import Body, BodyCall, Target
from .graph.traverse import calling
from .onnx.kernel import OnnxKernel
from .onnx.lower import lower_onnx
from .onnx.ports import TEXT, Port
from .op import InferenceOp
from .runtime.plan import Plan
from .runtime.state import State
from .tracing_hook import current


@dataclass
class _OnnxApplication:
    target: Target
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    plan: Plan
    names: tuple[str, ...]
    state: State

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.plan.run(args)

    def rebuild(self, result: Any) -> Any:
        return result[0] if len(self.names) == 1 else dict(zip(self.names, result, strict=True))


class OnnxOp(InferenceOp):
    """An op that is an ONNX model.

    Args:
        kernel: the model.
        name: the op's name.
        device: the device that it runs on.
    """

    def __init__(self, kernel: OnnxKernel, name: str, device: Device) -> None:
        super().__init__(name, device)
        self.kernel, self.state = kernel, State()
        kernel.check_device(str(self.here))
        session = kernel.on(torch.device(str(self.here)))
        self.inputs, self.outputs = session.inputs, session.outputs
        self._made: dict[tuple[int, ...], tuple[Body, Plan]] = {}
        self._lock = threading.Lock()

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs the model: gives a tensor, a list of strings, or a dict of them where it has several outputs."""
        values = [self._moved(value) for value in self._values(args, kwargs)]
        call = self._application(values)
        return call.rebuild(call.run(tuple(values), {}))

    def application(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call as one node."""
        return self._application(self._values(args, kwargs))

    def _application(self, values: Sequence[Any]) -> _OnnxApplication:
        recorder = current()
        plain = list(values) if recorder is None else list(recorder.concrete(tuple(values)))
        body, plan = self._body(plain)
        names = tuple(each.name for each in self.outputs)
        return _OnnxApplication(BodyCall(body), tuple(values), {}, plan, names, self.state)

    def _values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The value of each input, in the order of the model.

        Raises:
            SignatureError: one is missing, unknown or given twice.
        """
        names = [each.name for each in self.inputs]
        if len(args) == 1 and not kwargs and len(names) > 1 and hasattr(args[0], "columns"):
            raise SignatureError(
                "the op takes each column by itself", where=f"op {self.name!r}", got=type(args[0]).__name__,
                expected=names, fix=f"Write {self._by_columns()} for a table df.",
            )  # fmt: skip
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or given.keys() & kwargs.keys() or {*given, *kwargs} != {*names}:
            raise SignatureError(
                "these are not the inputs of the model",
                where=f"op {self.name!r}",
                got=[*given, *(f"argument {index + 1}" for index in range(len(names), len(args))), *kwargs],
                expected=names,
            )
        given |= kwargs
        return [_as_list(given[each.name]) if each.dtype == TEXT else given[each.name] for each in self.inputs]

    def _by_columns(self) -> str:
        """The call with the columns of a table."""
        made = [f"df[{each.name!r}].{'tolist' if each.dtype == TEXT else 'to_numpy'}()" for each in self.inputs]
        return f"op({', '.join(made)})"

    def _moved(self, value: Any) -> Any:
        return value.to(str(self.here)).contiguous() if isinstance(value, torch.Tensor) else value

    # -- the body ----------------------------------------------------------------------------------------------

    def _body(self, values: Sequence[Any]) -> tuple[Body, Plan]:
        """The body for inputs of these ranks, and its plan."""
        ranks = tuple(_rank(value) for value in values)
        with self._lock:  # two threads may ask at once
            if ranks not in self._made:
                self._made[ranks] = self._lowered(values, ranks)
            return self._made[ranks]

    def _lowered(self, values: Sequence[Any], ranks: tuple[int, ...]) -> tuple[Body, Plan]:
        inputs = [_ranked(each, rank) for each, rank in zip(self.inputs, ranks, strict=True)]
        body, plan = self._planned(inputs, self.outputs)
        if all(each.shape is not None for each in self.outputs):
            return body, plan
        found = plan.run([self._moved(value) for value in values])
        outputs = [_ranked(each, _rank(result)) for each, result in zip(self.outputs, found, strict=True)]
        return self._planned(inputs, outputs)

    def _planned(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> tuple[Body, Plan]:
        body = lower_onnx(self.kernel, inputs, outputs, self.name, str(self.device))
        return body, Plan(calling(body), lambda body: self.here, state=self.state)


def _ranked(port: Port, rank: int) -> Port:
    """A port with a shape: where the model says none, all sizes are free."""
    return port if port.shape is not None else replace(port, shape=(None,) * rank)


def _rank(result: Any) -> int:
    return result.dim() if isinstance(result, torch.Tensor) else int(isinstance(result, list))


def _as_list(value: Any) -> Any:
    """A text as a list of one, as tokenizers take it."""
    return [value] if isinstance(value, str) else value
