"""Placement: the devices of this machine, as torch sees them, and the device of every op of a graph."""

from __future__ import annotations

from typing import Any

import torch

from ..graph.device import CPU, Device, parse_device, place, require_present
from ..graph.errors import DeviceError
from ..graph.graph import Graph
from ..graph.traverse import bodies


def accelerator() -> str:
    """The kind of this machine's accelerator, or ``"cuda"`` where it has none."""
    found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return found.type if found is not None else "cuda"


def present() -> tuple[Device, ...]:
    """Every device of this machine, the CPU first."""
    if not torch.accelerator.is_available():
        return (CPU,)
    kind = accelerator()
    return (CPU, *(Device(kind, index) for index in range(torch.accelerator.device_count())))


def resolve_device(device: Any) -> Device:
    """The device that a user named; None is the CPU.

    Raises:
        DeviceError: not an accepted form, or not on this machine.
    """
    if device is None:
        return CPU
    return require_present(parse_device(device, accelerator()), present())


def check_gpu_ops(choice: str) -> None:
    """Checks the value of `gpu_ops`.

    Raises:
        DeviceError: it is neither ``"gpu"`` nor ``"cpu"``.
    """
    if choice not in ("gpu", "cpu"):
        raise DeviceError("unknown value of gpu_ops", got=repr(choice), expected="'gpu' or 'cpu'")


def place_all(
    graph: Graph, requested: Device | None, present: tuple[Device, ...], gpu_ops: str = "gpu"
) -> dict[int, Device]:
    """The device of every op body that a graph calls, by the body's id.

    Raises:
        PlacementError: an op cannot run where it was asked to.
        DeviceError: `gpu_ops` is neither ``"gpu"`` nor ``"cpu"``.
    """
    check_gpu_ops(gpu_ops)
    return {
        id(body): place(parse_device(body.device), requested, present, gpu_ops=gpu_ops, op=body.name)
        if parse_device(body.device) != CPU
        else CPU
        for body in bodies(graph)
    }
