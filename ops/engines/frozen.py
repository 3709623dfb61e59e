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
from .engine import BF16, Declined, Engine, Task, cause, described
from .exporting.index_checks import checked, index_checks
from .region import Region

MODULE = "frozen.pt"
jit: Any = torch.jit  # torch leaves it untyped


class Frozen(Engine):
    """TorchScript after `freeze` and `optimize_for_inference`."""

    name: ClassVar[str] = "frozen"
    package: ClassVar[str] = "torch"
    ways: ClassVar[Mapping[str, Sequence[str]]] = {BF16: (BF16,)}

    def make(self, task: Task) -> Artefact:
        """Traces and freezes the region.

        Raises:
            Declined: TorchScript cannot trace it.
        """
        from .exporting.onnx_export import Exporting

        example = tuple(task.examples[0])
        module = Exporting(task, grad=False).eval()
        buffer = BytesIO()
        with Silence(), lowering(), torch.no_grad():
            module(*example)
            try:
                traced = jit.trace(module, example, check_trace=False)
                jit.save(jit.freeze(traced), buffer)
            except Exception as error:
                raise Declined(f"torch.jit cannot trace it: {cause(error)}") from error
        return Artefact(self.name, self.version(), described(task), {MODULE: buffer.getvalue()}, {})

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        """The function, its weights packed.

        Raises:
            Declined: torch cannot load it.
        """
        with Unheard(), torch.no_grad():  # a load imports nothing of torch.export
            try:
                module: Any = jit.optimize_for_inference(jit.load(BytesIO(artefact.files[MODULE])))
            except Exception as error:
                raise Declined(f"torch.jit cannot load it: {cause(error)}") from error

        def call(*values: torch.Tensor) -> list[torch.Tensor]:
            return [found.contiguous() for found in module.forward(*values)]

        return checked(call, index_checks(region.graph))

    def accepts(self, package: str) -> bool:
        """Whether it was traced by the installed version."""
        return package == self.version()
