"""Registers the kinds of kernels that come with tracepack, in the same way as other packages register theirs.

Their packages are extras, and their modules are slow to import. So each is imported when a user or a file first needs
it, and an object is recognised by the names of its classes.
"""

from __future__ import annotations

from typing import Any

from .graph.kernel import Kernel
from .kernels.registry import check_registered, kernel_class, make_kernel, register
from .runtime.user_code import attribute

__all__ = ["check_registered", "kernel_class", "make_kernel"]


def _slang() -> type[Kernel]:
    from .slang.kernel import SlangKernel

    return SlangKernel


def _comprehension() -> type[Kernel]:
    from .comprehension.kernel import ComprehensionKernel

    return ComprehensionKernel


def _tokenizer() -> type[Kernel]:
    from .tokenizer.kernel import TokenizerKernel

    return TokenizerKernel


def _torchscript() -> type[Kernel]:
    from .torchscript.kernel import TorchScriptKernel

    return TorchScriptKernel


def _onnx() -> type[Kernel]:
    from .onnx.kernel import OnnxKernel

    return OnnxKernel


def _operator() -> type[Kernel]:
    from .kernels.package_operator import OperatorKernel

    return OperatorKernel


def _is_a(model: Any, module: str, name: str) -> bool:
    home = f"{__package__}.{module}"
    return any((each.__module__, each.__qualname__) == (home, name) for each in type(model).__mro__)


def _of_slang(model: Any) -> Kernel | None:
    return model.kernel() if _is_a(model, "slang.function", "SlangFunction") else None


def _of_comprehension(model: Any) -> Kernel | None:
    return model.kernel() if _is_a(model, "comprehension.layer", "Layer") else None


def _of_tokenizer(model: Any) -> Kernel | None:
    """The kernel for a tokenizer of the `tokenizers` or `transformers` package; None for any other object."""
    if not type(model).__module__.startswith("tokenizers") and attribute(model, "backend_tokenizer") is None:
        return None
    from .tokenizer_op import tokenizer

    return tokenizer(model).kernel


register("slang", _slang, make=_of_slang, requirement="tracepack[slang]")
register("comprehension", _comprehension, make=_of_comprehension)
register("tokenizer", _tokenizer, make=_of_tokenizer, requirement="tracepack[text]")
register("torchscript", _torchscript)
register("operator", _operator)
register("onnx", _onnx, requirement="tracepack[onnx]")
