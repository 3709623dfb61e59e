"""Golden examples in an archive: inputs and outputs, and the terms by which a replay compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..ops.graph.graph import Constant
from ..ops.graph.program import unnamed
from ..ops.graph.traverse import leaves, map_leaves
from .container.archive import Archive
from .container.faults import one_error
from .container.schema import EXAMPLES
from .decoder import Decoder, malformed, tolerance_in
from .encoder import encode_tree
from .limits import check_copies
from .weights import MappedTensors, TensorTable, tensors_of

Example = tuple[dict[str, Any], Any]
"""A feed dict and its output: trees of the IR's containers whose leaves are tensors and plain values."""

PRECISIONS = ("float64", "float32", "float16")


@dataclass(frozen=True)
class Golden:
    """The terms by which a replay compares outputs.

    Attributes:
        tolerance: the one that was given for all outputs of numbers, or None.
        precisions: the lowest precision on the way to each output that floating numbers take part in, by its name.
        processor: the kind of processor and the version of torch that computed the outputs.
        engines: by how much floating numbers may differ at least, because of engines; no part of the archive's terms.
    """

    tolerance: float | None
    precisions: Mapping[str, str]
    processor: Mapping[str, str]
    engines: float = 0.0


def encode_golden(terms: Golden | None) -> dict[str, Any]:
    """The terms as a field of the manifest; empty where there are no examples."""
    if terms is None:
        return {}
    return {
        "tolerance": terms.tolerance,
        "precisions": dict(terms.precisions),
        "processor": dict(sorted(terms.processor.items())),
    }


def golden_terms(archive: Archive) -> Golden | None:
    """The terms in an archive; None for an archive of format 1.0, which holds none.

    Raises:
        ArchiveError: the terms are malformed.
    """
    match archive.manifest.get("golden"):
        case None:
            return None
        case {} as empty if not empty:
            return None
        case {"tolerance": tolerance, "precisions": dict(precisions), "processor": dict(processor)}:
            names = _texts(precisions, "precisions", PRECISIONS)
            given = tolerance_in(tolerance, "$.golden.tolerance")
            return Golden(given, names, _texts(processor, "processor"))
        case other:
            raise malformed("$.golden", other, "a tolerance, precisions and a processor")


def _texts(rows: dict[Any, Any], name: str, allowed: Sequence[str] | None = None) -> dict[str, str]:
    for key, text in rows.items():
        if not isinstance(key, str) or not isinstance(text, str) or (allowed and text not in allowed):
            expected = f"one of {', '.join(allowed)}" if allowed else "a string"
            raise malformed(f"$.golden.{name}[{key!r}]", text, expected)
    return rows


def encode_examples(examples: Sequence[Example]) -> tuple[list[Any], TensorTable]:
    """The manifest's rows of examples, and the tensors that they name."""
    table = TensorTable()

    def leaf(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return {"c": table.add(f"example{len(table.rows)}", value)}
        return encode_tree(value, leaf)

    rows = [
        {"inputs": {name: leaf(value) for name, value in feed.items()}, "output": leaf(output)}
        for feed, output in examples
    ]
    return rows, table


def golden_examples(archive: Archive) -> list[tuple[dict[str, Any], Any]]:
    """The feed dicts and outputs that an archive stores as golden examples, their bytes checked.

    Raises:
        ArchiveError: they are altered or malformed.
    """
    if not archive.manifest["examples"]:
        return []
    with one_error(archive.label):
        return _examples(archive)


def kept_examples(source: Any) -> tuple[list[dict[str, Any]], float | None]:
    """The inputs of the golden examples of the file that a program was read from, and their tolerance."""
    if source is None:
        return [], None
    terms = golden_terms(source.archive)
    return [feed for feed, _ in golden_examples(source.archive)], None if terms is None else terms.tolerance


def _examples(archive: Archive) -> list[tuple[dict[str, Any], Any]]:
    manifest = archive.manifest
    archive.check(EXAMPLES)
    tensors = list(tensors_of(manifest["example_tensors"], MappedTensors(archive, EXAMPLES), "example_tensors"))
    decoder = Decoder([Constant(tensor, "") for tensor in tensors], [], [], "$.examples")
    pairs = []
    copied: list[Any] = []
    for index, row in enumerate(manifest["examples"]):
        path = f"$.examples[{index}]"
        match row:
            case {"inputs": dict(inputs), "output": output}:
                given = {name: decoder.tree(tree, f"{path}.inputs") for name, tree in inputs.items()}
                expected = decoder.tree(output, f"{path}.output")
                copied += [leaf.tensor for leaf in leaves((given, expected)) if isinstance(leaf, Constant)]
                pairs.append((given, expected))
            case _:
                raise malformed(path, row, "inputs and an output")
    check_copies(copied, len(archive.view(EXAMPLES)), "the golden examples")
    return [(unnamed(_live(given)), _live(expected)) for given, expected in pairs]


def _live(tree: Any) -> Any:
    """A decoded tree with new tensors in place of constants, and plain tuples in place of records."""
    return map_leaves(
        lambda leaf: leaf.tensor.clone() if isinstance(leaf, Constant) else leaf, tree, lambda _, items: items
    )
