"""SlangOp: an op that is a Slang function, called as the function is, and written in the same places.

A graph calls a kernel with one number or tensor for each of its slots, and writes nothing: it gets new tensors. A call
of a user has forms that are no slots (a grid, a dict, an array), and writes the `inout` and the whole tensors that it
passes. So the op leaves each call to the function, in a recording too: there the mode sees the operator of
torch.library, the positions of a grid, and the copies into what was passed.
"""

from __future__ import annotations

from typing import Any

from .graph.device import Device
from .op import KernelOp
from .runtime.interrupts.verbs import undisturbed
from .slang.function import SlangFunction
from .slang.kernel import SlangKernel
from .slang.module import SlangModule


class SlangOp(KernelOp):
    """An op that is a Slang function.

    Args:
        model: the function, or a kernel of one.
        kernel: its kernel with a tensor for each parameter.
        name: the op's name.
        device: the device that it was scripted for.
    """

    def __init__(self, model: SlangFunction | SlangKernel, kernel: SlangKernel, name: str, device: Device) -> None:
        super().__init__(kernel, name, device)
        self.function = model if isinstance(model, SlangFunction) else _function_of(model)

    @undisturbed
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function, or records the call inside a trace."""
        return self.function(*args, **kwargs)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls the function."""
        return self.function(*args, **kwargs)


def _function_of(kernel: SlangKernel) -> SlangFunction:
    operation = kernel.operation
    module, function = SlangModule(operation.program, operation.target), operation.spec.function
    return SlangFunction(module, function.name, (function,))
