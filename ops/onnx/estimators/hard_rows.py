"""Rows of the example with values that few examples hold: NaN, zeros, categories and characters that are new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .rows import Rows, rows_of

Place = tuple[int, int | None]
"""The number of an input, and the column of a matrix."""

NUMBERS = {
    "nan": [np.nan], "infinite": [np.inf, -np.inf], "beyond float32": [1e39, -1e39], "negative": [-1.0, -3.0],
    "zero": [0.0],
}  # fmt: skip
"""Numbers of each kind that a guard may refuse."""
_WORDS = 6  # of the example, that new texts are made of
_TEXTS = 20  # of the example, whose words are set apart
_TINY = (1e-8, 1e-31)
_OTHER = (
    "\u00e9", "\u00df", "\u0130", "\ufb01", "\u65e5\u672c\u8a9e", "\u0301", "\u00a0", "\u2028", "\u200b", "\u2014",
    "\U0001f600", "\u03a3", "\u212a", "\u017f", "\u0660", "\u00b2", "\u3000", "\u0085", "\u01c5",
)  # fmt: skip
_CONTROLS = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1f", "\x00", "\x7f")
_PLAIN = ("'", "_", "-", ".", "\t", "\n", "\r\n", "  ", "!?", "3", " 3.14 ", "/", "\\", "@", "+")


def number_places(rows: Rows, kind: str) -> list[Place]:
    """Where numbers of a kind may stand."""
    found: list[Place] = []
    for index, column in enumerate(rows.columns.values()):
        if isinstance(column, np.ndarray) and _holds(column.dtype, kind):
            found += [(index, None)] if column.ndim == 1 else [(index, place) for place in range(column.shape[1])]
    return found


def _holds(dtype: Any, kind: str) -> bool:
    if kind == "beyond float32":
        return bool(dtype == np.float64)
    return dtype.kind == "f" or (dtype.kind == "i" and kind in ("negative", "zero"))


def with_numbers(rows: Rows, places: Sequence[Place], values: Sequence[float]) -> Rows:
    """Rows with each number at each of the places by itself, and with each of them at all places."""
    chosen = [([place], value) for place in places for value in values]
    return _changed(rows, [*chosen, *((list(places), value) for value in values)])


def beside_numbers(rows: Rows, exact: bool) -> Iterator[Rows]:
    """Rows with numbers that the example does not hold; also with the next ones to those that it does, where exact."""
    for (index, place), column in _columns(rows):
        if column.dtype.kind == "i":
            ends = np.iinfo(column.dtype)
            values = [min(int(column.max()) + 1, ends.max), max(int(column.min()) - 1, ends.min)]
        elif column.dtype.kind == "f" and exact and np.isfinite(column).any():
            known = np.unique(column[np.isfinite(column)])[:3]
            values = [known.max() * 2 + 1, *np.nextafter(known, np.array(np.inf, column.dtype))]
        else:
            continue
        yield from (_changed(rows, [([(index, place)], value)]) for value in values)


def _columns(rows: Rows) -> Iterator[tuple[Place, Any]]:
    for index, column in enumerate(rows.columns.values()):
        if isinstance(column, np.ndarray) and column.ndim == 1:
            yield (index, None), column
        elif isinstance(column, np.ndarray):
            yield from (((index, place), column[:, place]) for place in range(column.shape[1]))


def tiny(rows: Rows) -> Iterator[Rows]:
    """The rows of a matrix, nearly zero."""
    if isinstance(rows.data, np.ndarray) and rows.data.dtype.kind == "f":
        yield from (rows_of((rows.data * factor).astype(rows.data.dtype)) for factor in _TINY)


def _changed(rows: Rows, changes: Sequence[tuple[Sequence[Place], Any]]) -> Rows:
    """A row for each change, which puts a number at places."""
    taken = np.arange(len(changes)) % len(rows)
    if isinstance(rows.data, np.ndarray):
        data = rows.data[taken].copy()
        for row, (places, value) in enumerate(changes):
            data[row, [place for _, place in places if place is not None]] = value
        return rows_of(data)
    table = rows.data.iloc[taken].reset_index(drop=True)
    columns = {}
    for index, name in enumerate(table):
        column = table[name].to_numpy().copy()
        for row, (places, value) in enumerate(changes):
            if (index, None) in places:
                column[row] = value
        columns[name] = column
    kinds = {name: table[name].dtype for name in table if table[name].dtype.kind not in "fiub"}
    return rows_of(type(table)(columns).astype(kinds))


def text_places(rows: Rows) -> list[int]:
    """The inputs that are texts."""
    return [index for index, column in enumerate(rows.columns.values()) if not isinstance(column, np.ndarray)]


def with_texts(rows: Rows, index: int, kind: str) -> Rows:
    """Rows with texts of a kind in one input: ``"not ascii"``, ``"control"``, ``"blanks"`` or ``"plain"``."""
    texts = list(rows.columns.values())[index]
    words = list(dict.fromkeys(re.findall(r"[A-Za-z]{2,}", " ".join(texts))))[:_WORDS] or ["cat", "dog"]
    between = {"not ascii": _OTHER, "control": _CONTROLS}.get(kind, _PLAIN)
    made = [text for mark in between for text in _around(mark, words)]
    if kind != "not ascii":  # which has no guard of its own there
        made = [text for text in made if (re.search(r"\s\s", text) is not None) == (kind == "blanks")]
    if kind == "plain":
        made += ["", " ", words[0][:1], words[0].upper(), " ".join(words).title()]
        # Words of one letter, which many vectorizers drop before they look for neighbours.
        made += [" a ".join(text.split()) for text in dict.fromkeys(texts[:_TEXTS])]
    return with_column(rows, index, made)


def _around(mark: str, words: Sequence[str]) -> Iterator[str]:
    """Texts in which a character touches words of the example."""
    first, last = words[0], words[-1]
    yield from (f"{first}{mark}{last}", f"{mark}{first} {last}", f"{first} {last}{mark}", f"{first}{mark} {last}")
    yield from (mark, f"{first[:1]}{mark}{first[1:]} {last}", f"{first.upper()}{mark}{mark}{last.upper()}")
    yield from (word.replace(letter, mark) for word in words for letter in "iksI" if letter in word)


def with_column(rows: Rows, index: int, texts: Sequence[str]) -> Rows:
    """Rows with other texts in one input."""
    if isinstance(rows.data, list):
        return rows_of(list(texts))
    table = rows.data.iloc[np.arange(len(texts)) % len(rows)].reset_index(drop=True)
    name = list(table)[index]
    return rows_of(table.assign(**{name: np.array(texts, dtype=object)}))
