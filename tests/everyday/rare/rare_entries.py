"""Functions in which a rare side changes an entry that another container has, too, or gives an entry a second place."""

from __future__ import annotations

from collections import defaultdict

import numpy as np


def rows_by_letters(xs):
    rows = [[x, 3] for x in xs]
    table = dict(zip("uv", rows, strict=False))
    for x in xs:
        if x * 7 + 3 == 2803:
            table["u"].pop()
    return [len(row) for row in rows]


def row_by_name(xs):
    rows = [[5, 6], [7]]
    table = dict(first=rows[0])  # noqa: C408  # the call is what is tried
    for x in xs:
        if x * 7 + 3 == 2803:
            table["first"].pop()
    return rows


def more_entries(xs):
    given = {"u": [1, 2], "v": [2]}
    table = dict(given, w=[3])
    for x in xs:
        if x * 7 + 3 == 2803:
            table["u"].pop()
    return given, table


def default_with_entries(xs):
    given = {"u": [1, 2], "v": [2]}
    table = defaultdict(list, given)
    for x in xs:
        if x * 7 + 3 == 2803:
            table["u"].pop()
    return given


def row_in_a_new_list(xs):
    rows = [[0, 1] for _ in xs]
    boxes = [[row] for row in rows]
    for x in xs:
        if x * 7 + 3 == 2803:
            boxes[0][0].pop()
    return rows


def row_in_a_list_of_a_dict(xs):
    rows = [[0, 1], [2]]
    table = {"u": [rows[0]]}
    for x in xs:
        if x * 7 + 3 == 2803:
            table["u"][0].pop()
    return rows, table


def two_at_once(xs):
    rows = [[8, 9], [2]]
    table, other = {"u": rows[0]}, {"u": []}
    for x in xs:
        if x * 7 + 3 == 2803:
            table["u"].pop()
    return rows, other


def one_of_two(xs):
    rows = [[8, 9], [2]]
    table = {"u": rows[0] if len(xs) < 9 else []}
    for x in xs:
        if x * 7 + 3 == 2803:
            table["u"].pop()
    return rows


def one_entry_twice(xs):
    rows, table = [[1], [2, 3]], {"u": 4}
    for row in rows:
        if len(xs) * 31 + xs[0] * 7 == 2831:
            rows[0] = row
    i = 0
    while i < 2:
        i += 1
        if len(xs) * 31 + xs[0] * 7 == 2831:
            table["z"] = 6
    rows[0] += [7]
    rows[0].append(8)
    return rows, table


def one_entry_under_two_keys(xs):
    rows, table = {"u": [1], "v": [2]}, {"u": 4}
    for x in xs:
        if x * 7 + 3 == 2803:
            rows["u"] = rows["v"]
    i = 0
    while i < 2:
        i += 1
        if xs[0] * 7 + 3 == 2803:
            table["z"] = 6
    rows["u"] += [7]
    return rows, table


def array_with_a_view(xs):
    array = np.arange(4.0)
    turned = np.asarray(array)[::-1]
    found = array if xs[0] * 7 + 3 == 2803 else array * 2
    for j in range(2):
        if xs[0] + j != 1007:
            continue
        array[array > 1] = 0
    turned += 1
    return array.tolist(), float(turned.sum()), float(found.sum())


def rows_beside_a_number(xs):
    rows = [[5, 6], [7]]
    table = dict(rest=[*rows, 5], own=[1, 2, 3])  # noqa: C408  # the call is what is tried
    for x in xs:
        if x * 7 + 3 == 2803:
            table["rest"][0].pop()
    return rows


RARE_ENTRIES = [
    rows_by_letters, row_by_name, more_entries, default_with_entries, row_in_a_new_list, row_in_a_list_of_a_dict,
    two_at_once, one_of_two, one_entry_twice, one_entry_under_two_keys, array_with_a_view,
    rows_beside_a_number,
]  # fmt: skip


def own_rows_by_name(xs):
    table = dict(first=[5, 6, 7], last=[])  # noqa: C408  # the call is what is tried
    for x in xs:
        if x > 1:
            table["first"].append(x)
    return table


def own_rows_of_rows(xs):
    rows = [[[0] * 3 for _ in range(2)] for _ in xs]
    for x in xs:
        if x > 1:
            rows[0][1][2] += x
    return rows


def copies_by_map(xs):
    rows = list(map(list, [[1], [2]]))
    for x in xs:
        if x > 1:
            rows[0].append(x)
    return rows


OWN_ENTRIES = [own_rows_by_name, own_rows_of_rows, copies_by_map]
