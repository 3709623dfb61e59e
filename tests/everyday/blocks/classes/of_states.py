"""A function that goes from one text of a StrEnum to another."""

from __future__ import annotations

from enum import StrEnum


class St(StrEnum):
    NEW = "new"
    OLD = "old"


def states(ws):
    st, out = St.NEW, []
    for w in ws:
        if w == st:
            st = St.OLD
        if st == "old":
            out.append(st.upper() + w)
        else:
            out.append(f"{st}-{w}")
    return out
