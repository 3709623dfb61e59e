"""The source tree: small folders, short files, no circles of imports, one name for one thing.

The imports are read here with `ast`, so that what `lint-imports` says is held against a second reading.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
OTHERS = ("tests", "benchmarks", "samples", "tools")
HOMES = {"ops": "tracepack.ops", "pipeline": "tracepack.pipeline", "serialization": "tracepack.serialization"}
CODE = (".py", ".h", ".slang")
MOST_FILES, MOST_LINES = 12, 350

# Modules that share a name because they are the same idea in several places.
SAME_MODULES = {
    "gradients": "what becomes of gradients: of a model that is lowered, and of a function that is recorded",
    "golden": "golden examples: recording and replaying them, and their form in an archive",
    "torch_library": "torch.library operators: what all kernels share, and those of comprehensions",
    "errors": "the catalogue of each language, and of lowering",
    "kernel": "the kernel class of each kind, and the interface",
    "module": "what a user holds of a Slang or comprehension source",
    "text": "a form for people: of graphs, and of comprehensions",
    "types": "the types of the IR, of Slang and of C++",
    "dates": "dates of Python: what stands for them, for their classes, and what a run calls",
    "decimals": "decimal numbers of Python, in the same places",
    "dtypes": "the dtypes of each language",
    "program": "a whole program: of a pipeline, in an archive, in Slang, in C++",
    "emitter": "writes code from an IR, one for each target",
    "values": "values in each target's code",
    "prelude": "what generated code begins with, in each target",
    "cache": "a cache of files: of kernels, of tunings",
    "lower": "from one form down to the next",
    "ir": "an intermediate form of a comprehension",
    "plan": "what is ready to run",
    "select": "which implementation runs",
    "scan": "a running total, in C++ and on torch's operators",
    "cpu": "the CPU, as a target and as a launch",
    "gpu": "the GPU, as a schedule and as a launch",
    "call": "one call, taken apart",
    "arguments": "of a call, and of the command line",
    "sizes": "what is known of sizes: of an op, of a pipeline",
    "export": "out of torch: a model that torch exports, and the command that writes ONNX",
    "profile": "what each node took: as data, and the command",
    "control_flow": "`cond` and `while_loop`, recorded and run",
    "guards": "conditions, written down and recorded",
    "random": "random numbers, recorded and drawn",
    "numpy": "numpy's functions, patched and called",
    "inspect": "what a file holds: a command, and for TorchScript",
    "batch": "many rows at once: the texts of a tokenizer, and the command",
    "verify": "that a thing is whole: a graph, and a command for a file",
    "layout": "places: of arguments in memory, of nodes in a picture",
}

# Classes that share a name because they are the same idea in several places.
SAME_CLASSES = {
    "Apply": "the autograd function of a kernel of each kind, and an application in the language",
    "Backward": "the gradient of a kernel of each kind",
    "Call": "one call, taken apart",
    "Generated": "generated source, in each target",
    "Layout": "places: of arguments in memory, of nodes in a picture",
    "Node": "a node of the IR, and of the language's syntax",
    "Operator": "an operator of the IR, and of the language's syntax",
    "Parameter": "of a pipeline, and of a Slang function",
    "Plan": "what is ready to run",
    "Program": "a whole program: of a pipeline, in Slang, of a comprehension",
    "Recording": "a recording that goes on, and one that is done",
    "Reference": "the model that a lowered body is held against",
    "Report": "what a check found, and what a command says",
    "Scope": "the names that are known at a place of a program",
    "Search": "the genetic search, and what the tuner asks of one",
    "Slot": "a place that a value is put into",
    "Source": "source code: generated, and the user's",
    "TensorType": "of the IR, and of a comprehension",
    "Value": "of the IR, and in C++",
}


def files() -> Iterator[tuple[str, Path]]:
    """Every source file of the package, with its path as written in the repository."""
    for home in (*HOMES, "src/tracepack"):
        for path in sorted((ROOT / home).iterdir() if home == "src/tracepack" else [ROOT / home]):
            if path.is_symlink():
                continue
            found = [path] if path.is_file() else sorted(path.rglob("*"))
            yield from ((f.relative_to(ROOT).as_posix(), f) for f in found if f.suffix in (*CODE, ".txt"))


def all_files() -> Iterator[tuple[str, Path]]:
    """Those of the package, and of what stands around it."""
    yield from files()
    for home in OTHERS:
        found = sorted((ROOT / home).rglob("*"))
        yield from ((f.relative_to(ROOT).as_posix(), f) for f in found if f.suffix in CODE)


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module(path: str) -> str:
    parts = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join([*([] if parts[0] == "tracepack" else ["tracepack"]), *parts])


MODULES = {module(name): path for name, path in files() if path.suffix == ".py"}


def imports(name: str, path: Path) -> set[str]:
    """The modules of the package that a module imports: anywhere in it, type-only imports included."""
    found: set[str] = set()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            target = ".".join(filter(None, [base, node.module]))
            inner = {f"{target}.{alias.name}" for alias in node.names}
            found |= {item if item in MODULES else target for item in inner}
    return (found & MODULES.keys()) - {name}


def test_the_reading_finds_the_package() -> None:
    assert len(MODULES) > 200
    assert "tracepack.ops.graph.graph" in imports("tracepack.pipeline.trace", MODULES["tracepack.pipeline.trace"])
    lazy = imports("tracepack.cli", MODULES["tracepack.cli"])
    assert "tracepack.cli.commands.run" in lazy, "an import inside a function was not seen"


def test_a_folder_holds_at_most_twelve_files() -> None:
    folders: dict[str, list[str]] = defaultdict(list)
    for name, path in all_files():
        if path.name != "__init__.py":
            folders[name.rpartition("/")[0]].append(path.name)
    full = {folder: names for folder, names in folders.items() if len(names) > MOST_FILES}
    assert {folder: len(names) for folder, names in full.items()} == {}


def test_a_file_has_at_most_350_lines() -> None:
    lengths = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in all_files() if path.suffix in CODE
    }
    assert {name: count for name, count in lengths.items() if count > MOST_LINES} == {}


def test_no_circle_of_imports_lazy_and_type_only_included() -> None:
    arrows = {name: imports(name, path) for name, path in MODULES.items()}
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


def test_the_search_for_circles_finds_one() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"c"}, "c": {"a"}}).prepare()


def test_no_two_modules_share_a_name_unless_they_are_one_idea() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, path in files():
        if path.suffix == ".py" and not path.name.startswith("__"):
            homes[path.stem].append(name)
    shared = {stem: names for stem, names in homes.items() if len(names) > 1}
    assert {stem: names for stem, names in shared.items() if stem not in SAME_MODULES} == {}


def test_no_two_classes_share_a_name_unless_they_are_one_idea() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, path in MODULES.items():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name.strip("_")].append(name)
    shared = {kind: names for kind, names in homes.items() if len(set(names)) > 1}
    assert {kind: names for kind, names in shared.items() if kind not in SAME_CLASSES} == {}


def test_whoever_is_given_the_recorder_says_what_it_uses_of_it() -> None:
    untyped = []
    for name, path in MODULES.items():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef):
                given = [argument for argument in node.args.args if argument.arg == "recorder"]
                untyped += [f"{name}.{node.name}" for each in given if ast.unparse(each.annotation or node) == "Any"]
    assert untyped == []
