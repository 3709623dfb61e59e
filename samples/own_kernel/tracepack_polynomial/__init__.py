"""Polynomials as kernels of tracepack.

Once this package is installed, `tracepack.script` takes a `Polynomial`, `save` writes it, and `load` finds the kernel
by the entry point `tracepack.kernels` of `pyproject.toml`; nothing has to be imported by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .kernel import PolynomialKernel


@dataclass(frozen=True)
class Polynomial:
    """What a user has: coefficients, the constant first."""

    coefficients: tuple[float, ...]


def register() -> None:
    """Called by tracepack when it first meets the kind."""
    from tracepack.ops.kernels import registry

    registry.register(
        "polynomial",
        _kernel_class,
        make=_make,
        requirement="tracepack-polynomial",
    )


def _make(model: object) -> PolynomialKernel | None:
    """The kernel that `tracepack.script` makes of an object, or None where it is no polynomial."""
    return _kernel_class()(model.coefficients) if isinstance(model, Polynomial) else None


def _kernel_class() -> type[PolynomialKernel]:
    """The class, imported only now: a kernel's own packages may be slow to import."""
    from .kernel import PolynomialKernel

    return PolynomialKernel
