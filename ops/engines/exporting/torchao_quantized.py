"""A region whose linear layers compute in 8-bit integers by torchao, as a program that torch's compiler takes.

Weights are 8-bit integers with a scale for each row, and each call finds the scales of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...graph.errors import MissingExtraError
from ...graph.traverse import constants
from ...lowering.patches.silence import Silence
from ..engine import Declined, Task
from .onnx_export import Checking, exported


def quantized_program(task: Task) -> torch.export.ExportedProgram:
    """Exports a region with its linear layers quantised.

    Raises:
        Declined: it has no linear layer with a weight of its own, or torch cannot export it.
        MissingExtraError: torchao is not installed.
    """
    try:
        with Silence():
            from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_
    except ImportError as error:
        raise MissingExtraError(
            f"int8 in the engine 'inductor' needs the package {error.name!r}, which is not installed",
            fix="Install it: pip install 'tracepack[torchao]'.",
        ) from error

    def quantized(weight: torch.Tensor) -> torch.nn.Parameter:
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
        layer.weight = torch.nn.Parameter(weight.detach().clone(), requires_grad=False)
        with Silence():
            quantize_(layer, Int8DynamicActivationInt8WeightConfig())
        return layer.weight

    module = Quantizing(task, quantized)
    with torch.no_grad(), Silence():
        module(*task.examples[0])
    if not len(module.weights):
        raise Declined("it has no linear layer to quantise")
    return exported(task, module=module)


class Quantizing(Checking):
    """A region whose linear layers take quantised weights; the first call makes them."""

    def __init__(self, task: Task, quantized: Callable[[torch.Tensor], torch.nn.Parameter]) -> None:
        super().__init__(task)
        held = [each.tensor for each in constants(task.region.graph)]
        self.__dict__["known"] = {each.data_ptr() for each in held if each.dim() == 2 and each.is_floating_point()}
        self.__dict__["places"] = {}
        self.__dict__["quantized"] = quantized
        self.weights = torch.nn.ParameterList()

    def forward(self, *values: torch.Tensor) -> Any:
        """Runs the region."""
        with _Linear(self):
            return super().forward(*values)

    def of(self, weight: torch.Tensor) -> torch.Tensor:
        """The quantised weight in place of one of the region's; others are returned as they are."""
        places, address = self.__dict__["places"], _address(weight)
        if address not in self.__dict__["known"]:
            return weight
        if address not in places:
            places[address] = len(self.weights)
            self.weights.append(self.__dict__["quantized"](weight))
        found: torch.Tensor = self.weights[places[address]]
        return found


class _Linear(TorchFunctionMode):
    """Hands quantised weights to linear layers."""

    def __init__(self, module: Quantizing) -> None:
        super().__init__()
        self.module = module

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if str(getattr(func, "__name__", "")).split(".")[0] == "linear" and len(args) > 1:
            args = (args[0], self.module.of(args[1]), *args[2:])
        return func(*args, **(kwargs or {}))


def _address(tensor: torch.Tensor) -> int:
    return tensor.data_ptr() if type(tensor) in (torch.Tensor, torch.nn.Parameter) else 0
