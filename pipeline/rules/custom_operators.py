"""Operators of torch.library in a recorded function: each becomes an operator by name or a kernel, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import KernelCall, Operator, Value
from ...ops.graph.kernel import Kernel
from ...ops.graph.operators.names import allowed, why_not
from ...ops.graph.types import TensorType
from ...ops.kernels.package_operator import OF_SCRIPT, PUT_INTO_MODULE, operator_kernel
from ...ops.kernels.registry import kernel_of_operator
from ...ops.kinds import check_registered
from ...ops.runtime.user_code import user_line
from ..proxies.trees import concrete, overload_of, title

GENERAL = "Use another torch function for it."
"""What to do where nothing better is known."""


def custom_operator(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[KernelCall | Operator, Callable[..., Any]]:
    """The target of an operator of torch.library, and its overload, which a kernel may stand behind.

    Raises:
        RecordError: it may not be recorded.
    """
    reason = why_not(title(func))
    if isinstance(func, torch._ops.OpOverloadPacket):
        func = overload_of(func, concrete(args), concrete(kwargs))
    if isinstance(func, torch._ops.OpOverload):
        kernel = kernel_of_operator(str(func).removesuffix(".default").replace(".", "::", 1))
        if kernel is not None:
            check_registered(kernel)
            return KernelCall(kernel), func
        if str(func) in allowed():
            return Operator(str(func)), func
        found = operator_kernel(func)
        if isinstance(found, Kernel):
            return KernelCall(found), func
        reason = found or why_not(title(func))
    fix = PUT_INTO_MODULE if reason == OF_SCRIPT else GENERAL
    raise RecordError(
        f"{title(func)} cannot be recorded{reason}",
        where=str(user_line() or ""),
        fix="Make an op of the model: tracepack.script(model)." if title(func).startswith("quantized.") else fix,
    )


def gives_any_rank(target: Any) -> bool:
    """Whether the rank of a result may depend on more than the ranks of the arguments."""
    if isinstance(target, Operator):
        return any(word in target.name for word in ("squeeze", "cov", "corrcoef", "lstsq"))
    return isinstance(target, KernelCall)


# Integers in a tensor decide the sizes of the result, without a tag of the operator that says so.
_SIZED_BY_TENSORS = ("tensor_split", "pad_packed_sequence", "pack_padded_sequence", "split_with_sizes")


def sized_by_tensors(name: str, inputs: list[Value]) -> bool:
    """Whether a tensor of integers decides the sizes of a result, without a tag of the operator that says so."""
    return name.removesuffix(".default").endswith(_SIZED_BY_TENSORS) and any(
        isinstance(value.type, TensorType) and "int" in value.type.dtype for value in inputs
    )
