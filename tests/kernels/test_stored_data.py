"""What a kernel gives to be stored, and the names and makers of kinds: refused by name where no archive can hold it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import tracepack as tp
from tracepack.ops.graph.kernel import Kernel
from tracepack.ops.kernels import registry


class Table(Kernel):
    kind: ClassVar[str] = "table"

    def __init__(self, value: Any, assets: Any = None) -> None:
        self.value, self.files = value, {} if assets is None else assets

    @property
    def name(self) -> str:
        return "lookup"

    def description(self) -> dict[str, Any]:
        return {"table": self.value}

    def assets(self) -> dict[str, bytes]:
        return self.files

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> Table:
        return cls(description["table"], dict(assets))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


@pytest.fixture(autouse=True)
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kinds that a test registers are forgotten after it."""
    monkeypatch.setattr(registry, "_kinds", dict(registry._kinds))
    registry.register("table", lambda: Table)


def saved(kernel: Kernel) -> bytes:
    file = io.BytesIO()
    tp.trace(tp.script(kernel), torch.ones(2)).save(file)
    return file.getvalue()


def test_plain_data_comes_back() -> None:
    value = {"a": [1, None, True, "\u00fc", b"\0\xff", {"x": -1.5, 3: 2**64 - 1}], "empty": {}}
    loaded = tp.load(saved(Table(value, {"dir/\u00fc.bin": b"\0\1"})))
    (kernel,) = [node.target.kernel for node in loaded.graph.nodes if hasattr(node.target, "kernel")]
    assert kernel.value == value
    assert kernel.files == {"dir/\u00fc.bin": b"\0\1"}


@pytest.mark.parametrize(
    ("value", "place", "got"),
    [
        ({"a": [np.float32(1.5)]}, "description['table']['a'][0]", f"{np.float32(1.5)!r} (numpy.float32)"),
        (2**70, "description['table']", "1180591620717411303424 (builtins.int)"),
        ({1.5: 2}, "key of description['table']", "1.5 (builtins.float)"),
        ("\ud800", "description['table']", r"'\ud800' (builtins.str)"),
        ({1}, "description['table']", "{1} (builtins.set)"),
        (torch.ones(1), "description['table']", "tensor([1.]) (torch.Tensor)"),
    ],
)
def test_a_description_of_other_data_is_refused_with_its_place(value: Any, place: str, got: str) -> None:
    expected = re.escape(f"kernel 'lookup' of kind 'table', {place}: an archive cannot hold this; got")
    with pytest.raises(tp.ArchiveError, match=expected) as error:
        saved(Table(value))
    assert f"got {got}; expected None, booleans, integers of 64 bits" in str(error.value)


@pytest.mark.parametrize(
    ("assets", "text"),
    [
        ({5: b"x"}, "name of an asset: an archive cannot hold this; got 5 (builtins.int); expected str"),
        ({"f": "text"}, "asset 'f': an archive cannot hold this; got 'text' (builtins.str); expected bytes"),
        ([b"x"], "assets: an archive cannot hold this; got [b'x'] (builtins.list); expected a dict"),
    ],
)
def test_assets_of_other_data_are_refused_by_name(assets: Any, text: str) -> None:
    with pytest.raises(tp.ArchiveError, match=re.escape(text)):
        saved(Table(1, assets))


@pytest.mark.parametrize("kind", ["", "a\nb", 5, None])
def test_a_kind_without_a_printable_name_is_refused(kind: Any) -> None:
    with pytest.raises(tp.GraphError, match="a kind of kernels has no name; got .*; expected a printable text"):
        registry.register(kind, lambda: Table)


def test_a_make_that_returns_no_kernel_is_named() -> None:
    class Thing:
        pass

    registry.register("things", lambda: Table, make=lambda model: 5 if isinstance(model, Thing) else None)
    text = "`make` of the kind of kernels 'things' returned no kernel; got builtins.int; expected a Kernel, or None"
    with pytest.raises(tp.ScriptError, match=text):
        tp.script(Thing())


def test_a_make_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(model: Any) -> None:
        raise ValueError("no table")

    monkeypatch.setattr(registry, "_kinds", {**registry._kinds})
    registry.register("failing", lambda: Table, make=make)
    with pytest.raises(tp.ScriptError, match="`make` of the kind of kernels 'failing' failed: ValueError: no table"):
        tp.script(object())


def test_a_description_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(
        tp.ArchiveError, match=r"description\['table'\](\[0\])+.*\.\.\.: .*; expected .* 200 levels at most"
    ):
        saved(Table(endless))
