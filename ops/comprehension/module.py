"""A module on a layer, for comprehensions with parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .expr.errors import ComprehensionInputError
from .layer import Layer, Result


class ComprehensionModule(torch.nn.Module):
    """Holds some of a layer's inputs as parameters; the others are given to each call, in order.

    Args:
        layer: the comprehension.
        parameters: by the name of the input, a tensor of its type; it becomes a `torch.nn.Parameter`.
        frozen: names of parameters that do not train (they become buffers).

    Raises:
        ComprehensionInputError: a name that the layer does not have.

    Example:
        >>> import torch
        >>> from tracepack.ops.comprehension import ComprehensionModule, define
        >>> layer = define("def fc(float(N,K) X, float(M,K) W) -> (O) { O(n,m) +=! X(n,k) * W(m,k) }")
        >>> ComprehensionModule(layer, {"W": torch.zeros(3, 4)})(torch.ones(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, layer: Layer, parameters: dict[str, torch.Tensor], frozen: Sequence[str] = ()) -> None:
        super().__init__()
        names = [p.name for p in layer.definition.params]
        for name in (*parameters, *frozen):
            if name not in names or name not in parameters:
                raise ComprehensionInputError(f"'{layer.name}' has no input '{name}'", expected=names)
        self.layer = layer
        self._names = names
        for name, value in parameters.items():
            if name in frozen:
                self.register_buffer(f"tc_{name}", value.detach().clone())
            else:
                self.register_parameter(f"tc_{name}", torch.nn.Parameter(value.detach().clone()))
        self._held = [name in parameters for name in names]

    def forward(self, *inputs: Any) -> Result:
        """Runs the layer on the given inputs and the parameters.

        Raises:
            ComprehensionInputError: another number of inputs than the parameters leave.
        """
        missing = [n for n, h in zip(self._names, self._held, strict=True) if not h]
        if len(inputs) != len(missing):
            raise ComprehensionInputError(
                f"the module of '{self.layer.name}' takes {len(missing)} inputs", got=len(inputs), expected=missing
            )
        given = iter(inputs)
        everything = [
            getattr(self, f"tc_{n}") if h else next(given) for n, h in zip(self._names, self._held, strict=True)
        ]
        return self.layer(*everything)
