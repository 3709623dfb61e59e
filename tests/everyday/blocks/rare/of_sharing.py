# ruff: noqa: F841 - some lines are there for what they raise
"""Functions that make containers, some of which share parts, before a loop that is a block changes them."""

from __future__ import annotations


def rows_twice(xs, x):
    row = [0]
    grid = [row, row]
    m = x.max().item()
    for v in xs:
        k = v
        while k > 100:
            grid[0][0] += 1
            k -= 100
    return grid, m


def rows_times(xs, x):
    grid = [[0] * 2] * 2
    m = x.max().item()
    for v in xs:
        k = v
        while k > 100:
            grid[0][0] += 1
            k -= 100
    return grid, m


def table_twice(xs, x):
    base = [0]
    d = {"a": base, "b": base}
    m = x.sum().item()
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            d["a"].append(v)
    return d["a"], d["b"], m


def first_row(xs, x):
    rows = [[0, 0] for _ in range(2)]
    first = rows[0]
    m = x.max().item()
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            rows[0][1] += 5
    return rows, first, m


def columns(xs, x):
    rows = [[0, 0] for _ in range(2)]
    cols = {"a": rows[0], "b": rows[1]}
    m = x.max().item()
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            cols["a"][1] += 5
    return rows, m


def outer_kept(xs, x):
    b = [0]
    d = {"k": b}
    m = x.max().item()
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            d["k"].append(v)
    return len(b), m


def under_two_names(xs, x):
    a = [0]
    b = a
    m = x.max().item()
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            a.append(v)
    return a, b, m


def held_by_a_tuple(xs, x):
    a = [0]
    pair = (a, 1)
    m = x.max().item()
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            pair[0].append(v)
    return a, m


def not_shared(xs, x):
    rows = [[0, 0], [0, 0]]
    m = x.max().item()
    for v in xs:
        try:
            k = 10 // v
        except ZeroDivisionError:
            rows[0][1] += 5
    return rows, m
