"""Tables that are arrays: distances of texts and series, grids, systems of equations, paths."""

from __future__ import annotations

import numpy as np


def edit(a: str, b: str):
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def dtw(x, y):
    n, m = len(x), len(y)
    d = np.full((n + 1, m + 1), np.inf)
    d[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(x[i - 1] - y[j - 1])
            d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return float(d[n, m])


def viterbi(emit, trans):
    T, S = emit.shape
    score = np.full((T, S), -np.inf)
    back = np.zeros((T, S), dtype=int)
    score[0] = emit[0]
    for t in range(1, T):
        for s in range(S):
            cand = score[t - 1] + trans[:, s]
            back[t, s] = np.argmax(cand)
            score[t, s] = cand[back[t, s]] + emit[t, s]
    path = [int(np.argmax(score[-1]))]
    for t in range(T - 1, 0, -1):
        path.append(int(back[t, path[-1]]))
    return path[::-1], float(score[-1].max())


def blobs(img):
    h, w = img.shape
    label = np.zeros((h, w), dtype=np.int32)
    n = 0
    for i in range(h):
        for j in range(w):
            if img[i, j] > 0 and label[i, j] == 0:
                n += 1
                stack = [(i, j)]
                while stack:
                    y, x = stack.pop()
                    if 0 <= y < h and 0 <= x < w and img[y, x] > 0 and label[y, x] == 0:
                        label[y, x] = n
                        stack += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
    return label, n


def otsu(img):
    h, _ = np.histogram(img, bins=8, range=(0, 256))
    best, t = -1.0, 0
    total = h.sum()
    for i in range(1, 8):
        w0 = h[:i].sum() / total
        w1 = 1 - w0
        if w0 == 0 or w1 == 0:
            continue
        m0 = (h[:i] * np.arange(i)).sum() / h[:i].sum()
        m1 = (h[i:] * np.arange(i, 8)).sum() / h[i:].sum()
        v = w0 * w1 * (m0 - m1) ** 2
        if v > best:
            best, t = v, i
    return t, best


def life(grid, most=50):
    n = 0
    for _ in range(most):
        n += 1
        p = np.pad(grid, 1)
        s = sum(
            p[1 + i : p.shape[0] - 1 + i, 1 + j : p.shape[1] - 1 + j]
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        new = ((s == 3) | ((grid == 1) & (s == 2))).astype(grid.dtype)
        if np.array_equal(new, grid):
            break
        grid = new
    return grid, n


def gauss(a, b):
    a = a.astype(float)
    b = b.astype(float)
    n = len(b)
    for i in range(n):
        p = i + int(np.argmax(np.abs(a[i:, i])))
        if abs(a[p, i]) < 1e-12:
            raise ValueError("singular")
        if p != i:
            a[[i, p]] = a[[p, i]]
            b[[i, p]] = b[[p, i]]
        for j in range(i + 1, n):
            f = a[j, i] / a[i, i]
            a[j, i:] -= f * a[i, i:]
            b[j] -= f * b[i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def floyd(d):
    d = d.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = d[i, k] + d[k, j]
                if through < d[i, j] and i != j:
                    d[i, j] = through
    return d


def knap(w, v, cap):
    dp = np.zeros(cap + 1)
    for i in range(len(w)):
        for c in range(cap, w[i] - 1, -1):
            dp[c] = max(dp[c], dp[c - w[i]] + v[i])
    return dp[cap]


def lcs(a: str, b: str):
    m, n = len(a), len(b)
    t = np.zeros((m + 1, n + 1), dtype=int)
    for i in range(m):
        for j in range(n):
            t[i + 1, j + 1] = t[i, j] + 1 if a[i] == b[j] else max(t[i, j + 1], t[i + 1, j])
    out = []
    i, j = m, n
    while i > 0 and j > 0:
        if t[i, j] == t[i - 1, j]:
            i -= 1
        elif t[i, j] == t[i, j - 1]:
            j -= 1
        else:
            out.append(a[i - 1])
            i -= 1
            j -= 1
    return "".join(out[::-1])


def dither(img):
    out = img.astype(np.float32).copy()
    h, w = out.shape
    for y in range(h):
        for x in range(w):
            old = out[y, x]
            new = 255.0 if old > 127 else 0.0
            out[y, x] = new
            err = old - new
            if x + 1 < w:
                out[y, x + 1] += err * 7 / 16
            if y + 1 < h:
                if x > 0:
                    out[y + 1, x - 1] += err * 3 / 16
                out[y + 1, x] += err * 5 / 16
                if x + 1 < w:
                    out[y + 1, x + 1] += err * 1 / 16
    return out.astype(np.uint8)


def norm_rows(m):
    out = m.copy()
    for row in out:
        n = np.linalg.norm(row)
        if n > 0:
            row /= n  # noqa: PLW2901  # a view of the array
    return out
