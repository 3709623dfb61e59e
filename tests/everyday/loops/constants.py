"""Loops over constants that branch on what is recorded, and loops whose rounds do more than compute."""

from __future__ import annotations

import collections
import itertools
import random

import torch

from tests.everyday.case import Case

LABELS = ["cat", "dog", "fox", "emu", "owl"]
RULES = [
    {"name": "bulk", "least": 10, "percent": 5.0},
    {"name": "huge", "least": 100, "percent": 12.5},
    {"name": "any", "least": 0, "percent": 0.0},
]
WEIGHTS = {"cat": 0.5, "dog": 0.25, "emu": -1.0}
TEXT = "a cat and a dog"
TEXTS = ["emu", "", "zzz", "cat", "cat dog fox emu owl", "CAT"]
X = torch.tensor([0.1, 0.9, 0.3, 0.2, 0.7])
TENSORS = [torch.tensor([0.4, 0.2, 0.8, 0.1, 0.9]), torch.zeros(5), torch.ones(5)]
GLOBAL: list[int] = []


def shown(label, text):
    if label in text:
        return label.upper()
    return label


def found(text):
    out = []
    for label in LABELS:
        if label in text:
            out.append(label)
    return out


def counted(text):
    count = 0
    for label in LABELS:
        if label in text:
            count += len(label)
        else:
            count -= 1
    return count


def sentiment(text):
    score = 0.0
    for word, weight in WEIGHTS.items():
        if word in text.lower().split():
            score += weight
    return {"score": score, "verdict": "good" if score > 0 else "bad"}


def rewritten(text):
    for old, new in (("cat", "feline"), ("dog", "canine")):
        if old in text:
            text = text.replace(old, new)
    return text


def without_article(text):
    for article in ("a ", "an ", "the "):
        if text.startswith(article):
            text = text[len(article) :]
            break
    return text


def first(text):
    for label in LABELS:
        if label in text:
            return label
    return "none"


def vector(text):
    found = torch.zeros(5)
    for index, label in enumerate(LABELS):
        if label in text:
            found = found + torch.nn.functional.one_hot(torch.tensor(index), 5)
    return found


def detections(x):
    out = []
    for index, label in enumerate(LABELS):
        if x[index] > 0.25:
            out.append({"label": label, "score": x[index].item()})
    return out


def grade(x):
    for bound, name in ((0.6, "high"), (0.3, "middle")):
        if x.mean().item() > bound:
            return name
    return "low"


def halved(x):
    for factor in (1, 2, 3):
        if x.sum() > 1:
            x = x * 0.5 / factor
    return x


def backwards(text):
    found = ""
    for key, value in reversed(WEIGHTS.items()):
        if key in text:
            found += f"{key}{value}"
    places = [(i, label) for i, label in enumerate(reversed(LABELS)) if label in text]
    return found, places, [n for n in reversed(range(5)) if n < len(text)], [k for k in reversed(WEIGHTS) if k in text]


def of_text(process):
    return Case(process, [TEXT], [[text] for text in TEXTS])


def of_tensor(process):
    return Case(process, [X], [[x] for x in TENSORS])


def priced(quantity, price):
    names = []
    for rule in RULES:
        if quantity >= rule["least"]:
            names.append(rule["name"])
    best = max((rule for rule in RULES if quantity >= rule["least"]), key=lambda rule: rule["percent"])
    return names, best["name"], quantity * price * (1 - best["percent"] / 100)


CASES = {
    "over records": Case(priced, [50, 2.0], [[1, 2.0], [100, 0.5], [0, 1.0], [10, 3.0]]),
    "labels in a text": of_text(lambda s: [label for label in LABELS if label in s]),
    "prefixes of a text": of_text(lambda s: [each for each in ("a", "ca", "em") if s.startswith(each)]),
    "counts of labels": of_text(lambda s: {label: s.count(label) for label in LABELS if label in s}),
    "places of labels": of_text(lambda s: {label: s.index(label) for label in LABELS if label in s}),
    "number of labels": of_text(lambda s: sum(1 for label in LABELS if label in s)),
    "the first label": of_text(lambda s: next((label for label in LABELS if label in s), "none")),
    "joined labels": of_text(lambda s: ", ".join(label for label in LABELS if label in s)),
    "entries of a dict": of_text(lambda s: [value for key, value in WEIGHTS.items() if key in s]),
    "letters in a text": of_text(lambda s: [letter for letter in "aeiou" if letter in s]),
    "a loop in a loop": of_text(lambda s: [[a + b for b in "xc" if b in s] for a in ("1", "2")]),
    "numbers in a text": of_text(lambda s: [i for i, (a, b) in enumerate(zip("ad", "ce", strict=True)) if a + b in s]),
    "with an argument": Case(
        lambda s, least: [label for label in LABELS if s.count(label) >= least], [TEXT, 1], [["cat cat", 2], ["", 0]]
    ),
    "backwards": of_text(backwards),
    "the first from the end": of_tensor(
        lambda x: next(
            label for bound, label in reversed([(0.0, "low"), (0.2, "mid"), (0.4, "high")]) if x.max() >= bound
        )
    ),
    "in a helper": of_text(lambda s: [shown(label, s) for label in LABELS]),
    "in each text": Case(
        lambda texts: [[label for label in LABELS if label in text] for text in texts], [[TEXT, "emu"]], [[TEXTS], [[]]]
    ),
    "a loop that appends": of_text(found),
    "a loop that counts": of_text(counted),
    "a loop that weighs": of_text(sentiment),
    "a loop that rewrites": of_text(rewritten),
    "a loop that is left": of_text(without_article),
    "a loop that returns": of_text(first),
    "a loop that adds tensors": of_text(vector),
    "labels by their scores": of_tensor(lambda x: [label for i, label in enumerate(LABELS) if x[i] > 0.25]),
    "places by their scores": of_tensor(lambda x: [i for i in range(5) if x[i].item() > 0.25]),
    "scores by labels": of_tensor(lambda x: {label: x[i].item() for i, label in enumerate(LABELS) if x[i] > 0.25}),
    "bounds of each label": of_tensor(
        lambda x: [a for a, bound, value in zip(LABELS, (0.1, 0.2, 0.3, 0.4, 0.5), x, strict=True) if value > bound]
    ),
    "detections": of_tensor(detections),
    "a grade": of_tensor(grade),
    "a tensor that is halved": of_tensor(halved),
}


def numbered(text):
    count = itertools.count()
    return [f"{next(count)}{label}" for label in LABELS if label in text]


def numbered_in_a_loop(text):
    count, out = itertools.count(), []
    for label in LABELS:
        if label in text:
            out.append(f"{next(count)}{label}")
    return out


def told_to_a_list(text):
    seen = []

    def tell(label):
        seen.append(1)
        return label

    return [tell(label) for label in LABELS if label in text], seen


def told_to_a_variable(text):
    count = 0

    def tell(label):
        nonlocal count
        count += 1
        return f"{label}{count}"

    return [tell(label) for label in LABELS if label in text]


def kept_apart(text):
    seen = set()
    return [label for label in LABELS if label[0] in text and not (label[0] in seen or seen.add(label[0]))]


def popped(text):
    left = [1, 2, 3, 4, 5]
    return [f"{label}{left.pop()}" for label in LABELS if label in text]


def told_to_a_global(text):
    out = []
    for label in LABELS:
        if label in text:
            GLOBAL.append(1)
            out.append(label)
    return out


def handed_over(text):
    seen = []

    def chosen(take):
        return [take(label) for label in LABELS[:2] if label in text]

    return chosen(str.upper) + chosen(lambda label: label) + chosen(lambda label: seen.append(1) or label), seen


def consumed(text):
    numbers = iter([1, 2, 3])
    return [sum(numbers) for label in LABELS if label in text]


def sliced(text):
    numbers = [iter([1, 2, 3])]
    return [list(itertools.islice(numbers[0], 1)) for label in LABELS if label in text]


def filled(text):
    table = collections.defaultdict(int)
    return [table[label] for label in LABELS if label in text], len(table)


def extended(text):
    seen = []

    def tell(items, label):
        items += [1]
        return label

    return [tell(seen, label) for label in LABELS if label in text], seen


def asked_of_a_list(text):
    seen = []
    tell = [lambda label: seen.append(1) or label]
    return [tell[0](label) for label in LABELS if label in text], seen


class Counter:
    def __init__(self):
        self.count = 0

    def tick(self):
        self.count += 1
        return self.count

    __call__ = tick


def ticks(text):
    counter = Counter()
    return [counter.tick() for label in LABELS if label in text]


def calls(text):
    counter = Counter()
    return [counter() for label in LABELS if label in text]


def bound(text):
    tick = Counter().tick
    return [tick() for label in LABELS if label in text]


def written(text):
    found = torch.zeros(5)
    for index, label in enumerate(LABELS):
        if label in text:
            found[index] += 1
    return found


KEPT = [
    consumed, sliced, filled, extended, asked_of_a_list, numbered, numbered_in_a_loop, told_to_a_list,
    told_to_a_variable, kept_apart, popped, told_to_a_global, handed_over, ticks, calls, bound, written,
]  # fmt: skip
"""Functions whose rounds change something: they hold for texts that take the same branches."""

REFUSED = [
    lambda s: ([GLOBAL.append(1) or label for label in LABELS if label in s], len(GLOBAL)),
    lambda s: len([random.random() for label in LABELS if label in s]),
]
