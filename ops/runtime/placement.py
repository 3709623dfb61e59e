"""Placement: the devices of this machine, as torch sees them, and the device of every op of a graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import torch

from ..graph.device import CPU, Device, parse_device, place, require_present
from ..graph.errors import DeviceError
from ..graph.graph import Body, Constant, Graph, Literal, Node, Operator
from ..graph.operators.names import ON_ACCELERATOR
from ..graph.traverse import bodies, leaves, walk
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
    if wanted.kind == "meta":
        raise DeviceError(
            "an op computes, and tensors on meta have no data", got=repr(device), expected="cpu, cuda:0 …"
        )
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
    """The device of every op body that a graph calls, by the body's id, and of torch code recorded on an accelerator.

    Such code moves as an op does; its device has the graph's id.

    Raises:
        PlacementError: an op, or the code, cannot run where it was asked to.
        DeviceError: `gpu_ops` or `cpu_ops` is neither ``"gpu"`` nor ``"cpu"``.
    """
    check_choices(gpu_ops, cpu_ops)

    def placed(scripted: str, where: str) -> Device:
        return place(parse_device(scripted), requested, present, gpu_ops=gpu_ops, cpu_ops=cpu_ops, where=where)

    found = {id(body): placed(body.device, f"op {body.name!r}") for body in bodies(graph)}
    if (mark := accelerator_mark(graph)) is not None:
        found[id(graph)] = placed(str(mark.args[0]), "the function's own torch code")
    return found


def accelerator_mark(graph: Graph) -> Node | None:
    """The node that says where the torch code of a graph was recorded: a device, and the inputs that lay there."""
    return next((node for node in graph.nodes if node.target == _MARK and node.args), None)


_MARK = Operator(f"py.{ON_ACCELERATOR}")


def with_accelerator(graph: Graph, examples: Iterable[Any]) -> Graph:
    """The graph with that mark, where its code worked on an accelerator.

    Args:
        graph: of a whole function, recorded in this process.
        examples: its flat inputs.
    """
    if not torch.accelerator.is_available():
        return graph
    there = [index for index, leaf in enumerate(examples) if not home_of([leaf]).is_cpu]
    ops = (parse_device(body.device) for body in bodies(graph))
    used = [home_of(examples), home_of(_held(graph)), *(device for device in ops if device in present())]
    found = next((device for device in used if not device.is_cpu), None)
    if found is None and any(isinstance(each, Literal) and each == CHOSEN for each in _held(graph)):
        found = Device(accelerator())  # the code moves tensors there and back
    mark = [] if found is None else [Node(_MARK, (str(found), *there))]
    return Graph(graph.inputs, (*mark, *graph.nodes), graph.output)


CHOSEN = Literal("device", "op")
"""The device that is chosen at load."""


def goes_to_cpu(node: Node) -> bool:
    """Whether a node's result lies on the CPU, wherever its arguments do."""
    if node.target == _TO_CPU:
        return True
    return any(leaf == _CPU for leaf in leaves((node.args, node.kwargs)))


def moves_to(node: Node, home: Device) -> Device | None:
    """The device that a node names: the CPU, or that of the code around it; None where it names none."""
    if goes_to_cpu(node):
        return CPU
    return home if any(leaf == CHOSEN for leaf in leaves((node.args, node.kwargs))) else None


_CPU, _TO_CPU = Literal("device", "cpu"), Operator("torch.Tensor.cpu")


def _held(graph: Graph) -> list[Any]:
    """The tensors and literals of a graph's own nodes."""
    held = [leaf for node in walk(graph) for leaf in leaves((node.args, node.kwargs))]
    return [leaf.tensor if isinstance(leaf, Constant) else leaf for leaf in (*held, *leaves(graph.output))]


def home_of(things: Iterable[Any]) -> Device:
    """The accelerator of the first tensor, among some or in lists of them, that lies on one; else the CPU."""
    places = (thing.device for thing in leaves(tuple(things)) if isinstance(thing, torch.Tensor))
    found = next((place for place in places if place.type not in ("cpu", "meta")), None)
    return CPU if found is None else Device(found.type, found.index or 0)


def home_of_body(body: Body, tensors: Iterable[Any]) -> Device:
    """The device on which a body was just recorded: that of its weights or of the tensors that it was called with."""
    return home_of((*tensors, *_held(body.graph)))


def settle(device: Device) -> None:
    """Waits for an accelerator, which returns before it has computed."""
    if not device.is_cpu:
        torch.accelerator.synchronize()
