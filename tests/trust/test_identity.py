"""Identity: `is` with True, False and numbers, and the types that helpers ask for."""

from __future__ import annotations

import enum
import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import torch

import tracepack
from tests.trust.trials import trial

X, MORE = torch.randn(2, 3), torch.randn(4, 3)


def of_flag(x: torch.Tensor, flag: bool) -> torch.Tensor:
    return x * 2 if flag is True else x


def of_flag_negated(x: torch.Tensor, flag: bool) -> torch.Tensor:
    return x * 2 if flag is not False else x


ZERO = 0


def of_number(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * 2 if n is ZERO else x


def of_item(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if (x.sum() > 0).item() is True else x


def of_size(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if (x.shape[0] > 2) is True else x


def _kind(n: Any) -> int:
    return 2 if type(n) is int else 1


def _looked_up(n: Any) -> int:
    return {int: 2}.get(type(n), 1)


def _told(flag: Any) -> int:
    return 2 if flag is True else 1


def of_type_in_helper(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * _kind(n) + _kind(x.shape[0])


def of_table_in_helper(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * _looked_up(n) + _looked_up(x.shape[0])


def of_flag_in_helper(x: torch.Tensor, flag: bool) -> torch.Tensor:
    return x * _told(flag)


class Options:
    def factor(self, flag: Any) -> int:
        return 2 if flag is True else 1


OPTIONS = Options()


def of_flag_in_method(x: torch.Tensor, flag: bool) -> torch.Tensor:
    return x * OPTIONS.factor(flag)


def of_two_flags(x: torch.Tensor, flag: bool, other: bool) -> torch.Tensor:
    return x * 2 if flag is other else x


class Modes:
    first = 7


LIMIT = 40


def of_attribute(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * 2 if n is Modes.first else x


def of_default(x: torch.Tensor, n: int, wanted: int = 12) -> torch.Tensor:
    return x * 2 if n is wanted else x


def of_global_in_helper(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * _at_limit(n)


def _at_limit(n: Any) -> int:
    return 2 if n is LIMIT else 1


UNSEEN = itertools.repeat(_looked_up)  # what an iterator holds is out of sight


def hidden_by_larger_terms(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * 1e4 + x * next(UNSEEN)(n)


CASES: list[tuple[Any, tuple[Any, ...], list[tuple[Any, ...]]]] = [
    (of_flag, (X, True), [(X, False)]),
    (of_flag, (X, False), [(X, True)]),
    (of_flag_negated, (X, True), [(X, False)]),
    (of_number, (X, 0), [(X, 1)]),
    (of_number, (X, 1), [(X, 0)]),
    (of_number, (X, 2), [(X, 0), (X, 1)]),
    (of_attribute, (X, 2), [(X, 7)]),
    (of_default, (X, 3), [(X, 12)]),
    (of_global_in_helper, (X, 3), [(X, 40)]),
    (hidden_by_larger_terms, (X, 3), [(X, 2)]),
    (of_item, (X.abs(),), [(-X.abs(),)]),
    (of_size, (X,), [(MORE,)]),
    (of_size, (MORE,), [(X,)]),
    (of_type_in_helper, (X, 3), [(MORE, 1)]),
    (of_table_in_helper, (X, 3), [(MORE, 1)]),
    (of_flag_in_helper, (X, True), [(X, False)]),
    (of_flag_in_method, (X, True), [(X, False)]),
    (of_flag_in_method, (X, False), [(X, True)]),
    (of_two_flags, (X, True, True), [(X, True, False)]),
    (of_two_flags, (X, True, False), [(X, True, True)]),
]


@pytest.mark.parametrize(("process", "example", "others"), CASES)
def test_identity_is_never_frozen(process: Any, example: tuple[Any, ...], others: list[tuple[Any, ...]]) -> None:
    found = trial(lambda: process, *example, others=others)
    assert found == "right" or "test_identity.py" in found, found


@pytest.mark.parametrize("process", [of_flag, of_flag_in_helper, of_flag_in_method, of_type_in_helper])
def test_identity_tests_of_flags_are_taken(process: Any) -> None:
    example = (X, 3) if process is of_type_in_helper else (X, True)
    assert trial(lambda: process, *example) == "right"


@pytest.mark.parametrize("identity", [id, hash])
def test_the_identity_of_a_tensor_is_no_number(identity: Any) -> None:
    def process(x: torch.Tensor) -> torch.Tensor:
        return x * ((id(x) if identity is id else hash(x)) // 16 % 1009)

    with pytest.raises(tracepack.RecordError, match="the id of a value, which says whether two are one object"):
        tracepack.trace(process, X)


def test_the_identity_of_a_tensor_of_the_function_is_no_number() -> None:
    with pytest.raises(tracepack.RecordError, match="a second recording on other data differs"):
        tracepack.trace(lambda x: x * (id(x + 1) // 16 % 1009), X)


def test_the_identities_of_tensors_tell_them_apart() -> None:
    def process(x: torch.Tensor, y: torch.Tensor) -> Any:
        seen: dict[int, torch.Tensor] = {}
        x, y = x + 0, y + 0
        for each in (x, y, x):
            seen.setdefault(id(each), each * 2)
        return sum(seen.values())

    mod = tracepack.trace(process, X, MORE[:2])
    assert torch.equal(mod(X, X + 1), X * 2 + (X + 1) * 2)


class Color(enum.IntEnum):
    RED = 1
    BLUE = 4


class Whole(int):
    pass


@pytest.mark.parametrize("n", [1, 3, 5])
@pytest.mark.parametrize(
    "test",
    [
        lambda n: n == Color.RED, lambda n: n != Color.BLUE, lambda n: n in (Color.RED, Color.BLUE),
        lambda n: n > Color.RED, lambda n: n + Color.BLUE == 5, lambda n: n == Whole(1),
        lambda n: n == Fraction(4), lambda n: n == Decimal(1),
        lambda n: {Color.RED: True}.get(n, False), lambda n: n is Color.RED, lambda n: n == "1",
    ],
)  # fmt: skip
def test_a_number_compared_with_one_of_another_class(test: Any, n: int) -> None:
    def process(x: torch.Tensor, n: int) -> torch.Tensor:
        return x * (2 if test(n) else 3) + (x.shape[0] == Color.BLUE)

    others = [(X, 1), (X, 4), (X, 2), (MORE, 5)]
    assert trial(lambda: process, X, n, others=others) == "right"
    mod = tracepack.trace(process, X, n)
    assert torch.equal(mod(X, n), process(X, n))


ONE = 1


def is_one(x: torch.Tensor, n: float) -> torch.Tensor:
    return x * 2 if n is ONE else x


def is_the_int_three(x: torch.Tensor, n: float) -> torch.Tensor:
    return x * (2 if type(n) is int and n == 3 else 1)


@pytest.mark.parametrize("process", [is_one, is_the_int_three])
def test_an_int_that_code_names_in_the_place_of_a_float_is_stopped(process: Any) -> None:
    traced = tracepack.trace(process, X, 7.5)
    assert torch.equal(traced(X, 1.0), X)
    for n in (1, 3):
        with pytest.raises(tracepack.TracepackError, match=r"float|branch"):
            traced(X, n)
