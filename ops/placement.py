"""Placing every op of a graph."""

from __future__ import annotations

from .device import CPU, Device, parse_device, place
from .errors import DeviceError
from .graph import Graph, bodies


def check_gpu_ops(choice: str) -> None:
    """Checks the choice of what happens to ops of accelerators.

    Raises:
        DeviceError: it is neither ``"gpu"`` nor ``"cpu"``.
    """
    if choice not in ("gpu", "cpu"):
        raise DeviceError("not a choice for gpu_ops", got=repr(choice), expected="'gpu' or 'cpu'")


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
