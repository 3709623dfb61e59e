"""Whether a model is exported now, which it is not told itself."""

from __future__ import annotations

import torch

from tracepack.ops.lowering.patches.plain.askers import hearing


def is_exporting() -> bool:
    """Whether tracepack exports a model, or another user of torch.export does."""
    return bool(hearing) or torch.compiler.is_exporting()
