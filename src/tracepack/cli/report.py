"""The answer of a command, as data and as blocks for people, and the printing of both.

A command returns a `Report` and prints nothing itself. Names in an archive come from strangers, so control characters
are escaped in every text that reaches a terminal, and no text is read as markup.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from ..ops.graph.errors import one_line, printable
from . import exit_codes as exits


@dataclass(frozen=True)
class Fields:
    """A block of names with their values."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """A block of rows under a title; columns whose name ends in ``>`` are right-aligned."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Text:
    """A block of lines; ``code`` marks the text form of a graph."""

    text: str
    code: bool = False


Block = Fields | Table | Text


@dataclass(frozen=True)
class Report:
    """The answer of a command.

    Attributes:
        data: plain data for ``--json``.
        blocks: the same for people.
        code: the exit code.
    """

    data: dict[str, Any]
    blocks: list[Block] = field(default_factory=list)
    code: int = exits.OK


def bytes_text(count: int) -> str:
    """A number of bytes for a person.

    Example:
        >>> bytes_text(1536), bytes_text(12)
        ('1.5 KiB', '12 B')
    """
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"
        amount /= 1024
    return f"{amount:.1f} TiB"


def seconds_text(seconds: float) -> str:
    """A time for a person, in the unit that suits it.

    Example:
        >>> seconds_text(0.00123), seconds_text(2.5)
        ('1.23 ms', '2.50 s')
    """
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}" if seconds / factor >= 100 else f"{seconds / factor:.2f} {unit}"
    return f"{seconds / 1e-6:.2f} us"


def show(report: Report, *, as_json: bool, stream: TextIO | None = None) -> None:
    """Prints a report: JSON, rich on a terminal where rich is installed, else plain text; nothing where none is open.

    Raises:
        UsageError: the disk is full, for example.
    """
    stream = stream or sys.stdout
    if stream is None:  # a daemon's
        return
    try:
        _write(report, as_json, stream)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(stream)
        raise exits.UsageError("cannot write to standard output", got=error.strerror or str(error)) from error


def silence(stream: TextIO) -> None:
    """Lets what a stream still holds go nowhere, which Python would write at its end, and fail again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _write(report: Report, as_json: bool, stream: TextIO) -> None:
    unicode = (stream.encoding or "utf-8").lower().startswith("utf")
    if not unicode and isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    if as_json:
        stream.write(_json(report.data, ascii_only=not unicode) + "\n")
    elif report.blocks and not (stream.isatty() and _show_rich(report, stream)):
        stream.write("\n\n".join(filter(None, (_plain(block) for block in report.blocks))) + "\n")


def _json(data: Any, *, ascii_only: bool) -> str:
    """JSON in which characters that are not printable are escaped."""
    text = json.dumps(data, indent=2, ensure_ascii=ascii_only)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


# -- plain -----------------------------------------------------------------------------------------------------


def _plain(block: Block) -> str:
    match block:
        case Text(text):
            return printable(text)
        case Fields(rows):
            lines = [(one_line(name), one_line(value)) for name, value in rows]
            wide = max((len(name) for name, _ in lines), default=0)
            return "\n".join(f"{name:<{wide}}  {value}" for name, value in lines)
        case Table(title, columns, rows):
            return _plain_table(title, columns, rows)


def _plain_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    right = [name.endswith(">") for name in columns]
    lines = [[name.rstrip(">") for name in columns], *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    texts = [
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([title, *("  " + text for text in texts)])


# -- rich ------------------------------------------------------------------------------------------------------

_GRAPH_COLOURS = (
    (r"%\d+", "cyan"),
    (r"\$[\w.]+", "magenta"),
    (r": [a-z0-9]+\[[^\]]*\]", "green"),
    (r"@\w+(:\d+)?", "yellow"),
    (r"#.*", "dim"),
    (r"\b(graph|return)\b", "bold"),
)


def _show_rich(report: Report, stream: TextIO) -> bool:
    try:
        import rich.console
        import rich.table
        import rich.text
    except ImportError:
        return False
    console = rich.console.Console(file=stream, highlight=False, soft_wrap=True)
    for index, block in enumerate(report.blocks):
        if index and not (isinstance(block, Table) and not block.rows):
            console.print()
        match block:
            case Text(text, code):
                shown = rich.text.Text(printable(text))
                for pattern, style in _GRAPH_COLOURS if code else ():
                    shown.highlight_regex(pattern, style)
                console.print(shown)
            case Fields(rows):
                grid = rich.table.Table.grid(padding=(0, 2))
                for name, value in rows:
                    grid.add_row(
                        rich.text.Text(one_line(name), "bold"), rich.text.Text(one_line(value), overflow="fold")
                    )
                console.print(grid, soft_wrap=False)
            case Table(title, columns, rows) if rows:
                table = rich.table.Table(
                    title=rich.text.Text(title, "bold"),
                    title_justify="left",
                    box=None,
                    header_style="dim",
                    pad_edge=False,
                )
                for name in columns:
                    table.add_column(
                        name.rstrip(">"), justify="right" if name.endswith(">") else "left", overflow="fold"
                    )
                for row in rows:
                    table.add_row(*(rich.text.Text(one_line(cell)) for cell in row))
                console.print(table, soft_wrap=False)
    return True
