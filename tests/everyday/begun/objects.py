"""Objects that a function makes, whose classes say their truth, length and text; and the best of them, or None."""

from dataclasses import dataclass
from typing import NamedTuple

import tracepack

LABELS = ["cat", "horse", "ox"]


class Hit(NamedTuple):
    name: str
    score: float


@dataclass
class Found:
    label: str
    score: float

    def __bool__(self):
        return self.score > 0.5

    def __str__(self):
        return f"{self.label}:{self.score:.2f}"

    def __len__(self):
        return len(self.label)


@dataclass
class Plain:
    label: str
    score: float

    def is_sure(self):
        return self.score > 0.9


class Span:
    def __init__(self, start, end):
        self.start, self.end = start, end

    def __len__(self):
        return self.end - self.start

    def __repr__(self):
        return f"Span({self.start}, {self.end})"


def texts(rows):
    found = [Found(LABELS[int(row.argmax())], row.max().item()) for row in rows]
    return [str(each) for each in found if each], [f"{each!s:>10}|{each}" for each in found if not each]


def lengths(rows):
    found = [Found(LABELS[int(row.argmax())], row.max().item()) for row in rows]
    return [len(each) for each in found], "; ".join(map(str, found)), f"{found[0]}"


def branches(rows):
    found = Found(LABELS[int(rows[0].argmax())], rows.max().item())
    if not found:
        return "weak"
    return str(found)


def asked_by_name(rows):
    scores = {}
    for each in [Found(LABELS[int(row.argmax())], row.max().item()) for row in rows]:
        if each.__bool__():
            scores[each.label] = each.score
    return scores


def asked_in_rounds(rows):
    out = []
    for each in [Found(LABELS[int(row.argmax())], row.max().item()) for row in rows]:
        if each:
            out.append(str(each))  # noqa: PERF401  # the form is what is tested
    return out


def spans(xs):
    found = [Span(x, x * 2) for x in xs]
    return [len(each) for each in found], [repr(each) for each in found], [str(each) for each in found]


def backwards(a, b):
    return len(Span(a, b))


def best_of_objects(rows):
    found = [Plain(LABELS[int(row.argmax())], row.max().item()) for row in rows if row.max() > 0.5]
    best = max(found, key=lambda each: each.score, default=None)
    if best is None:
        return {"label": "none", "sure": False}
    return {"label": best.label, "sure": best.is_sure()}


def best_as_truth(rows):
    found = [Plain(LABELS[int(row.argmax())], row.max().item()) for row in rows if row.max() > 0.5]
    best = max(found, key=lambda each: each.score, default=None)
    return best.label if best else "none"


def best_by_cond(rows):
    found = [Plain(LABELS[int(row.argmax())], row.max().item()) for row in rows if row.max() > 0.5]
    best = max(found, key=lambda each: each.score, default=None)
    return tracepack.cond(best, lambda: best.label, lambda: "none")


def best_of_named_tuples(rows):
    hits = [Hit(LABELS[int(row.argmax())], row.max().item()) for row in rows if row.max() > 0.5]
    best = max(hits, key=lambda hit: hit.score, default=None)
    return best.name if best else "none"


def best_of_dicts(rows):
    hits = [{"name": LABELS[int(row.argmax())], "score": row.max().item()} for row in rows if row.max() > 0.5]
    best = min(hits, key=lambda hit: hit["score"], default=None)
    return best["name"] if best is not None else "none"


def best_of_tuples(rows):
    hits = [(row.max().item(), i) for i, row in enumerate(rows) if row.max() > 0.5]
    best = max(hits, default=None)
    return -1 if best is None else best[1]


def first_of_all(rows):
    hits = [Hit(LABELS[int(row.argmax())], row.max().item()) for row in rows]
    first = next((hit for hit in hits if hit.score > 0.8), None)
    return Hit("none", -1.0) if first is None else first


def first_or_none(rows):
    hits = [Hit(LABELS[int(row.argmax())], row.max().item()) for row in rows]
    return next((hit for hit in hits if hit.score > 0.8), None)


def named_without_asking(rows):
    found = [Plain(LABELS[int(row.argmax())], row.max().item()) for row in rows if row.max() > 0.5]
    return max(found, key=lambda each: each.score, default=None).label


def dict_as_truth(rows):
    hits = [{"name": LABELS[int(row.argmax())], "score": row.max().item()} for row in rows if row.max() > 0.5]
    best = max(hits, key=lambda hit: hit["score"], default=None)
    return best["name"] if best else "none"
