"""Money: decimal numbers of texts and numbers, added up, rounded, compared, written."""

from __future__ import annotations

import decimal
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

import torch

from tests.everyday.case import Case

CENT = Decimal("0.01")
PRICES = [[[]], [["0.015"]], [["-1", "1", "3e2"]]]
TWO = [["0.00", "7"], ["-2.675", "0.3"], ["1e10", "3"]]


def invoice(lines, currency):
    total = Decimal("0")
    for _, price, quantity in lines:
        total += Decimal(price) * quantity
    tax = (total * Decimal("0.19")).quantize(CENT, rounding=ROUND_HALF_UP)
    return {"total": str(total), "tax": str(tax), "gross": f"{total + tax:,.2f} {currency}"}


def largest(prices):
    found = Decimal(0)
    for price in map(Decimal, prices):
        found = max(found, price)
    return f"{found:.2f}", str(sum([Decimal(price) for price in prices], Decimal(0)))


def taxed(net, rate):
    gross = (Decimal(str(net)) * (1 + Decimal(str(rate)))).quantize(CENT, ROUND_HALF_UP)
    return int(gross * 100), float(gross), round(gross, 1) == gross, "high" if gross > 100 else "low"


def shared(cents, n):
    share = (Decimal(cents) / 100 / n).quantize(CENT, rounding=ROUND_DOWN)
    return str(share), str(Decimal(cents) / 100 - share * n), cents == share * 100 * n


def arithmetic(a, b):
    x, y = Decimal(a), Decimal(b)
    found = [x + y, x - y, 2 * x, x / 3, x // 3, x % 3, -x, abs(x), x**2, y.sqrt(), +x, *divmod(7, y + 1)]
    return [str(each) for each in found]


CASES = {
    "an invoice": Case(
        invoice, [[("book", "12.99", 2), ("pen", "0.333", 10)], "EUR"],
        [[[], "USD"], [[("x", "0.005", 1)], "EUR"], [[("y", "1e3", 3)], "USD"]],
    ),
    "the largest": Case(largest, [["1.10", "2.25"]], PRICES),
    "a tax": Case(taxed, [12.345, 0.19], [[0.0, 0.0], [1e9, 0.5], [-2.675, 0.07]]),
    "a bill": Case(shared, [100, 3], [[0, 1], [7, 7], [1, 6]]),
    "arithmetic": Case(arithmetic, ["1.25", "0.5"], TWO),
    "comparisons": Case(
        lambda a, b: [(x := Decimal(a)) < Decimal(b), x == 1, x >= 0.5, x != Decimal("1.250"), x.is_zero(), bool(x)],
        ["1.25", "0.5"], TWO,
    ),
    "formats": Case(
        lambda a, b: (f"{Decimal(a)}", f"{Decimal(b):>9.1f}|{Decimal(a)!r}", f"{Decimal(a):.3f}", "%s" % Decimal(b)),  # noqa: UP031
        ["1.25", "0.5"], TWO,
    ),
    "whole numbers": Case(
        lambda a, b: (int(x := Decimal(a)), round(x), str(Decimal(b).to_integral_value()), str(Decimal(b).normalize())),
        ["1.25", "0.50"], TWO,
    ),
    "the module": Case(lambda a: str(decimal.Decimal(a) + 1), ["1.25"], [["1E-7"], ["NaN"], ["-Infinity"]]),
    "numbers of a tensor": Case(
        lambda x: [str(Decimal(str(round(value, 2))).quantize(CENT)) for value in x.tolist()],
        [torch.tensor([1.005, 2.5])], [[torch.tensor([0.1])], [torch.zeros(0)]],
    ),
    "the cheapest": Case(
        lambda rows: [row["name"] for row in sorted(rows, key=lambda row: Decimal(row["price"]))],
        [[{"name": "a", "price": "10"}, {"name": "b", "price": "9.5"}]],
        [[[]], [[{"name": "c", "price": "1e2"}, {"name": "d", "price": "99"}]]],
    ),
}  # fmt: skip

FAILING = {
    "no number": (lambda s: str(Decimal(s)), "1", "1,5", "ConversionSyntax"),
    "by zero": (lambda s: str(1 / Decimal(s)), "1", "0", "DivisionByZero"),
    "too many digits": (lambda s: str(Decimal(s).quantize(CENT)), "1", "1e30", "InvalidOperation"),
}
"""What fails in Python fails in the file: the function, an example, one that fails, and words of the error."""

REFUSED = {
    "a decimal number as a result": (lambda s: {"x": Decimal(s)}, r"returns a Decimal.*Return str\(number\)"),
    "a part of it": (lambda s: Decimal(s).as_tuple(), "Decimal.as_tuple cannot be recorded"),
}
"""What is refused with what to write: the function, and words of the error."""
