"""The kernel itself: it describes itself as plain data, is built again from them, and runs on tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch

from tracepack.ops.graph.kernel import Kernel


class PolynomialKernel(Kernel):
    """Evaluates a polynomial at each element, by Horner's rule.

    Args:
        coefficients: the constant first.
    """

    kind: ClassVar[str] = "polynomial"

    def __init__(self, coefficients: Sequence[float]) -> None:
        self.coefficients = [float(each) for each in coefficients]

    @property
    def name(self) -> str:
        """What graphs and errors call it."""
        return f"polynomial{len(self.coefficients) - 1}"

    def description(self) -> dict[str, Any]:
        """What `build` needs: plain data."""
        return {"coefficients": self.coefficients}

    def assets(self) -> dict[str, bytes]:
        """Files that the archive shall hold: none."""
        return {}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> PolynomialKernel:
        """Makes the kernel again from what a file holds; the file may be anyone's, so nothing of it is run."""
        return cls(description["coefficients"])

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """The polynomial of each element of a float tensor."""
        result = torch.zeros_like(x)
        for coefficient in reversed(self.coefficients):
            result = result * x + coefficient
        return result
