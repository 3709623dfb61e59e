"""Algorithms from books, as people write them around a model."""

from __future__ import annotations

from collections import OrderedDict
from itertools import pairwise


def chunked(words):
    def chunks(items, size):
        current = []
        for item in items:
            current.append(item)
            if len(current) == size:
                yield current
                current = []
        if current:
            yield current

    return [" ".join(each) for each in chunks(words, 2)]


def fibonacci(n):
    def number(k):
        return k if k < 2 else number(k - 1) + number(k - 2)

    return number(n)


def distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
        before = row
    return before[-1]


def spelled(words, vocabulary):
    out = []
    for word in words:
        if word in vocabulary:
            out.append(word)
            continue
        best = min(vocabulary, key=lambda each, word=word: (distance(word, each), each)) if vocabulary else word
        out.append(best if distance(word, best) <= 2 else word)
    return out


def byte_pairs(words):
    ranks = {pair: rank for rank, pair in enumerate([("l", "o"), ("lo", "w"), ("e", "r")])}
    out = []
    for word in words:
        parts = list(word)
        while len(parts) > 1:
            rank, place = min((ranks.get(pair, 99), i) for i, pair in enumerate(pairwise(parts)))
            if rank == 99:
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        out.append(parts)
    return out


def nested(x, names):
    out = {}
    for name, value in zip(names, x.tolist(), strict=True):
        node = out
        *path, last = name.split(".")
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return out


def viterbi(emissions, transitions):
    scores, moves = emissions.tolist(), transitions.tolist()
    if not scores:
        return []
    best, back = scores[0], []
    for row in scores[1:]:
        following, came_from = [], []
        for j, score in enumerate(row):
            k = max(range(len(best)), key=lambda i, best=best, j=j: best[i] + moves[i][j])
            following.append(best[k] + moves[k][j] + score)
            came_from.append(k)
        best = following
        back.append(came_from)
    k = max(range(len(best)), key=best.__getitem__)
    path = [k]
    for came_from in reversed(back):
        k = came_from[k]
        path.append(k)
    return path[::-1]


def columns(line):
    out, current, quoted = [], "", False
    for each in line:
        if each == '"':
            quoted = not quoted
        elif each == "," and not quoted:
            out.append(current)
            current = ""
        else:
            current += each
    out.append(current)
    return out


def centres(x):
    points = x.tolist()
    found = [points[0], points[-1]]
    for _ in range(5):
        groups = [[] for _ in found]
        for point in points:
            far = [sum((a - b) ** 2 for a, b in zip(point, centre, strict=True)) for centre in found]
            groups[far.index(min(far))].append(point)
        found = [
            [sum(column) / len(group) for column in zip(*group, strict=True)] if group else centre
            for group, centre in zip(groups, found, strict=True)
        ]
    return [[round(value, 4) for value in point] for point in found]


def hits(keys):
    cache, count = OrderedDict(), 0
    for key in keys:
        if key in cache:
            cache.move_to_end(key)
            count += 1
        else:
            cache[key] = True
            if len(cache) > 2:
                cache.popitem(last=False)
    return count, list(cache)
