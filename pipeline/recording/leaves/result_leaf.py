"""What is no container in a result, as the graph holds it."""

from __future__ import annotations

from typing import Any

from ...proxies.trees import is_recordable, plain_output
from ...proxies.values.maybe import MaybeThing, ResultWriter


def output_leaf(recorder: ResultWriter, leaf: Any) -> Any:
    """What is no container in a result, in the form of the IR; what may be None becomes one value.

    Raises:
        RecordError: an archive cannot hold it.
    """
    if type(leaf) is MaybeThing:
        return leaf.packed(recorder)
    return recorder.arguments(leaf) if is_recordable(leaf) else plain_output(leaf)
