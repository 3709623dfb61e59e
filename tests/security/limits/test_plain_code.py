"""Blocks of plain Python in forged files: they reach nothing beyond their list, and make nothing too large."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.security.forge import one_node
from tracepack.ops.graph.errors import GraphError, GuardError
from tracepack.ops.runtime.primitives.plain_code.running import block_of

REFUSED = {
    "attribute of a class": ("return x.__class__", "the name '__class__'"),
    "a name of Python's": ("return __builtins__", "the name '__builtins__'"),
    "a name that is written otherwise": ("return __\U0001d51fuiltins__", "the name '__builtins__'"),
    "import": ("import os", "Import"),
    "decorator": ("@x\n def f(): pass\n return f", "a decorator"),
    "finally that hides a refusal": ("try:\n  x.y\n finally:\n  return 5", "a finally that leaves"),
    "finally in a loop": ("while True:\n  try:\n   x.y\n  finally:\n   break\n return 5", "a finally that leaves"),
    "class": ("class A: pass\n return A", "ClassDef"),
    "bare except": ("try: x.y\n except: pass\n return 1", "an except without one of Python's errors"),
    "a function with the name of a module": ("def re(): pass\n return re", "sets the name of a module or a builtin"),
    "an error with the name of a builtin": (
        "try: x.index(1)\n except ValueError as len: pass\n return 1",
        "sets the name of a module or a builtin",
    ),
    "a pattern with the name of a module": (
        "match x:\n  case [*re]: return 1\n  case {'a': 1, **json}: return 2",
        "sets the name of a module or a builtin",
    ),
    "many lists in one": (f"return [{', '.join(['*x'] * 9)}]", "too many lists in one"),
}


@pytest.mark.parametrize(("code", "named"), REFUSED.values(), ids=REFUSED)
def test_what_no_block_may_hold_is_refused_at_load(code, named):
    with pytest.raises(GraphError) as caught:
        tracepack.load(one_node("py.plain_code", f"def block(x):\n {code}", "any", "x0"))
    assert named in str(caught.value)


UNREACHED = {
    "frame of a generator": ("g = (i for i in [1])\n return g.gi_frame", "a method that none has; got gi_frame"),
    "attribute in the types of isinstance": (
        "return isinstance(x, ((lambda: x.gi_frame)(), int))",
        "a method that none has; got gi_frame",
    ),
    "what an error holds": ("try: {}['a']\n except KeyError as e: return e.args", "a method that none has; got args"),
    "attribute by a format": ("return '{0.real}'.format(x)", "a field that asks for more than an argument"),
    "a class that json calls": ("return json.dumps('a', cls=lambda **k: 'b')", "json.dumps is called with more"),
    "place of a function": ("return str(block)", "can be made a text; got function"),
    "place of a function in a table": (
        "return str(collections.defaultdict(list))",
        "the text of a defaultdict names a place in memory",
    ),
    "place of a generator": ("return f'{(i for i in [])}'", "can be made a text; got generator"),
    "place of a function, filled in": ("return '%s' % block", "can be made a text; got function"),
    "place of a function in a list": ("return repr([block])", "can be made a text; got function"),
    "place of a function in an error": (
        "try: raise ValueError(block)\n except ValueError as e: return str(e)",
        "the text of an error holds more",
    ),
    "function of a module": ("return re.purge()", "uses re.purge"),
    "a method that is not listed": ("try: return b'a b'.split()\n except AttributeError: return 5", "asks a bytes for"),
}
ONE = "def block(x):\n "


@pytest.mark.parametrize(("code", "named"), UNREACHED.values(), ids=UNREACHED)
def test_a_block_reaches_nothing_beyond_its_list(code, named):
    with pytest.raises((GuardError, GraphError)) as caught:
        block_of(ONE + code).run((1,))
    assert named in str(caught.value)


TOO_LARGE = {
    "comprehension of two loops": "return len([0 for a in range(10000) for b in range(30000)])",
    "list of a generator": "return len(list(0 for a in range(10000) for b in range(30000)))",
    "items of a generator": "return len([*(0 for a in range(10000) for b in range(30000))])",
    "dict of two loops": "return len({a * 30000 + b: 0 for a in range(10000) for b in range(30000)})",
    "list handed on": "return len(list(map(list, [range(200000000)]))[0])",
    "extended": "a = []\n a.extend(0 for a in range(10000) for b in range(30000))\n return len(a)",
    "elements": "return len(list(collections.Counter({'a': 10**9}).elements()))",
    "sum of lists": "return len(sum([[0] * 10000000] * 30, []))",
    "accumulated texts": "return len(list(itertools.accumulate(['a' * 10000000] * 60))[-1])",
    "deque": "return len(collections.deque([0] * 10000000) * 30)",
    "deque in place": "a = collections.deque([0] * 10000000)\n a *= 30\n return len(a)",
    "list in place": "a = [0] * 10000000\n a *= 30\n return len(a)",
    "tuple of itself": "a = (1,)\n while True: a = (*a, *a)",
    "text of itself": "a = 'a'\n while True: a = f'{a}{a}'",
    "indent of json": "return len(json.dumps([1], indent=1000000000))",
    "json of one text": "a = 'x' * 10000000\n return len(json.dumps([a] * 100))",
    "text of lists in lists": "a = [1]\n for i in range(40): a = [a, a]\n return len('%s' % (a,))",
    "list that holds itself": "a = []\n a.append(a)\n a.append(a)\n return '%s' % (a,)",
    "error of lists in lists": (
        "a = [1]\n for i in range(40): a = [a, a]\n try: raise ValueError(a)\n"
        " except ValueError as e: return len(str(e))"
    ),
    "replaced by a function": "return len(re.sub('a', lambda m: 'b' * 1000000, 'a' * 100000))",
    "replaced by groups": "return len(re.sub('(?=(.*))', r'\\1' * 500, 'a' * 8000))",
    "tabs": "return len('\\t'.expandtabs(tabsize=10**9))",
    "groups": "return len(re.findall('" + "()" * 90 + "', 'a' * 2000000))",
    "text in place": "a = 'a' * 10000000\n a += a\n return len(a)",
    "integer": "a = 3\n while True: a *= a",
    "shifted": "return 1 << 10**9",
    "bytes": "return len(b'a' * 10**9)",
}


@pytest.mark.parametrize("code", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_block_makes_nothing_too_large(code):
    with pytest.raises(GuardError, match="too large|is too long|nested too deeply|holds more|too many groups"):
        block_of(ONE + code).run((1,))


REBOUND = {
    "pattern of match": "match x:\n  case P0: return len(re.findall(P0, 'aaa'))",
    "function": "def P0(): pass\n return re.search(P0, 'aaa')",
    "rest of match": "match [x]:\n  case [*P0]: return re.search(P0, 'aaa')\n return 1",
}


@pytest.mark.parametrize("code", REBOUND.values(), ids=REBOUND)
def test_a_pattern_under_the_name_of_a_checked_one_needs_trust(code):
    with pytest.raises(tracepack.TrustError, match="a regular expression of the file"):
        tracepack.load(one_node("py.plain_code", f"P0 = re.compile('a')\ndef block(x):\n {code}", "any", "x0"))


OF_TENSORS = {
    "memory of a tensor": ("return T0.untyped_storage()", "a method that none has; got untyped_storage"),
    "place of a tensor": ("return T0.data_ptr()", "a method that none has; got data_ptr"),
    "an argument that is written": ("return torch.add(T0, 1, out=T0)", "more than a block may use; got out="),
    "an argument that is written, by its place": ("return torch_functional.relu(T0, True)", "got inplace="),
    "a result by its place": ("return torch.norm(T0, 2, 0, False, T0)", "got out="),
    "a function that is handed on": ("return list(map(torch_functional.elu, [T0], [1.0], [True]))", "got inplace="),
    "a write": ("T0.add_(1)\n return T0", "writes to a tensor that is not its own"),
    "a write to a view": ("a = T0[0]\n a += 1\n return T0", "writes to a tensor that is not its own"),
    "an item": ("T0.view(-1)[0] = 1\n return T0", "writes to a tensor that is not its own"),
    "a function that loads": ("return torch.load('a')", "uses torch.load"),
    "memory of others": ("return torch.empty(5)", "uses torch.empty"),
    "strides of its own": ("return T0.as_strided((9,), (1,))", "a method that none has; got as_strided"),
    "what ends the process": (
        "a = T0.long()\n return torch.div(a * 0 - (1 << 62) * 2, a * 0 - 1, rounding_mode='trunc')",
        "the least integer cannot be divided by -1",
    ),
    "what ends the process, by a method": (
        "a = T0.long()\n return (a * 0 - (1 << 62) * 2).div(a * 0 - 1, rounding_mode='trunc')",
        "the least integer cannot be divided by -1",
    ),
    "a device": ("return T0.to('meta')", "moves a tensor to a device"),
    "a device by its name": ("return torch.zeros(2, device='meta')", "more than a block may use; got device="),
    "an import": ("return torch.__builtins__", "the name '__builtins__'"),
    "an import of its own": ("return __import__('os')", "the name '__import__'"),
}


@pytest.mark.parametrize(("code", "named"), OF_TENSORS.values(), ids=OF_TENSORS)
def test_a_block_reaches_nothing_of_torch_beyond_its_list(code, named):
    given = torch.zeros(2)
    with pytest.raises((GuardError, GraphError)) as caught:
        block_of(f"def block(T0):\n {code}").run((given,))
    assert named in str(caught.value)
    assert torch.equal(given, torch.zeros(2))


def test_what_torch_imports_for_a_block_is_torch():
    with pytest.raises(ImportError, match="a block of plain Python imports os"):
        block_of("def block(T0):\n return T0").idle[0].names["__builtins__"]["__import__"]("os")


ENDLESS = {
    "while": "while True: pass",
    "for": "for a in range(16000000):\n  for b in range(16000000): pass",
    "comprehension": "return [0 for a in range(16000000) for b in range(16000000) if a < 0]",
    "calls": "def f(n): return 0 if n == 0 else f(n - 1) + f(n - 1)\n return f(60)",
    "errors caught": "while True:\n  try:\n   while True: pass\n  except Exception: pass",
    "library": "return sum(map(lambda a: max(range(1000)), range(16000000)))",
}


@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_a_budget_of_time_ends_a_block(code):
    mod = tracepack.load(one_node("py.plain_code", f"def block():\n {code}\n return 1", "any"), budget={"seconds": 0.3})
    with pytest.raises(tracepack.BudgetError, match="takes longer than its budget"):
        mod(torch.rand(2))


HUNGRY = {
    "lists in a list": "a = []\n while True: a.append([0] * 100000)",
    "texts in a dict": "a = {}\n while True: a[len(a)] = 'a' * 100000 + str(len(a))",
    "items": "a = []\n while True: a.append(1)",
    "tensors": "a = []\n while True: a.append(torch.ones(1000) - 1)",
}


@pytest.mark.parametrize("code", HUNGRY.values(), ids=HUNGRY)
def test_a_budget_of_memory_ends_a_block(code):
    mod = tracepack.load(one_node("py.plain_code", f"def block():\n {code}", "any"), budget={"bytes": 1 << 24})
    with pytest.raises(tracepack.BudgetError, match="takes more memory than its budget"):
        mod(torch.rand(2))


DEEP = {
    "tuples": "a = ()\n for i in range(1000000): a = (a,)\n return len({a: 1})",
    "tuples that a list holds, too": "a, k = (), []\n for i in range(1000000):\n  a = (a,)\n  k.append(a)\n return 1",
    "generators": "a = iter([1])\n for i in range(1000000): a = (j for j in a)\n return next(a)",
    "iterators": "a = iter([1])\n for i in range(1000000): a = map(abs, a)\n return next(a)",
    "reduced": "return len({functools.reduce(lambda a, b: (a,), range(1000000), ()): 1})",
}


@pytest.mark.parametrize("code", DEEP.values(), ids=DEEP)
def test_under_a_budget_things_in_things_end_before_the_stack_does(code):
    mod = tracepack.load(one_node("py.plain_code", f"def block():\n {code}", "any"), budget={"seconds": 60})
    with pytest.raises(GuardError, match="things in things are nested too deeply"):
        mod(torch.rand(2))


def test_a_block_under_a_budget_answers_as_without():
    code = "def block():\n f = lambda a: [b * 2 for b in a if b]\n for c in range(3): d = f([c, 1])\n return d, sum(d)"
    data = one_node("py.plain_code", code, "any")
    assert tracepack.load(data, budget={"seconds": 60})(torch.rand(2)) == ([4, 2], 6)
