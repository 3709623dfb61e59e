"""The page of the API is what the docstrings say, and the examples in them run."""

from __future__ import annotations

import doctest
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import tracepack

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")

ROOT = Path(__file__).parents[2]


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("make_api_page", ROOT / "tools" / "make_api_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public() -> list[Any]:
    modules = (tracepack, tracepack.slang, tracepack.comprehension)
    things = [getattr(module, name) for module in modules for name in module.__all__]
    return [thing for thing in things if callable(thing)]


def test_the_page_is_up_to_date() -> None:
    made = tool().page()
    assert made == (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), "run tools/make_api_page.py"


def test_every_public_name_is_on_the_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = [thing.__name__ for thing in public()]
    assert [name for name in names if f".{name}\n" not in page and f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("thing", public(), ids=lambda thing: f"{thing.__module__}.{thing.__name__}")
def test_the_examples_run(thing: Any) -> None:
    module = sys.modules[thing.__module__]
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.FAIL_FAST)
    said: list[str] = []
    for example in doctest.DocTestFinder().find(thing, thing.__name__, module=module, globs={}):  # as a reader has it
        runner.run(example, out=said.append)
    assert runner.failures == 0, "".join(said)
