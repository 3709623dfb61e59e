"""Writes `docs/api.md` from the docstrings of every public name: `python tools/make_api_page.py`.

A test compares the page with what this makes, so it is never out of date.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import tracepack

TARGET = Path(__file__).parent.parent / "docs" / "api.md"

HEAD = """\
# The API

Every public name, from its docstring; `tools/make_api_page.py` writes this page. [slang.md](slang.md) and
[comprehension.md](comprehension.md) explain the two kinds of kernels, [errors.md](errors.md) the errors.
"""

CHAPTERS = {
    "Packing and loading": ("script", "trace", "load", "Pipeline", "InferenceOp"),
    "Inside a processing function": ("tokenizer", "lookup", "map", "cond", "while_loop", "drawing"),
}
SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises", "Example")


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in CHAPTERS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += entry(f"tracepack.{name}", getattr(tracepack, name))
    for module in (tracepack.slang, tracepack.comprehension):
        parts += chapter(module)
    parts += errors("Errors", tracepack)
    return "\n".join(parts)


def chapter(module: ModuleType) -> Iterator[str]:
    """The names of one of the two modules of kernels, with the members of classes in a table."""
    title = "tracepack." + module.__name__.rsplit(".", 1)[-1]
    yield f"## {title}\n\n{summary(module)}\n"
    for name in module.__all__:
        thing = getattr(module, name)
        if not is_error(thing):
            yield heading(f"{title}.{name}", thing)
            rows = [(called, summary(function)) for called, function in members(thing)]
            yield from [table(rows)] if rows else []
    yield from errors(f"Errors of {title}", module, level="###")


def errors(title: str, module: ModuleType, level: str = "##") -> Iterator[str]:
    """A table of the errors and warnings of a module."""
    kinds = [getattr(module, name) for name in module.__all__ if is_error(getattr(module, name))]
    yield f"{level} {title}\n"
    yield table([(kind.__name__, summary(kind)) for kind in kinds])


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Names with what they are, a bar in them escaped."""
    lines = [f"`{name}` \0 {text}".replace("|", "\\|").replace("\0", "|") for name, text in rows]
    return "\n".join(["| | |", "|---|---|", *(f"| {line} |" for line in lines), ""])


def is_error(thing: Any) -> bool:
    """Whether a public name is an exception or a warning."""
    return inspect.isclass(thing) and issubclass(thing, Exception)


def entry(name: str, thing: Any) -> Iterator[str]:
    """A function, or a class with its public members, all in full."""
    yield heading(name, thing)
    for called, function in members(thing):
        yield f"#### `{called}`\n\n{body(function)}"


def heading(name: str, thing: Any) -> str:
    """A name with what its own docstring says."""
    called = "" if inspect.isclass(thing) else f"```python\n{name}{signature(thing)}\n```\n\n"
    return f"### {name}\n\n{called}{body(thing)}"


def members(kind: Any) -> Iterator[tuple[str, Any]]:
    """How each public member of a class is called, and its function, those of our own classes above it too."""
    ours = [each for each in getattr(kind, "__mro__", ()) if each.__module__.startswith("tracepack")]
    held = {name: found for each in reversed(ours) for name, found in vars(each).items()}
    for name, found in sorted(held.items(), key=lambda pair: pair[0] not in vars(kind)):
        function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
        if (name.startswith("_") and name != "__call__") or not inspect.isfunction(function):
            continue
        called = "" if isinstance(found, property) else signature(function)
        yield f"{kind.__name__}{'' if name == '__call__' else '.' + name}{called}", function


def signature(function: Any) -> str:
    """The parameters of a function with their defaults, and its annotations where they say something."""
    given = inspect.signature(function)
    kept = [p.replace(annotation=plain(p.annotation)) for n, p in given.parameters.items() if n not in ("self", "cls")]
    text = str(given.replace(parameters=kept, return_annotation=plain(given.return_annotation)))
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations are texts


def plain(annotation: Any) -> Any:
    """An annotation, or none where it is `Any` or `None`."""
    return inspect.Signature.empty if annotation in ("Any", "None", Any, None) else annotation


def summary(thing: Any) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join(docstring(thing).split("\n\n")[0].split())


def docstring(thing: Any) -> str:
    """A docstring with Markdown's backquotes."""
    return (inspect.getdoc(thing) or "").replace("``", "`")


def body(thing: Any) -> str:
    """A docstring as Markdown: its lists as lists, its example as code."""
    out: list[str] = []
    section = ""
    for line in docstring(thing).splitlines():
        if line.endswith(":") and line[:-1] in SECTIONS:
            section = line[:-1]
            out += ["```python"] if section == "Example" else [f"**{section}**", ""]
        elif section in ("Args", "Attributes", "Raises"):
            out.append(item(line[4:]))
        else:
            out.append(line[4:] if section else line)
    return "\n".join(out).rstrip() + ("\n```\n" if section == "Example" else "\n")


def item(line: str) -> str:
    """A line of a list; one that goes on is indented."""
    match = re.match(r"(\*{0,2}[\w, .]+): (.*)", line)
    return f"* `{match[1]}`: {match[2]}" if match else f"  {line.strip()}" if line.strip() else ""


if __name__ == "__main__":
    TARGET.write_text(page())
