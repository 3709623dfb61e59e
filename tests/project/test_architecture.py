"""`docs/architecture.md` is true: what it names is there, its ways are real runs, and its picture is up to date."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch

import tracepack
from tests.engines.fakes import Mirror
from tracepack.ops.engines import catalogue

pytest.importorskip("slangpy", reason="the extra 'slang' is not installed")

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))))
ROOMS_OF_COMPREHENSIONS = ROOT / "ops" / "comprehension"
COMPREHENSION = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n)\n C(m,n) = C(m,n) * 2.5 }"


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("make_architecture", ROOT / "tools" / "make_architecture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def definition(name: str) -> ast.AST:
    """The definition that `path.py:name` or `path.py:Class.name` stands for."""
    path, _, parts = name.partition(":")
    found: Any = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in parts.split("."):
        found = next((node for node in found.body if getattr(node, "name", None) == part), None)
        assert found is not None, f"{path} defines no {parts}"
    return found


def is_there(name: str) -> bool:
    """Whether a name of the page is a path, a definition, a name of Python's or of ours, or a command."""
    path, _, inside = name.partition(":")
    if inside:
        return definition(name) is not None
    if "/" in path or path.endswith((".py", ".toml")):
        return (ROOT / path).exists()
    if name.startswith("make "):
        return re.search(rf"^{name[5:]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE) is not None
    if name.startswith("tracepack "):
        return (ROOT / "src" / "tracepack" / "cli" / "commands" / f"{name[10:]}.py").exists()
    if (ROOMS_OF_COMPREHENSIONS / name).is_dir() or hasattr(builtins, name):
        return True
    home, *parts = name.split(".")
    found: Any = {"tracepack": tracepack, "typing": typing}[home]
    for part in parts:
        found = getattr(found, part, None) or importlib.import_module(f"{home}.{part}")
    return True


@pytest.mark.parametrize("name", NAMES)
def test_what_the_page_names_is_there(name: str) -> None:
    assert is_there(name)


def test_a_name_that_is_not_there_is_found() -> None:
    assert not is_there("ops/nowhere.py")
    with pytest.raises(AssertionError, match="defines no Graph2"):
        is_there("ops/graph/graph.py:Graph2")


def test_the_picture_is_what_the_imports_say() -> None:
    made = tool().picture()
    assert made == (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8"), "run tools/make_architecture.py"


# -- the ways --------------------------------------------------------------------------------------------------------


def entered(run: Callable[[], Any]) -> dict[tuple[str, int], int]:
    """When each function of ours was first entered, by its file and line."""
    order: dict[tuple[str, int], int] = {}
    files: dict[str, str] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and "tracepack" in code.co_filename:
            if code.co_filename not in files:
                files[code.co_filename] = str(Path(code.co_filename).resolve())
            order.setdefault((files[code.co_filename], code.co_firstlineno), len(order))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return order


def when(step: str, order: dict[tuple[str, int], int]) -> int | None:
    """When the function of a step was first entered; a class stands for making an instance of it."""
    node: Any = definition(step)
    if isinstance(node, ast.ClassDef):
        node = next(each for each in node.body if getattr(each, "name", None) == "__init__")
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return order.get((str((ROOT / step.split(":", maxsplit=1)[0]).resolve()), first))


def process(op: Any) -> Callable[..., Any]:
    def step(x: torch.Tensor, h: torch.Tensor) -> dict[str, torch.Tensor]:
        h = op(x, h)
        return {"state": h, "scores": (h * 2).softmax(-1)}

    return step


def runs(folder: Path) -> dict[str, Callable[[], Any]]:
    """A run of each way; each needs those before it."""
    model, x, h, made = torch.nn.GRUCell(4, 8), torch.rand(2, 4), torch.rand(2, 8), {}
    path = folder / "cell.tpk"

    def of_script() -> None:
        made["op"] = tracepack.script(model, device="cpu")
        tracepack.script(tracepack.comprehension.define(COMPREHENSION))

    def of_slang() -> None:
        text = "[Differentiable]\nfloat on_its_way(float a, float x) { return a * x * x + a; }"
        y = torch.ones(4, requires_grad=True)
        tracepack.slang.load(text).on_its_way(2.0, y).sum().backward()

    def of_comprehension() -> None:
        text = (
            "def on_its_way(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n)\n C(m,n) = C(m,n) * 2.5 }"
        )
        a, b = torch.rand(5, 6, requires_grad=True), torch.rand(6, 7)
        tracepack.comprehension.define(text)(a, b).sum().backward()

    return {
        "tracepack.script": of_script,
        "tracepack.trace": lambda: made.update(mod=tracepack.trace(process(made["op"]), x, h)),
        "tracepack.Pipeline.save": lambda: made["mod"].save(path, examples=[{"x": x, "h": h}]),
        "tracepack.load": lambda: made.update(mod=tracepack.load(path)),
        "tracepack.Pipeline.run": lambda: made["mod"].run({"x": x, "h": h}),
        "tracepack.Pipeline.optimize": lambda: made["mod"].optimize([{"x": x, "h": h}], engines=["mirror"]),
        "tracepack.slang": of_slang,
        "tracepack.comprehension": of_comprehension,
    }


def tell(folder: str) -> None:
    """Prints for each way the steps of its description, each with when it was first entered."""
    catalogue.register("mirror", lambda: Mirror)
    ways, found = tool().ways(), runs(Path(folder))
    assert list(ways) == list(found)
    orders = {way: entered(run) for way, run in found.items()}
    print(json.dumps({way: [[step, when(step, orders[way])] for step in ways[way]] for way in ways}))


def test_each_way_is_that_of_a_real_run(tmp_path: Path) -> None:
    code = "import sys\nfrom tests.project.test_architecture import tell\ntell(sys.argv[1])"
    given = [sys.executable, "-c", code, str(tmp_path)]  # what a profile hears depends on the tests before
    environment = {**os.environ, "TRACEPACK_CACHE": str(tmp_path / "cache")}  # nothing was compiled before
    ended = subprocess.run(given, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    for way, steps in json.loads(ended.stdout.splitlines()[-1]).items():
        assert [step for step, time in steps if time is None] == [], f"{way} does not come there"
        times = [time for _, time in steps]
        assert times == sorted(times), f"{way} comes there in another order"
