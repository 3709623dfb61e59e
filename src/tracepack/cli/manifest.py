"""Reads an archive without torch: the manifest, the graphs without their tensors, kernels by name only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ..ops.graph.graph import Body, Constant, Graph, KernelCall
from ..ops.graph.kernel import Kernel
from ..ops.graph.program import Parameters, Program
from ..ops.graph.sharing.memory import touched
from ..ops.graph.text import guards_text
from ..ops.graph.traverse import walk
from ..ops.graph.types import DTYPES
from ..pipeline.left_out.ways_without import ways_of
from ..pipeline.signature.fields import output_text
from ..serialization.container.archive import Archive
from ..serialization.container.faults import one_error
from ..serialization.container.schema import WEIGHTS
from ..serialization.contents import Contents, constants_of, decode
from ..serialization.decoder import malformed
from ..serialization.limits import is_shape
from ..serialization.parameters import decode_parameters
from ..serialization.user_metadata import decode_metadata

# Bytes of an element for the dtypes whose name does not end in the number of bits.
_ITEM_BYTES = {"bool": 1}


class NamedKernel(Kernel):
    """Stands for a kernel that is shown and never run: its package need not be installed."""

    kind: ClassVar[str] = "named"

    def __init__(self, row: Mapping[str, Any]) -> None:
        self.row = row

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.row["name"])

    def description(self) -> dict[str, Any]:
        """The description in the archive."""
        return dict(self.row["description"])

    def assets(self) -> dict[str, bytes]:
        """None: they stay in the archive."""
        return {}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> NamedKernel:
        """Refuses: such a kernel is made from a row of the manifest."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses to run."""
        raise NotImplementedError(self.name)


@dataclass(frozen=True)
class Described:
    """An archive with its graphs.

    Attributes:
        archive: the open file.
        contents: graphs, with constants that have no tensor and kernels that have only a name.
        constants: the constants, in the order of the manifest.
        parameters: how the pipeline is called.
        metadata: what the user wrote about it.
    """

    archive: Archive
    contents: Contents
    constants: list[Constant]
    parameters: Parameters
    metadata: dict[str, Any]

    @property
    def manifest(self) -> dict[str, Any]:
        """The archive's manifest."""
        return self.archive.manifest

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """Name and type of every flat input."""
        written = touched(self.contents.graph).inputs()
        kinds = [f"{t} (written)" if i in written else str(t) for i, t in enumerate(self.parameters.types)]
        return list(zip(self.parameters.names, kinds, strict=True))

    @property
    def output(self) -> str:
        """The types of the outputs in their containers."""
        return output_text(self.contents.graph)

    @property
    def signature(self) -> str:
        """Inputs, outputs and guards, as `Pipeline.signature` shows them."""
        inputs = self.parameters.texts(touched(self.contents.graph).inputs())
        text = f"({', '.join(inputs)}) -> {self.output}"
        guards = self.contents.facts.guards
        return text + (f" where {guards_text(guards)}" if guards else "")

    @property
    def without(self) -> list[dict[str, Any]]:
        """The inputs that calls may leave out together, where the function has another recording for them."""
        contents = self.contents
        program = Program(contents.name, contents.graph, self.parameters, contents.facts)
        return [
            {
                "inputs": sorted(way.names),
                "signature": f"({way.program.parameters}) -> {output_text(way.program.graph)}",
            }
            for way in ways_of(program)
        ]

    def bytes_of(self, constants: Iterator[Constant]) -> int:
        """The bytes of some constants; constants that share a tensor count once."""
        rows = [self._rows[id(constant)] for constant in constants]
        return sum({row["tensor"]: tensor_bytes(row) for row in rows}.values())

    @cached_property
    def _rows(self) -> dict[int, dict[str, Any]]:
        """The row of each constant, by its id."""
        return {id(c): row for c, row in zip(self.constants, self.manifest["constants"], strict=True)}


def describe(path: str) -> Described:
    """Opens and reads an archive; the hashes of the graphs are checked, those of the weights are not.

    Raises:
        ArchiveError, GraphError, UnknownOperatorError: as `tracepack.load`.
    """
    archive = Archive(path)
    with one_error(archive.label):
        return _described(archive)


def _described(archive: Archive) -> Described:
    archive.check_listing()
    _check_rows(archive.manifest)
    constants = constants_of(archive.manifest)
    contents = decode(archive, constants, lambda row, assets: NamedKernel(row))
    parameters = decode_parameters(archive.manifest, len(contents.graph.inputs))
    metadata = decode_metadata(archive.manifest.get("metadata"))
    return Described(archive, contents, constants, parameters, metadata)


def _check_rows(manifest: dict[str, Any]) -> None:
    """Checks the rows of the manifest that `load` does not read, but commands do."""
    for index, row in enumerate(manifest["constants"]):
        match row:
            case {"tensor": str(), "dtype": str(dtype), "shape": list(shape)} if dtype in DTYPES and is_shape(shape):
                pass
            case _:
                raise malformed(f"$.constants[{index}]", row, "a constant")
    for name, text in manifest["producer"].items():
        if not isinstance(name, str) or not isinstance(text, str | int | float | None):
            raise malformed("$.producer", {name: text}, "a map of texts")
    for name, row in manifest["members"].items():
        match row:
            case {"size": int(), "sha256": str()}:
                pass
            case _:
                raise malformed(f"$.members[{name!r}]", row, "a size and a sha256")
        if not isinstance(name, str):
            raise malformed("$.members", name, "names")


def kernels_of(graph: Graph) -> Iterator[NamedKernel]:
    """The kernels that a graph calls itself, each once."""
    seen: set[int] = set()
    for node in walk(graph):
        if isinstance(node.target, KernelCall) and id(node.target.kernel) not in seen:
            seen.add(id(node.target.kernel))
            assert isinstance(node.target.kernel, NamedKernel)
            yield node.target.kernel


def body_size(body: Body) -> int:
    """The number of operators in an op's body, subgraphs included."""
    return sum(1 for _ in walk(body.graph))


def tensor_bytes(row: Mapping[str, Any]) -> int:
    """Bytes of a constant by its row in the manifest; 0 where the row is malformed.

    Example:
        >>> tensor_bytes({"dtype": "float32", "shape": [2, 3]})
        24
    """
    count = _item_bytes(str(row.get("dtype")))
    for size in row.get("shape") or ():
        count *= size if isinstance(size, int) and size >= 0 else 0
    return count


def _item_bytes(dtype: str) -> int:
    if dtype.startswith("float8"):
        return 1
    digits = dtype.lstrip("abcdefghijklmnopqrstuvwxyz_")
    return int(digits) // 8 if digits.isdigit() else _ITEM_BYTES.get(dtype, 0)


def weights_bytes(archive: Archive) -> int:
    """Bytes of the member that holds the weights."""
    listed = archive.manifest["members"].get(WEIGHTS)
    return int(listed["size"]) if isinstance(listed, dict) and isinstance(listed.get("size"), int) else 0
