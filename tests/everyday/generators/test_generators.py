"""Generator functions give any number of items, and each item when it is asked for, where that could be seen."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import tracepack
from tests.campaigns.check import difference
from tests.everyday.case import check, loaded

from .functions import CASES, MODEL, ROWS, TEXTS
from .seen import SEEN, drawn


@pytest.mark.parametrize("name", CASES)
def test_items_of_a_generator_are_of_any_number(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.filterwarnings("ignore:.*is fixed to:UserWarning")
@pytest.mark.filterwarnings("ignore:.*is fixed\\.:UserWarning")
def test_a_generator_whose_order_shows_answers_as_it_does_or_not_at_all(name: str) -> None:
    process, example = SEEN[name]
    mod = loaded(process, *example)
    for given in [example, *(TEXTS if type(example[0]) is list else ROWS)]:
        wanted = process(*copy.deepcopy(given))
        try:
            found = mod(*copy.deepcopy(given))
        except tracepack.TracepackError:
            assert given is not example
            continue
        assert difference(wanted, found) == "", f"{given}: {found!r} instead of {wanted!r}"


def test_a_generator_that_stays_one_is_named_with_the_form_that_keeps_its_items_free() -> None:
    generator = torch.Generator()

    def process(x: torch.Tensor) -> list[float]:
        return [row.sum().item() for row in drawn(x, generator)]

    with pytest.warns(UserWarning, match="A helper that returns the list of what drawn yields keeps it free"):
        tracepack.trace(process, ROWS[3][0])


LOADERS = {
    "of a tensor": (
        lambda x: [MODEL(batch) for batch in DataLoader(x, batch_size=2)],
        r"Go through the items themselves: x\[i : i \+ 2\] for i in range\(0, len\(x\), 2\)\.",
    ),
    "of two": (
        lambda x, y: [MODEL(a) + b for a, b in DataLoader(TensorDataset(x, y), batch_size=4, drop_last=True)],
        r"themselves: x\[i : i \+ 4\], y\[i : i \+ 4\] for i in range\(0, len\(x\) - 3, 4\)\.",
    ),
    "that shuffles": (
        lambda x: [MODEL(batch) for (batch,) in DataLoader(TensorDataset(x), shuffle=True)],
        r"of x\[order\], with order = torch.randperm\(len\(x\), generator=generator\) and generator = torch.Generator",
    ),
    "of texts": (
        lambda texts: list(DataLoader(texts, batch_size=2)),
        r"texts\[i : i \+ 2\] for i in range\(0, len\(texts\), 2\)\.",
    ),
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_data_loader_is_refused_with_the_form_that_is_recorded(name: str) -> None:
    process, form = LOADERS[name]
    examples = {"of two": (ROWS[4][0], torch.rand(7, 3)), "of texts": TEXTS[3]}.get(name, ROWS[3])
    with pytest.raises(tracepack.RecordError, match="a DataLoader draws a number for its workers") as caught:
        tracepack.trace(process, *examples)
    assert caught.match(form)


def test_the_form_for_a_data_loader_is_recorded() -> None:
    def process(x: torch.Tensor) -> list[int]:
        return [MODEL(x[i : i + 2]).shape[0] for i in range(0, len(x), 2)]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = loaded(process, *ROWS[3])
    assert [mod(*given) for given in ROWS] == [process(*given) for given in ROWS]
