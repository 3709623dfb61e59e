"""State in objects of libraries, which show no items: a function that counts in one is refused, and gives it back."""

from __future__ import annotations

import configparser
import decimal
import email.message
import io
import logging.handlers
import xml.etree.ElementTree as ET
from array import array
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tracepack

pandas = pytest.importorskip("pandas", reason="pandas is not installed")

TABLE, SERIES, ELEMENT = pandas.DataFrame({"n": [0], "t": ["a"]}), pandas.Series([0, 1]), ET.Element("a")
CONFIG, MESSAGE, HANDLER = configparser.ConfigParser(), email.message.Message(), logging.handlers.BufferingHandler(9999)
CONFIG["a"] = {"n": "0"}
OPTIMIZER = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.0)
NUMBERS, REALS, BYTES, GROWING = array("i", [0]), array("d", [0.0]), bytearray(1), bytearray()


def of_a_cell() -> bool:
    TABLE.loc[0, "n"] += 1
    return TABLE.loc[0, "n"] > 100


def of_a_column() -> bool:
    TABLE["n"] = TABLE["n"] + 1
    return TABLE["n"][0] > 100


def of_a_series() -> bool:
    SERIES[0] += 1
    return SERIES[0] > 100


def of_children() -> bool:
    ELEMENT.append(ET.Element("b"))
    return len(ELEMENT) > 100


def of_an_attribute() -> bool:
    ELEMENT.set("n", str(int(ELEMENT.get("n", "0")) + 1))
    return int(ELEMENT.get("n", "0")) > 100


def of_a_config() -> bool:
    CONFIG["a"]["n"] = str(int(CONFIG["a"]["n"]) + 1)
    return int(CONFIG["a"]["n"]) > 100


def of_a_message() -> bool:
    MESSAGE["a"] = "b"
    return len(MESSAGE) > 100


def of_a_handler() -> bool:
    HANDLER.buffer.append(1)  # type: ignore[arg-type]  # what it holds is nothing to the test
    return len(HANDLER.buffer) > 100


def of_an_optimizer() -> bool:
    OPTIMIZER.param_groups[0]["lr"] += 1
    return bool(OPTIMIZER.param_groups[0]["lr"] > 100)


def of_a_context() -> bool:
    decimal.getcontext().prec += 1
    return decimal.getcontext().prec > 128


def of_an_array() -> bool:
    NUMBERS[0] += 1
    return NUMBERS[0] > 300_000


def of_real_numbers() -> bool:
    REALS[0] += 1
    return REALS[0] > 300_000


def of_bytes() -> bool:
    BYTES[0] = (BYTES[0] + 1) % 256
    return BYTES[0] == 200


def of_growing_bytes() -> bool:
    GROWING.append(1)
    return len(GROWING) > 20_000


def shown() -> list[Any]:
    """What all of them hold."""
    held: list[Any] = [TABLE.to_dict(), SERIES.tolist(), ET.tostring(ELEMENT), CONFIG["a"]["n"], len(MESSAGE)]
    held += [len(HANDLER.buffer), OPTIMIZER.param_groups[0]["lr"], decimal.getcontext().prec]
    return [*held, NUMBERS.tolist(), REALS.tolist(), bytes(BYTES), bytes(GROWING)]


COUNTING = {
    "a cell of a table": (of_a_cell, "a DataFrame"),
    "a column of a table": (of_a_column, "a DataFrame"),
    "a series": (of_a_series, "a Series"),
    "children of an element": (of_children, "an Element"),
    "an attribute of an element": (of_an_attribute, "an Element"),
    "a config": (of_a_config, "a global"),
    "a message": (of_a_message, "a global"),
    "the buffer of a handler": (of_a_handler, "a global"),
    "a group of an optimizer": (of_an_optimizer, "a global"),
    "the context of decimal": (of_a_context, "the context of decimal"),
    "an array": (of_an_array, "an array"),
    "an array of floats": (of_real_numbers, "an array"),
    "a bytearray": (of_bytes, "a bytearray"),
    "a bytearray that grows": (of_growing_bytes, "a bytearray"),
}


@pytest.mark.parametrize("name", COUNTING)
def test_a_function_that_counts_in_it_is_refused_and_it_is_given_back(name) -> None:
    counting: Callable[[], bool] = COUNTING[name][0]
    before = shown()
    with pytest.raises(tracepack.RecordError, match=f"the function keeps state in {COUNTING[name][1]}"):
        tracepack.trace(lambda xs: -1 if counting() else len(xs), [1, 2])
    assert shown() == before


PRICES = pandas.read_csv(io.StringIO("id,price\n1,1.5\n2,2.5\n"))
NAMES = ET.fromstring("<a><b n='x'/><b n='yy'/></a>")


def priced(x: torch.Tensor) -> torch.Tensor:
    return x * float(PRICES["price"].mean()) + PRICES.values.sum() + PRICES.loc[1, "price"]


def named(x: torch.Tensor) -> torch.Tensor:
    return x * len(NAMES) + len([each.get("n") for each in NAMES])


@pytest.mark.parametrize("function", [priced, named])
def test_what_is_only_read_is_a_constant(function) -> None:
    mod = tracepack.trace(function, torch.ones(2))
    x = torch.tensor([1.0, -2.0, 3.0])
    torch.testing.assert_close(mod(x), function(x), rtol=0, atol=0)
