"""State: the tensors and kernels that a graph changes while it runs; each pipeline, op and session has its own.

A mutable Constant, such as a buffer that the model writes to, is only the initial value: every State works on a copy
of its own, and likewise on a session of a kernel that changes itself. The copies are made when they are first used, and
changed in place afterwards, since generated functions refer to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..graph.device import Device
from ..graph.errors import SignatureError
from ..graph.graph import Constant, Graph, KernelCall
from ..graph.kernel import Kernel
from ..graph.traverse import bodies, own_constants, walk


class State:
    """The present values of mutable constants and changing kernels."""

    def __init__(self) -> None:
        self._tensors: dict[tuple[int, Device], tuple[Constant, torch.Tensor]] = {}
        self._kernels: dict[int, tuple[Kernel, Kernel]] = {}

    def tensor(self, constant: Constant, device: Device) -> torch.Tensor:
        """The present tensor of a mutable constant on a device."""
        key = (id(constant), device)
        if key not in self._tensors:
            made = constant.tensor.detach().clone().to(str(device))
            self._tensors.setdefault(key, (constant, made))  # another thread may have made it
        return self._tensors[key][1]

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel itself, or the session of a changing one."""
        if not kernel.stateful:
            return kernel
        if id(kernel) not in self._kernels:
            self._kernels.setdefault(id(kernel), (kernel, kernel.session()))
        return self._kernels[id(kernel)][1]

    def reset(self) -> None:
        """Goes back to the initial values."""
        with torch.no_grad():
            for constant, tensor in self._tensors.values():
                tensor.detach_().copy_(constant.tensor)  # what runs with gradients wrote to it has a history
        for _, session in self._kernels.values():
            session.reset()

    def snapshot(self) -> Any:
        """All present values, for `restore`."""
        tensors = {key: _present(tensor) for key, (_, tensor) in self._tensors.items()}
        return tensors, {key: session.attributes() for key, (_, session) in self._kernels.items()}

    def restore(self, saved: Any) -> None:
        """Restores a snapshot; tensors that were made since then get their initial values."""
        self.reset()
        tensors, kernels = saved
        with torch.no_grad():
            for key, value in tensors.items():
                self._tensors[key][1].copy_(value)
        for key, values in kernels.items():
            self._kernels[key][1].set_attributes(values)

    # -- by name ---------------------------------------------------------------------------------------------

    def read(self, graph: Graph) -> dict[str, Any]:
        """Copies of the tensors and attributes that a graph changes, by name."""
        found: dict[str, Any] = {}
        for name, thing in named(graph):
            if isinstance(thing, Constant):
                found[name] = _present(self._of(thing)[0])
            else:
                found |= {f"{name}.{key}": value for key, value in self.kernel(thing).attributes().items()}
        return found

    def write(self, graph: Graph, values: Mapping[str, Any]) -> None:
        """Sets the values that `read` returned.

        Raises:
            SignatureError: a name is missing or unknown, or a tensor has another dtype or shape.
        """
        known = self.read(graph)
        if known.keys() != values.keys():
            raise SignatureError(
                "the names are not those of this pipeline's state", got=sorted(values), expected=sorted(known)
            )
        for name, now in known.items():
            _check(name, now, values[name])
        for name, thing in named(graph):
            if isinstance(thing, Constant):
                with torch.no_grad():
                    for tensor in self._of(thing):
                        tensor.copy_(values[name])
            else:
                prefix = f"{name}."
                own = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
                self.kernel(thing).set_attributes(own)

    def _of(self, constant: Constant) -> list[torch.Tensor]:
        """The tensors of a constant, one for each device that it is used on."""
        return [tensor for known, tensor in self._tensors.values() if known is constant]


def _present(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of what a tensor of a state holds now."""
    from .primitives.random import present  # what few pipelines need

    return present(tensor).clone()


def _check(name: str, now: Any, value: Any) -> None:
    if not isinstance(now, torch.Tensor):
        return
    got = f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
    if isinstance(value, torch.Tensor) and value.is_meta:
        got += " on meta, which has no data"
    wanted = f"{now.dtype} {tuple(now.shape)}"
    if got != wanted:
        raise SignatureError("the tensor has another dtype or shape", where=f"state {name!r}", got=got, expected=wanted)


def named(graph: Graph) -> Iterator[tuple[str, Constant | Kernel]]:
    """The constants and kernels that a graph changes, by the name of the op and that of the buffer."""
    taken: dict[str, int] = {}
    seen: set[int] = set()
    for owner, thing in _changing(graph):
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        name = f"{owner}.{thing.name}" if owner and isinstance(thing, Constant) else thing.name
        taken[name] = taken.get(name, 0) + 1
        yield (name if taken[name] == 1 else f"{name}#{taken[name]}"), thing


def _changing(graph: Graph) -> Iterator[tuple[str, Constant | Kernel]]:
    for body in bodies(graph):
        yield from ((body.name, thing) for thing in _own(body.graph))
    yield from (("", thing) for thing in _own(graph))


def _own(graph: Graph) -> Iterator[Constant | Kernel]:
    """The constants and kernels that a graph and its subgraphs change, without those of the bodies that it calls."""
    for node in walk(graph):
        if isinstance(node.target, KernelCall) and node.target.kernel.stateful:
            yield node.target.kernel
    yield from (constant for constant in own_constants(graph) if constant.mutable)


def is_stateful(graph: Graph) -> bool:
    """Whether a graph changes a tensor or a kernel that later runs use."""
    return any(True for _ in _changing(graph))
