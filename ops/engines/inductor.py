"""The engine `inductor`: a region that torch's compiler has compiled ahead, with its weights folded and packed.

The artefact is native code for this kind of processor, and holds the weights in the form that the code reads: a second
copy of them in the file and in memory. It needs a C++ compiler where it is made, and none where it is opened, and
runs on the version of torch that made it.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import torch

from ..graph.device import Device
from ..graph.program import Artefact
from ..lowering.patches.lock import KeptProcess, lowering
from ..lowering.patches.silence import Silence
from .checks.finite_checks import floating_inputs
from .checks.index_checks import all_within, checked, index_checks
from .checks.number_checks import LEFT_OUT, computes_float16, rounds_to_half
from .engine import BF16, TORCHAO, Declined, Engine, Task, cause, described, file_of
from .region import Region
from .size_boxes import BOXES

PACKAGE = "model.pt2"


class Inductor(Engine):
    """AOTInductor on the CPU."""

    name: ClassVar[str] = "inductor"
    package: ClassVar[str] = "torch"
    ways: ClassVar[Mapping[str, Sequence[str]]] = {BF16: (BF16,), "int8": (TORCHAO,)}

    def make(self, task: Task) -> Artefact:
        """Exports the region and compiles it.

        Raises:
            Declined: it cannot be exported or compiled, or this machine has no compiler; or it rounds to 16 bits.
            MissingExtraError: a way asks for torchao, which is not installed.
        """
        if rounds_to_half(task.region.graph) or computes_float16(task.region.graph):
            raise Declined(LEFT_OUT)
        from ..lowering.patches.fx_patcher import FxPatcher
        from .exporting.onnx_export import exported
        from .exporting.proven_boxes import proven_boxes
        from .exporting.torchao_quantized import quantized_program

        program = quantized_program(task) if task.way == TORCHAO else exported(task)
        with (
            tempfile.TemporaryDirectory() as folder,
            Silence(),
            lowering(),
            FxPatcher(),
            KeptProcess(),
            torch.no_grad(),
        ):
            path = os.path.join(folder, PACKAGE)
            try:
                torch._inductor.aoti_compile_and_package(
                    program, package_path=path, inductor_configs={"freezing": True}
                )
            except Exception as error:
                raise Declined(f"torch cannot compile it: {cause(error)}") from error
            boxes = [each.described() for each in proven_boxes(program, task.examples, task.given)]
            description = {**described(task), BOXES: boxes}
            return Artefact(self.name, self.version(), description, {PACKAGE: Path(path).read_bytes()}, {})

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        """The compiled code, which runs with torch's threads.

        Raises:
            Declined: the package names files outside of itself, or torch cannot load it.
        """
        data = file_of(artefact, PACKAGE)
        names = zipfile.ZipFile(BytesIO(data)).namelist()
        if any(".." in Path(name).parts or Path(name).is_absolute() for name in names):
            raise Declined("the package names files outside of itself")
        with tempfile.TemporaryDirectory() as folder, Silence():
            path = Path(folder, PACKAGE)
            path.write_bytes(data)
            try:
                loaded: Any = torch._inductor.aoti_load_package(str(path))
            except Exception as error:
                raise Declined(f"torch cannot load the package: {cause(error)}") from error
        run = loaded.loader.boxed_run

        count = len(region.graph.output)

        def call(*values: torch.Tensor) -> Sequence[torch.Tensor]:
            # The code reads memory as it lay in the example, whatever the strides.
            found: Sequence[torch.Tensor] = run([value.contiguous() for value in values])
            return found if len(found) == count else all_within(found)

        # A rectifier that is fused with a convolution makes zero of a NaN.
        return checked(call, index_checks(region.graph), floating=floating_inputs(region.graph))

    def accepts(self, package: str) -> bool:
        """Whether the package is of the installed version."""
        return package == self.version()
