"""Plain loops that hand values from one round to the next: sums, counters, states, the item before; of any length."""

from __future__ import annotations

from collections import defaultdict

import torch

import tracepack
from tests.everyday.case import Case

CELL = tracepack.script(torch.nn.GRUCell(2, 3), device="cpu")


def total(x):
    found = 0  # becomes a float in the first round, and stays 0 where there is none
    for value in x.tolist():
        found += value
    return found


def running(x):
    out, found = [], x[0] * 0
    for row in x:
        found = found + row
        out.append(found)
    return torch.stack(out)


def counted(words, wanted):
    count = 0
    for word in words:
        if word == wanted:
            count += 1
    return f"{count} of {len(words)}"


def best(x):
    place, largest = -1, -1e9
    for i, value in enumerate(x.tolist()):
        if value > largest:
            place, largest = i, value
    return place


def shares(words):
    total = 0
    for word in words:
        total += len(word)
    return [len(word) / total for word in words]


def ranked(words):
    counts, wins = {}, defaultdict(int)
    for word in words:
        counts[word] = counts.get(word, 0) + 1
        if word > "b":
            wins[word] += 2
    order = sorted(counts, key=lambda word: (-counts[word], word))
    return [f"{word}: {counts[word]}, {wins.get(word, 0)}" for word in order]


def last_one(x):
    places = []
    for i, value in enumerate(x.tolist()):
        if value > 0.5:
            places.append(i)
    return tracepack.cond(len(places) > 0, lambda: places[-1], lambda: -1)


def stored_after(words):
    count = 0
    later = lambda: count  # noqa: E731 - what it gives is the count of that time
    before = later()
    count = len(words)
    return [before, later(), *[len(word) + count for word in words]]


def collapsed(ids):
    out, last = [], -1
    for i in ids.tolist():
        if i != last and i > 0:
            out.append("abcd"[i])
        last = i
    return "".join(out)


def split(x):
    large, small = [], []
    for value in x.tolist():
        if value > 0.5:
            large.append(value)
        else:
            small.append(value)
    return large, small


def kept(x):
    found = -1.0
    out = []
    for value in x.tolist():
        if value > 0.5:
            found = value * 2
        out.append(found)
    return out


def twice(x):
    out = []
    for value in x.tolist():
        if value > 0.5:
            out.append(value)
            out.append(-value)
    return out


def swapped(x):
    a, b = 0.0, 1.0
    for value in x.tolist():
        a, b = b, a + b * value
    return a, b


def recurrent(x):
    state = torch.zeros(x.shape[0], 3)
    for t in range(x.shape[1]):
        state = CELL(x[:, t], state)
    return state


def steps(x, n):
    for _ in range(n):
        x = x * 2
    return x


def odd(x):
    out = []
    for i in range(1, len(x)):
        out.append(x[i] - x[i - 1])  # the form is what is tested
    return out


def joined(words):
    text = ""
    for word in words:
        text += word + " "
    return text.strip()


def inner(x):
    def sums(row):
        found = 0.0
        for value in row:
            found += value
        return found

    return [sums(row) for row in x.tolist()]


def without_gradients(x):
    state = torch.zeros(2)
    with torch.no_grad():
        for row in x:
            state = state + row
    return state


def twice_over(x):
    found = 0.0
    for value in x.tolist():
        found += value
    for value in x.tolist():
        found -= value * 2
    return found


def last(x):
    row = x[0]
    for row in x:  # noqa: B007  # the form is what is tested
        pass
    return row


def added_in_place(x):
    found = torch.zeros(2)
    same = found
    for row in x:
        found += row
    return found, same.sum().item()


def kept_in_place(x):
    found, out = x[0].clone(), []
    for row in x:
        found += row
        out.append(found)
    return torch.stack(out)


def summed(rows):
    found = 0
    for row in rows:
        found = found + row.sum()
    return found


def largest(rows):
    found, count = None, 0
    for i, row in enumerate(rows):
        if found is None or row.sum() > found.sum():
            found = row * (i + 1)
        count += 1
    return found, count


def rising(x):
    before, found = None, 0
    for value in x.tolist():
        if before is not None and value > before:
            found += 1
        before = value
    return found


def longest(words):
    found = None
    for word in words:
        if found is None or len(word) > len(found):
            found = word
    return found


def highest(x):
    found = 0  # stays a whole number where no value is larger
    for value in x.tolist():
        found = max(found, value)
    return found


def named(scores):
    return [name for name, score in zip(("a", "b", "c", "d"), scores) if score > 0.5]  # noqa: B905


_WORDS = [["a", "c", "bb", "c"]], [[["c"]], [["z", "a", "z", "bb", "a"]]]
_NUMBERS = (
    [torch.tensor([0.0, 0.7, 0.9])],
    [[torch.tensor([0.9])], [torch.tensor([0.1, 0.0, 0.6, 0.3, 0.8])], [torch.tensor([])]],
)
_ROWS = ([torch.rand(3, 2)], [[torch.rand(5, 2)], [torch.rand(1, 2)]])
CASES = {
    "a sum that begins with 0": Case(total, *_NUMBERS),
    "a sum of rows": Case(running, *_ROWS),
    "a counter": Case(counted, [["a", "b"], "a"], [[["x", "x"], "x"], [["q"], "z"], [[], "z"]]),
    "the best": Case(best, *_NUMBERS),
    "the item before": Case(collapsed, [torch.tensor([0, 1, 1, 2, 0, 2])], [[torch.tensor([3, 3, 0, 3])]]),
    "two lists": Case(split, *_NUMBERS),
    "what an earlier round found": Case(kept, *_NUMBERS),
    "two items in a round": Case(twice, *_NUMBERS),
    "two values": Case(swapped, *_NUMBERS),
    "a recurrent cell": Case(recurrent, [torch.rand(2, 3, 2)], [[torch.rand(4, 5, 2)], [torch.rand(1, 1, 2)]]),
    "as many rounds as an argument says": Case(steps, [torch.rand(3), 2], [[torch.rand(2), n] for n in (0, 1, 5)]),
    "a range": Case(odd, *_NUMBERS),
    "a text": Case(joined, [["a", "b"]], [[["x"]], [["p", "q", "r"]], [[]]]),
    "inside of a comprehension": Case(inner, [torch.rand(3, 2)], [[torch.rand(5, 2)], [torch.rand(2, 4)]]),
    "inside of with": Case(without_gradients, *_ROWS),
    "one after another": Case(twice_over, *_NUMBERS),
    "a sum in place": Case(added_in_place, *_ROWS),
    "a sum in place that a list holds": Case(kept_in_place, *_ROWS),
    "names beside the numbers of a tensor": Case(named, *_NUMBERS),
    "the last": Case(last, *_ROWS),
    "a sum of tensors that begins with 0": Case(summed, *_ROWS),
    "a sum of a list of tensors": Case(
        summed, [[torch.rand(2), torch.rand(3)]], [[[torch.rand(4)]], [[torch.rand(n) for n in (1, 3, 2)]]]
    ),
    "the best that begins with None": Case(largest, *_ROWS),
    "what a comprehension reads later": Case(shares, *_WORDS),
    "what a key reads later": Case(ranked, *_WORDS),
    "what a choice reads later": Case(last_one, *_NUMBERS),
    "what is stored after a function reads it": Case(stored_after, *_WORDS),
    "the longest text": Case(longest, [["a", "bb"]], [[["x"]], [["p", "qqq", "rr"]]]),
    "what rises": Case(rising, _NUMBERS[0], _NUMBERS[1][:2]),
    "sum of rows": Case(lambda x: sum(x) / len(x), *_ROWS),
    "sum of a generator": Case(lambda x: sum(row.norm() * 2 for row in x), *_ROWS),
    "sum of the rows that are kept": Case(
        lambda x: sum([row for row in x if row[0] > 0.5], torch.ones(2)),
        [torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 4.0]])],
        [[torch.rand(5, 2)], [torch.zeros(0, 2)]],
    ),
    "the highest number, or 0": Case(highest, *_NUMBERS),
    "the highest of negative ones": Case(highest, _NUMBERS[0], [[torch.tensor([-1.0, -2.0])]]),
}

BEGUN = {"int": summed, "None": largest}
"""How a loop begins that no empty list can go through -> the loop."""
