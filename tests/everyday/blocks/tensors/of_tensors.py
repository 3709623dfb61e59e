"""Loops of plain Python that work with tensors: they go on by what tensors hold, or fill tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def _squares(a, b):
    return (a[:, None] - b[None]).square().sum(-1)


def _moved(x, labels, centers):
    new = centers.clone()
    for c in range(len(centers)):
        mask = labels == c
        if mask.any():
            new[c] = x[mask].mean(0)
    return new


def k_means(x, k=2, most=20):
    """Centers until they stay where they are."""
    centers = x[:k].clone()
    rounds = 0
    for n in range(1, most + 1):
        rounds = n
        labels = _squares(x, centers).argmin(1)
        new = _moved(x, labels, centers)
        if torch.equal(new, centers):
            break
        centers = new
    labels = _squares(x, centers).argmin(1)
    return {
        "labels": labels,
        "centers": centers,
        "rounds": rounds,
        "sizes": torch.bincount(labels, minlength=k).tolist(),
    }


class _Speaker:
    def __init__(self, name, centroid):
        self.name, self.centroid, self.count = name, centroid, 1

    def add(self, vector):
        self.centroid = (self.centroid * self.count + vector) / (self.count + 1)
        self.count += 1


def speakers(vectors, least=0.6):
    """Each vector goes to the nearest speaker, or is a new one."""
    known, labels = [], []
    for vector in vectors:
        best, score = None, least
        for each in known:
            found = F.cosine_similarity(each.centroid, vector, dim=0).item()
            if found > score:
                best, score = each, found
        if best is None:
            best = _Speaker(f"s{len(known)}", vector)
            known.append(best)
        else:
            best.add(vector)
        labels.append(best.name)
    return labels, [each.centroid for each in known]


def newton(x, least=1e-4):
    """Square roots by rounds that end when little changes."""
    y = torch.ones_like(x)
    for _ in range(50):
        new = 0.5 * (y + x / y)
        if torch.allclose(new, y, atol=least):
            return new, True
        y = new
    return y, False


def _cost(total, squares, a, b):
    s = total[b] - total[a]
    return (squares[b] - squares[a] - s * s / (b - a)).item()


def _split(total, squares, a, b):
    whole = _cost(total, squares, a, b)
    best, gain = None, 0.0
    for m in range(a + 1, b):
        g = whole - _cost(total, squares, a, m) - _cost(total, squares, m, b)
        if g > gain:
            best, gain = m, g
    return best, gain


def change_points(x, penalty=3.0):
    """Where the mean of a series changes."""
    zero = torch.zeros(1, dtype=torch.float64)
    total = torch.cat([zero, x.double().cumsum(0)])
    squares = torch.cat([zero, x.double().square().cumsum(0)])
    stack, found = [(0, len(x))], []
    while stack:
        a, b = stack.pop()
        m, gain = _split(total, squares, a, b)
        if m is not None and gain > penalty:
            found.append(m)
            stack.append((a, m))
            stack.append((m, b))
    found.sort()
    return found, [round(x[a:b].mean().item(), 3) for a, b in zip([0, *found], [*found, len(x)], strict=True)]


def filled(x, size=3):
    """Rows that are added up at places that the data chooses."""
    out = torch.zeros(len(x) + size)
    place = 0
    while place < len(x):
        step = 1 if x[place] < 0 else 2
        out[place : place + size] += x[place]
        out[-1] = max(out[-1].item(), float(x[place]))
        place += step
    return out * 2


def peeled(x):
    """Rows taken one by one, each the farthest from those before."""
    taken, rest = [], list(range(len(x)))
    while rest and len(taken) < 3:
        if taken:
            far = torch.cdist(x[rest], x[taken]).min(1).values
            place = int(far.max(0).indices)
        else:
            place = int(x[rest].norm(dim=1).argmax())
        taken.append(rest.pop(place))
    return x[taken], taken


def merged(boxes, scores, most=0.5):
    """Boxes that overlap are averaged."""
    order = scores.argsort(descending=True).tolist()
    used, out = set(), []
    for i in order:
        if i in used:
            continue
        group = [i]
        for j in order:
            if j == i or j in used:
                continue
            if (boxes[i] - boxes[j]).abs().max() < most:
                group.append(j)
        used.update(group)
        out.append(boxes[group].mean(0) if len(group) > 1 else boxes[i])
    return torch.stack(out) if out else torch.zeros(0, 4)


def power(matrix, most=100):
    """The largest eigenvalue."""
    v = torch.ones(matrix.shape[0])
    before = 0.0
    for n in range(most):
        w = matrix @ v
        size = w.norm()
        if size == 0:
            return 0.0, n
        v = w / size
        now = float(v @ (matrix @ v))
        if abs(now - before) < 1e-6:
            break
        before = now
    return now, n


def smoothed(values, x):
    """A list of tensors of different lengths, by what each holds."""
    out = {}
    for n, each in enumerate(values):
        value = each
        while len(value) > 2 and value.std() > 1:
            value = (value[1:] + value[:-1]) / 2
        out[f"v{n}"] = value + x.mean()
    return out
