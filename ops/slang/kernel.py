"""SlangKernel: one specialization of a Slang function as an archive holds it, sources and all.

It carries the text of the module and of everything that it imports, SlangPy's own modules left out, the function
and its types. Built again on another machine it compiles at the first call, for that machine, and differentiates
as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from ..graph.kernel import Kernel, Plain
from ..kernels.registry import register_operator
from .binding.arguments import bind
from .call import Call
from .compile.program import program_of
from .language.sources import Source
from .language.specialization import Specialization
from .launch.operation import Operation
from .launch.registration import register

_SLOT_TYPES = (torch.Tensor, bool, int, float)
_MAIN, _IMPORTS = "main.slang", "imports/"


class SlangKernel(Kernel):
    """A Slang function with its types made concrete.

    Args:
        operation: the operation that runs it.
    """

    kind: ClassVar[str] = "slang"
    own_check: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True  # Slang for the CPU is compiled as C++, which can access any memory

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    def __deepcopy__(self, memo: dict[int, Any]) -> SlangKernel:
        return self

    @property
    def tells_sizes(self) -> bool:
        """True: an operator of torch stands for it there."""
        return True

    @property
    def writes(self) -> bool:
        """No: what the function writes starts as a copy."""
        return False

    @property
    def name(self) -> str:
        """The function's name."""
        return self.operation.spec.function.name

    @property
    def unchecked(self) -> bool:
        """Whether the function takes whole tensors whose indices are not checked."""
        return not (self.operation.spec.is_pointwise or self.operation.checks_indices)

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
            **({} if source.bounds else {"bounds": False}),
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
        source = Source(
            description["module"], text, imports, description["origin"], bounds=description.get("bounds", True)
        )
        spec = Specialization.of_plain(description)
        return kernel_of(Operation(program_of(source), spec, description["target"], publish))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs on a number or a tensor for each slot, as graphs call it, or on arguments as the user writes them.

        As many tensors and numbers by position as there are slots are taken for slots, and nothing of them is written:
        what a function writes comes back. The op of a Slang function calls the function instead; see `SlangOp`.

        Returns:
            For slots one tensor, or a tuple of them; for the user's arguments what the Slang function returns.
        """
        spec = self.operation.spec
        if kwargs or len(args) != len(spec.slots) or not all(isinstance(each, _SLOT_TYPES) for each in args):
            return Call(self.operation, len(args), bind(spec.function, args, kwargs))(args, kwargs)
        outputs = self.operation(*self._as_tensors(args))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _as_tensors(self, args: tuple[Any, ...]) -> list[Any]:
        """The slots, with a tensor of one element where a number stands for a tensor."""
        slots = self.operation.spec.slots
        if all(slot.is_value or isinstance(each, torch.Tensor) for each, slot in zip(args, slots, strict=True)):
            return list(args)
        device = next((each.device for each in args if isinstance(each, torch.Tensor)), None)
        return [
            each
            if slot.is_value or isinstance(each, torch.Tensor)
            else torch.tensor(each, dtype=slot.type.dtype, device=device)
            for each, slot in zip(args, slots, strict=True)
        ]


def publish(operation: Operation) -> Any:
    """Defines an operation's torch.library operator, behind which its kernel is found."""
    register_operator(operation.operator, kernel_of(operation))
    return register(operation)


def kernel_of(operation: Operation) -> SlangKernel:
    """The kernel of an operation."""
    return SlangKernel(operation)
