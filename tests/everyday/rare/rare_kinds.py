"""Functions in which a side that hardly any data take gives what a graph tells from nothing else: sizes, members."""
# ruff: noqa: PERF401, RUF005 -- loops and sums as they are written are what is tried

from __future__ import annotations

import enum

import torch


class Unit(enum.IntEnum):
    ONE = 1
    TWO = 2


class Letter(str, enum.Enum):
    A = "a"


class Color(enum.Enum):
    RED = "r"


def sizes_or_a_list(x, xs, when):
    if when[5:] == "02-29":
        return x.shape
    return [x.shape[0]]


def sizes_or_a_tuple(x, xs, when):
    if when[5:] == "02-29":
        return x.size()
    return tuple(x.shape)


def sizes_in_a_dict(x, xs, when):
    found = {}
    if len(xs) == 4 and when[5:] == "02-29":
        found["s"] = x.shape
    return found, len(found)


def sizes_as_an_entry(x, xs, when):
    found = [1, (2, 3)]
    for _ in xs:
        if when[5:] == "02-29":
            found[1] = x.shape
    return found


def sizes_that_code_goes_on_with(x, xs, when):
    found = (1,)
    if xs[0] == xs[-1] and when[5:] == "02-29":
        found = x.shape
    return isinstance(found, torch.Size), found


def sizes_asked_in_rounds(x, xs, when):
    found = []
    for item in xs:
        if item * 7 + 3 == 38:
            found.append(x.shape)
    return found[0].numel() + found[-1][0] if found else 0


def sizes_or_others_in_rounds(x, xs, when):
    found = (3,)
    for _ in xs:
        if when[5:] == "02-29":
            found = x[1:].shape
    return str(found), found + (1,)


def sizes_of_a_table(x, xs, when):
    table = {"02-29": x.shape}
    return [table.get(when[5:], (item,)) for item in xs]


def sizes_on_a_stack(x, xs, when):
    stack = [x.shape]
    while xs:
        item, xs = xs[0], xs[1:]
        stack.append((item,) if item * 7 + 3 == 38 else x[:1].shape)
    return stack, stack[-1]


def unit_in_a_list(x, xs, when):
    found = []
    for _ in xs:
        if when[5:] == "02-29":
            found.append(Unit.ONE)
    return found


def units_in_pairs(x, xs, when):
    found = []
    for _ in xs:
        if when[5:] == "02-29":
            found.append(Unit.TWO)
    return list(zip(found, xs, strict=False))


def largest_of_units(x, xs, when):
    found = []
    for _ in xs:
        if when[5:] == "02-29":
            found.append(Unit.ONE)
    return max(found, default=0)


def unit_as_an_item(x, xs, when):
    found = [1, 2]
    for place, _ in enumerate(xs[:2]):
        if when[5:] == "02-29":
            found[place] = Unit.TWO
    return found


def letter_in_a_dict(x, xs, when):
    found = {}
    for item in xs:
        if when[5:] == "02-29":
            found[str(item)] = Letter.A
    return found


def color_or_a_number(x, xs, when):
    found = []
    for item in xs[:2]:
        if when[5:] == "02-29":
            found.append(Color.RED)
        else:
            found.append(item)
    return found


RARE_KINDS = [
    sizes_or_a_list, sizes_or_a_tuple, sizes_in_a_dict, sizes_as_an_entry, sizes_that_code_goes_on_with,
    sizes_asked_in_rounds, sizes_or_others_in_rounds, sizes_of_a_table, sizes_on_a_stack, unit_in_a_list,
    units_in_pairs, largest_of_units, unit_as_an_item, letter_in_a_dict, color_or_a_number,
]  # fmt: skip
FOLLOWED = {sizes_or_a_list, sizes_or_a_tuple, sizes_asked_in_rounds, sizes_on_a_stack}
"""Those that a file answers on the rare side, too."""
