"""Reads what is about to be written as a load will: a pipeline whose file no load takes is refused when it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops.graph.errors import ArchiveError, TracepackError
from ..ops.graph.graph import Constant
from ..ops.graph.kernel import Kernel
from .container.archive import unpack
from .container.archive_writer import Member, pack
from .container.schema import LARGEST_MANIFEST, MOST_MEMBERS
from .contents import decode
from .decoder import Decoder
from .limits import check_copies, mutable
from .parameters import decode_parameters


class _Written:
    """Members before they are written; the assets of kernels are left empty."""

    def __init__(self, manifest: dict[str, Any], members: Sequence[Member]) -> None:
        self.manifest = manifest
        self._graphs = {each.name: each for each in members if each.name.endswith(".msgpack")}

    def view(self, name: str) -> bytes:
        """The bytes of a graph."""
        return b"".join(self._graphs[name].chunks()) if name in self._graphs else b""

    read = view

    def error(self, what: str, *, member: str = "", expected: Any = None) -> ArchiveError:
        """An error about a member."""
        return ArchiveError(what, where=f"member {member!r}", expected=expected)


def check_readable(
    manifest: dict[str, Any], members: Sequence[Member], kernels: Sequence[Kernel], constants: Sequence[Constant]
) -> None:
    """Refuses what a load would refuse.

    Args:
        manifest: without the list of members.
        members: all of them.
        kernels: in the order of the manifest.
        constants: those that graphs name, in the order of the manifest.

    Raises:
        ArchiveError: the pipeline is larger, or nested deeper, than a file may be; or it holds what no file can.
    """
    built = iter(kernels)
    try:
        sizes = {each.name: {"sha256": "0" * 64, "size": each.size} for each in members}
        data = pack({**manifest, "members": sizes})
        if len(data) > LARGEST_MANIFEST or len(members) >= MOST_MEMBERS:
            got = f"a manifest of {len(data)} bytes, {len(members)} members"
            raise ArchiveError("the manifest is too large", got=got, expected=f"{LARGEST_MANIFEST} bytes at most")
        read = unpack(data, "the manifest")
        written: Any = _Written(read, members)
        contents = decode(written, constants, lambda row, assets: next(built))
        decode_parameters(read, len(contents.graph.inputs))
        decoder = Decoder([Constant(None, "")] * len(read["example_tensors"]), [], [], "$.examples")
        for index, row in enumerate(read["examples"]):
            for tree in (*row["inputs"].values(), row["output"]):
                decoder.tree(tree, f"$.examples[{index}]")
        stored = sum(each.size for each in members if each.name.endswith("weights.safetensors"))
        check_copies(mutable(constants), stored, "the state")
    except TracepackError as error:
        raise ArchiveError(
            f"a file cannot hold this pipeline: {error.what}", where=error.where, got=error.got, expected=error.expected
        ) from error
