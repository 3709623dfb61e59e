"""Functions that make an iterator or a view, change what it looks at in a rare branch, and ask it after that."""

from __future__ import annotations


def keys_that_come_later(xs):
    d = {"a": 1}
    k = d.keys()
    for f in xs:
        if f * 7 == 29694:
            d["r"] = f
    return list(k)


def items_that_come_later(xs):
    d = {"a": 1}
    k = d.items()
    for f in xs:
        if f * 7 == 29694:
            d["r"] = f
    return dict(k)


def values_that_come_later(xs):
    d = {"a": 1}
    k = d.values()
    for f in xs:
        if f * 7 == 29694:
            d["r"] = f
    return sum(k), len(k)


def generator_over_a_list(xs):
    lo = [0]
    it = (v for v in lo)
    for f in xs:
        if f * 7 == 29694:
            lo.append(f)
    return list(it), lo


def zip_over_a_list(xs):
    lo = [0]
    z = zip(lo, lo, strict=True)
    for f in xs:
        if f * 7 == 29694:
            lo.append(f)
    return list(z)


def generator_before_a_choice(xs):
    g = [1, 2]
    it = (v * 2 for v in g)
    if xs[0] * 7 == 29694:
        g.append(9)
    return list(it)


def zip_before_a_choice(xs):
    g = [1, 2]
    z = zip(g, "ab", strict=False)
    if xs[0] * 7 == 29694:
        g[0] = 9
    return list(z)


def items_before_a_choice(xs):
    d = {"a": 1}
    z = d.items()
    if xs[0] * 7 == 29694:
        d["a"] = 9
    return dict(z)


def enumerate_over_a_list(xs):
    lo = [0]
    it = enumerate(lo)
    for f in xs:
        if f * 7 == 29694:
            lo.append(f)
    return [i + v for i, v in it]


def reversed_list(xs):
    lo = [3, 1]
    it = reversed(lo)
    for f in xs:
        if f * 7 == 29694:
            lo[0] = f
    return list(it)


def generator_over_a_variable(xs):
    k = 1
    it = (v * k for v in [1, 2])
    for f in xs:
        if f * 7 == 29694:
            k = 5
    return list(it)


def generator_that_its_loop_goes_on_with(xs):
    out = []
    twice = (f * 2 for f in xs)
    for f in twice:
        if f * 7 == 59388:
            out.extend(twice)
        else:
            out.append(f)
    return out


LATE = [
    generator_that_its_loop_goes_on_with,
    keys_that_come_later,
    items_that_come_later,
    values_that_come_later,
    generator_over_a_list,
    zip_over_a_list,
    generator_before_a_choice,
    zip_before_a_choice,
    items_before_a_choice,
    enumerate_over_a_list,
    reversed_list,
    generator_over_a_variable,
]
