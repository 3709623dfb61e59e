"""Functions on numbers, intervals and graphs that recording does not follow."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

import torch

import tracepack

linear = tracepack.script(torch.nn.Linear(3, 3).eval(), device="cpu")


def days_until_warmer(temperatures):
    out = [0] * len(temperatures)
    waiting = []
    for day, degrees in enumerate(temperatures):
        while waiting and temperatures[waiting[-1]] < degrees:
            before = waiting.pop()
            out[before] = day - before
        waiting.append(day)
    return out


def tracks(frames):
    followed, number = [], 0
    for found in frames:
        used = set()
        for track in followed:
            best, least = -1, 10.0
            for place, x in enumerate(found):
                if place in used:
                    continue
                distance = abs(x - track["x"])
                if distance < least:
                    best, least = place, distance
            if best >= 0:
                track["x"] = found[best]
                track["age"] = 0
                used.add(best)
            else:
                track["age"] += 1
        followed = [track for track in followed if track["age"] < 2]
        for place, x in enumerate(found):
            if place not in used:
                followed.append({"id": number, "x": x, "age": 0})
                number += 1
    return [(track["id"], track["x"]) for track in followed]


def merged(spans):
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def common(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def ordered(edges):
    following, waits = defaultdict(list), Counter()
    nodes = []
    for one, other in edges:
        following[one].append(other)
        waits[other] += 1
        for node in (one, other):
            if node not in nodes:
                nodes.append(node)
    ready = deque(node for node in nodes if waits[node] == 0)
    order = []
    while ready:
        node = ready.popleft()
        order.append(node)
        for each in following[node]:
            waits[each] -= 1
            if waits[each] == 0:
                ready.append(each)
    return order


def sessions(times):
    out = []
    for time in times:
        if not out or time - out[-1][-1] > 30:
            out.append([time])
        else:
            out[-1].append(time)
    return {"count": len(out), "longest": max((len(each) for each in out), default=0)}


def runs_into_a_model(words, x):
    sizes, place = [], 0
    while place < len(words):
        count = 1
        while place + count < len(words) and words[place + count] == words[place]:
            count += 1
        sizes.append(len(words[place]) * count)
        place += count
    return linear(x).sum() + torch.tensor(sizes, dtype=torch.float32).sum(), len(sizes)


def roman(number):
    out = ""
    for value, sign in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
                        (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):  # fmt: skip
        while number >= value:
            out += sign
            number -= value
    return out


def best_pair(row):
    def score(weight, numbers):
        total = 0.0
        for each in numbers:
            total += weight * each
        return total

    weight = row.sum().item()
    return max((score(weight, numbers), numbers) for numbers in ((1, 2), (3,), (0, -1)))[1]
