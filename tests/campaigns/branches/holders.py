"""The functions and classes that random functions with rare branches call."""

from __future__ import annotations

from dataclasses import dataclass


def same(v):
    return v


def first(vs):
    return vs[0]


def kept(vs, others=()):
    return vs if len(vs) >= len(others) else others


def grow(vs, v):
    vs.append(v)
    return vs


def grow_if(vs, v, rare):
    if rare:
        vs.append(v)
    return vs


def put(table, key, v):
    table[key] = v


def bump(v):
    v += 1
    return v


def setattr_(box, v):
    box.items = [*box.items, v]


def random_order(vs):
    vs.sort(key=lambda v: v * 37 % 11)


class Box:
    def __init__(self, items):
        self.items = items
        self.count = 0

    def put(self, v):
        self.items.append(v)
        self.count += 1
        return self

    def put_if(self, v, rare):
        if rare:
            self.items.append(v)

    def total(self):
        return sum(self.items)


@dataclass
class Row:
    items: list
    count: int

    def put(self, v):
        self.items.append(v)
        return self

    def put_if(self, v, rare):
        if rare:
            self.count += v
            self.items.append(v)

    def total(self):
        return sum(self.items) + self.count
