"""Devices: the forms in which a user may name one, and the pure function that places an op at load.

This module must not import torch: its tests use invented devices, on any machine.
"""

from __future__ import annotations

import re
from typing import Any

from .errors import DeviceError, PlacementError
from .frozen_class import frozen

_FORMS = "None, an int (-1 the CPU, n >= 0 accelerator n), 'cpu', 'cuda', 'cuda:1', 'gpu:1' or a torch.device"
_TEXT = r"(cpu|gpu|cuda|xpu|mps|npu|meta)(?::(\d+))?"


@frozen
class Device:
    """The CPU (``kind == "cpu"``) or one accelerator of torch's kind ``"cuda"``, ``"xpu"``, ``"mps"`` …"""

    kind: str
    index: int = 0

    @property
    def is_cpu(self) -> bool:
        """Whether it is the CPU."""
        return self.kind == "cpu"

    def __str__(self) -> str:
        return "cpu" if self.is_cpu else f"{self.kind}:{self.index}"


CPU = Device("cpu")


def parse_device(device: Any, accelerator: str = "cuda") -> Device:
    """Reads a device in any of the accepted forms, whether this machine has it or not.

    Args:
        device: an int, a string or a torch.device; see DESIGN.md.
        accelerator: the kind that an int or ``"gpu"`` means.

    Raises:
        DeviceError: any other form; bools and floats among them.
    """
    if isinstance(device, Device):
        return device
    if isinstance(device, str) and device == "cpu":  # as most are: the first use of the pattern takes half a ms
        return CPU
    if isinstance(device, int) and not isinstance(device, bool):
        return _from_int(device, accelerator)
    if isinstance(device, str) or type(device).__name__ == "device":
        match = re.fullmatch(_TEXT, str(device))
        if match:
            kind = accelerator if match[1] == "gpu" else match[1]
            return CPU if kind == "cpu" else Device(kind, int(match[2] or 0))
    raise DeviceError("not a device", got=repr(device)[:80], expected=_FORMS)


def _from_int(device: int, accelerator: str) -> Device:
    if device < -1:
        raise DeviceError("not a device", got=repr(device)[:80], expected=_FORMS)
    return CPU if device == -1 else Device(accelerator, device)


def require_present(device: Device, present: tuple[Device, ...]) -> Device:
    """The device itself, if this machine has it.

    Raises:
        DeviceError: it lacks it; the message lists those present.
    """
    if not device.is_cpu and device not in present:
        raise DeviceError(f"this machine has no {device}", fix=f"Devices present: {_names(present)}.")
    return device


def place(
    scripted: Device,
    requested: Device | None,
    present: tuple[Device, ...],
    *,
    gpu_ops: str = "gpu",
    cpu_ops: str = "cpu",
    where: str = "",
) -> Device:
    """Chooses where an op runs: the table of DESIGN.md, as a function of its arguments alone.

    Args:
        scripted: the device that the op was scripted for.
        requested: the device given to `load`, or None.
        present: every device of this machine, the CPU among them.
        gpu_ops: ``"cpu"`` moves ops of accelerators to the CPU.
        cpu_ops: ``"gpu"`` moves ops of the CPU to the requested accelerator.
        where: what is placed, for the error.

    Raises:
        PlacementError: the op of an accelerator was requested on the CPU, or on a device that this machine lacks.
    """
    if scripted.is_cpu and (cpu_ops == "cpu" or (requested is not None and requested.is_cpu)):
        return CPU
    if not scripted.is_cpu and gpu_ops == "cpu":
        return CPU
    if requested is not None and requested.is_cpu:
        raise PlacementError(
            f"it was scripted for {scripted} and cannot run on the CPU",
            where=where,
            fix="Load it on an accelerator, or pass gpu_ops='cpu' to move such ops to the CPU.",
        )
    wanted = requested or Device(_accelerator(present, "cuda" if scripted.is_cpu else scripted.kind), 0)
    if wanted not in present:
        option = "Leave cpu_ops='gpu' out" if scripted.is_cpu else "Pass gpu_ops='cpu'"
        raise PlacementError(
            f"it needs {wanted}, which this machine lacks",
            where=where,
            fix=f"Devices present: {_names(present)}. {option} to run it on the CPU.",
        )
    return wanted


def _accelerator(present: tuple[Device, ...], default: str) -> str:
    return next((device.kind for device in present if not device.is_cpu), default)


def _names(present: tuple[Device, ...]) -> str:
    return ", ".join(map(str, present))
