"""Loops and comprehensions over the rows of numpy arrays, whose number is free."""

from __future__ import annotations

import numpy as np

from tests.everyday.case import Case

KERNEL = np.array([1.0, 2.0, 1.0])
NAMES = ["a", "b", "c", "d"]


def _table(rows: int, columns: int = 4) -> np.ndarray:
    return np.random.default_rng(rows).normal(size=(rows, columns))


TABLE, TABLES = [_table(3)], [[_table(1)], [_table(5)]]
ROW, ROWS = [_table(3)[:, 0]], [[_table(1)[0, :1]], [_table(6)[:, 1]]]


def totals(table):
    found = []
    for row in table:
        found.append(float(row.sum()))  # noqa: PERF401 - as people write it
    return found


def most(table):
    total = 0.0
    for row in table:
        total += row.max()
    return float(total)


def faded(table):
    found = np.zeros(4)
    for row in table:
        found = found * 0.5 + row
    return found


def largest(table):
    best = None
    for row in table:
        if best is None or row.sum() > best.sum():
            best = row
    return best


def written(table):
    found = np.zeros(len(table))
    for i, row in enumerate(table):
        found[i] = row.sum()
    return found


def positive(table):
    count = 0
    for row in table:
        if row[0] > 0:
            count += 1
    return count


def parsed(lines):
    table = np.array([[float(v) for v in line.split(",")] for line in lines])
    return (table - table.mean(0)) / (table.std(0) + 1e-9)


def described(numbers):
    return {"mean": float(np.mean(numbers)), "std": float(np.std(numbers)), "p90": float(np.percentile(numbers, 90))}


CASES = {
    "convolved": Case(lambda share: np.array([np.convolve(r, KERNEL, mode="same") for r in share]), TABLE, TABLES),
    "numbers as texts": Case(lambda counts: [f"{h}" for h in counts.argmax(axis=1)], TABLE, TABLES),
    "names": Case(lambda counts: [NAMES[i] for i in counts.argmax(axis=1)], TABLE, TABLES),
    "filled list": Case(totals, TABLE, TABLES),
    "carried number": Case(most, TABLE, TABLES),
    "carried array": Case(faded, TABLE, TABLES),
    "best row": Case(largest, TABLE, TABLES),
    "array that is filled": Case(written, TABLE, TABLES),
    "counted": Case(positive, TABLE, TABLES),
    "means": Case(lambda table: [float(r.mean()) for r in table], TABLE, TABLES),
    "stack": Case(lambda table: np.stack([(r - r.mean()) / np.linalg.norm(r) for r in table]), TABLE, TABLES),
    "vstack": Case(lambda table: np.vstack([np.cumsum(r) for r in table if r.any()]), TABLE, TABLES),
    "concatenate": Case(lambda table: np.concatenate([r[:2] for r in table]), TABLE, TABLES),
    "median": Case(lambda table: float(np.median([r.max() for r in table])), TABLE, TABLES),
    "a universal function": Case(lambda table: np.exp([r.max() for r in table]), TABLE, TABLES),
    "in pairs": Case(
        lambda a, b: np.array([[np.abs(x - y).sum() for y in b] for x in a]),
        [_table(3), _table(2)],
        [[_table(1), _table(4)], [_table(5), _table(1)]],
    ),
    "dict": Case(
        lambda names, table: dict(zip(names, table.sum(0), strict=True)),
        [NAMES, _table(3)],
        [[["x", "y"], _table(5, 2)], [["z"], _table(1, 1)]],
    ),
    "filter": Case(lambda row: [round(float(v), 2) for v in row if v > 0], ROW, ROWS),
    "signs": Case(lambda row: ["+" if v > 0 else "-" for v in row], ROW, ROWS),
    "numbered": Case(lambda row: {f"v{i}": float(v) for i, v in enumerate(row)}, ROW, ROWS),
    "columns": Case(lambda table: [float(c.mean()) for c in table.T], TABLE, [[_table(5, 2)], [_table(1, 7)]]),
    "places": Case(lambda row: [int(i) for i in np.where(row > 0)[0]], ROW, ROWS),
    "best by key": Case(lambda table: max(table, key=lambda r: r.sum()), TABLE, TABLES),
    "lines of numbers": Case(parsed, [["1,2", "2,3"]], [[["4,5"]], [["1,7", "5,6", "9,8"]]]),
    "a list of numbers": Case(described, [[1.0, 2.0, 3.0]], [[[4.0]], [[1.0, 5.0, 2.0, 8.0, 3.0]]]),
}
