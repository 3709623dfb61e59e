"""Points and boxes in arrays: clusters, tracks, and rounds that end when little changes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


def fixpoint(a):
    old = np.ones(len(a))
    while True:
        new = a @ old
        new = new / np.linalg.norm(new)
        if np.abs(new - old).max() < 1e-6:
            return new
        old = new


def kmeans(x, k=2):
    centers = x[:k].copy()
    while True:
        dist = ((x[:, None, :] - centers[None]) ** 2).sum(-1)
        labels = np.argmin(dist, axis=1)
        new = centers.copy()
        for c in range(k):
            mask = labels == c
            if mask.any():
                new[c] = x[mask].mean(axis=0)
        if np.allclose(new, centers):
            return labels, new
        centers = new


def nms(boxes, scores, thr=0.5):
    order = np.argsort(-scores)
    keep = []
    while order.size > 0:
        i = order[0]
        keep.append(int(i))
        xx1 = np.maximum(boxes[i, 0], boxes[order[1:], 0])
        yy1 = np.maximum(boxes[i, 1], boxes[order[1:], 1])
        xx2 = np.minimum(boxes[i, 2], boxes[order[1:], 2])
        yy2 = np.minimum(boxes[i, 3], boxes[order[1:], 3])
        inter = np.maximum(0.0, xx2 - xx1) * np.maximum(0.0, yy2 - yy1)
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        iou = inter / (area[i] + area[order[1:]] - inter)
        order = order[1:][iou <= thr]
    return keep


def dbscan(x, eps=1.0, least=2):
    labels = np.full(len(x), -1)
    c = 0
    for i in range(len(x)):
        if labels[i] != -1:
            continue
        near = np.where(np.linalg.norm(x - x[i], axis=1) <= eps)[0]
        if len(near) < least:
            continue
        labels[i] = c
        queue = list(near)
        while queue:
            j = queue.pop(0)
            if labels[j] == -1:
                labels[j] = c
                more = np.where(np.linalg.norm(x - x[j], axis=1) <= eps)[0]
                if len(more) >= least:
                    queue.extend(more)
        c += 1
    return labels


def perceptron(x, y, most=20):
    w = np.zeros(x.shape[1])
    b = 0.0
    epoch = 0
    for _ in range(most):
        epoch += 1
        errors = 0
        for xi, yi in zip(x, y, strict=True):
            if yi * (xi @ w + b) <= 0:
                w += yi * xi
                b += yi
                errors += 1
        if errors == 0:
            break
    return w, b, epoch


def descend(x, y, lr=0.1, tol=1e-6):
    w = np.zeros(x.shape[1])
    prev = np.inf
    for _ in range(500):
        r = x @ w - y
        loss = (r**2).mean()
        if abs(prev - loss) < tol:
            break
        prev = loss
        w = w - lr * 2 * x.T @ r / len(y)
    return w, loss


@dataclass
class Track:
    box: np.ndarray
    hits: int = 1
    history: list = field(default_factory=list)


def tracker(frames):
    tracks = []
    for boxes in frames:
        for b in boxes:
            best = None
            for t in tracks:
                if np.abs(t.box - b).sum() < 1.0:
                    best = t
                    break
            if best is None:
                tracks.append(Track(b))
            else:
                best.box = 0.5 * best.box + 0.5 * b
                best.hits += 1
                best.history.append(float(best.box[0]))
    return [(t.hits, t.box, t.history) for t in tracks]


def softmax_until(x):
    t = 1.0
    p = np.exp(x - x.max())
    p /= p.sum()
    while p.max() > 0.5 and t < 64:
        t *= 2
        p = np.exp((x - x.max()) / t)
        p /= p.sum()
    return p, t


def agglom(x, k=2):
    clusters = [[i] for i in range(len(x))]
    d = np.abs(x[:, None] - x[None, :])
    while len(clusters) > k:
        best, pair = np.inf, None
        for i in range(len(clusters)):
            for j in range(i + 1, len(clusters)):
                m = d[np.ix_(clusters[i], clusters[j])].min()
                if m < best:
                    best, pair = m, (i, j)
        i, j = pair
        clusters[i] = clusters[i] + clusters[j]
        del clusters[j]
    return clusters


def gmm1d(x, most=30):
    mu = np.array([x.min(), x.max()])
    s = np.ones(2)
    w = np.ones(2) / 2
    ll = -np.inf
    it = 0
    for _ in range(most):
        it += 1
        p = w * np.exp(-0.5 * ((x[:, None] - mu) / s) ** 2) / s
        tot = p.sum(axis=1, keepdims=True)
        r = p / tot
        n = r.sum(axis=0)
        mu = (r * x[:, None]).sum(axis=0) / n
        s = np.sqrt((r * (x[:, None] - mu) ** 2).sum(axis=0) / n) + 1e-3
        w = n / len(x)
        new = np.log(tot).sum()
        if new - ll < 1e-4:
            break
        ll = new
    return mu, s, it


def eigen(a, most=100):
    v = np.ones(a.shape[0]) / np.sqrt(a.shape[0])
    lam = 0.0
    for _ in range(most):
        w = a @ v
        n = np.linalg.norm(w)
        if n == 0:
            return 0.0, v
        v = w / n
        new = v @ a @ v
        if abs(new - lam) < 1e-9:
            break
        lam = new
    return lam, v
