"""Packs a Python inference function, with every model and kernel that it calls, into one file.

    op  = tracepack.script(model, device=0)     # a model or kernel -> InferenceOp
    mod = tracepack.trace(process, x, h)        # a function that calls ops -> Pipeline
    mod.save("cell.tpk")
    mod = tracepack.load("cell.tpk", device=0)
    mod.run({"x": x, "h": h})

Names are imported when first used: `import tracepack` does not import torch, so that the command line is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .serialization.container.version import __version__ as __version__

if TYPE_CHECKING:
    from . import batch as batch
    from .ops import comprehension as comprehension
    from .ops import slang as slang
    from .ops.graph.errors import TracepackError as TracepackError
    from .ops.op import InferenceOp as InferenceOp
    from .ops.script import script as script
    from .ops.tokenizer_op import tokenizer as tokenizer
    from .pipeline.lists.mapping import map as map
    from .pipeline.load import load as load
    from .pipeline.patches.library.tables.lookup import lookup as lookup
    from .pipeline.pipeline import Pipeline as Pipeline
    from .pipeline.recording.control_flow import cond as cond
    from .pipeline.recording.control_flow import while_loop as while_loop
    from .pipeline.recording.drawing import drawing as drawing
    from .pipeline.trace import trace as trace

_ERRORS = (
    "ArchiveError", "BatchError", "BudgetError", "DeviceError", "GoldenMismatchError", "GraphError", "GuardError",
    "LoweringError", "MissingExtraError", "NodeError", "NonContiguousOutputError", "OpaqueOpWarning", "PlacementError",
    "RecordError", "ScriptError", "SignatureError", "TracepackError", "TrustError", "UnknownOperatorError",
)  # fmt: skip
_HOMES = {
    "InferenceOp": "ops.op",
    "Pipeline": "pipeline.pipeline",
    "cond": "pipeline.recording.control_flow",
    "drawing": "pipeline.recording.drawing",
    "load": "pipeline.load",
    "lookup": "pipeline.patches.library.tables.lookup",
    "map": "pipeline.lists.mapping",
    "script": "ops.script",
    "tokenizer": "ops.tokenizer_op",
    "trace": "pipeline.trace",
    "while_loop": "pipeline.recording.control_flow",
    **dict.fromkeys(_ERRORS, "ops.graph.errors"),
}
_MODULES = {"batch": "batch", "comprehension": "ops.comprehension", "slang": "ops.slang"}
# The names are those that the module gives on demand.
__all__ = sorted([*_HOMES, *_MODULES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(f".{_MODULES[name]}", __name__)
        globals()[name] = value
        return value
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
