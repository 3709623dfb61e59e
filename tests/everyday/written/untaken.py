"""Plain functions with sides that fail on the example, which does not take them: both ways are recorded."""

from __future__ import annotations

import math
import re
import statistics
from datetime import date, datetime
from decimal import Decimal

from tests.everyday.case import Case

TABLE = {"k": 3, "l": 4}
PAIRS = {"k": (1, "u"), "l": (2, "v")}
RECORDS = {"k": {"a": 1, "b": "u"}, "l": {"a": 2, "b": "v"}}
NAMES = ["a", "b", "c"]


def record(key):
    if key not in RECORDS:
        return "missing"
    found = RECORDS[key]
    return found["b"] * found["a"]


def unpacked(text):
    if text.count(":") == 2:
        hours, minutes, seconds = text.split(":")
        return int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return -1


def starred(text):
    if text.count(":") >= 2:
        first, second, *rest = text.split(":")
        return first + second + str(len(rest))
    return ""


def digits(text):
    if text.isdigit():
        n, total = int(text), 0
        while n > 0:
            total += n % 10
            n //= 10
        return total
    return -1


def squares(text):
    if text.isdigit():
        return sum(i * i for i in range(int(text)))
    return -1


def nested(text):
    if text.isdigit():
        n = int(text)
        return "big" if n > 100 else "small"
    return "text"


def summed(text):
    total = 0
    for word in text.split():
        if word in TABLE:
            total += TABLE[word]
    return total


def first_found(words):
    found = [word for word in words if word.startswith("x")]
    return found[0] if found else "none"


def largest(xs):
    found = [x for x in xs if x > 10]
    return max(found) if found else -1.0


def mean(xs):
    found = [x for x in xs if x > 10]
    return sum(found) / len(found) if found else 0.0


def place_of_largest(xs):
    found = [(x, i) for i, x in enumerate(xs) if x > 10]
    if not found:
        return -1
    _, i = max(found)
    return i


def of_empty(xs):
    """A loop over a list that is empty on the example."""
    found = [x for x in xs if x > 10]
    return [f"{x:.1f}" for x in found if x < 25], sum(x * x for x in found)


def named(text):
    if re.match(r"(?P<k>[a-z]+)=(?P<v>\d+)", text):
        found = re.match(r"(?P<k>[a-z]+)=(?P<v>\d+)", text)
        return found["k"] + found.group("v")
    return ""


def day(text):
    return datetime.strptime(text, "%Y-%m-%d").year if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else 0


def sides_in_turn(text):
    if text.isdigit():
        if int(text) > 5:
            return "big"
        if int(text) > 2:
            return "middle"
    return "none"


def larger(text):
    if ":" in text:
        a, b = text.split(":")
        if a == b:
            return "same"
        return a if a > b else b
    return text


KEYS = ["m"], [["k"], ["l"]]
NUMBERS = ["ab"], [["12"], ["0"], ["x"]]
LISTS = [[1.0, 2.0]], [[[1.0, 20.0, 30.0]], [[40.0]], [[5.0]]]

CASES = {
    "a missing key": Case(lambda key: TABLE[key] * 2 if key in TABLE else -1, *KEYS),
    "a missing key of pairs": Case(lambda key: f"{key}: {PAIRS[key][1]}" if key in PAIRS else key, *KEYS),
    "a missing key of records": Case(record, *KEYS),
    "a missing key in a dict": Case(lambda key: {"v": TABLE[key]} if key in TABLE else {"v": 0}, *KEYS),
    "a missing key in a loop": Case(lambda keys: [TABLE[key] if key in TABLE else 0 for key in keys],
                                    [["a", "b"]], [[["k", "l", "z"]], [["q"]]]),
    "a missing key, and a sum": Case(summed, ["a b"], [["k l m"], ["k"]]),
    "an index": Case(lambda i: NAMES[i] if 0 <= i < len(NAMES) else "none", [7], [[1], [-1], [2]]),
    "an entry's place": Case(lambda text: NAMES.index(text) if text in NAMES else -1, ["z"], [["b"], ["c"]]),
    "a division": Case(lambda a, b: a / b if b else 0.0, [1.0, 0.0], [[1.0, 4.0], [2.0, 0.0]]),
    "a division of ints": Case(lambda a, b: a // b if b != 0 else 0, [1, 0], [[7, 2], [5, 0]]),
    "a remainder": Case(lambda a: 10 % a if a else 0, [0], [[3], [-4]]),
    "a logarithm": Case(lambda x: math.log(x) if x > 0 else -1.0, [-1.0], [[2.0], [0.0]]),
    "a root": Case(lambda x: math.sqrt(x) + 1 if x >= 0 else 0.0, [-1.0], [[4.0]]),
    "an int": Case(lambda text: int(text) if text.isdigit() else -1, *NUMBERS),
    "an int to a base": Case(lambda text: int(text, 16) if re.fullmatch("[0-9a-f]+", text) else 0,
                             ["xyz"], [["ff"], [""]]),
    "a float": Case(lambda text: float(text) * 2 if text.replace(".", "", 1).isdigit() else -1.0,
                    ["ab"], [["1.5"], ["7"]]),
    "a decimal number": Case(lambda text: str(Decimal(text) * 2) if text.isdigit() else "none", *NUMBERS),
    "a date": Case(day, ["x"], [["2024-01-02"]]),
    "a date of ISO": Case(lambda text: date.fromisoformat(text).isoformat() if text[4:5] == "-" else "",
                          ["ab"], [["2024-01-02"]]),
    "a letter": Case(lambda text: text[0].upper() + text[1:] if text else "", [""], [["abc"], ["a"]]),
    "a code point": Case(lambda text: ord(text) if len(text) == 1 else 0, ["ab"], [["c"], [""]]),
    "a part": Case(lambda text: text.split("=")[1] if "=" in text else "", ["ab"], [["a=2"], ["=x=y"]]),
    "a place": Case(lambda text: text.index("=") if "=" in text else -1, ["ab"], [["a=b"]]),
    "parts that are unpacked": Case(unpacked, ["ab"], [["1:2:3"], ["1:2"]]),
    "parts around a starred name": Case(starred, ["ab"], [["a:b:c:d"], ["a:b:c"]]),
    "a match": Case(lambda text: re.match(r"(\d+)", text).group(1) if re.match(r"(\d+)", text) else "", *NUMBERS),
    "a match with names": Case(named, ["ab"], [["a=12"]]),
    "a while loop": Case(digits, ["ab"], [["521"], ["0"]]),
    "a range": Case(squares, ["ab"], [["5"], ["0"]]),
    "branches in a side": Case(sides_in_turn, ["ab"], [["7"], ["3"], ["0"]]),
    "branches by parts": Case(larger, ["ab"], [["a:b"], ["c:c"], ["d:a"]]),
    "a side in a side": Case(nested, ["ab"], [["5"], ["500"]]),
    "an item of an empty list": Case(first_found, [["a", "b"]], [[["xa", "b", "xc"]], [["q"]]]),
    "the largest of an empty list": Case(largest, *LISTS),
    "the mean of an empty list": Case(mean, *LISTS),
    "the mean by statistics": Case(
        lambda xs: statistics.mean([x for x in xs if x > 10]) if any(x > 10 for x in xs) else 0.0, *LISTS
    ),
    "the largest pair of an empty list": Case(place_of_largest, *LISTS),
    "loops over an empty list": Case(of_empty, *LISTS),
}  # fmt: skip
