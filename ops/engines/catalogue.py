"""The engines by name: those of ours, and those that other packages register.

Registered like kinds of kernels: by a call, or by an entry point of the group `tracepack.engines` that names a function
which makes the call. An engine is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util

from ..graph.errors import GraphError, MissingExtraError
from .engine import Engine

GROUP = "tracepack.engines"
ATEN = "aten"
"""The flat function, which is the reference and always there."""


@dataclass(frozen=True)
class _Offer:
    load: Callable[[], type[Engine]]
    needs: tuple[str, ...]
    requirement: str


_offers: dict[str, _Offer] = {}


def register(
    name: str, load: Callable[[], type[Engine]], *, needs: tuple[str, ...] = (), requirement: str = ""
) -> None:
    """Makes an engine known to `optimize`, `script` and `load`.

    Args:
        name: the name in reports and archives.
        load: imports and returns the class, at the first use.
        needs: the modules without which the engine cannot run here.
        requirement: the argument of `pip install` where one of them is missing.

    Raises:
        GraphError: the name is taken.

    Example:
        >>> from tracepack.ops.engines import catalogue
        >>> "onnxruntime" in catalogue.known()
        True
    """
    if name in _offers or name == ATEN:
        raise GraphError(f"the engine {name!r} is registered already", fix="Give it another name.")
    _offers[name] = _Offer(load, needs, requirement)


def known() -> list[str]:
    """The names of all engines besides `aten`: ours in the order in which they are tried, then those of packages."""
    for name, entry in _entry_points().items():
        if name not in _offers:
            entry.load()()
    return list(_offers)


@cache
def _entry_points() -> dict[str, metadata.EntryPoint]:
    return {entry.name: entry for entry in metadata.entry_points(group=GROUP)}


def missing(name: str) -> list[str]:
    """The modules that an engine needs and that are not installed."""
    return [module for module in _offer(name).needs if util.find_spec(module) is None]


def find(name: str) -> Engine:
    """An engine by its name.

    Raises:
        GraphError: there is none of the name.
        MissingExtraError: a package that it needs is not installed.
    """
    offer = _offer(name)
    lacking = missing(name)
    if lacking:
        raise MissingExtraError(
            f"the engine {name!r} needs the package {lacking[0]!r}, which is not installed",
            fix=f"Install it: pip install '{offer.requirement or lacking[0]}'.",
        )
    return offer.load()()


def _offer(name: str) -> _Offer:
    if name not in _offers and name not in known():  # the second asks every installed package, which takes a while
        raise GraphError(f"unknown engine {name!r}", expected=f"one of {[ATEN, *known()]}")
    return _offers[name]


def _onnxruntime() -> type[Engine]:
    from .onnxruntime import OnnxRuntime

    return OnnxRuntime


def _openvino() -> type[Engine]:
    from .openvino import OpenVino

    return OpenVino


register("onnxruntime", _onnxruntime, needs=("onnxruntime",), requirement="tracepack[onnx]")
register("openvino", _openvino, needs=("openvino",), requirement="tracepack[openvino]")


def _tensorrt() -> type[Engine]:
    from .tensorrt import TensorRt

    return TensorRt


def _cudagraph() -> type[Engine]:
    from .cudagraph import CudaGraph

    return CudaGraph


register("tensorrt", _tensorrt, needs=("onnxruntime",), requirement="onnxruntime-gpu")
register("cudagraph", _cudagraph)


def _inductor() -> type[Engine]:
    from .inductor import Inductor

    return Inductor


register("inductor", _inductor)


def _frozen() -> type[Engine]:
    from .frozen import Frozen

    return Frozen


register("frozen", _frozen)
