"""Tables beside a function whose class refuses to be gone through, such as those of transformers."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

import pytest

import tracepack


def _raises(*_: Any) -> NoReturn:
    raise ValueError("lazy: not there")


_FORMS = dict.fromkeys(("keys", "items", "values", "__iter__", "__getitem__", "__len__", "__contains__"), _raises)
_KINDS = {kind.__name__: type("Lazy", (kind,), _FORMS) for kind in (dict, OrderedDict, list, set, tuple)}


def _smaller_before(numbers: list[int]) -> list[int]:
    stack: list[int] = []
    found: list[int] = []
    for number in numbers:
        while stack and stack[-1] >= number:
            stack.pop()
        found.append(stack[-1] if stack else -1)
        stack.append(number)
    return found


@pytest.mark.parametrize("kind", _KINDS.values(), ids=_KINDS)
def test_a_table_that_raises_turns_nothing_off(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function does not name it, so that its lists stay free and its blocks are made."""
    table = kind()  # the test is a caller of the function, whose variables are looked at
    for beside in (table, [table]):
        monkeypatch.setitem(globals(), "TABLE", beside)
        mod = tracepack.trace(_smaller_before, [3, 1, 2])
        for numbers in ([2, 5, 5, 1], [], [4]):
            assert mod(numbers) == _smaller_before(numbers)
