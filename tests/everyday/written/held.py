"""Plain functions with a variable that holds a match or None, or an entry of a table or None: each goes both ways."""

from __future__ import annotations

import re

from tests.everyday.case import Case

PAIR = re.compile(r"([a-z]+)=(\d+)")
RECORDS = {"k": {"a": 1, "b": "u"}, "l": {"a": 2, "b": "v"}}
PAIRS = {"k": (1, "u"), "l": (2, "v")}
LISTS = {"k": ["a", "b"], "l": ["c"], "e": []}


def value(text):
    m = re.match(r"([a-z]+)=(\d+)", text)
    if m:
        return int(m.group(2))
    return -1


def walrus(text):
    if m := PAIR.match(text):
        return f"{m[1]}: {m[2]}"
    return text


def none_first(text):
    m = PAIR.match(text)
    if m is None:
        return "none"
    key, number = m.groups()
    return key.upper() + number


def expression(text):
    m = PAIR.match(text)
    return m.group(1) if m else ""


def with_more(text):
    m = PAIR.match(text)
    if not m or m.group(1) == "x":
        return 0
    n = int(m.group(2))
    return n * 2


def two_patterns(text):
    m = re.match(r"(\d+)-(\d+)$", text)
    if m:
        return int(m[1]) + int(m[2])
    m = re.match(r"(\d+)$", text)
    if m:
        return int(m[1])
    return 0


def chained(text):
    if (m := re.match(r"(\d+)-(\d+)$", text)) is not None:
        return int(m[1]) + int(m[2])
    elif m := re.match(r"(\d+)$", text):
        return int(m[1])
    else:
        return -1


def set_by_it(text):
    label = "none"
    m = PAIR.match(text)
    if m and int(m.group(2)) > 3:
        label = m.group(1)
    return label


def asked_twice(text):
    m = PAIR.match(text)
    start = m.start() if m is not None else -1
    end = m.end() if m is not None else -1
    return start, end


def _month(text):
    m = re.fullmatch(r"(\d{4})-(\d\d)", text)
    return (int(m[1]), int(m[2])) if m else (0, 0)


def in_a_helper(text):
    year, month = _month(text)
    return year * 12 + month


def in_a_loop(texts):
    out = []
    for text in texts:
        m = PAIR.match(text)
        if m:
            out.append(m.group(1))
        else:
            out.append("-")
    return out


def entry(key):
    r = RECORDS.get(key)
    return r["a"] if r else -1


def no_entry(key):
    r = PAIRS.get(key.strip().lower())
    if r is None:
        return "none"
    return r[1]


def entry_with_default(key):
    r = RECORDS.get(key) or {"a": 0, "b": "?"}
    return r["a"]


def entry_without_a_name(key):
    return RECORDS.get(key)["a"] if RECORDS.get(key) is not None else 0


def entry_by_walrus(key):
    if (r := PAIRS.get(key)) is not None:
        n, text = r
        return text * n
    return ""


def entries(keys):
    out = []
    for key in keys:
        r = RECORDS.get(key)
        if r is None:
            continue
        out.append(r["b"])
    return out


def empty_entry(key):
    """An entry that counts as false is no missing one."""
    r = LISTS.get(key)
    told = "some" if r else "none"
    return told if r is None else f"{told} of {len(r)}"


class Prices:
    """A method, whose table is an attribute."""

    def __init__(self):
        self.table = {"k": (1.0, 2.0), "l": (3.0, 4.0)}

    def __call__(self, key):
        pair = self.table.get(key.lower())
        if pair is None:
            return 0.0
        return pair[0] * pair[1]


TEXTS = ["zz", "a=12", "q=3 b", "x=5"]
NUMBERS = ["zz", "3-4", "17", ""]
KEYS = ["zz", "k", "l"]


def _ways(name, process, values):
    """A case for each of two examples that go different ways."""
    others = [[each] for each in values]
    return {f"{name}, {each!r}": Case(process, [each], others) for each in values[:2]}


CASES = {
    key: case
    for name, process, values in [
        ("a match", value, TEXTS), ("a match by `:=`", walrus, TEXTS), ("no match", none_first, TEXTS),
        ("a choice by a match", expression, TEXTS), ("a match and more", with_more, TEXTS),
        ("two patterns", two_patterns, NUMBERS), ("patterns in a chain", chained, NUMBERS),
        ("a variable that is set", set_by_it, TEXTS), ("a match that is asked twice", asked_twice, TEXTS),
        ("a match in a helper", in_a_helper, ["zz", "2024-05"]),
        ("a match in a loop", in_a_loop, [["zz", "a=1"], ["b=2", "zz", "c=3"], ["x"]]),
        ("an entry", entry, KEYS), ("no entry", no_entry, [*KEYS, " K "]),
        ("an entry or another", entry_with_default, KEYS),
        ("an entry without a name", entry_without_a_name, KEYS), ("an entry by `:=`", entry_by_walrus, KEYS),
        ("entries in a loop", entries, [["k", "zz"], ["l", "k", "q"], ["q"]]),
        ("an empty entry", empty_entry, ["zz", "k", "e"]), ("an entry of an attribute", Prices(), [*KEYS, "K"]),
        ("an entry or nothing", lambda key: (RECORDS.get(key) or {}).get("a", 0), KEYS),
        ("entries in a comprehension", lambda keys: [RECORDS.get(k)["a"] if RECORDS.get(k) else 0 for k in keys],
         [["k", "zz"], ["l", "k", "q"], ["q"]]),
        ("a filter by entries", lambda keys: sum(PAIRS[k][0] for k in keys if PAIRS.get(k)),
         [["k", "zz"], ["l", "k", "q"], ["q"]]),
    ]
    for key, case in _ways(name, process, values).items()
}  # fmt: skip
