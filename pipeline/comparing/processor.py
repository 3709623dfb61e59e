"""The processor that outputs were computed on: kinds that differ may round the last bits otherwise."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import torch

MODEL = "model"
"""What names the make of the processor: libraries of linear algebra take other ways on each."""


def processor(devices: Iterable[str]) -> dict[str, str]:
    """The kind of this machine's processor, as far as numbers depend on it, and the version of torch.

    Args:
        devices: where the ops of a pipeline run; accelerators among them are named.
    """
    return {**kind_of_processor(devices), MODEL: _model(), "torch": str(torch.__version__)}


def kind_of_processor(devices: Iterable[str]) -> dict[str, str]:
    """The same without its make and torch: what instructions it has, and which accelerators are beside it."""
    found = {"machine": platform.machine(), "capability": torch.backends.cpu.get_cpu_capability()}
    names = sorted({_accelerator(device) for device in devices if device != "cpu"})
    return found | ({"accelerator": ", ".join(names)} if names else {})


def moved(recorded: Mapping[str, str], here: Mapping[str, str]) -> bool:
    """Whether outputs are known to come from another kind of processor than this one, or from another torch."""
    return bool(recorded) and recorded != {
        name: text for name, text in here.items() if name in recorded or name != MODEL
    }


@cache
def _model() -> str:
    """The make of the processor, by the system's own words."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _accelerator(device: str) -> str:
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device.partition(":")[0]


def processor_text(kind: Mapping[str, str]) -> str:
    """A kind of processor in a few words, such as ``x86_64 AVX2, torch 2.13.0``."""
    cpu = " ".join(kind[name] for name in ("machine", "capability", MODEL) if kind.get(name))
    return ", ".join(filter(None, [cpu, kind.get("accelerator"), f"torch {kind.get('torch', '?')}"]))
