"""State of code that is the user's own, wherever it lies: it is seen as that of a module beside the function."""

from __future__ import annotations

import importlib.util
import json
import operator
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import tracepack

SOURCE = """
class C:
    n = 0
    cache = None
def counts(x):
    C.n += 1
    return x * 2 if C.n > 40 else x
def fills(x):
    if C.cache is None:
        C.cache = float(x.sum())
    return x * C.cache
"""


def by_path(file: Path) -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("plug_in", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return vars(module)


def executed(file: Path) -> dict[str, Any]:
    held: dict[str, Any] = {"__name__": "nowhere"}
    exec(file.read_text(), held)
    return held


WAYS: list[Callable[[Path], dict[str, Any]]] = [by_path, lambda file: runpy.run_path(str(file)), executed]


@pytest.fixture(params=WAYS)
def code(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """The globals of a file that no import has read."""
    file = tmp_path / "plug_in.py"
    file.write_text(SOURCE)
    found: dict[str, Any] = request.param(file)
    return found


def test_a_class_of_a_file_that_is_loaded_by_its_path(code: dict[str, Any]) -> None:
    with pytest.raises(tracepack.RecordError, match="the function keeps state in class C, 'n'"):
        tracepack.trace(code["counts"], torch.ones(2))
    assert code["C"].n == 0


def test_such_a_class_is_as_before_where_its_function_is_refused(code: dict[str, Any]) -> None:
    with pytest.raises(tracepack.RecordError):
        tracepack.trace(code["fills"], torch.ones(2))
    assert code["C"].cache is None
    assert torch.equal(code["fills"](torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize("kind", [make_dataclass("D", ["a"], namespace={"n": 0}), types.new_class("E")])
def test_a_class_that_a_function_made(kind: Any) -> None:
    kind.n = 0

    def process(x: torch.Tensor) -> torch.Tensor:
        kind.n += 1
        return x * 2 if kind.n > 40 else x

    with pytest.raises(tracepack.RecordError, match=f"the function keeps state in class {kind.__name__}, 'n'"):
        tracepack.trace(process, torch.ones(2))


class Base:
    """It counts for all classes of its kind."""

    n = 0

    def count(self) -> int:
        """One more."""
        Base.n += 1
        return Base.n

    @staticmethod
    def counted() -> int:
        """As `count`."""
        Base.n += 1
        return Base.n


class Sub(Base):
    """It has no methods of its own."""


@pytest.mark.parametrize("count", [lambda: Sub().count(), lambda: Sub.counted(), lambda: super(Sub, Sub()).count()])
def test_a_base_class(count: Callable[[], int]) -> None:
    with pytest.raises(tracepack.RecordError, match="the function keeps state in class Base, 'n'"):
        tracepack.trace(lambda x: x * 2 if count() > 40 else x, torch.ones(2))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages with one, `userpk_of_test`, that keeps a count."""
    folder = tmp_path / "site-packages"
    (folder / "userpk_of_test").mkdir(parents=True)
    (folder / "userpk_of_test" / "__init__.py").write_text(
        "N = 0\n\ndef count():\n    global N\n    N += 1\n    return N\n"
    )
    (folder / "userpk_of_test-1.0.dist-info").mkdir()
    (folder / "userpk_of_test-1.0.dist-info" / "RECORD").write_text("userpk_of_test/__init__.py,,\n")
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("userpk_of_test", None)


def test_a_package_that_was_installed_from_a_folder(packages: Path) -> None:
    url = {"url": "file:///somewhere", "dir_info": {}}
    (packages / "userpk_of_test-1.0.dist-info" / "direct_url.json").write_text(json.dumps(url))
    package = importlib.import_module("userpk_of_test")
    with pytest.raises(tracepack.RecordError, match="the function keeps state in a global, 'N'"):
        tracepack.trace(lambda x: x * 2 if package.count() > 40 else x, torch.ones(2))
    assert package.N == 0


def by_constant(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if getattr(MODULE, "count")() > 40 else x  # noqa: B009  # the form is tested


def by_global(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if getattr(MODULE, NAME)() > 40 else x


def by_dict(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if MODULE.__dict__[NAME]() > 40 else x


def by_getter(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if operator.attrgetter(NAME)(MODULE)() > 40 else x


@pytest.mark.parametrize("process", [by_constant, by_global, by_dict, by_getter])
def test_a_name_of_a_module_by_a_text(process: Callable[..., Any], tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "counting_of_test.py").write_text("N = 0\n\ndef count():\n    global N\n    N += 1\n    return N\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(globals(), "MODULE", importlib.import_module("counting_of_test"))
    try:
        with pytest.raises(tracepack.RecordError, match="the function keeps state in a global of MODULE, 'N'"):
            tracepack.trace(process, torch.ones(2))
    finally:
        del sys.modules["counting_of_test"]


NAME = "count"
MODULE: Any = None
