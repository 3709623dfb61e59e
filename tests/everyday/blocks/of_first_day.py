"""What a new user wrote on the first day, and no recording followed."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import Enum

import torch


def seconds(text):
    m = re.match("(\\d+)s$", text)
    if not m:
        return None
    return int(m.group(1))


def slots(text):
    found = {}
    s = seconds(text)
    if s is not None:
        found["seconds"] = s
    return found


DOCS = ["the cat sat", "a dog ran", "the dog and the cat"]
TF = [Counter(d.split()) for d in DOCS]


def score(query, i):
    total = 0.0
    for w in query:
        total += TF[i].get(w, 0) * 0.5
    return total


def hits(query, limit=2):
    terms = query.split()
    out = []
    for i in range(len(DOCS)):
        s = score(terms, i)
        if s > 0:
            out.append((s, i))
    out.sort(reverse=True)
    return out[:limit]


class Cursor:
    def __init__(self, tokens):
        self.tokens = tokens
        self.pos = 0

    def peek(self):
        return self.tokens[self.pos] if self.pos < len(self.tokens) else None

    def take(self):
        t = self.peek()
        self.pos += 1
        return t

    def expr(self):
        v = self.term()
        while self.peek() in ("+", "-"):
            if self.take() == "+":
                v += self.term()
            else:
                v -= self.term()
        return v

    def term(self):
        v = self.factor()
        while self.peek() in ("*", "/"):
            if self.take() == "*":
                v *= self.factor()
            else:
                v /= self.factor()
        return v

    def factor(self):
        t = self.take()
        if t == "(":
            v = self.expr()
            self.take()
            return v
        return float(t)


def evaluate(text):
    cur = Cursor(re.findall("\\d+|[-+*/()]", text))
    return round(cur.expr(), 4)


@dataclass
class LogStats:
    total: int = 0
    bad: int = 0
    by_level: dict = field(default_factory=dict)
    first_error: str = ""


def logs(lines):
    stats = LogStats()
    for line in lines:
        stats.total += 1
        m = re.match("(\\w+): (.*)", line)
        if not m:
            stats.bad += 1
            continue
        level, msg = m.groups()
        stats.by_level[level] = stats.by_level.get(level, 0) + 1
        if level == "ERROR" and (not stats.first_error):
            stats.first_error = msg
    return asdict(stats)


def chunk(text, size=8, step=5):

    def gen():
        start = 0
        while True:
            yield text[start : start + size]
            if start + size >= len(text):
                return
            start += step

    return list(gen())


BOOST = {"very": 1.5, "really": 1.3}
LEX = {"good": 1.0, "great": 2.0}


def sentiment(text):
    pos = 0.0
    neg = 0.0
    boost = 1.0
    for word in re.findall("[a-z']+", text.lower()):
        if word in BOOST:
            boost *= BOOST[word]
        elif word in LEX:
            pos += LEX[word] * boost
            boost = 1.0
        elif word == "not":
            boost = -boost
    return torch.tensor([pos, neg]).sum().item()


@dataclass
class Verdict:
    action: str
    reason: str = ""


def moderate(text, x):
    if not text.strip():
        return asdict(Verdict("skip"))
    p = x.sigmoid().mean().item()
    if p > 0.8:
        return asdict(Verdict("block", f"p={p:.2f}"))
    return asdict(Verdict("allow"))


def viterbi(em):
    if len(em) == 0:
        return {"tags": [], "counts": {}}
    tags = [["a", "b", "c"][i] for i in em.argmax(-1).tolist()]
    out = []
    for t in tags:
        while out and out[-1] == t:
            out.pop()
        out.append(t)
    return {"tags": out, "counts": dict(Counter(out))}


class S(Enum):
    NEW = 1
    PAID = 2
    SENT = 3


MOVES = {(S.NEW, "pay"): S.PAID, (S.PAID, "ship"): S.SENT}


def order(events):
    s = S.NEW
    errs = []
    for e in events:
        nxt = MOVES.get((s, e))
        if nxt is None:
            errs.append(f"{e} in {s.name}")
            continue
        s = nxt
    return (s.name, errs)


def anomalies(x):
    seen, out = ([], [])
    for t in range(len(x)):
        r = float(x[t])
        if len(seen) >= 3:
            mu = sum(seen) / len(seen)
            sd = math.sqrt(sum((v - mu) ** 2 for v in seen))
            if sd > 0 and (r - mu) / sd > 2:
                out.append(t)
                continue
        seen.append(r)
    return out


def segs(x):
    merged = []
    for s, e in [(i, i + 1) for i, v in enumerate(x.tolist()) if v > 0.5]:
        if merged and s - merged[-1][1] <= 1:
            merged[-1] = (merged[-1][0], e)
        else:
            merged.append((s, e))
    return merged


def val(s):
    try:
        return int(s)
    except ValueError:
        try:
            return float(s)
        except ValueError:
            return s


def config(text):
    out = {}
    for line in text.split("\n"):
        line = line.split("#")[0].strip()  # noqa: PLW2901  # the form is what is tested
        if "=" not in line:
            continue
        k, v = line.split("=", 1)
        out[k.strip()] = val(v.strip())
    return out


def spell(words, vocab):

    def edits(w):
        return {w[:i] + w[i + 1 :] for i in range(len(w))} | {w[:i] + "e" + w[i:] for i in range(len(w) + 1)}

    out = []
    for w in words:
        c = [e for e in sorted(edits(w)) if e in vocab]
        out.append(w if w in vocab or not c else c[0])
    return out
