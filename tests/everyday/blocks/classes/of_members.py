"""Functions that compare members of Enums that are numbers, ask tables with patterns, and filter sets."""

from __future__ import annotations

import re
from collections import namedtuple
from enum import Enum, IntEnum, auto


class Sev(IntEnum):
    LOW = 1
    WARN = 2
    HIGH = 3


LIMITS = {"cpu": (50, 90), "mem": (60, 80)}
Alert = namedtuple("Alert", "name severity unit")


def sev(name, value):
    lim = LIMITS.get(name)
    if lim is None:
        return Sev.LOW
    if value > lim[1]:
        return Sev.HIGH
    return Sev.WARN if value > lim[0] else Sev.LOW


def alerts(metrics):
    found = []
    for name, value in metrics:
        s = sev(name, value)
        if s >= Sev.WARN or s == 3:
            found.append(Alert(name, s, "m"))
    found.sort(key=lambda a: (-a.severity, a.name))
    return [{"n": a.name, "s": a.severity.name, "v": int(a.severity), "t": a.severity + 1} for a in found], max(
        [a.severity.value for a in found], default=0
    )


class Color(Enum):
    RED = auto()
    BLUE = auto()

    @property
    def short(self):
        return self.name[0]


def colors(ws):
    out, prev = [], None
    for w in ws:
        c = Color.RED if w.startswith("r") else Color.BLUE
        if prev is c:
            continue
        out.append(c.short + str(c.value))
        prev = c
    return out


def byval(ns):
    out, last = [], None
    for n in ns:
        try:
            s = Sev(n)
        except ValueError:
            out.append("bad")
            continue
        if last is not None and s > last:
            out.append(s.name)
        last = s
    return out


PATS = [(re.compile(r"^hi (\w+)$"), "greet"), (re.compile(r"bye"), "leave")]


def route(t):
    for p, n in PATS:
        m = p.match(t)
        if m:
            return f"{n} {m.group(0)}"
    return "none"


WORDS = {"the": 3, "then": 2, "tea": 1}


def edits(w):
    return {w[:i] + w[i + 1 :] for i in range(len(w))} | {w[:i] + "e" + w[i:] for i in range(len(w) + 1)}


def known(ws):
    return {w for w in ws if w in WORDS}


def correct(text):
    out = []
    for w in text.split():
        c = known([w]) or known(edits(w)) or [w]
        out.append(max(sorted(c), key=lambda k: WORDS.get(k, 0)))
    return out
