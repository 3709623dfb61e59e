"""What nothing uses is left out of a graph, except where Python may raise there: a caller counts on the error."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch

import tracepack
from tracepack.ops.graph.operators.names import is_mark

X = torch.tensor([1.0, 2.0, 0.5])
SCALES = {"low": 0.5, "high": 2.0}


def of_table(x: torch.Tensor, mode: str) -> torch.Tensor:
    SCALES[mode]  # the form is what is tested, here and below
    return x * 2


def of_list(x: torch.Tensor, level: int) -> torch.Tensor:
    name = ["a", "b"][level]  # noqa: F841  # unused: it is what is tested
    return x * 2


def of_data(x: torch.Tensor) -> torch.Tensor:
    total = int(x.sum())  # noqa: F841  # unused: it is what is tested
    return x * 2


def of_rows(x: torch.Tensor) -> torch.Tensor:
    third = x.tolist()[2]  # noqa: F841  # unused: it is what is tested
    return x * 2


def of_sizes(x: torch.Tensor) -> torch.Tensor:
    ratio = x.shape[0] / (x.shape[0] - 2)  # noqa: F841  # unused: it is what is tested
    return x * 2


def of_number(n: int) -> int:
    100 / n
    return n


def of_text(text: str) -> str:
    text.index(":")
    return text


def of_letter(text: str) -> str:
    ord(text)
    return text


def of_loop(numbers: list[float]) -> list[float]:
    out = []
    for number in numbers:
        root = math.sqrt(number)  # noqa: F841  # unused: it is what is tested
        out.append(number * 2 if number > 1 else number)
    return out


def of_largest(numbers: list[float]) -> list[float]:
    max(numbers)
    return [number * 2 for number in numbers]


def of_matches(lines: list[str]) -> int:
    count = 0
    for line in lines:
        key = re.match(r"(\w+)=", line).group(1)  # type: ignore[union-attr]  # noqa: F841  # may be no match, and is unused: it is what is tested
        count += 1
    return count


def of_codes(text: str) -> str:
    text.encode("ascii")
    return text


def of_digits(text: str) -> str:
    bytes.fromhex(text)
    return text


def of_parts(text: str, mark: str) -> str:
    text.split(mark)
    return text


def of_width(text: str, mark: str) -> str:
    text.center(9, mark)
    return text


def of_steps(text: str, step: int) -> str:
    text[::step]
    return text


def of_place(numbers: list[int]) -> list[int]:
    made = []
    for number in numbers:
        made.append(number * 2)  # noqa: PERF401  # a loop: it is what is tested
    made[0] = 5
    return [number + 1 for number in numbers]


def of_one_item(x: torch.Tensor) -> torch.Tensor:
    x[x > 1].item()
    return x * 2


def of_truth(x: torch.Tensor) -> torch.Tensor:
    bool(x[x > 1])
    return x * 2


def of_dimension(x: torch.Tensor, dim: int) -> torch.Tensor:
    x.size(dim)
    return x * 2


def of_character(n: int) -> int:
    letter = f"{n:c}"  # noqa: F841  # unused: it is what is tested
    return n + 1


def of_no_number(x: torch.Tensor) -> torch.Tensor:
    level = 5 if x.sum() > 0 else None
    text = f"{level:d}"  # noqa: F841  # unused: it is what is tested
    return x * 2


def of_no_text(x: torch.Tensor) -> torch.Tensor:
    label = "hit" if x.sum() > 0 else None
    found = "h" in label  # type: ignore[operator]  # noqa: F841  # it may be None, and is unused: it is what is tested
    return x * 2


def of_none_in_text(x: torch.Tensor, text: str) -> torch.Tensor:
    label = "hit" if x.sum() > 0 else None
    found = label in text  # type: ignore[operator]  # noqa: F841  # it may be None, and is unused: it is what is tested
    return x * 2


CASES: list[tuple[Any, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]] = [
    (of_table, (X, "low"), (X, "high"), (X, "medium")),
    (of_list, (X, 1), (X, -2), (X, 2)),
    (of_data, (X,), (-X,), (X * math.nan,)),
    (of_rows, (X,), (torch.rand(5),), (X[:2],)),
    (of_sizes, (X,), (torch.rand(5),), (X[:2],)),
    (of_number, (3,), (-2,), (0,)),
    (of_text, ("a:b",), (":",), ("ab",)),
    (of_letter, ("a",), ("b",), ("ab",)),
    (of_loop, ([1.0, 2.0],), ([4.0],), ([1.0, -1.0],)),
    (of_largest, ([1.0, 2.0],), ([4.0],), ([],)),
    (of_matches, (["a=1", "b=2"],), (["c=3"],), (["a=1", ":"],)),
    (of_codes, ("a",), ("",), ("é",)),
    (of_digits, ("12",), ("ab",), ("1",)),
    (of_parts, ("a-b", "-"), ("a", "--"), ("a", "")),
    (of_width, ("a-b", "-"), ("a", "+"), ("a", "")),
    (of_steps, ("abc", 2), ("abc", -1), ("abc", 0)),
    (of_place, ([1, 2],), ([4],), ([],)),
    (of_one_item, (X,), (-X + 2,), (-X,)),
    (of_truth, (X,), (-X + 2,), (X + 2,)),
    (of_dimension, (X, 0), (X, -1), (X, 1)),
    (of_character, (65,), (0,), (-1,)),
    (of_no_number, (X,), (X * 2,), (-X,)),
    (of_no_text, (X,), (X * 2,), (-X,)),
    (of_none_in_text, (X, "a hit"), (X * 2, ""), (-X, "")),
]


@pytest.mark.parametrize(("process", "example", "other", "wrong"), CASES)
def test_an_error_of_python_is_an_error_of_the_pipeline(process: Any, example: Any, other: Any, wrong: Any) -> None:
    mod = tracepack.trace(process, *example)
    for given in (example, other):
        got, wanted = mod(*given), process(*given)
        assert torch.equal(got, wanted) if isinstance(wanted, torch.Tensor) else got == wanted
    with pytest.raises((ArithmeticError, LookupError, ValueError, TypeError, AttributeError, RuntimeError)):
        process(*wrong)
    with pytest.raises((tracepack.NodeError, tracepack.GuardError)):
        mod(*wrong)


def test_what_cannot_raise_is_left_out() -> None:
    def process(x: torch.Tensor, n: int, text: str) -> torch.Tensor:
        height, width = x.shape
        _ = (
            height * width // 2,
            n + 1,
            n / 2,
            max(n, 3),
            text.upper(),
            text[1:],
            len(text) % 2,
            float(n),
            text.split("-"),
            x.sum().item(),
            bool(x.sum() > 0),
            f"{n:04d} {text:>8}",
            "a" in text,
        )
        return x + 1

    graph = tracepack.trace(process, torch.rand(2, 3), 3, "ab").graph
    names = [node.target.name for node in graph.nodes]
    assert names[-1] == "torch.Tensor.add"
    assert not [name for name in names if name.startswith("py.") and not is_mark(name)]
