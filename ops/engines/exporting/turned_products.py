"""Products with a weight that is stored the other way round, as one operator of ONNX Runtime.

A linear layer of torch holds its matrix turned, and so does the archive, once. In ONNX a product of more than two
dimensions has no word for that, so that a session would turn all of a transformer's matrices, a fourth of its time,
before it packs them. ONNX Runtime's own `FusedMatMul` says it, and packs them as they lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from ...graph.graph import Constant
from ...graph.program import Artefact
from .onnx_weights import MODEL

_DOMAIN, _PRODUCT = "com.microsoft", "FusedMatMul"  # on the CPU for float32 alone


def with_turned_products(artefact: Artefact) -> Artefact:
    """The artefact, whose products read turned weights as they are, where it has such."""
    import onnx

    model = onnx.load_from_string(artefact.files[MODEL])
    if not _rewrite(model.graph, artefact.constants):
        return artefact
    model.opset_import.append(onnx.helper.make_opsetid(_DOMAIN, 1))
    return replace(artefact, files={**artefact.files, MODEL: model.SerializeToString()})


def _rewrite(graph: Any, weights: Mapping[str, Constant]) -> bool:
    """Rewrites the products of a graph, and returns whether there were any."""
    from onnx.helper import make_attribute

    if any(attribute.HasField("g") or attribute.graphs for node in graph.node for attribute in node.attribute):
        return False  # an inner graph may read what is turned
    turned = {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "Transpose" and _is_matrix(weights.get(node.input[0]))
    }
    free = {value.name for value in (*graph.input, *graph.value_info) if _is_free(value.type.tensor_type.shape.dim)}
    found = False
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[0] in free and node.input[1] in turned:
            node.domain, node.op_type, node.input[1] = _DOMAIN, _PRODUCT, turned[node.input[1]]
            node.attribute.append(make_attribute("transB", 1))
            found = True
    used = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    for node in [node for node in graph.node if node.output[0] in turned.keys() - used]:
        graph.node.remove(node)
    return found


def _is_matrix(weight: Constant | None) -> bool:
    return weight is not None and weight.tensor.dim() == 2 and weight.tensor.dtype == torch.float32


def _is_free(shape: Any) -> bool:
    """Whether a tensor has more than two dimensions, not all of them fixed: else there is `Gemm`, with its bias."""
    return len(shape) > 2 and not all(size.HasField("dim_value") for size in shape)
