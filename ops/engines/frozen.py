"""The engine `frozen`: torch's own operators after torch's passes for inference, which need no other package.

The flat function is traced by TorchScript, which folds constants and batch norms into convolutions, and packs weights
for oneDNN. Its executor specialises in the first calls, so these are slower. The file holds the traced function with a
second copy of the weights; they are packed when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any, ClassVar

import torch

from ..graph.device import Device
from ..graph.program import Artefact
from ..lowering.patches.lock import lowering
from ..lowering.patches.silence import Silence
from ..runtime.interrupts.unheard import Unheard
from .checks.finite_checks import NanChecks, floating_inputs, holds_infinity
from .checks.index_checks import all_within, checked, index_checks
from .engine import BF16, Declined, Engine, Task, cause, described, file_of
from .region import Region

MODULE = "frozen.pt"
SMALL = 64  # numbers in a constant that are compared; larger ones are weights
jit: Any = torch.jit  # torch leaves it untyped


class Frozen(Engine):
    """TorchScript after `freeze` and `optimize_for_inference`."""

    name: ClassVar[str] = "frozen"
    package: ClassVar[str] = "torch"
    ways: ClassVar[Mapping[str, Sequence[str]]] = {BF16: (BF16,)}

    def make(self, task: Task) -> Artefact:
        """Traces and freezes the region.

        Raises:
            Declined: TorchScript cannot trace it, or fixes a size that is free.
        """
        from .exporting.onnx_export import Exporting

        infinite = holds_infinity(task.region.graph)

        class NanChecking(Exporting):
            """A region that also gives whether it made a NaN, where it may."""

            def forward(self, *values: torch.Tensor) -> Any:
                with NanChecks(infinite) as checks:
                    found = super().forward(*values)
                within = checks.all_hold()
                return found if within is None else (*found, within)

        module = NanChecking(task, grad=False).eval()
        buffer = BytesIO()
        with Silence(), lowering(), torch.no_grad():
            module(*task.examples[0])
            try:
                frozen, *others = [
                    jit.freeze(jit.trace(module, tuple(example), check_trace=False)) for example in _of_each_size(task)
                ]
                jit.save(frozen, buffer)
            except Exception as error:
                raise Declined(f"torch.jit cannot trace it: {cause(error)}") from error
        if any(_constants(other) != _constants(frozen) for other in others):
            raise Declined("torch.jit fixes a size of the example, and would read beyond memory at others")
        return Artefact(self.name, self.version(), described(task), {MODULE: buffer.getvalue()}, {})

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        """The function, its weights packed.

        Raises:
            Declined: torch cannot load it.
        """
        data = file_of(artefact, MODULE)
        with Unheard(), torch.no_grad():  # a load imports nothing of torch.export
            try:
                module: Any = jit.optimize_for_inference(jit.load(BytesIO(data)))
            except Exception as error:
                raise Declined(f"torch.jit cannot load it: {cause(error)}") from error

        count = len(region.graph.output)

        def call(*values: torch.Tensor) -> list[torch.Tensor]:
            found = module.forward(*values)
            return [each.contiguous() for each in (found if len(found) == count else all_within(found))]

        # A rectifier that is fused with a convolution makes zero of a NaN.
        return checked(call, index_checks(region.graph), floating=floating_inputs(region.graph))

    def accepts(self, package: str) -> bool:
        """Whether it was traced by the installed version."""
        return package == self.version()


def _of_each_size(task: Task) -> list[Sequence[torch.Tensor]]:
    """The first example, and others until each free size was another one.

    Raises:
        Declined: there are no such examples.
    """
    found = [task.examples[0]]
    left = {(index, dim) for index in range(len(found[0])) for dim in task.free(index)}
    for example in task.examples[1:]:
        other = {(index, dim) for index, dim in left if example[index].shape[dim] != found[0][index].shape[dim]}
        if other and all(value.numel() for value in example):
            found.append(example)
            left -= other
    if left:
        raise Declined("there is no example of another size that says whether torch.jit fixes it")
    return found


def _constants(module: Any) -> list[Any]:
    """The operators of a frozen function with its constants: of tensors the sizes, and numbers where they are few."""
    return [
        (node.kind(), _plain(node.output().toIValue()) if _is_constant(node) else "") for node in module.graph.nodes()
    ]


def _is_constant(node: Any) -> bool:
    return bool(node.kind() == "prim::Constant")


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), str(value.dtype), value.tolist() if value.numel() <= SMALL else None
    return str(value)
