"""Lines of text that are taken apart: unpacking of splits, around a starred name, and in comprehensions."""

from __future__ import annotations

import re

from tests.everyday.case import Case

LINES, OTHER_LINES = [["a,1", "b,2"]], [[["c,3"]], [["x,1", "y,2", "z,3"]]]
WORDS, OTHER_WORDS = ["go to the shop"], [["stop"], ["go home"], ["a b c d e"]]
TIMES, OTHER_TIMES = ["12:34"], [["01:02"], ["9:59"]]
PAIRS, OTHER_PAIRS = ["a=1;b=2"], [["x=5"], ["x=1;y=2;z=3"]]


def joined(word):
    top, bottom = word.split("/")
    return f"{bottom}{top}"


def table(lines):
    found = {}
    for line in lines:
        key, value = line.split(",")
        found[key] = int(value)
    return found


def command(text):
    first, *rest = text.split()
    return {"command": first.upper(), "arguments": rest}


def last(text):
    *rest, end = text.split()
    return len(rest), end


def middle(text):
    first, *_, end = text.split()
    return first + end


def commands(lines):
    found = {}
    for line in lines:
        name, *arguments = line.split()
        found[name] = " ".join(arguments)
    return found


def weighed(numbers):
    first, *others = numbers
    return first * 10 + sum(others)


def minutes(text):
    hours, more = (int(part) for part in text.split(":"))
    return hours * 60 + more


def settings(lines):
    found = {}
    for line in lines:
        key, sign, value = line.partition("=")
        found[key.strip()] = value.strip() if sign else "true"
    return found


def values(lines):
    return [m.group(1) for line in lines if (m := re.search(r"=(\w+)", line)) and m.group(1) != "x"]


CASES = {
    "two": Case(joined, ["a/b"], [["c/dd"], ["/"]]),
    "in a loop": Case(table, LINES, OTHER_LINES),
    "first and rest": Case(command, WORDS, OTHER_WORDS),
    "rest and last": Case(last, WORDS, OTHER_WORDS),
    "first and last": Case(middle, WORDS, OTHER_WORDS[1:]),
    "starred in a loop": Case(commands, [["go to it", "stop"]], [[["a"]], [["a b", "c d e f", "g"]]]),
    "starred in a comprehension": Case(
        lambda lines: [" ".join(rest) for _, *rest in (line.split() for line in lines)],
        [["go to it", "stop"]],
        [[["a"]], [["a b", "c d e f", "g"]]],
    ),
    "starred numbers": Case(weighed, [[1, 2, 3]], [[[3]], [[3, 4]], [[5, 1, 1, 1]]]),
    "a generator": Case(minutes, TIMES, OTHER_TIMES),
    "a dict of pairs": Case(lambda text: dict(p.split("=") for p in text.split(";")), PAIRS, OTHER_PAIRS),
    "partition": Case(settings, [["a = 1", "b"]], [[["c=2=3"]], [["", "x", "y= z"]]]),
    "a match that is kept": Case(values, [["ab=x1", "q"]], [[["cd=x"]], [["zz", "q=y", "r=1"]]]),
}
RAISING = {
    "two": (joined, "a/b", "a/b/c", "the function unpacks it into 2 values; got 3"),
    "first and rest": (command, "a b", "", "the function unpacks 1 values at least; got False"),
    "first and last": (middle, "a b", "a", "the function unpacks 2 values at least; got False"),
    "a dict of pairs": (CASES["a dict of pairs"].process, "a=1;b=2", "a=1=2", "dict takes pairs; got False"),
}
