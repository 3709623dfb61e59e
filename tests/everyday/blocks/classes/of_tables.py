"""Functions with tables of functions, and with objects that are sorted before a loop."""

from __future__ import annotations

from collections import Counter, namedtuple

AGGREGATES = {"mean": lambda v: sum(v) / len(v), "max": max, "last": lambda v: v[-1]}


def series(numbers, how):
    buckets = {}
    for number in numbers:
        buckets.setdefault(int(number // 10), []).append(number)
    return [AGGREGATES[how](buckets[key]) if key in buckets else None for key in range(6)]


class Hit:
    """A text that was found."""

    def __init__(self, score, text):
        self.score = score
        self.text = text

    def overlap(self, other):
        a, b = set(self.text.split()), set(other.text.split())
        return len(a & b) / max(1, len(a | b))


def kept(scores, texts, limit):
    hits = [Hit(score, text) for score, text in zip(scores.tolist(), texts, strict=True)]
    hits.sort(key=lambda hit: -hit.score)
    found = []
    for hit in hits:
        if all(hit.overlap(other) < 0.6 for other in found):
            found.append(hit)
        if len(found) >= limit:
            break
    return [(hit.text, round(hit.score, 3)) for hit in found]


Item = namedtuple("Item", "sku category stock")
CATALOG = [Item("s1", "shoes", 3), Item("s2", "shoes", 0), Item("s3", "hats", 9), Item("s4", "hats", 1)]


def picked(scores, seen, quota):
    counts, picks = Counter(), []
    for place in scores.argsort(descending=True).tolist():
        item = CATALOG[place]
        if item.sku in seen or not (item.stock > 0 and counts[item.category] < quota):
            continue
        counts[item.category] += 1
        picks.append((item.sku, round(scores[place].item(), 3)))
    return picks, dict(counts)
