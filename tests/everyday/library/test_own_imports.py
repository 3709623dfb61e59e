"""Modules and functions that a function imports itself are recorded as those that its module imports."""

from __future__ import annotations

from statistics import mean

import pytest
import torch

from tests.everyday.case import Case, check


def shown(number):
    import math

    return f"{math.log(abs(number)):.2f}"


def root_of_size(x):
    import math

    return math.sqrt(x.shape[0])


def squared(x):
    import math as m

    return x.view(int(m.sqrt(x.shape[0])), -1)


def by_name(number):
    from math import floor, log

    return log(number) + floor(number)


def halved(n):
    import math

    return math.ceil(n / 2)


def first_half(x):
    return x[: halved(len(x))]


def decayed(values):
    import math

    return [math.exp(-value) for value in values]


def decayed_by_name(values):
    from math import exp

    return [exp(-value) for value in values]


def of_two(a, b):
    import math

    return math.hypot(a, b) + math.pow(a, 2) + math.atan2(a, b)


def whole(values):
    import math

    return math.prod(values), math.fsum(values)


def without_nan(x):
    import math

    total = 0.0
    for value in x.tolist():
        if math.isnan(value):
            continue
        total += math.log1p(value)
    return total


def chosen(number):
    import math

    return "large" if math.floor(number) > 3 else "small"


class Scale:
    """Keeps the module."""

    def __init__(self):
        import math

        self.module = math

    def __call__(self, x, number):
        return x.exp() * self.module.sqrt(number)


def average(x):
    from statistics import median

    return mean(x.tolist()), median(x.tolist())


def cleaned(text):
    import json
    import re

    return json.dumps({"text": re.sub(r"\s+", " ", text)})


NAN = torch.tensor([0.5, float("nan"), 1.0, 2.0])
CASES = {
    "math": Case(shown, [0.5], [[12.5], [-3.0]]),
    "math of a size": Case(root_of_size, [torch.rand(4)], [[torch.rand(9)], [torch.rand(2)]]),
    "math as a name": Case(squared, [torch.rand(16)], [[torch.rand(9)], [torch.rand(4)]]),
    "functions": Case(by_name, [0.5], [[12.5], [3.0]]),
    "in a helper": Case(first_half, [torch.rand(16)], [[torch.rand(9)], [torch.rand(3)]]),
    "in a comprehension": Case(decayed, [[0.1, 0.2]], [[[1.0, 2.0, 3.0]], [[]]]),
    "a function in a comprehension": Case(decayed_by_name, [[0.1, 0.2]], [[[1.0, 2.0, 3.0]], [[]]]),
    "two arguments": Case(of_two, [1.0, 2.0], [[3.0, 3.0], [-1.0, 0.5]]),
    "sums": Case(whole, [[1.0, 2.0]], [[[3.0, 3.5, 4.0]], [[0.5]]]),
    "in a loop": Case(without_nan, [torch.rand(3)], [[NAN], [torch.rand(7)]]),
    "in a choice": Case(chosen, [5.5], [[1.2], [3.0]]),
    "an attribute": Case(Scale(), [torch.rand(3), 2.0], [[torch.rand(5), 9.0]]),
    "statistics": Case(average, [torch.rand(3)], [[torch.rand(6)], [torch.rand(1)]]),
    "texts": Case(cleaned, ["a  b"], [["c \t d e"], [""]]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_function_imports_is_recorded(name) -> None:
    check(CASES[name])
