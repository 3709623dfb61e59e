"""Plain functions with branches and loops that data decides, of forms that only their source shows; each goes all ways.

What they share: a line is refused, or fixed to the way of the example, where bytecode alone is read.
"""

from __future__ import annotations

import math
from collections import Counter

import torch

from tests.everyday.case import Case


def first_word(t):
    if not t:
        return "-"
    if len(t.split()) > 5:
        return "long"
    if t.split()[0] == "x":
        return "x first"
    return t.split()[-1]


def lists(n):
    return [1, 2] if n > 3 else [n]


def lists_in_statements(n):
    if n > 3:
        found = [1, 2, n]
    else:
        found = [n]
    return found


def tensors(x, s):
    return x * 2 if s > 0.5 else x - 1


def tensors_in_statements(x, s):
    if s > 0.5:
        x = x.relu()
        x = x + 1
    else:
        x = -x
    return x.sum()


def by_tensor(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def dicts(x, s):
    if s > 0.5:
        return {"label": "high", "score": x.max()}
    return {"label": "low", "score": x.min()}


def dicts2(t):
    return {"kind": "q", "n": len(t)} if t.endswith("?") else {"kind": "s", "n": 0}


def prefixed(prefix, number, kind):
    return (prefix or "+49") + number.lstrip("0") if kind == "phone" else number


def value_and(x, n):
    return x and 0 < n < 10


def append_choice(a, b, c):
    one, two = [a], [b]
    (one if c > 0 else two).append(c)
    return one, two


def several_names(s, t):
    if s > 0.9:
        level, text, n = "high", t.upper(), len(t)
    elif s > 0.5:
        level = "mid"
        text = t.split(",")[0]
        n = int(text or "0")
    else:
        level = "low"
        text = t
        n = 0
    return f"{level}:{text}:{n}"


def helper(t):
    if not t:
        return 0.0
    if t[0] == "-":
        return -float(t[1:])
    return float(t)


def with_helper(t):
    return helper(t.strip()) * 2


def nested_if(s, t):
    result = "none"
    if s > 0.5:
        if t.startswith("a"):
            result = t[1:].split(":")[0]
        elif len(t) > 3:
            result = t.split()[0]
    return result


def grade(s):
    if s > 0.5:
        return "good"
    return "bad"


def shout(t):
    if t.endswith("!"):
        return t.upper()
    return t + "."


def side_helper(s, t):
    if s > 0.7:
        return grade(s) + shout(t)
    return shout(t.strip())


def early_tensor(x, n):
    if n < 0:
        return x
    y = x * n
    z = y + 1
    return z.cumsum(0)


def guard_then_work(t):
    if ":" not in t:
        return None
    key, value = t.split(":", 1)
    return key.strip() + "=" + value.strip()


def parse(t):
    t = t.strip()
    if t.endswith("%"):
        return float(t[:-1]) / 100
    if "/" in t:
        a, b = t.split("/")
        return float(a) / float(b)
    return float(t)


def opt_list(t, n):
    words = t.split()
    if n < len(words):
        words = words[:n] + ["…"]
    return " ".join(words)


def elif_tensor(x, mode):
    if mode == "relu":
        y = x.relu()
    elif mode == "tanh":
        y = x.tanh()
    elif mode == "norm":
        y = (x - x.mean()) / x.std()
    else:
        y = x
    return y * 2


def match_st(t, x):
    match t:
        case "a":
            return x + 1
        case "b":
            return x * 2
        case _:
            return x


class Scorer:
    def __init__(self):
        self.limit = 0.5

    def __call__(self, x, s):
        if s > self.limit:
            return x.softmax(-1)
        return x.sigmoid()

    def scored(self, x, s):
        if s > self.limit:
            x = x * self.limit
        return x.sum()


def limited(limit):
    def process(t, x):
        if len(t) > limit:
            return x[:limit] * 2, t[:limit]
        return x, t

    return process


def inside(x, s):
    def scaled(x):
        if s > 0.5:
            return x * s
        return x.abs()

    return scaled(x) + scaled(-x)


def may_fail(t, x):
    if (t and t.split()[0] == "a") or not t:
        return x * 2
    return x + 1


def raising(x, s):
    if s < 0.0:
        raise ValueError("no such score")
    if s > 0.5:
        return x * 2
    return x


def chosen(t, x):
    kind = t.split(":")[0]
    if kind == "sum":
        out = x.sum()
    elif kind == "mean":
        out = x.mean()
    elif kind == "max":
        out = x.max()
    else:
        raise ValueError(kind)
    return out * 2


def walrus(t):
    if (n := len(t)) > 10:
        return [t[:10], str(n)]
    return [t]


def appended(items, s):
    found = [items[0] if items else "none"]
    if s > 0.5:
        found.append("high")
        found.append(f"{s:.1f}")
    return found


def entered(s, t):
    found = {"label": "low", "text": t}
    if s > 0.5:
        found["label"] = "high"
        if s > 0.9:
            found["text"] = t.upper()
    return found


X = torch.tensor([1.0, -2.0, 3.0])
Y = torch.tensor([-1.0, -2.0, 1.0, 0.5])
SCORED = [[Y, 0.2], [Y, 0.9], [X[:1], 0.5]]


def overlap(guess, truth):
    words, wanted = guess.split(), truth.split()
    if not words:
        return 0.0
    known = Counter(wanted)
    hits = sum(min(count, known[word]) for word, count in Counter(words).items())
    order = sorted(set(words), key=lambda word: known[word])
    short = 1.0 if len(words) > len(wanted) else math.exp(1 - len(wanted) / len(words))
    return short * hits / len(words) + len(order)


CASES = {
    "variables that a generator reads": Case(overlap, ["a b c", "a c"], [["", "x"], ["a b", "a b c d"], ["a", "a"]]),
    "three returns": Case(first_word, ["hello world"], [[""], ["a b c d e f g"], ["x y"], ["one"]]),
    "lists": Case(lists, [5], [[1], [2], [4]]),
    "lists in statements": Case(lists_in_statements, [5], [[1], [2]]),
    "tensors": Case(tensors, [X, 0.7], SCORED),
    "tensors in statements": Case(tensors_in_statements, [X, 0.7], SCORED),
    "a condition on a tensor": Case(by_tensor, [X], [[Y], [-X], [X[:2]]]),
    "dicts": Case(dicts, [X, 0.7], SCORED),
    "or in a side": Case(prefixed, ["", "0123", "phone"], [["+1", "0123", "phone"], ["", "0123", "x"]]),
    "and with comparisons in a row": Case(value_and, [True, 5], [[False, 5], [True, 50], [True, 0]]),
    "a list that is chosen": Case(append_choice, [1, 2, 3], [[1, 2, -3]]),
    "appended in a side": Case(appended, [["a"], 0.7], [[["b", "c"], 0.2], [[], 0.9]]),
    "an entry that is set": Case(entered, [0.7, "a"], [[0.2, "b"], [0.95, "c"]]),
    "several names": Case(several_names, [0.95, "12,b"], [[0.6, "7,b"], [0.6, ""], [0.1, "q,"]]),
    "in a helper": Case(with_helper, ["1.5"], [[""], ["-2"], [" 7 "]]),
    "nested": Case(nested_if, [0.7, "ab:c"], [[0.7, "hello world"], [0.7, "x"], [0.1, ""], [0.7, ""]]),
    "helpers in sides": Case(side_helper, [0.9, "hi!"], [[0.6, "hi "], [0.2, "x!"], [0.8, "q"]]),
    "the rest of the function": Case(early_tensor, [X, 2], [[Y, -1], [Y, 3]]),
    "none": Case(guard_then_work, ["a: b"], [["none"], ["x:y:z"]]),
    "a list that is cut": Case(opt_list, ["a b c d", 2], [["a b", 5], ["", 0]]),
    "elif of tensors": Case(elif_tensor, [X, "relu"], [[Y, "tanh"], [Y, "norm"], [X, "no"]]),
    "match": Case(match_st, ["a", X], [["b", Y], ["c", Y], ["d", X]]),
    "an object": Case(Scorer(), [X, 0.7], SCORED),
    "a method": Case(Scorer().scored, [X, 0.7], SCORED),
    "a closure": Case(limited(3), ["hello you", X], [["", Y], ["abc", X], ["abcdef", Y]]),
    "a function inside": Case(inside, [X, 0.7], SCORED),
    "conditions that may fail": Case(may_fail, ["a b", X], [["", Y], ["b", Y], ["b c", X]]),
    "an error in place of the last side": Case(chosen, ["sum:a", X], [["mean:", Y], ["max", X]]),
    "an error otherwise": Case(raising, [X, 0.7], [[Y, 0.2], [Y, 0.9]]),
    "a walrus": Case(
        walrus,
        ["hello world"],
        [["a"], [""], ["abcdefghijk"]],
    ),
}
