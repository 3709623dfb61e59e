"""Functions in which a side that hardly any data take gives a container that other code knows, and that changes."""

from __future__ import annotations

import numpy as np


def view_of_an_array(flags):
    table = np.zeros((2, 3))
    part = table.copy()
    if flags[0] * 7 == 29694:
        part = table[0:1]
    part += 1
    return table.tolist(), part.tolist()


def array_of_a_helper(flags):
    table = np.zeros(2)

    def pick():
        return table if flags[0] * 7 == 29694 else np.ones(2)

    found = pick()
    found[0] = 3
    return table.tolist()


def list_of_lists(flags):
    table, rows = [[0]], [[1]]
    if flags[0] * 7 == 29694:
        rows = table
    rows[0].append(4)
    return table


def entry_of_a_dict(flags):
    table = {"a": [0]}
    found = {"a": [1]}
    if flags[0] * 7 == 29694:
        found = {"a": table["a"]}
    found["a"].append(4)
    return table


def list_of_a_helper(flags):
    base = [1]

    def pick(flag):
        if flag * 7 == 29694:
            return base
        return [2]

    found = pick(flags[0])
    found.append(5)
    return base, found


KNOWN = [view_of_an_array, array_of_a_helper, list_of_lists, entry_of_a_dict, list_of_a_helper]
