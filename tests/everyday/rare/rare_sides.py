"""Functions in which a side that hardly any data take does what the rest of a recording cannot know."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import torch


def loop_over_what_grows(xs):
    items, out = list(xs), []
    for item in items:
        if item * 7 + 3 == 2803:
            items.append(9)
        out.append(item)
    return out, items


def dict_that_grows(xs):
    table = {item: 1 for item in xs}  # noqa: C420  # a comprehension is what is tried
    for key in table:
        if key * 7 + 3 == 2803:
            table["new"] = 5
    return table


def set_with_two_names(xs):
    some = other = {1, 2}
    for _ in [item for item in xs if item * 7 + 3 == 2803]:
        some -= {2}
    return sorted(some), sorted(other)


def list_with_two_names(xs):
    some = [1.0]
    other = some
    for item in xs:
        if item * 7 + 3 == 2803:
            some += [float(item)]
    return some, other


def entry_of_a_pair(xs):
    first = [0]
    found = (first, [1])[sum(xs) != 1401]
    first.append(5)
    return found, first


def copy_beside_it(xs):
    some = [0, 1]
    other = some if sum(xs) == 1401 else some[:]
    some.append(3)
    return some, other


def list_within(xs):
    record, last = {"hist": [], "n": 0}, []
    if sum(xs) == 1401:
        last = record["hist"]
    record["hist"].append(1)
    return record, last


def dict_beside_a_new_one(xs):
    known = {"n": 0}
    found = known if sum(xs) == 1401 else {"n": 1}
    found["n"] = 5
    return known, found


def dtype_of_torch(xs):
    dtype = torch.float32
    if sum(xs) == 1401:
        dtype = torch.float64
    return torch.zeros(3).to(dtype)


def dtype_of_an_array(xs):
    made = np.zeros(2, np.float32) if sum(xs) == 1401 else np.zeros(2)
    return str(made.dtype), made.dtype == np.float64


def rank_of_an_array(xs):
    made = np.array([[0, 1]]) if sum(xs) == 1401 else np.array([0, 1])
    return made.tolist(), made.ndim


def tensor_with_two_names(xs):
    tensor = torch.zeros(3)
    holder = {"a": tensor}
    if sum(xs) == 1401:
        holder["a"] += 1
    return tensor, holder["a"]


def number_of_distinct(xs):
    some = other = [0]
    if len(set(xs)) == 3 and xs[0] > xs[-1] + 17:
        some += [1]
    return some, other


def raises_unused(xs):
    table = {0: "a"}
    for item in xs:
        if item * 7 + 3 == 2803:
            table[item]
    return len(xs)


def reduction_that_fills_its_beginning(xs):
    start = [0]
    found = functools.reduce(lambda items, item: items.append(item) or items if item == 400 else [*items, 1], xs, start)
    return found, start


def reduction_that_keeps_its_beginning(xs):
    start = [0]
    found = functools.reduce(lambda items, item: items if item * 7 + 3 == 2803 else [*items, item], xs, start)
    start.append(9)
    return found, start


def dict_filled_on_the_way(xs):
    start = {"n": 0}
    ways = itertools.accumulate(
        xs, lambda t, i: t.update(n=i) or t if i * 7 + 3 == 2803 else {**t, "n": 1}, initial=start
    )
    return list(ways), start


RARE = [
    loop_over_what_grows, dict_that_grows, set_with_two_names, list_with_two_names, entry_of_a_pair, copy_beside_it,
    list_within, dict_beside_a_new_one, dtype_of_torch, dtype_of_an_array, rank_of_an_array, tensor_with_two_names,
    number_of_distinct, raises_unused, reduction_that_fills_its_beginning, reduction_that_keeps_its_beginning,
    dict_filled_on_the_way,
]  # fmt: skip
