"""Blocks of files that are not trusted do not end the process by things in things in things."""

from __future__ import annotations

import subprocess
import sys

import pytest

DEEP = {
    "tuples": "a = ()\n    for i in range(10**6):\n        a = (a,)\n    return len({a: 1})",
    "a comprehension": "a = ()\n    [(a := (a,)) for i in range(10**6)]\n    return len({a: 1})",
    "iterators": "a = iter([1])\n    for i in range(10**6):\n        a = map(abs, a)\n    return next(a)",
    "generators": "a = [1]\n    for i in range(10**6):\n        a = (b for b in a)\n    return next(a)",
    "a function": "a = functools.reduce(lambda a, b: (a,), range(10**6), ())\n    return len({a: 1})",
    "a builtin": "return functools.reduce(enumerate, range(10**6), iter(()))",
    "a key": "s = [()]\n    sorted(range(10**6), key=lambda i: s.append((s[-1],)) or 0)\n    return len({s[-1]: 1})",
}
RUN = """
import sys
from tracepack.ops.graph.errors import GuardError
from tracepack.ops.runtime.primitives.plain_code.running import distrust, plain_code
text = "def block(x):\\n    " + sys.argv[1]
distrust(text)
try:
    plain_code(text, "any", 1)
except GuardError as error:
    print(error)
"""


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_without_end_is_an_error(name) -> None:
    found = subprocess.run([sys.executable, "-c", RUN, DEEP[name]], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-300:]
    assert "nested too deeply" in found.stdout or "gives a builtin to what calls it again" in found.stdout
