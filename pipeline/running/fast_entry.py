"""The entry of a pipeline: the generated function between `run` and the plan.

For inputs whose signature was met before, it costs under a microsecond: a few attribute reads and one set lookup.
Inputs of a pipeline on an accelerator are moved there first where they are elsewhere. Everything else (other dtypes,
new sizes, containers, errors) goes the runner's slow way, which converts, checks and explains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...ops.graph.program import Slot
from ...ops.graph.types import TensorType
from ...ops.runtime.node_errors import fail

if TYPE_CHECKING:
    from .runner import Runner

_SOURCE = """\
def make(T, seen, slowly, fast, enabled, enable, fail, keys, dtypes, homes, convert, arrive):
    {bind}
    def entry(feed):
        if type(feed) is dict and len(feed) == {count}:
            try:
                {fetch}
                {convert}
                known = {tests}
            except (KeyError, RuntimeError):  # of a nested or sparse tensor: it has no strides
                return slowly(feed)
            if known:
                if enabled():
                    enable(False)
                    try:
                        return fast({names})
                    except Exception as error:
                        failed = error
                    finally:
                        enable(True)
                else:
                    try:
                        return fast({names})
                    except Exception as error:
                        failed = error
                fail(failed, fast)
        return slowly(feed)
    return entry
"""


def make_entry(runner: Runner) -> Callable[[Mapping[str, Any]], Any]:
    """The function behind `Pipeline.run`; a pipeline with state runs once at a time."""
    entry = _unlocked(runner)
    if not runner.stateful:
        return entry

    def locked(feed: Mapping[str, Any]) -> Any:
        with runner.lock:
            return entry(feed)

    return locked


def _unlocked(runner: Runner) -> Callable[[Mapping[str, Any]], Any]:
    items = runner.program.parameters.items
    kinds = [value.type for value in runner.program.graph.inputs]
    flat = all(isinstance(parameter.tree, Slot) for parameter in items)
    plain = flat and kinds and all(isinstance(kind, TensorType) for kind in kinds)
    if runner.grad or not plain:
        return runner.run_slowly
    count, on_cpu = len(kinds), [home.type == "cpu" for home in runner.homes]
    names = [f"x{i}" for i in range(count)]
    source = _SOURCE.format(
        bind="; ".join(f"k{i} = keys[{i}]; d{i} = dtypes[{i}]; h{i} = homes[{i}]" for i in range(count)),
        count=count,
        fetch="; ".join(f"x{i} = feed[k{i}]" for i in range(count)),
        tests=_tests(names, on_cpu),
        names=", ".join(names),
        # What is written to a copy on another device must come back, which the slow way sees to.
        convert="\n                ".join(
            f"if type({x}) is not T: {x} = convert({x})"
            if cpu or runner.writes
            else f"if type({x}) is not T or {x}.device != h{i}: {x} = arrive({x}, h{i})"
            for i, (x, cpu) in enumerate(zip(names, on_cpu, strict=True))
        ),
    )
    namespace: dict[str, Any] = {}
    exec(compile(source, "<tracepack entry>", "exec"), namespace)
    entry: Callable[[Mapping[str, Any]], Any] = namespace["make"](
        torch.Tensor, runner.seen, runner.run_slowly, runner.plan.fast,
        torch.is_grad_enabled, torch._C._set_grad_enabled, fail,
        tuple(parameter.name for parameter in items),
        tuple(getattr(torch, kind.dtype) for kind in kinds if isinstance(kind, TensorType)),
        runner.homes, _convert, _arrive,
    )  # fmt: skip
    return entry


def _convert(value: Any) -> Any:
    """A tensor over a plain numpy array; anything else is left to the slow way."""
    if type(value) is np.ndarray and value.flags.writeable:
        try:
            return torch.from_numpy(value)
        except (TypeError, ValueError):  # a dtype or strides that torch does not know
            pass
    return value


def _arrive(value: Any, device: torch.device) -> Any:
    """The same on a device."""
    value = _convert(value)
    return value.to(device) if type(value) is torch.Tensor else value


def _tests(names: list[str], on_cpu: list[bool]) -> str:
    """The condition under which the inputs' signature is one that was checked."""
    each = [
        f"type({x}) is T and {x}.dtype is d{i} and " + (f"{x}.is_cpu" if cpu else f"{x}.device == h{i}")
        for i, (x, cpu) in enumerate(zip(names, on_cpu, strict=True))
    ]
    shapes = "".join(f"({x}.shape, {x}.stride()), " for x in names)
    return " and ".join([*each, f"({shapes}) in seen"])
