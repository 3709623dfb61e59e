"""Placement: the devices of this machine, as torch sees them, and the device of every op of a graph."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from ..graph.device import CPU, Device, parse_device, place, require_present
from ..graph.errors import DeviceError
from ..graph.graph import Graph
from ..graph.traverse import bodies
from .user_code import user_stacklevel


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


_warned: set[Device] = set()


def resolve_device(device: Any) -> Device:
    """The device that an op is scripted for; None is the CPU.

    A machine without any accelerator may pack for one: that is warned of once, and the op runs on the CPU meanwhile.

    Raises:
        DeviceError: not an accepted form; or the machine has accelerators, and this one is not among them.
    """
    if device is None:
        return CPU
    wanted, here = parse_device(device, accelerator()), present()
    if wanted.is_cpu or len(here) > 1:
        return require_present(wanted, here)
    if wanted not in _warned:
        _warned.add(wanted)
        warnings.warn(
            f"this machine has no {wanted}: the op is packed for it, and runs on the CPU here",
            stacklevel=user_stacklevel(),
        )
    return wanted


def runs_on(device: Device) -> Device:
    """The device on which an op runs in the process that scripts it: its own, or the CPU where there is none."""
    return device if device.is_cpu or device in present() else CPU


def check_choices(gpu_ops: str, cpu_ops: str) -> None:
    """Checks the values of `gpu_ops` and `cpu_ops`.

    Raises:
        DeviceError: one is neither ``"gpu"`` nor ``"cpu"``.
    """
    for name, choice in (("gpu_ops", gpu_ops), ("cpu_ops", cpu_ops)):
        if choice not in ("gpu", "cpu"):
            raise DeviceError(f"unknown value of {name}", got=repr(choice), expected="'gpu' or 'cpu'")


def place_all(
    graph: Graph, requested: Device | None, present: tuple[Device, ...], gpu_ops: str = "gpu", cpu_ops: str = "cpu"
) -> dict[int, Device]:
    """The device of every op body that a graph calls, by the body's id.

    Raises:
        PlacementError: an op cannot run where it was asked to.
        DeviceError: `gpu_ops` or `cpu_ops` is neither ``"gpu"`` nor ``"cpu"``.
    """
    check_choices(gpu_ops, cpu_ops)
    return {
        id(body): place(parse_device(body.device), requested, present, gpu_ops=gpu_ops, cpu_ops=cpu_ops, op=body.name)
        for body in bodies(graph)
    }
