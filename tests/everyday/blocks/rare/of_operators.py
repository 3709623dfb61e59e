# ruff: noqa: PLW2901 - the variable of a loop is what is added to
"""Functions whose operators and texts take a way on some inputs that their example does not take."""

from __future__ import annotations


def bumped(xs):
    count = [0]

    def bump(v):
        if v > 100:
            count[0] += 10
        return v

    for x in xs:
        count[0] += bump(x)
    return count[0]


def reckoned(words):
    stack = []
    for word in words:
        if word == "+":
            top = stack.pop()
            stack[-1] += top
        elif word == "*":
            stack[-2] *= stack.pop()
        else:
            stack.append(float(word))
    return stack


class Till:
    def __init__(self):
        self.total = 0

    def take(self, v):
        if v > 100:
            self.total = 5
        return v


def till(xs):
    made = Till()
    for x in xs:
        made.total += made.take(x)
    return made.total


def in_turn(xs):
    seen, table = [], {"a": [1, 2], "b": 0}

    def note(name, thing):
        seen.append(name)
        return thing

    for x in xs:
        try:
            note("table", table)[note("key", "a" if x < 100 else "zz")] += note("value", [x])
        except KeyError:
            seen.append("none")
        k = x
        while k > 100:
            table["b"] += note("more", 1)
            k -= 100
    return seen, table


def in_turn_named(xs):
    total, seen = 0, []

    def more():
        nonlocal total
        total += 100
        return 1

    for x in xs:
        k = x
        while k > 5:
            k -= 5
        if x > 100:
            total += more()
        seen.append(total)
    return seen


def parts_of_lists(xs):
    row = [[0, 0, 0], 5]
    for x in xs:
        try:
            k = 10 // x
        except ZeroDivisionError:
            k = 0
        row[0][1:2] += [k, x]
        row[0][-1] -= k
        row[1] //= 1 + x
        row[1] |= 3
    return row


def added_to_none(xs):
    out = []
    for v in xs:
        try:
            a = None if v > 100 else 0
            a += 1
            out.append(str(a))
        except TypeError as e:
            out.append(str(e))
    return out


def of_unlike(xs):
    out = []
    for v in xs:
        wrong = v > 100
        text, items, pair, table = "a", [1], (1,), {"n": None if wrong else 1}
        try:
            table["n"] += 1
        except TypeError as e:
            out.append(str(e))
        try:
            text += 3 if wrong else "b"
        except TypeError as e:
            out.append(str(e))
        try:
            text *= "b" if wrong else 2
        except TypeError as e:
            out.append(str(e))
        try:
            items += 3 if wrong else [2]
        except TypeError as e:
            out.append(str(e))
        try:
            items *= 1.5 if wrong else 2
        except TypeError as e:
            out.append(str(e))
        try:
            pair += [1] if wrong else (2,)
        except TypeError as e:
            out.append(str(e))
        try:
            v -= "x" if wrong else 1
        except TypeError as e:
            out.append(str(e))
        try:
            v **= "x" if wrong else 2
        except TypeError as e:
            out.append(str(e))
        try:
            v <<= 1.5 if wrong else 1
        except TypeError as e:
            out.append(str(e))
        try:
            v %= "x" if wrong else 7
        except TypeError as e:
            out.append(str(e))
        out.append([text, items, pair, v])
    return out


def of_unlike_two(xs):
    out = []
    for v in xs:
        wrong = v > 100
        pairs = [("a", 1), (1, "a"), ([1], (2,)), ((1,), [2]), (None, 1), (2, None), ({}, 1), ("a", 1.5), ([1], "a")]
        pairs += [("a", None), (1.5, [1]), ("a", "b"), (b"a", "b"), ({}, []), (2, 3)]
        for left, right in pairs:
            if not wrong:
                continue
            try:
                out.append(left + right)
            except TypeError as e:
                out.append(str(e))
            try:
                out.append(left * right)
            except TypeError as e:
                out.append(str(e))
            try:
                out.append(left % right)
            except TypeError as e:
                out.append(str(e))
            try:
                out.append(left**right)
            except TypeError as e:
                out.append(str(e))
            try:
                out.append(left << right)
            except TypeError as e:
                out.append(str(e))
        try:
            out.append(10 // v)
        except ZeroDivisionError as e:
            out.append(str(e))
    return out


def labelled(xs):
    out = []
    for v in xs:
        try:
            out.append("id:" + (v if v > 100 else str(v)))
        except TypeError as e:
            out.append(str(e))
    return out


def filled(xs, template):
    out = []
    for v in xs:
        t = template if v > 100 else "{}-{}"
        try:
            k = 10 // v
        except ZeroDivisionError:
            k = 0
        try:
            out.append(t.format(v, k, name="n"))
        except (ValueError, IndexError, KeyError, TypeError) as e:
            out.append(str(e))
    return out
