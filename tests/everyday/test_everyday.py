"""The functions that people write on the first day: the file answers as the function, at other lengths and values."""

from __future__ import annotations

import pytest

from tests.everyday import choices, idioms, labels, lists, texts
from tests.everyday.case import check


@pytest.mark.parametrize("name", labels.CASES)
def test_labels_and_look_ups(name) -> None:
    check(labels.CASES[name])


@pytest.mark.parametrize("name", texts.CASES)
def test_texts_and_lists_of_texts(name) -> None:
    check(texts.CASES[name])


@pytest.mark.parametrize("name", idioms.CASES)
def test_idioms(name) -> None:
    check(idioms.CASES[name])


@pytest.mark.parametrize("name", lists.CASES)
def test_lists_of_any_length(name) -> None:
    check(lists.CASES[name])


@pytest.mark.parametrize("name", choices.CASES)
def test_choices_among_constants(name) -> None:
    check(choices.CASES[name])
