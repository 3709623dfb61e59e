"""Generator functions whose items, made at once, would be others than those that are made when they are asked for."""

from __future__ import annotations

import itertools

import torch

from .functions import ROWS, TEXTS, batches, longer


def cleared(xs, n):
    batch = []
    for x in xs:
        batch.append(x)
        if len(batch) == n:
            yield batch
            batch.clear()
    if batch:
        yield batch


def in_place(x):
    total = torch.zeros(2)
    for row in x:
        total += row
        yield total


def views(x):
    total = torch.zeros(2)
    for row in x:
        part = total.view(-1)
        part += row
        yield total


def under_another_name(x):
    found = []
    same = found
    for row in x:
        found.append(row.sum().item())
        yield same


def endless():
    n = 0
    while True:
        yield n
        n += 1


def doubled(numbers):
    for n in numbers:
        yield n * 2


def expressions(x):
    for i in range(len(x)):
        yield (row * i for row in x[i : i + 2])


def written_between(x):
    x, out = x.clone(), []
    for row in doubled(x):
        out.append(row.sum().item())
        x += 1
    return out


def listed_between(xs):
    xs = list(xs)
    given = longer(xs, 1)
    xs.append("end")
    return list(given)


def set_between(x):
    factor, out = 1.0, []

    def scaled():
        for row in x:
            yield row.sum().item() * factor

    for value in scaled():
        out.append(value)
        factor = factor + 1
    return out


class Scaled:
    def __init__(self):
        self.factor = 1.0

    def rows(self, x):
        for row in x:
            yield row.sum().item() * self.factor

    def grow(self):
        self.factor = self.factor + 1

    def __call__(self, x):
        self.factor, out = 1.0, []
        for value in self.rows(x):
            out.append(value)
            self.grow()
        self.factor = 1.0
        return out


def drawn(x, generator):
    for row in x:
        yield row + torch.rand(2, generator=generator)


def drawn_between(x):
    generator, out = torch.Generator().manual_seed(3), []
    for row in drawn(x, generator):
        out.append((row.sum() + torch.rand(1, generator=generator)).item())  # noqa: PERF401  # as it is written
    return out


def gone_on_with(x):
    given, out = batches(x, 1), []
    for batch in given:
        out.append(batch.sum().item())
        if (after := next(given, None)) is not None:
            out.append(after.sum().item() * 10)
    return out


def taken_twice(x):
    given = batches(x, 2)
    return [batch.sum().item() for batch in given], [batch.sum().item() for batch in given]


def asked_for_its_class(x):
    given = batches(x, 2)
    return hasattr(given, "send"), [batch.sum().item() for batch in given]


SEEN = {
    "a list that is cleared": (lambda x: [len(batch) for batch in cleared(x, 3)], ROWS[2]),
    "a tensor in place": (lambda x: [total.sum().item() for total in in_place(x)], ROWS[1]),
    "a view in place": (lambda x: [total.sum().item() for total in views(x)], ROWS[1]),
    "another name": (lambda x: [len(found) for found in under_another_name(x)], ROWS[1]),
    "no end": (lambda x: [i + row.sum().item() for i, row in zip(endless(), x)], ROWS[3]),  # noqa: B905  # one has no end
    "no end of another": (lambda x: [i + row.sum().item() for i, row in zip(doubled(endless()), x)], ROWS[3]),  # noqa: B905  # one has no end
    "a counter": (lambda x: [i + row.sum().item() for i, row in zip(doubled(itertools.count()), x)], ROWS[3]),  # noqa: B905  # one has no end
    "expressions": (lambda x: [sum(v.sum().item() for v in each) for each in expressions(x)], ROWS[3]),
    "a tensor between": (written_between, ROWS[1]),
    "a list between": (listed_between, TEXTS[1]),
    "a variable between": (set_between, ROWS[1]),
    "an attribute between": (Scaled(), ROWS[1]),
    "random numbers": (drawn_between, ROWS[3]),
    "going on": (gone_on_with, ROWS[3]),
    "twice": (taken_twice, ROWS[3]),
    "its class": (asked_for_its_class, ROWS[3]),
}
"""Functions that would see it if all items were made at once; they are traced with an example that hides most of it."""
