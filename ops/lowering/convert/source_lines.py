"""The user's line behind a node of torch's fx graph."""

from __future__ import annotations

import re
from pathlib import PurePath

import torch

from ...graph.graph import SourceLine

_FRAME = re.compile(r'File "([^"]*)", line (\d+), in (\S+)\n\s*(.*)')


def source_line(node: torch.fx.Node) -> SourceLine | None:
    """The innermost line of the user's model, without its folders."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    frames = [f for f in frames if not f[0].startswith("<") and "/torch/fx/" not in f[0].replace("\\", "/")]
    if not frames:
        return None
    path, line, function, code = frames[-1]
    return SourceLine(PurePath(path).name, int(line), function, code.strip()[:200])
