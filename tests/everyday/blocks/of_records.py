"""Records, tables and objects that rounds fill, as people write them around a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


def rpn(toks):
    stack = []
    for t in toks:
        if t in "+-*":
            b = stack.pop()
            a = stack.pop()
            stack.append(a + b if t == "+" else a - b if t == "-" else a * b)
        else:
            stack.append(float(t))
    return stack[-1] if stack else 0.0


def merged(spans):
    out = []
    for s, e in spans:
        if out and out[-1][1] >= s:
            out[-1][1] = e
        else:
            out.append([s, e])
    return out


def secs(lines):
    secs = [("top", [])]
    for line in lines:
        if line.startswith("#"):
            secs.append((line[1:], []))
        else:
            secs[-1][1].append(line)
    return secs


def seg(x):
    out = []
    start = None
    for i, v in enumerate(x.tolist()):
        if v > 0.5 and start is None:
            start = i
        elif v <= 0.5 and start is not None:
            out.append((start, i))
            start = None
    if start is not None:
        out.append((start, len(x)))
    return out


def keys(x):
    d = {"a": 1}
    if x.sum() > 0:
        d["b"] = 2
    return d


@dataclass
class Det:
    label: str
    score: float


def best(rows, labels):
    b = {}
    for r, line in zip(rows.tolist(), labels, strict=True):
        d = Det(line, r)
        if d.label not in b or b[d.label].score < d.score:
            b[d.label] = d
    return {k: v.score for k, v in b.items()}


def bestmax(rows, labels):
    dets = [Det(line, s) for line, s in zip(labels, rows.tolist(), strict=True)]
    top = max(((d.score, d) for d in dets), default=None, key=lambda p: p[0])
    return top[1].label if top else "none"


class St(Enum):
    IDLE = "idle"
    RUN = "run"


def machine(evs):
    s = St.IDLE
    log = []
    for e in evs:
        while e.startswith(" "):
            e = e[1:]  # noqa: PLW2901  # the form is what is tested
        if s is St.IDLE and e == "go":
            s = St.RUN
        elif s == St.RUN and e == "stop":
            s = St.IDLE
        log.append(s.value)
    return (log, s.name)


class Trie:
    def __init__(self):
        self.kids = {}
        self.end = False


def trie(words, q):
    root = Trie()
    for w in words:
        n = root
        for c in w:
            n = n.kids.setdefault(c, Trie())
        n.end = True
    n = root
    for c in q:
        if c not in n.kids:
            return []
        n = n.kids[c]
    out = []

    def walk(n, p):
        if n.end:
            out.append(p)
        for c in sorted(n.kids):
            walk(n.kids[c], p + c)

    walk(n, q)
    return out


def conf(x, thr):
    p = x.softmax(-1)
    rows = []
    for r in p.tolist():
        m = max(r)
        if thr is not None and m < thr:
            rows.append(None)
            continue
        rows.append({"k": r.index(m), "p": m})
    return rows


def logs(lines):
    out = {}
    for line in lines:
        m = re.match("(\\w+)\\s+(\\w+): (.*)", line)
        if not m:
            continue
        lvl, mod, msg = m.groups()
        out.setdefault(mod, {}).setdefault(lvl, []).append(msg)
    return out


def walrus(xs):
    it = iter(xs)
    out = []
    while (a := next(it, None)) is not None:
        b = next(it, 0)
        out.append(a * 10 + b)
    return out
