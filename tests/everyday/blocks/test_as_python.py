# ruff: noqa: E501 - expressions read better on one line
"""The guarded code of blocks answers as Python does, or refuses: held against the same text as Python runs it."""

from __future__ import annotations

import bisect
import collections
import copy
import functools
import heapq
import itertools
import json
import math
import operator
import re
import statistics
import unicodedata

import pytest

from tracepack.ops.graph.errors import GuardError
from tracepack.ops.runtime.primitives.plain_code.running import block_of

MODULES = (bisect, collections, copy, functools, heapq, itertools, json, math, operator, re, statistics, unicodedata)
WORDS = (["b", "a", "b"], [], ["x"], ["aa.", "A", "ß", "b"], ["", "zz", "zz", "y"])
NUMBERS = ([3, 1, 2], [], [5], [-1, 0, 1, 7], [2**70, 3, 3], [0.5, -0.0, 2])

ALIKE = {
    "builtins handed on": ("[list(map(list, x)), list(map(tuple, x)), list(map(sorted, x)), list(map(set, x))]", WORDS),
    "types asked for": ("[isinstance(x, list), isinstance(x, (str, list)), isinstance(x, int | str)]", WORDS),
    "factories": ("dict((k, list(v)) for k, v in [*collections.defaultdict(list, {1: x}).items()])", WORDS),
    "sums": ("[sum(x), sum(x, 5), sum([x, x], []), sum(map(abs, x), 0.5), sum([[a] for a in x], [])]", NUMBERS),
    "extremes": ("[min(x, default=9), max([1, *x]), max(x, default=None, key=lambda a: -a), min(3, 1), max(1, *x, 2)]",
                 NUMBERS),
    "displays": ("[[*x, *x], (*x, 1), {**{a: 1 for a in x}, 'q': 2}, [[], *x]]", WORDS),
    "several loops": ("[[(a, b) for a in x for b in a if b != 'z'], {a: b for a in x for b in a}]", WORDS),
    "sorted": ("[sorted(x, key=len), sorted(x, reverse=True), sorted(set(x)), sorted(set(x), key=lambda a: (-len(a), a))]",
               WORDS),
    "best of a set": ("max(set(x), key=lambda a: (x.count(a), a), default='')", WORDS),
    "least of a set": ("[min(set(x), default=''), max(map(len, x), default=0)]", WORDS),
    "sets of numbers": ("[list(set(x)), sum(set(x)), [a for a in {8, 0, 16, *x}]]", (([3, 1, 2]), [], [24, 16, 8, 0])),
    "sets joined": ("sorted(set(x) | {'q'} - {'b'} ^ {'z'}) + sorted(set(x).union(x, iter(['k'])))", WORDS),
    "dicts": ("[dict(zip(x, x[1:])), dict.fromkeys(x, 1), dict(a=1, **{'b': 2}), {'a': 1} | {'b': 2}]", WORDS),
    "texts": ("['-'.join(x), '+'.join(a for a in x), '/'.join(map(str, x)), str(x), repr(x), f'{x!r:>20}|{len(x):04}']",
              WORDS),
    "filled in": ("['%s' % (x,), '%d|%5.2f|%r' % (len(x), len(x) / 3, x), '{}-{a}'.format(x, a=1), '{1}{0}'.format(1, 2)]",
                  WORDS),
    "of texts": ("[[a.upper(), a.split(), a.rsplit('a', 1), a.splitlines(keepends=True), a.expandtabs(tabsize=3), a.title(), "
                 "a.replace('a', 'bb'), a.zfill(4), a.find('b'), a.rpartition('a'), a.startswith(('a', 'b'))] for a in x]", WORDS),
    "integers": ("[[a * a, a ** 2, a % 7, a // 2, -a, a + a, round(a / 3, 2), divmod(a, 5)] for a in x]", NUMBERS),
    "bases": ("[int('ff', 16), int('z', base=36), int(' 7 '), int(2.9), int(True), int(), str(), round(2.5), pow(3, 4, 5)]",
              NUMBERS),
    "flags": ("[re.findall('A', 'aA'), re.sub(r'(a)(b)', r'\\2\\1', 'xabab'), re.compile('a').sub('b', 'aaa', 2), "
              "re.split('[,;]', 'a,b;c'), re.sub('a', lambda m: m.group() * 2, 'ab')]", WORDS),
    "library": ("[list(itertools.accumulate(x)), list(itertools.accumulate(x, lambda a, b: b + a)), "
                "[(k, list(g)) for k, g in itertools.groupby(x, key=len)], collections.Counter(x).most_common(1), "
                "heapq.nlargest(2, x), functools.reduce(lambda a, b: a + b, x, '')]", WORDS),
    "of json": ("[json.dumps({'a': x}), json.dumps(x, indent=2, ensure_ascii=False), json.dumps(x, separators=(',', ':')), "
                "json.dumps({'b': 1, 'a': None}, sort_keys=True)]", WORDS),
    "queues": ("[list(collections.deque(x, maxlen=2)), list(collections.deque(x) * 2), list(collections.deque(x) + "
               "collections.deque([1]))]", WORDS),
    "lambdas": ("[(lambda a, b=2, *c, d=3: (a, b, c, d))(*x, 1)]", ([1], [1, 2], [1, 2, 3])),
}  # fmt: skip


def as_python(code: str):
    """The function `block` of a text, as Python has it."""
    names = {module.__name__: module for module in MODULES}
    exec(code, names)
    return names["block"]


@pytest.mark.parametrize(("expression", "inputs"), ALIKE.values(), ids=ALIKE)
def test_an_expression_gives_what_python_gives(expression, inputs) -> None:
    code = f"def block(x):\n return {expression}"
    for given in inputs:
        wanted, got = as_python(code)(copy.deepcopy(given)), block_of(code).run((copy.deepcopy(given),))
        assert repr(got) == repr(wanted)


RAISING = {
    "missing key": "{}[x[0]]",
    "no such place": "x[len(x)]",
    "no number": "int(x[0])",
    "nothing to take": "max([])",
    "no attribute": "x.upper()",
    "not iterable": "list(5)",
    "not callable": "x()",
    "unlike things": "sorted([1, 'a'])",
    "text and number": "'a' + 1",
    "texts summed": "sum(['a'], '')",
    "too few values": "(lambda a, b: 1)(*x)",
}


@pytest.mark.parametrize("expression", RAISING.values(), ids=RAISING)
@pytest.mark.parametrize("kind", ["Exception", "ValueError", "LookupError", "TypeError", "AttributeError"])
def test_an_error_is_caught_where_python_catches_it(expression, kind) -> None:
    code = f"def block(x):\n try: return {expression}\n except {kind}: return 'caught'"
    try:
        wanted = as_python(code)(["a"])
    except Exception as error:
        with pytest.raises(type(error)):
            block_of(code).run((["a"],))
    else:
        assert block_of(code).run((["a"],)) == wanted


UNORDERED = {
    "list": "list(s)", "handed on": "list(map(list, [s]))", "comprehension": "[a for a in s]", "joined": "''.join(s)",
    "unpacked": "[*s]", "items unpacked": "[a for a, *b in [s]]", "ties": "sorted(s, key=len)", "chosen": "max(s, key=len)",
    "taken": "list(itertools.takewhile(lambda a: True, s))", "counted": "list(collections.Counter(s))",
    "arguments": "(lambda *a: a)(*s)", "starred": "list(itertools.starmap(lambda *a: a, [s]))", "text": "'%s' % s",
    "next": "next(iter(s))", "extended": "(lambda l: (l.extend(s), l)[1])([])", "zipped": "list(zip(s))", "popped": "s.copy().pop()",
    "keys": "list({'a': 1, 'b': 2}.keys() & {'a': 1, 'b': 2}.keys())", "from keys": "dict.fromkeys(s)",
}  # fmt: skip


@pytest.mark.parametrize("expression", UNORDERED.values(), ids=UNORDERED)
def test_no_result_hangs_on_the_order_of_a_set(expression) -> None:
    with pytest.raises(GuardError, match="a set of texts is gone through|are alike to"):
        block_of(f"def block(x):\n s = {{'a', 'b', 'c'}}\n return {expression}").run((1,))


def test_a_loop_that_unpacks_sets_has_no_order() -> None:
    with pytest.raises(GuardError, match="a set of texts is gone through"):
        block_of("def block(x):\n for a, b in [{'x', 'y'}]: x = a\n return x").run((1,))
