"""A model as ONNX Runtime has rewritten it, beside the model itself: a session of it need not rewrite it again.

Of a small model a session spends half of its time with rewriting, and the code of that stays in memory. What it made is
kept for the release that made it; any other takes the model. Weights that the session folded, as the gates of an LSTM
in another order, become weights of the archive, where they are small: a large model takes most of its time to
pack its weights, and would have them twice in the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnxruntime
import torch

from ...graph.graph import Constant
from ...graph.program import Artefact
from ...graph.sharing.flat_items import flat_items
from .onnx_weights import NUMPY_TYPES

OPTIMISED = "optimised.onnx"
TAKEN, FOLDED = "taken", "folded"
"""The keys of the description's entry of that name: the weights that it takes, and those of them that only it takes."""

_MOST, _MOST_FOLDED = 64 << 20, 4 << 20  # bytes of weights
_LEAST = 256  # bytes; a smaller weight stays in the model
_OF_ONE_PROCESSOR = "com.microsoft.nchwc"  # the blocks of its convolutions are as wide as the processor's registers


def with_optimised(artefact: Artefact, session: Callable[[str], object]) -> Artefact:
    """The artefact with the rewritten model; without it where that has large weights of its own, or fits one processor.

    Args:
        artefact: with the model.
        session: makes a session of it, which writes the rewritten model to a path.
    """
    if sum(constant.tensor.nbytes for constant in artefact.constants.values()) > _MOST:
        return artefact
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / OPTIMISED
        try:
            session(str(path))
            model = onnx.load(str(path))
        except Exception:  # any: the search meets it again with the model itself
            return artefact
    found = _apart(model, artefact.constants)
    if found is None:
        return artefact
    taken, folded = found
    return replace(
        artefact,
        files={**artefact.files, OPTIMISED: model.SerializeToString()},
        constants={**artefact.constants, **folded},
        description={**artefact.description, OPTIMISED: {TAKEN: sorted({*taken, *folded}), FOLDED: sorted(folded)}},
    )


def _apart(model: Any, weights: Mapping[str, Constant]) -> tuple[list[str], dict[str, Constant]] | None:
    """Takes the weights out of a model: the names of those it shares, and its own; None where it is not kept."""
    from onnx import TensorProto, numpy_helper

    graph = model.graph
    if any(node.domain == _OF_ONE_PROCESSOR for node in graph.node):
        return None
    taken: list[str] = []
    folded: dict[str, Constant] = {}
    kept = []
    for each in graph.initializer:
        if each.data_location == TensorProto.EXTERNAL:
            return None
        array = numpy_helper.to_array(each)
        if each.name in weights:
            tensor = weights[each.name].tensor.detach()
            if tuple(array.shape) != tuple(tensor.shape) or array.tobytes() != _bytes(tensor):
                return None  # another one of the same name
            taken.append(each.name)
        elif array.nbytes >= _LEAST and str(array.dtype) in NUMPY_TYPES:
            folded[each.name] = Constant(torch.from_numpy(array.copy()), each.name)
        else:
            kept.append(each)
    if sum(constant.tensor.nbytes for constant in folded.values()) > _MOST_FOLDED:
        return None
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return taken, folded


def _bytes(tensor: torch.Tensor) -> bytes:
    return bytes(flat_items(tensor).view(torch.uint8).numpy())


def weights_of(artefact: Artefact, *, optimised: bool) -> dict[str, torch.Tensor]:
    """The weights that the model takes, or the rewritten one, by name."""
    noted = artefact.description.get(OPTIMISED)
    names = noted if isinstance(noted, Mapping) else {}
    taken, folded = (set(map(str, names.get(key) or ())) for key in (TAKEN, FOLDED))
    return {
        name: constant.tensor.detach()
        for name, constant in artefact.constants.items()
        if (name in taken if optimised else name not in folded)
    }


def is_optimised(artefact: Artefact, version: str) -> bool:
    """Whether an artefact has a rewritten model that this release of ONNX Runtime has made."""
    names = artefact.description.get(OPTIMISED)
    return isinstance(names, Mapping) and OPTIMISED in artefact.files and artefact.package == version


def as_it_is(options: Any) -> None:
    """Has a session take its model as it is."""
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
