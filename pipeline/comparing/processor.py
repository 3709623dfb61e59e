"""The processor that outputs were computed on: kinds that differ may round the last bits otherwise."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping

import torch


def processor(devices: Iterable[str]) -> dict[str, str]:
    """The kind of this machine's processor, as far as numbers depend on it, and the version of torch.

    Args:
        devices: where the ops of a pipeline run; accelerators among them are named.
    """
    found = {"machine": platform.machine(), "capability": torch.backends.cpu.get_cpu_capability()}
    names = sorted({_accelerator(device) for device in devices if device != "cpu"})
    return found | ({"accelerator": ", ".join(names)} if names else {}) | {"torch": str(torch.__version__)}


def _accelerator(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device.partition(":")[0]


def processor_text(kind: Mapping[str, str]) -> str:
    """A kind of processor in a few words, such as ``x86_64 AVX2, torch 2.13.0``."""
    cpu = " ".join(kind[name] for name in ("machine", "capability") if name in kind)
    return ", ".join(filter(None, [cpu, kind.get("accelerator"), f"torch {kind.get('torch', '?')}"]))
