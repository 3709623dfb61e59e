"""What Python's `statistics`, `math` and `bisect` tell of lists of any length, and of the numbers of tensors."""

from __future__ import annotations

import bisect
import functools
import math
import statistics
from statistics import NormalDist, StatisticsError, linear_regression

import torch

from tests.everyday.case import Case

SCORES, SHIFTED = NormalDist(100, 15), NormalDist(-1.5, 2)
PAIRS = [[[1.0, 2.0], [5.0, 1.0]], [[1.0, 2.0, 3.0, 7.0], [4.0, 1.0, 2.0, 2.0]]]
LISTS = [[[5.0, 1.0]], [[1.0, 2.0, 3.0, 7.0]]]


def fitted(xs, ys):
    slope, intercept = linear_regression(xs, ys)
    return [slope * x + intercept for x in xs], statistics.linear_regression(xs, ys, proportional=True).slope


def grouped(xs):
    return statistics.median_grouped(xs), statistics.median_grouped(xs, interval=0.5)


def parts(xs, n):
    inclusive = statistics.quantiles(xs, n=n, method="inclusive")
    return inclusive, statistics.quantiles(xs, n=10, method="exclusive")[-1]


def normal(xs):
    own = NormalDist.from_samples(xs)
    return {"mean": own.mean, "z": [own.zscore(x) for x in xs], "parts": own.quantiles(4), "p": own.cdf(2.0)}


def compared(xs, ys):
    one, other = NormalDist.from_samples(xs), statistics.NormalDist.from_samples(ys)
    return one.overlap(other), (one - other).stdev, (one * 2 + 1).median


def of_constants(x):
    return SCORES.cdf(x), SHIFTED.pdf(x), 1 - statistics.NormalDist().cdf(x), NormalDist(x, 2.0).inv_cdf(0.25)


def of_numbers(x):
    return SCORES.cdf(x.max().item()), [SHIFTED.zscore(each) for each in x.tolist()]


def of_tensors(x, y):
    return statistics.correlation(x.tolist(), y.tolist()), statistics.linear_regression(x.tolist(), y.tolist()).slope


def weighted(x, y):
    return statistics.fmean(x.tolist(), weights=y.tolist())


def parts_of_tensor(x):
    return statistics.quantiles(x.tolist(), n=3, method="inclusive"), torch.distributions.Normal(0.0, 1.0).cdf(x)


def spread(xs):
    try:
        return statistics.stdev(xs)
    except StatisticsError:
        return 0.0


def of_math(xs):
    return [math.gamma(x) + math.erf(math.ldexp(x, -2)) for x in xs], math.nextafter(xs[0], 9.0)


def placed(x):
    return bisect.bisect(sorted(x.tolist()), 2.0), [math.ulp(each) for each in x.tolist()]


def compared_by_pairs(x):
    return sorted(x.tolist(), key=functools.cmp_to_key(lambda a, b: b - a))


def _tensors(*lists):
    return [torch.tensor(each) for each in lists]


CASES = {
    "fitted": Case(fitted, [[1.0, 2.0, 4.0], [2.0, 3.0, 9.0]], PAIRS),
    "grouped": Case(grouped, [[1.0, 2.0, 4.0]], LISTS),
    "parts": Case(parts, [[1.0, 2.0, 4.0], 4], [[[5.0, 1.0], 3], [[1.0, 2.0, 3.0, 7.0], 2]]),
    "normal": Case(normal, [[1.0, 2.0, 4.0]], LISTS),
    "compared": Case(compared, [[1.0, 2.0, 4.0], [2.0, 3.0, 9.0]], PAIRS),
    "of constants": Case(of_constants, [1.5], [[-1.0], [100.0]]),
    "of numbers": Case(of_numbers, _tensors([1.0, 2.0]), [_tensors([90.0, 110.0, 3.0])]),
    "of tensors": Case(of_tensors, _tensors(*PAIRS[1]), [_tensors(*PAIRS[0])]),
    "weighted": Case(weighted, _tensors(*PAIRS[1]), [_tensors(*PAIRS[0])]),
    "parts of a tensor": Case(parts_of_tensor, _tensors(PAIRS[1][0]), [_tensors(PAIRS[0][1])]),
    "of math": Case(of_math, [[1.0, 2.5]], [[[3.0]], [[0.5, 4.0, 2.0]]]),
    "placed": Case(placed, _tensors([3.0, 1.0, 2.5]), [_tensors([0.5]), _tensors([9.0, 2.0])]),
    "compared by pairs": Case(compared_by_pairs, _tensors([3.0, 1.0, 2.5]), [_tensors([0.5]), _tensors([9.0, 2.0])]),
    "spread": Case(spread, [[1.0, 2.0, 4.0]], [*LISTS, [[3.0]]]),
}


def slope(xs):
    return statistics.linear_regression(xs, [2 * x for x in xs]).slope


FAILING = {"one point": (slope, [1.0, 2.0], [1.0], "linear regression requires at least two data points")}
