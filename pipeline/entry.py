"""The entry of a pipeline: the generated function between `run` and the plan.

For inputs whose signature was met before, it costs under a microsecond: a few attribute reads and one set lookup.
Everything else (arrays, other dtypes, new sizes, errors) goes the slow way, which converts, checks and explains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..ops.types import TensorType
from .inputs import Slot

if TYPE_CHECKING:
    from .pipeline import Pipeline

_SOURCE = """\
def make(T, seen, slowly, fast, enabled, enable, fail, keys, dtypes, convert):
    {bind}
    def entry(feed):
        if type(feed) is dict and len(feed) == {count}:
            try:
                {fetch}
            except KeyError:
                return slowly(feed, seen)
            {convert}
            if {tests}:
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
        return slowly(feed, seen)
    return entry
"""


def make_entry(pipeline: Pipeline) -> Callable[[Mapping[str, Any]], Any]:
    """The function behind `Pipeline.run`; a pipeline with state runs once at a time."""
    entry = _unlocked(pipeline)
    if not pipeline.stateful:
        return entry

    def locked(feed: Mapping[str, Any]) -> Any:
        with pipeline.lock:
            return entry(feed)

    return locked


def _unlocked(pipeline: Pipeline) -> Callable[[Mapping[str, Any]], Any]:
    seen: set[Any] = set()
    kinds = [v.type for v in pipeline.graph.inputs]
    flat = all(isinstance(parameter.tree, Slot) for parameter in pipeline.parameters.items)
    plain = flat and kinds and all(isinstance(kind, TensorType) for kind in kinds)
    if pipeline.grad or not plain or not all(home.is_cpu for home in pipeline.plan.homes):
        return lambda feed: pipeline.run_slowly(feed, seen)
    names = [f"x{i}" for i in range(len(kinds))]
    keys = tuple(parameter.name for parameter in pipeline.parameters.items)
    source = _SOURCE.format(
        bind="; ".join([f"k{i} = keys[{i}]; d{i} = dtypes[{i}]" for i in range(len(kinds))]),
        count=len(kinds),
        fetch="; ".join(f"x{i} = feed[k{i}]" for i in range(len(kinds))),
        tests=_tests(names),
        names=", ".join(names),
        convert="\n            ".join(f"if type({x}) is not T: {x} = convert({x})" for x in names),
    )
    namespace: dict[str, Any] = {}
    exec(compile(source, "<tracepack entry>", "exec"), namespace)
    dtypes = tuple(getattr(torch, kind.dtype) for kind in kinds if isinstance(kind, TensorType))

    def slowly(feed: Mapping[str, Any], known: set[Any]) -> Any:
        return pipeline.run_slowly(feed, known)

    entry: Callable[[Mapping[str, Any]], Any] = namespace["make"](
        torch.Tensor, seen, slowly, pipeline.plan.fast, torch.is_grad_enabled, torch._C._set_grad_enabled,
        pipeline.fail, keys, dtypes, _convert,
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


def _tests(names: list[str]) -> str:
    """The condition under which the inputs' signature is one that was checked."""
    each = [f"type({x}) is T and {x}.dtype is d{i} and {x}.is_cpu" for i, x in enumerate(names)]
    shapes = "".join(f"({x}.shape, {x}.stride()), " for x in names)
    return " and ".join([*each, f"({shapes}) in seen"])
