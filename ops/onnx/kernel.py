"""OnnxKernel: an ONNX model as an archive holds it, with a session of ONNX Runtime for each device that it runs on."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..graph.errors import GraphError, LoweringError
from ..graph.kernel import Kernel
from ..runtime.interrupts.changes import forkable
from ..runtime.interrupts.forks import forgets_in_forks
from ..runtime.interrupts.modes import is_followed
from .external_data import refuse_external_data
from .session import Session, require_provider
from .value_guards import ValueGuard, check_values, read_guards, require_fitting

_CPU = torch.device("cpu")


class OnnxKernel(Kernel):
    """An ONNX model.

    Args:
        data: the bytes of the model.
        name: the op's name.
        guards: values that it refuses.

    Raises:
        GraphError: they are no model, or the model takes a tensor from another file.
    """

    kind: ClassVar[str] = "onnx"
    own_check: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True  # ONNX Runtime is native code, and checks models for mistakes, not for attacks

    def __init__(self, data: bytes, name: str, guards: Sequence[ValueGuard] = ()) -> None:
        refuse_external_data(data, f"op {name!r}")
        self.data, self._name, self._guards = data, name, tuple(guards)
        self._sessions: dict[torch.device, Session] = {}
        self._lock = forkable(threading.Lock())
        forgets_in_forks(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> OnnxKernel:
        return self

    @property
    def writes(self) -> bool:
        """No: a session gives new memory."""
        return False

    @property
    def name(self) -> str:
        """The op's name."""
        return self._name

    def description(self) -> dict[str, Any]:
        """The op's name, and the values that it refuses."""
        guards = [each.described() for each in self._guards]
        return {"name": self._name, **({"guards": guards} if guards else {})}

    def assets(self) -> dict[str, bytes]:
        """The model."""
        return {"model.onnx": self.data}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> OnnxKernel:
        """Keeps the bytes; a session is made at the first call.

        Raises:
            GraphError: they are no model, or the model takes a tensor from another file.
        """
        if "model.onnx" not in assets or not isinstance(description.get("name"), str):
            raise GraphError("an ONNX op has no model", expected="the asset model.onnx, and a name")
        name = description["name"]
        return cls(bytes(assets["model.onnx"]), name, read_guards(description.get("guards", []), f"op {name!r}"))

    def on(self, device: torch.device) -> Session:
        """The session on a device, which is made once.

        Raises:
            GraphError: the guards are of other inputs.
        """
        with self._lock:  # two threads may ask at once
            found = self._sessions.get(device) or Session(self.data, str(device), f"op {self._name!r}")
            require_fitting(self._guards, found.inputs, f"op {self._name!r}")
            self._sessions[device] = found
        return found

    def forget(self) -> list[Session]:
        """Lets go of the sessions, which the next calls make anew."""
        found = list(self._sessions.values())
        self._sessions.clear()
        return found

    def check_device(self, device: str) -> None:
        """Checks that the installed ONNX Runtime can run on a device.

        Raises:
            MissingExtraError: it cannot.
        """
        require_provider(device, f"op {self._name!r}")

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Runs the model on the device of its first tensor, with a value for each input.

        Raises:
            LoweringError: a gradient is wanted, or the values are those of an export, without data.
            GuardError: one holds what the estimator refuses, of which the model was made.
            GraphError: ONNX Runtime fails.
        """
        device = _CPU
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        for value in reversed(tensors):
            self._refuse(value)
            device = value.device
        if is_followed(tensors):
            raise LoweringError(
                "an ONNX model is called where torch makes a graph of its caller, which would hold this one answer",
                where=f"op {self._name!r}",
                fix="Make the graph of what stands around the model.",
            )
        session = self._sessions.get(device) or self.on(device)
        if self._guards:
            check_values(self._guards, values, [each.name for each in session.inputs], f"op {self._name!r}")
        return session(*values)

    def _refuse(self, value: torch.Tensor) -> None:
        """Refuses a tensor that ONNX Runtime cannot take."""
        if value.requires_grad and torch.is_grad_enabled():
            raise LoweringError(
                "no gradient passes through an ONNX model",
                where=f"op {self._name!r}",
                fix="Call .detach() on its inputs.",
            )
        if isinstance(value, FakeTensor):
            raise LoweringError(
                "an ONNX model is called inside of a model that is exported, where tensors hold no data",
                where=f"op {self._name!r}",
                fix="Call it in the traced function, beside that model.",
            )
