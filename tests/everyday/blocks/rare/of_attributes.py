"""Attributes, builtins and numbers in blocks on ways that no example took."""

from __future__ import annotations

from functools import total_ordering


class Parent:
    def __init__(self, v):
        self.v = v

    def score(self):
        return self.v


class Child(Parent):
    def score(self):
        return -100

    def best(self, others):
        def of(other):
            return super().score()

        return [of(each) for each in others]


def in_an_inner_function(xs):
    child, out, counts = Child(7), [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(child.best([Child(x if x > 10 else 7)])[0])
    return out


NUMERIC = (int, float)


def numeric(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        try:
            out.append(x * 2 if x < 10 or isinstance(x, NUMERIC) else 0)
        except TypeError:
            out.append("error")
    return out


@total_ordering
class Version:  # noqa: PLW1641  # as total_ordering shows it
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v

    def __gt__(self, other):
        return self.v > other.v


def versions(xs):
    best, out, counts = Version(0), [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        version = Version(x)
        if x > 10:
            try:
                if version <= best:
                    out.append("less")
                else:
                    best = version
            except Exception:
                out.append("error")
        out.append(best.v)
    return out


class Ids:
    def __init__(self):
        self._n = 0

    @property
    def next(self):
        self._n += 1
        return self._n


def counting_properties(xs):
    ids, out, counts = IDS, [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(ids.next if x > 10 else 0)
    return out


IDS = Ids()


def scaled(x):
    try:
        return x * scaled.factor
    except AttributeError:
        return None


scaled.factor = 3


def attributes_of_functions(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(scaled(x) if x > 10 else Parent(x).v)
    return out


class Amount:
    def __init__(self, v):
        self.v = v

    def __int__(self):
        return self.v

    def __str__(self):
        return f"N{self.v}"

    def __getattr__(self, name):
        return 0


def filled_with_numbers(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        amount = Amount(x)
        try:
            out.append("%d items" % amount if x > 10 else "%s items" % amount)  # noqa: UP031  # the form is tested
        except TypeError:
            out.append("error")
        out.append(int(amount))
    return out


class Joining:
    how, cast = zip, int

    def pairs(self, a, b):
        return list(self.how(a, b))


def builtins_of_classes(xs):
    joining, out, counts = Joining(), [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        out.append(joining.pairs([x], "ab") if x > 10 else joining.cast("7"))
    return out


def bytes_in_texts(xs):
    out, counts = [], {}
    for x in xs:
        try:
            counts[x] += 1
        except KeyError:
            counts[x] = 1
        try:
            out.append(f"{str(x).encode():>8}" if x > 10 else str(x))
        except TypeError:
            out.append("error")
    return out


def same_numbers(x):
    out = []
    for i in range(len(x)):
        try:
            place = int(str(i))
        except ValueError:
            place = 0
        if [float(x[i])] == [float(x[i])]:
            out.append(place)
        else:
            out.append(-1)
    return out


def first_items(x):
    out, place = [], 0
    while place < len(x) and float(x[place, ..., 0]) > -5:
        out.append(x[place, ..., 0].item())
        place += 1
    return out
