"""Methods that are asked of their class, and called with their receiver: ``str.lower(text)``."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check

TEXT = ["Ab c-d"], [["ÄX"], [""], ["a  b"]]
NUMBERS = [[1, 2, 2], 2], [[[5, 6, 7], 7], [[7], 7]]
PRICES = {"a": 1, "b": 2}


def in_a_function(text):
    lowered = str.lower(text)
    return str.title(lowered)


def appended(xs):
    out = []
    for x in xs:
        list.append(out, abs(x) + 1)
    return out


def appended_where(xs):
    out, last = [], 0
    for x in xs:
        if x > 0:
            list.append(out, x - last)
        last = x
    return out, last


def grown(xs):
    out = [1]
    for x in xs:
        list.append(out, out[-1] + x)
    return out, len(out)


def by_word(words):
    found, seen = {}, set()
    for word in words:
        dict.setdefault(found, word[:1], word)
        set.add(seen, len(word))
    return found, sorted(seen)


def extended(xs, more):
    out = [0]
    list.extend(out, xs)
    list.append(out, len(more))
    return out


def of_a_helper(xs):
    return [*appended(xs), len(appended(xs))]


CASES = {
    "lower": Case(lambda s: str.lower(s), *TEXT),
    "in a function": Case(in_a_function, *TEXT),
    "of each part": Case(lambda s: [str.upper(part) for part in str.split(s)], *TEXT),
    "with arguments": Case(lambda s: str.replace(s, "a", "b") + str.join("-", [s, s]), *TEXT),
    "by name": Case(lambda s: str.split(s, sep="-", maxsplit=1), *TEXT),
    "a list is joined": Case(lambda words: str.join(", ", words), [["a", "b"]], [[["q"]], [[]]]),
    "a template": Case(lambda s: str.format("{}!{:>3}", s, 1), *TEXT),
    "a width of the recording": Case(lambda s, n: str.center(s, n, "*"), ["a", 5], [["q", 2], ["", 3]]),
    "conditions": Case(lambda s: str.startswith(s, "A") and not str.isdigit(s[1:]), *TEXT),
    "a table of letters": Case(lambda s: str.translate(s, str.maketrans("ab", "cd")), *TEXT),
    "bytes": Case(lambda s: str.encode(s).hex(), *TEXT),
    "its length": Case(lambda s: str.__len__(s), *TEXT),
    "a sort by one": Case(lambda words: sorted(words, key=str.lower), [["a", "B"]], [[["q", "A", "Z"]], [[]]]),
    "of bytes": Case(lambda data: bytes.hex(data), [b"ab"], [[b""], [b"\xff\x00"]]),
    "of a decimal number": Case(lambda v: float.is_integer(v), [1.0], [[2.5], [-3.0]]),
    "of a whole number": Case(lambda n: int.bit_length(n), [5], [[255], [0]]),
    "a class method": Case(lambda s: dict.fromkeys(s.split(), 0), *TEXT),
    "a place": Case(lambda xs, x: list.index(xs, x), *NUMBERS),
    "a count": Case(lambda xs, x: list.count(xs, x), *NUMBERS),
    "a copy": Case(lambda xs, x: [*list.copy(xs), x], *NUMBERS),
    "an entry": Case(lambda key: dict.get(PRICES, key, 0), ["a"], [["b"], ["zz"]]),
    "an entry for each": Case(lambda keys: [dict.get(PRICES, key, 0) for key in keys], [["a"]], [[["b", "q"]], [[]]]),
    "items": Case(lambda words: list(dict.items(Counter(words))), [["a"]], [[["b", "q"]], [["a", "a"]]]),
    "of a tensor": Case(
        lambda x: (torch.Tensor.sum(x, 0), torch.Tensor.item(x.sum()), torch.Tensor.tolist(x)),
        [torch.ones(2, 3)], [[torch.ones(4, 2)]],
    ),
    "a list grows": Case(appended, [[1, -2]], [[[3]], [[]], [[4, 5, 6]]]),
    "a list grows where": Case(appended_where, [[1, -2]], [[[3]], [[]], [[4, -5, 6]]]),
    "a list grows by its last": Case(grown, [[1, 2]], [[[3]], [[]], [[4, 5, 6]]]),
    "a dict and a set": Case(by_word, [["ab", "c"]], [[["q"]], [[]], [["a", "ab", "b"]]]),
    "a list that is extended": Case(extended, [[1, 2], ["a"]], [[[3], []], [[], ["b", "c"]]]),
    "in a helper": Case(of_a_helper, [[1, -2]], [[[3]], [[]]]),
    "of plain values": Case(lambda n: str.upper("ab") * n + str.join("-", ["a", "b"]), [1], [[2]]),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_methods_of_a_class_are_recorded_as_those_of_a_value(name) -> None:
    check(CASES[name])


def test_its_own_errors_stay() -> None:
    with pytest.raises(TypeError, match="descriptor 'lower' for 'str' objects doesn't apply to a 'int' object"):
        check(Case(lambda s: str.lower(len(s) * 0), ["a"], []))


class Twice(list):
    def append(self, x):
        super().append(x)
        super().append(x)


def of_a_subclass(n):
    out = Twice()
    list.append(out, n)
    out.append(n + 1)
    return len(out), out[0] + out[-1]


def test_a_subclass_keeps_its_own_method() -> None:
    check(Case(of_a_subclass, [1], [[2]]))


class list_of_mine:
    append = staticmethod(lambda out, x: out.extend([x, x]))


def of_another_class(n):
    out = []
    list.append(out, n)
    return out


def test_a_class_of_the_same_name_is_another_one() -> None:
    mine = type(of_another_class)(of_another_class.__code__, {"list": list_of_mine, "__builtins__": {}})
    assert tracepack.trace(mine, 1)(2) == [2, 2]
