"""Loops over signals that are arrays: they fill arrays, end by what one holds, or branch on numbers of numpy."""

from __future__ import annotations

import math

import numpy as np


def pool(x):
    out = np.zeros(len(x) // 2)
    for i in range(len(x) // 2):
        out[i] = x[2 * i : 2 * i + 2].max()
    return out


def envelope(x: np.ndarray, decay: float = 0.9):
    env = np.zeros_like(x)
    level = 0.0
    for i in range(len(x)):
        level = max(abs(x[i]), level * decay)
        env[i] = level
    return env


def interp(x):
    t = np.linspace(0, 1, 5)
    return np.interp(t, np.linspace(0, 1, len(x)), x)


def fill_gaps(x):
    out = x.copy()
    last = 0.0
    for i in range(len(out)):
        if np.isnan(out[i]):
            out[i] = last
        else:
            last = out[i]
    return out


def peaks(x, least=0.5):
    found = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1] and x[i] > least:
            found.append(i)  # noqa: PERF401  # as it is often written
    return np.array(found, dtype=np.int64)


def zero_cross(x):
    count = 0
    prev = 0.0
    for v in x:
        if v * prev < 0:
            count += 1
        if v != 0:
            prev = v
    return count


def runs(x):
    out = []
    start = None
    for i, v in enumerate(x > 0):
        if v and start is None:
            start = i
        elif not v and start is not None:
            out.append((start, i))
            start = None
    if start is not None:
        out.append((start, len(x)))
    return out


def frames(x, size=4, hop=2):
    n = 1 + (len(x) - size) // hop
    out = np.empty((n, size))
    for i in range(n):
        out[i] = x[i * hop : i * hop + size] * np.hanning(size)
    return out


def snr(x):
    best = 1e-9
    for i in range(0, len(x), 2):
        best = max(np.float64(x[i : i + 2].std()), best)
    return 10 * math.log10(best)


def bisect_fn(x, target=1.0):
    lo, hi = 0.0, 10.0
    while hi - lo > 1e-6:
        mid = (lo + hi) / 2
        if np.exp(-mid * x).sum() > target:
            lo = mid
        else:
            hi = mid
    return mid


def changes(x):
    d = np.diff(x)
    out = []
    i = 0
    while i < len(d):
        if abs(d[i]) > 0.5:
            out.append(i)
            i += 2
        i += 1
    return out


def kalman(z, q=1e-3, r=0.1):
    n = len(z)
    xs = np.zeros(n)
    x, p = z[0], 1.0
    for k in range(n):
        p = p + q
        g = p / (p + r)
        x = x + g * (z[k] - x)
        p = (1 - g) * p
        xs[k] = x
    return xs


def u8(img):
    out = np.zeros(len(img), dtype=np.uint8)
    acc = np.uint8(0)
    for i in range(len(img)):
        acc = acc + img[i]
        out[i] = acc
    return out


def pav(y):
    vals, weights = [], []
    for v in y:
        vals.append(v)
        weights.append(1)
        while len(vals) > 1 and vals[-2] > vals[-1]:
            w = weights[-2] + weights[-1]
            m = (vals[-2] * weights[-2] + vals[-1] * weights[-1]) / w
            vals.pop()
            weights.pop()
            vals[-1] = m
            weights[-1] = w
    return np.repeat(np.array(vals), weights)


def biquad(x, b=(0.2, 0.3, 0.2), a=(1.0, -0.4, 0.1)):
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for n in range(len(x)):
        v = b[0] * x[n] + b[1] * x1 + b[2] * x2 - a[1] * y1 - a[2] * y2
        x2, x1 = x1, x[n]
        y2, y1 = y1, v
        y[n] = v
    return y


def hysteresis(x, hi=0.8, lo=0.2):
    on = False
    out = np.zeros(len(x), dtype=bool)
    for i, v in enumerate(x):
        if on and v < lo:
            on = False
        elif not on and v > hi:
            on = True
        out[i] = on
    return out


def rle(x):
    if len(x) == 0:
        return []
    out = []
    cur, n = x[0], 1
    for v in x[1:]:
        if v == cur:
            n += 1
        else:
            out.append((int(cur), n))
            cur, n = v, 1
    out.append((int(cur), n))
    return out


def median_filter(x, k=3):
    out = np.empty_like(x)
    h = k // 2
    for i in range(len(x)):
        w = x[max(0, i - h) : i + h + 1]
        out[i] = np.sort(w)[len(w) // 2]
    return out


def integrate(x):
    s = np.int32(0)
    out = []
    for v in x:
        s += v
        if s > 100:
            s = np.int32(0)
        out.append(s)
    return np.array(out)


def masks(x):
    out = x.copy()
    n = 0
    while (out > 1).any():
        out[out > 1] /= 2
        n += 1
    return out, n


def text_report(x):
    lines = []
    worst = None
    for i, v in enumerate(x):
        if np.isnan(v):
            lines.append(f"{i}: missing")
            continue
        if worst is None or v < worst:
            worst = v
            lines.append(f"{i}: new low {v:.3f}")
        elif v > 10 * abs(worst):
            lines.append(f"{i}: spike {v:8.2e} ({round(v, 2)})")
    return lines


def interleave(a, b):
    out = np.empty(len(a) + len(b), dtype=a.dtype)
    i = j = k = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    out[k : k + len(a) - i] = a[i:]
    out[k + len(a) - i :] = b[j:]
    return out
