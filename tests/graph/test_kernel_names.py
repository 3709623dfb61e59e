"""A kernel's name comes from a file or another package: in the text of a graph it stays on its line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from tracepack.ops.graph.graph import Graph, KernelCall, Node, Value
from tracepack.ops.graph.kernel import Kernel, Plain
from tracepack.ops.graph.text import graph_text
from tracepack.ops.graph.types import TensorType


class Named(Kernel):
    kind: ClassVar[str] = "named"

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def description(self) -> dict[str, Plain]:
        return {}

    def assets(self) -> dict[str, bytes]:
        return {}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> Kernel:
        return cls("built")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain", "plain"),
        ("Größe", "Größe"),
        ("n::f<float>", "n::f<float>"),
        ("a\nb", r"'a\nb'"),
        ("\x1b[31m", r"'\x1b[31m'"),
        ("a\u202eb", r"'a\u202eb'"),
        ("a\u2028b", r"'a\u2028b'"),
    ],
)
def test_a_name_stays_on_its_line(name: str, shown: str) -> None:
    given, found = Value(TensorType("float32", ("N",))), Value(TensorType("float32", ("N",)))
    graph = Graph((given,), (Node(KernelCall(Named(name)), (given,), {}, found),), found)
    assert graph_text(graph) == f"graph(%0: f32[N]):\n  %1: f32[N] = {shown}(%0)\n  return %1"
