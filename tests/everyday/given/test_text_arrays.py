"""Constant arrays of texts, such as `classes_` of an estimator, asked by an array of places or of truths."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

torch.manual_seed(0)
NAMES = np.array(["cat", "dog", "fox", "owl", "bee"])
OBJECTS = np.array(["cat", "dog", "fox", "owl", "bee"], dtype=object)
ESTIMATOR = SimpleNamespace(classes_=NAMES)
GIVEN = [[torch.rand(3, 5)], [[torch.rand(n, 5)] for n in (1, 4, 7)]]


def _named(x):
    found = []
    for row in x:
        name = NAMES[row.argmax()]
        found.append(f"{name}: {row.max():.2f}")
    return found


CASES = {
    "tolist": Case(lambda x: NAMES[x.numpy().argmax(1)].tolist(), *GIVEN),
    "list": Case(lambda x: [*map(str, list(NAMES[x.numpy().argmax(1)]))], *GIVEN),
    "str of each": Case(lambda x: [str(name) for name in NAMES[x.numpy().argmax(1)]], *GIVEN),
    "a method of each": Case(lambda x: [name.upper() for name in NAMES[x.numpy().argmax(1)]], *GIVEN),
    "join": Case(lambda x: ", ".join(NAMES[x.numpy().argmax(1)]), *GIVEN),
    "an attribute": Case(lambda x: ESTIMATOR.classes_[x.numpy().argmax(1)].tolist(), *GIVEN),
    "take": Case(lambda x: np.take(NAMES, x.numpy().argmax(1)).tolist(), *GIVEN),
    "a mask": Case(lambda x: NAMES[x.numpy()[0] > 0.5].tolist(), *GIVEN),
    "objects": Case(lambda x: OBJECTS[x.numpy().argmax(1)].tolist(), *GIVEN),
    "the best two": Case(lambda x: NAMES[x.numpy()[0].argsort()[::-1][:2]].tolist(), *GIVEN),
    "places from the end": Case(lambda x: NAMES[-x.numpy().argmax(1)].tolist(), *GIVEN),
    "a slice of them": Case(lambda x: NAMES[x.numpy().argmax(1)][:2].tolist(), *GIVEN),
    "one of them": Case(lambda x: NAMES[x.numpy().argmax(1)][0].upper(), *GIVEN),
    "their number": Case(lambda x: len(NAMES[x.numpy().argmax(1)]), *GIVEN),
    "one is in them": Case(lambda x: "cat" in NAMES[x.numpy().argmax(1)], *GIVEN),
    "with scores": Case(
        lambda x: [f"{n}={p:.2f}" for n, p in zip(NAMES[x.numpy().argmax(1)], x.numpy().max(1))],  # noqa: B905  # as users write it
        *GIVEN,
    ),
    "one, by a tensor": Case(lambda x: NAMES[x[0].argmax()].upper(), *GIVEN),
    "one, by an array": Case(lambda x: OBJECTS[np.asarray(x[0].argmax())] + "s", *GIVEN),
    "one, by a place from the end": Case(lambda x: str(NAMES[-x[0].argmax()]), *GIVEN),
    "one of each row, by tensors": Case(lambda x: [str(NAMES[i]) for i in x.argmax(-1)], *GIVEN),
    "one of each row, by arrays": Case(lambda x: [str(NAMES[i.numpy()]) for i in x.argmax(-1)], *GIVEN),
    "one of each row, in a loop": Case(_named, *GIVEN),
    "lookup by an array": Case(lambda x: tracepack.lookup(NAMES, x.numpy().argmax(1)), *GIVEN),
    "lookup by a table": Case(lambda x: tracepack.lookup(NAMES, x.numpy().argsort(1)), *GIVEN),
    "numbers by an array": Case(lambda x: tracepack.lookup([1.5, 2.5, 0.0, 4.0, 3.0], x.numpy().argmax(1)), *GIVEN),
}


@pytest.mark.parametrize("name", CASES)
def test_texts_of_an_array(name) -> None:
    check(CASES[name])


def test_a_mask_of_another_length_is_an_error_as_in_numpy() -> None:
    mod = loaded(lambda x: NAMES[x.numpy() > 0.5].tolist(), torch.rand(5))
    for size in (4, 6):
        with pytest.raises(tracepack.GuardError, match="a mask has another length than the array of texts"):
            mod(torch.zeros(size))


REFUSED = {
    "as a result": (lambda x: NAMES[x.numpy().argmax(1)], "returns an array of texts.*Return names.tolist()"),
    "compared": (lambda x: (NAMES[x.numpy().argmax(1)] == "cat").sum(), "more is asked of an array of texts"),
    "as a text": (lambda x: f"{NAMES[x.numpy().argmax(1)]}", r"Go on with a list of them: names.tolist\(\)"),
    "a method": (lambda x: NAMES[x.numpy().argmax(1)].astype("U2").tolist(), "more is asked of an array of texts"),
    "a branch": (lambda x: 1 if NAMES[x.numpy().argmax(1)] else 0, "more is asked of an array of texts"),
    "by a tensor": (lambda x: NAMES[x.argmax(1)].tolist(), r"Write texts\[ids.numpy\(\)\]"),
    "by a tensor of two dimensions": (lambda x: NAMES[x.argsort(1)].tolist(), r"Write tracepack.lookup\(texts, ids\)"),
    "of two dimensions": (lambda x: NAMES[x.numpy().argsort(1)].tolist(), r"Write tracepack.lookup\(texts, ids\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_array_of_texts_has_not_is_refused(name) -> None:
    process, words = REFUSED[name]
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, torch.rand(1, 5))
