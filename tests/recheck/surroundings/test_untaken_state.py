"""State that only a way changes which the example does not take: a pipeline is right there, refused, or stops."""

from __future__ import annotations

import copy
import warnings
from types import SimpleNamespace

import pytest
import torch

import tracepack
from tracepack import RecordError, TracepackError

X = torch.ones(2)
MANY = 60


class Counted:
    """Something that counts on one way."""

    def __init__(self) -> None:
        self.n, self.items, self.table = 0, [], {}

    def up(self) -> None:
        self.n += 1


class ByFlag(Counted):
    def __call__(self, x, flag):
        if flag:
            self.n += 1
        return x * 2 if self.n > 50 else x


class ByMethod(Counted):
    def __call__(self, x, flag):
        if flag:
            self.up()
        return x * 2 if self.n > 50 else x


class ByExpression(Counted):
    def __call__(self, x, flag):
        self.n += flag
        return x * 2 if self.n > 50 else x


class ByNumber(Counted):
    def __call__(self, x, flag):
        if flag * 3 > 2:
            self.n += 1
        return x * 2 if self.n > 50 else x


class ByList(Counted):
    def __call__(self, x, flag):
        if flag:
            self.items.append(1)
        return x * 2 if len(self.items) > 50 else x


class ByTable(Counted):
    def __call__(self, x, flag):
        if flag:
            self.table["n"] = self.table.get("n", 0) + 1
        return x * 2 if self.table.get("n", 0) > 50 else x


class ByTensor(Counted):
    def __call__(self, x, flag):
        if (x * flag).sum() > 1:
            self.n += 1
        return x * 2 if self.n > 50 else x


class ByText(Counted):
    def __call__(self, x, flag):
        if str(flag) == "True":
            self.n += 1
        return x * 2 if self.n > 50 else x


class AfterReturn(Counted):
    def __call__(self, x, flag):
        if flag:
            self.n += 1
            return x + 1
        return x * 2 if self.n > 50 else x


class ReadAtOnce(Counted):
    def __call__(self, x, flag):
        if flag:
            self.n += 1
        return x * self.n


class WithWeight(Counted):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.ones(2)

    def __call__(self, x, flag):
        if flag:
            self.weight = self.weight * 0.5
        return x * self.weight


NOTES = SimpleNamespace(n=0)


def in_a_global(x, flag):
    if flag:
        NOTES.n += 1
    return x * 2 if NOTES.n > 50 else x


WAYS = [
    ByFlag, ByMethod, ByExpression, ByNumber, ByList, ByTable, ByTensor, ByText, AfterReturn, ReadAtOnce, WithWeight,
    lambda: in_a_global,
]  # fmt: skip


@pytest.mark.parametrize("make", WAYS)
@pytest.mark.parametrize("flag", [False, True])
def test_state_of_a_way_that_the_example_does_not_take_is_never_lost(make, flag) -> None:
    NOTES.n = 0
    process = make()
    before = copy.deepcopy(vars(process)) if isinstance(process, Counted) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mod = tracepack.trace(process, X, flag)
        except RecordError:
            mod = None
    assert NOTES.n == 0
    assert repr(vars(process) if before else {}) == repr(before)
    if mod is None:
        return
    for turn in range(MANY):
        for given in (turn % 7 != 3, False):
            try:
                got = mod(X, given)
            except TracepackError:
                return
            assert torch.equal(process(X, given), got)
