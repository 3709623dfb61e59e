"""SlangKernel: one specialization of a Slang function as an archive holds it, sources and all.

It carries the text of the module and of everything that it imports, SlangPy's own modules left out, the function
and its types. Built again on another machine it compiles at the first call, for that machine, and differentiates
as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..kernel import Kernel, Plain
from .operation import Operation
from .program import program_of
from .sources import Source
from .specialization import Specialization

_MAIN, _IMPORTS = "main.slang", "imports/"


class SlangKernel(Kernel):
    """A Slang function with its types made concrete.

    Args:
        operation: what runs it.
    """

    kind: ClassVar[str] = "slang"

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    @property
    def name(self) -> str:
        """The function's name."""
        return self.operation.spec.function.name

    @property
    def operator(self) -> str:
        """The torch.library operator that runs this kernel, `tracepack::slang_...`, registered if it was not yet."""
        self.operation.overload()
        return self.operation.operator

    def description(self) -> dict[str, Plain]:
        """The module's name, the function, its types, the kinds of its arguments, and the target."""
        source = self.operation.program.source
        return {
            "module": source.name,
            "origin": source.origin.replace("\\", "/").rpartition("/")[2],
            "target": self.operation.target,
            **self.operation.spec.plain(),
        }

    def assets(self) -> dict[str, bytes]:
        """The module's text as `main.slang`, and each imported file under `imports/`."""
        source = self.operation.program.source
        imported = {f"{_IMPORTS}{name}": text.encode() for name, text in sorted(source.imports.items())}
        return {_MAIN: source.text.encode(), **imported}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> SlangKernel:
        """Makes the kernel again; it compiles at the first call."""
        imports = {
            name.removeprefix(_IMPORTS): bytes(text).decode()
            for name, text in assets.items()
            if name.startswith(_IMPORTS)
        }
        text = bytes(assets[_MAIN]).decode()
        source = Source(description["module"], text, imports, description["origin"])
        spec = Specialization.of_plain(description)
        return kernel_of(Operation(program_of(source), spec, description["target"], kernel_of))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs on a number or a tensor for each slot; gives one tensor, or a tuple of them."""
        outputs = self.operation(*args)
        return outputs[0] if len(outputs) == 1 else outputs


def kernel_of(operation: Operation) -> SlangKernel:
    """The kernel of an operation."""
    return SlangKernel(operation)
