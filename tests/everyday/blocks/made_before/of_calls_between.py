"""Loops that fill what is made some lines before, with calls of functions on the lines between."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np
import torch


def doubled(x):
    return x * 2


def areas(boxes):
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return wide * high


def as_given(x):
    return x


def raised(x):
    x += 1
    return x.sum()


def suppressed(scores, overlaps):
    alive = torch.ones(len(scores), dtype=torch.bool)
    keep = []
    distances = torch.cdist(overlaps, overlaps)
    for i in scores.argsort().tolist():
        if not alive[i]:
            continue
        keep.append(i)
        alive &= distances[i] <= 0.5
    return keep


def centers(x, k=2):
    before, found = torch.full_like(x[:k], torch.inf), x[:k].clone()
    points = doubled(x)
    while not torch.allclose(before, found):
        before, labels = found.clone(), torch.cdist(points, found).argmin(1)
        for c in labels.unique().tolist():
            found[c] = points[labels == c].mean(0)
    return found


def envelope(x, decay=0.9):
    out = np.zeros_like(x)
    y = doubled(x)
    level = 0.0
    for i in range(len(x)):
        level = max(abs(y[i]), level * decay)
        out[i] = level
    return out


def edges(x):
    out, before = x.clone(), 0.0
    high = doubled(2)
    for i in range(len(x)):
        value = float(out[i])
        if value > 0.5 and before <= 0.5:
            out[i] = high
        before = value
    return out


def halved(boxes):
    boxes = boxes.clone()
    sizes = areas(boxes)
    for i in range(len(boxes)):
        if sizes[i] > 500:
            boxes[i] = boxes[i] * 0.5
    return boxes, sizes


def sorted_slowly(items):
    items = items.copy()
    most = doubled(items).max()
    for i in range(len(items)):
        for j in range(len(items) - 1 - i):
            if items[j] > items[j + 1]:
                items[j], items[j + 1] = items[j + 1], items[j]
    return items, most


def written_between(x):
    out = torch.zeros(len(x))
    out[0] = 7
    total = raised(out)
    y = doubled(x)
    for i in y.argsort().tolist():
        if y[i] > 1:
            out[i] = float(i)
    return out * 2, total


class Tracks:
    def __init__(self):
        self.places, self.count = [], 0

    def add(self, place):
        for i, other in enumerate(self.places):
            if abs(other - place) < 0.2:
                self.places[i] = place
                return i
        self.places.append(place)
        self.count += 1
        return len(self.places) - 1


def tracked(x):
    tracks = Tracks()
    out = []
    places = doubled(x)
    for place in places.tolist():
        number = tracks.add(place)
        out.append(number)
    return out, tracks.count


def grouped(x):
    last, groups = deque(), defaultdict(list)
    y = doubled(x)
    for i, value in enumerate(y.tolist()):
        last.append(i)
        if len(last) > 2:
            last.popleft()
        groups[value > 1].append(i)
    return list(last), groups[True], groups[False]


def cut(x):
    shares = x.softmax(-1)
    y = doubled(x)
    for i in range(len(x)):
        if y[i] > 1:
            shares[i] = 0
    return shares / shares.sum().clamp(min=1e-6)


def pairs(x):
    far = torch.cdist(x, x)
    most = doubled(far).max()
    found = []
    while far.max() > 0:
        k = int(far.argmax())
        i, j = k // far.shape[1], k % far.shape[1]
        found.append((i, j))
        far[i, :] = 0
        far[:, i] = 0
    return found, most


def filled_gaps(items):
    items = items * 1.0
    most = doubled(items).max()
    for i in range(1, len(items)):
        if np.isnan(items[i]):
            items[i] = items[i - 1]
    return items, most


def under_another_name(x):
    out = torch.zeros(len(x))
    other = as_given(out)
    y = doubled(x)
    for i in y.argsort().tolist():
        if y[i] > 1:
            out[i] = 1.0
    return out, other


def a_view(x):
    out = torch.zeros(len(x))
    first = out[:2]
    y = doubled(x)
    for i in y.argsort().tolist():
        if y[i] > 1:
            out[i] = 1.0
    return out, first.sum()


def in_a_list(x):
    out = torch.zeros(len(x))
    held = [out]
    y = doubled(x)
    for i in y.argsort().tolist():
        if y[i] > 1:
            out[i] = 1.0
    return held[0]


def in_a_function(x):
    out = torch.zeros(len(x))

    def total():
        return out.sum()

    y = doubled(x)
    for i in y.argsort().tolist():
        if y[i] > 1:
            out[i] = 1.0
    return total()


def an_object_twice(x):
    tracks = Tracks()
    same = tracks
    y = doubled(x)
    for place in y.tolist():
        if place > 1:
            tracks.add(place)
    return tracks.count, same.count
