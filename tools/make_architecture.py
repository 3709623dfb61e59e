"""Draws `docs/architecture.svg`: the rooms of the source on their floors, as the imports put them.

    python tools/make_architecture.py

A room is a folder below a package, or what lies directly in the package; the command line is one room. A room stands
one floor above the highest room that it imports, so every import goes down. What it says is the first sentence of its
docstring. The dots come from `docs/architecture.md`: the ways whose steps name a file of the room. A test compares the
picture with what this makes.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
TARGET = ROOT / "docs" / "architecture.svg"
HOMES = {"ops": "ops", "pipeline": "pipeline", "serialization": "serialization", "cli": "src/tracepack/cli"}
COLOURS = {"cli": "#f3e3d3", "pipeline": "#dbe7f5", "serialization": "#efe0f0", "ops": "#ddeedd"}
WAYS = {
    "tracepack.script": ("script", "#7a7a7a"),
    "tracepack.trace": ("trace", "#1f6fb4"),
    "tracepack.Pipeline.save": ("save", "#8d4bab"),
    "tracepack.load": ("load", "#c0392b"),
    "tracepack.Pipeline.run": ("run", "#d68910"),
    "tracepack.slang": ("a Slang call", "#148f77"),
    "tracepack.comprehension": ("a comprehension", "#5d6d1e"),
}
WIDTH, ROOM, FLOOR, GAP, LEFT = 1180, 86, 110, 14, 24

Module = tuple[str, ...]


def modules() -> dict[Module, Path]:
    """Every module below the four packages, by its dotted parts."""
    found = {}
    for package, home in HOMES.items():
        for path in (ROOT / home).rglob("*.py"):
            parts = (package, *path.relative_to(ROOT / home).with_suffix("").parts)
            found[parts[:-1] if parts[-1] == "__init__" else parts] = path
    return found


def imports(module: Module, path: Path, known: dict[Module, Path]) -> set[Module]:
    """The modules of ours that a file imports, lazily or for types too."""
    package = module if path.name == "__init__.py" else module[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level and len(package) > node.level - 2:
            base = (*package[: len(package) + 1 - node.level], *filter(None, (node.module or "").split(".")))
            for name in node.names:
                target = (*base, name.name) if (*base, name.name) in known else base
                if target in known:
                    found.add(target)
    return found - {module}


def room_of(path: Path) -> str:
    """The room of a file, as a folder from the root."""
    parts = path.relative_to(ROOT).parent.parts
    depth = 3 if parts[0] == "src" else 2
    return "/".join(parts[:depth])


def rooms() -> dict[str, set[str]]:
    """For each room those that it imports."""
    known = modules()
    found: dict[str, set[str]] = defaultdict(set)
    for module, path in known.items():
        room = room_of(path)
        found[room] |= {room_of(known[target]) for target in imports(module, path, known)} - {room}
    return {room: below for room, below in found.items() if any(each.name != "__init__.py" for each in files(room))}


def files(room: str) -> list[Path]:
    """The files of a room: all below it, or, where rooms lie below it, those directly in it."""
    return [path for path in modules().values() if room_of(path) == room]


def floors(below: dict[str, set[str]]) -> list[list[str]]:
    """The rooms from the top floor to the ground.

    Raises:
        ValueError: rooms import each other in a circle.
    """
    height: dict[str, int] = {}

    def climb(room: str, path: tuple[str, ...]) -> int:
        if room in path:
            raise ValueError(f"rooms import each other in a circle: {' -> '.join((*path, room))}")
        if room not in height:
            height[room] = 1 + max((climb(each, (*path, room)) for each in below[room] if each in below), default=0)
        return height[room]

    for room in below:
        climb(room, ())
    order = list(COLOURS)
    return [
        sorted((r for r in below if height[r] == level), key=lambda r: (order.index(_package(r)), r))
        for level in range(max(height.values()), 0, -1)
    ]


def _package(room: str) -> str:
    return next(package for package, home in HOMES.items() if room == home or room.startswith(f"{home}/"))


def ways() -> dict[str, list[str]]:
    """For each way of the page the files and names of its steps."""
    sections = re.split(
        r"^### `(\S+)`$", PAGE.read_text(encoding="utf-8").partition("\n## Where to add")[0], flags=re.M
    )
    return {
        name: re.findall(r"`([\w/]+\.py:[\w.]+)`", text)
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
    }


def purpose(room: str) -> str:
    """The first sentence of the package's docstring."""
    text = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=\.) |\n\n", text)[0].replace("`", "").rstrip(".")


def inner(room: str) -> str:
    """The folders inside a room that are no rooms of their own."""
    if room in ("ops", "pipeline"):
        return ""
    return ", ".join(sorted(path.parent.name for path in (ROOT / room).glob("*/__init__.py")))


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines[:2] if len(lines) < 3 else [lines[0], f"{lines[1]} …"]


def _box(room: str, x: float, y: float, width: float, dots: list[str]) -> list[str]:
    lines = [
        f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROOM}" rx="5" fill="{COLOURS[_package(room)]}" '
        'stroke="#555"/>',
        f'<text x="{x + 10:.0f}" y="{y + 19}" class="name">{escape(room.removeprefix("src/tracepack/"))}/</text>',
    ]
    for index, line in enumerate(_wrapped(purpose(room), int((width - 16) / 5.6))):
        lines.append(f'<text x="{x + 10:.0f}" y="{y + 36 + 14 * index}" class="say">{escape(line)}</text>')
    small = _wrapped(inner(room), int((width - 16) / 5.6))
    for index, line in enumerate(small):
        height = y + ROOM - 8 - 12 * (len(small) - 1 - index)
        lines.append(f'<text x="{x + 10:.0f}" y="{height}" class="inner">{escape(line)}</text>')
    for index, way in enumerate(dots):
        lines.append(
            f'<circle cx="{x + width - 12 - 13 * index:.0f}" cy="{y + 14}" r="5" fill="{WAYS[way][1]}">'
            f"<title>{WAYS[way][0]}</title></circle>"
        )
    return lines


def _legend(y: float) -> list[str]:
    lines, x = [f'<text x="{LEFT}" y="{y + 4}" class="say">the way of</text>'], LEFT + 76
    for label, colour in WAYS.values():
        lines.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>')
        lines.append(f'<text x="{x + 10}" y="{y + 4}" class="say">{label}</text>')
        x += 42 + 6 * len(label)
    lines.append(f'<text x="{WIDTH - LEFT}" y="{y + 4}" class="say" text-anchor="end">every import goes down</text>')
    return lines


def picture() -> str:
    """The picture as SVG."""
    steps = {way: {room_of(ROOT / step.split(":")[0]) for step in found} for way, found in ways().items()}
    levels = floors(rooms())
    height = FLOOR * len(levels) + 56
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">',
        "<style>text{font-family:Helvetica,Arial,sans-serif;fill:#222} .name{font-size:14px;font-weight:bold} "
        ".say{font-size:11px;fill:#444} .inner{font-size:10px;fill:#777}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        *_legend(26),
    ]
    for level, row in enumerate(levels):
        y = 50 + FLOOR * level
        width = (WIDTH - 2 * LEFT - GAP * (len(row) - 1)) / len(row)
        width = min(width, 560.0)
        left = (WIDTH - width * len(row) - GAP * (len(row) - 1)) / 2
        for index, room in enumerate(row):
            dots = [way for way in WAYS if room in steps[way]]
            lines += _box(room, left + index * (width + GAP), y, width, dots)
        if level + 1 < len(levels):
            lines.append(f'<path d="M{WIDTH / 2:.0f} {y + ROOM + 5} v14 m-4 -5 l4 5 l4 -5" stroke="#999" fill="none"/>')
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    TARGET.write_text(picture(), encoding="utf-8")
