"""Slang functions on torch tensors: loaded from source, differentiable, and packable like any other op.

Names are imported when first used: the compiler's process shares this package, and needs neither torch nor slangpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .binding.grid import grid as grid
    from .function import SlangFunction as SlangFunction
    from .kernel import SlangKernel as SlangKernel
    from .language.errors import CompilerNotFoundError as CompilerNotFoundError
    from .language.errors import NotDifferentiableError as NotDifferentiableError
    from .language.errors import SlangArgumentError as SlangArgumentError
    from .language.errors import SlangCompileError as SlangCompileError
    from .language.errors import SlangDtypeError as SlangDtypeError
    from .language.errors import SlangError as SlangError
    from .language.errors import SlangGradientError as SlangGradientError
    from .language.errors import SlangIndexError as SlangIndexError
    from .language.errors import SlangShapeError as SlangShapeError
    from .language.errors import UnknownFunctionError as UnknownFunctionError
    from .launch.slangpy_device import create_device as create_device
    from .module import SlangModule as SlangModule
    from .module import TorchModule as TorchModule
    from .module import load as load

_ERRORS = (
    "CompilerNotFoundError",
    "NotDifferentiableError",
    "SlangArgumentError",
    "SlangCompileError",
    "SlangDtypeError",
    "SlangError",
    "SlangGradientError",
    "SlangIndexError",
    "SlangShapeError",
    "UnknownFunctionError",
)
_HOMES = {
    "SlangFunction": "function",
    "SlangKernel": "kernel",
    "SlangModule": "module",
    "TorchModule": "module",
    "create_device": "launch.slangpy_device",
    "grid": "binding.grid",
    "load": "module",
    **dict.fromkeys(_ERRORS, "language.errors"),
}
if not TYPE_CHECKING:  # a type checker takes the names imported above
    __all__ = sorted(_HOMES)  # noqa: PLE0605  # no plain list: these names are given on demand


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
