"""`tracepack export`: writes a file's pipeline as an ONNX model for other runtimes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ..example_feeds import example_feeds
from ..loading import Loading
from ..report import Fields, Report, bytes_text


def export(path: str, out: str, loading: Loading, sizes: Mapping[str, int]) -> Report:
    """Exports, after ONNX Runtime has answered alike on the golden examples, or on random inputs where there are none.

    Raises:
        UsageError: no inputs can be made; TracepackError: as `load` and `Pipeline.to_onnx`.
    """
    pipeline = loading.load(path)
    feeds, source = example_feeds(path, pipeline, sizes)
    pipeline.to_onnx(out, feeds)
    size = os.path.getsize(out)
    data = {"file": path, "out": out, "inputs": source, "signature": pipeline.signature, "bytes": size}
    return Report(data, [Fields([("written", out), ("signature", pipeline.signature), ("size", bytes_text(size))])])
