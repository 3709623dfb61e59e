"""Slang functions on torch tensors: loaded from source, differentiable, and packable like any other op."""

from .device import create_device
from .errors import (
    CompilerNotFoundError,
    NotDifferentiableError,
    SlangArgumentError,
    SlangCompileError,
    SlangDtypeError,
    SlangError,
    SlangShapeError,
    UnknownFunctionError,
)
from .function import SlangFunction
from .grid import grid
from .kernel import SlangKernel
from .module import SlangModule, TorchModule, load

__all__ = [
    "CompilerNotFoundError",
    "NotDifferentiableError",
    "SlangArgumentError",
    "SlangCompileError",
    "SlangDtypeError",
    "SlangError",
    "SlangFunction",
    "SlangKernel",
    "SlangModule",
    "SlangShapeError",
    "TorchModule",
    "UnknownFunctionError",
    "create_device",
    "grid",
    "load",
]
