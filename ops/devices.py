"""The devices of this machine, as torch sees them."""

from __future__ import annotations

from typing import Any

import torch

from .device import CPU, Device, parse_device, require_present


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
