"""Lists that a branch by data fills, or leaves as they are, and that the function appends to afterwards."""

import torch

import tracepack


def flags(x):
    found = []
    if x.sum() > 0:
        found.append("warm")
    if x.max() > 0.9:
        found.append("peak")
    found.append("done")
    found.sort()
    return found, len(found)


def of_a_choice(x):
    tags = ["a", "b"] if x.mean() > 0 else ["c"]
    tags.append("z")
    return tags


def of_both_sides(x):
    if x.mean() > 0:
        crops = [x * 2, x * 3]
    else:
        crops = [x * 4]
        crops.append(x * 5)
    crops.append(x)
    return torch.stack(crops)


def features(x):
    found = [x.mean(), x.std()]
    if x.max() > 0.5:
        found.append(x.max())
    return torch.stack(found)


def returned(x):
    if x.mean() > 0:
        return [x * 2, x * 3]
    return [x]


def written(x):
    crops = [x]
    if x.mean() > 0:
        crops.append(x.flip(0))
        crops.append(x * 0)
    last = crops[-1]
    last.add_(1)
    return torch.stack(crops), x


def added(x):
    items = [x]
    items = items + [x * 2] * int(bool(x.sum() > 0))
    return torch.stack(items).sum(0)


def in_rounds(rows):
    items = []
    for row in rows:
        items = items + [row * 2] * int(bool(row.sum() > 0))
    items.append(rows[0])
    return torch.stack(items).sum(0)


def repeated(x, k):
    y = x * 2
    items = [y] * k
    first = items[0]
    before = first * 1
    first.mul_(0)
    return before, items[-1], torch.cat(items)


def known_twice(x):
    tags = ["a", "b"] if x.mean() > 0 else ["c"]
    other = tags
    tags.append("z")
    return tags, other


def added_by_a_method(x):
    tags = ["a"]
    add = tags.append
    if x.mean() > 0:
        tags.append("p")
    add("z")
    return tags


def counted(words):
    count = 0
    for word in words:
        count = tracepack.cond(len(word) > 1, lambda: count + 1, lambda: count)  # noqa: B023  # they run at once
    return count
