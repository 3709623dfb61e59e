"""Functions that draw random numbers: what trace shows in their place runs, in loops for any length."""

from __future__ import annotations

import random
import re
import warnings

import numpy as np
import pytest
import torch

import tracepack

SOURCE = torch.Generator()
XS = [torch.zeros(3), torch.ones(3)]


def noisy(xs):
    return [x + torch.randn(3, generator=SOURCE) for x in xs]


def noisy_form(xs):
    noise = torch.randn(len(xs), 3, generator=SOURCE)
    return [x + noise[i] for i, x in enumerate(xs)]


def twice(xs):
    return [x * torch.rand(1, generator=SOURCE) + torch.randint(0, 5, (3,), generator=SOURCE) for x in xs]


def twice_form(xs):
    noise, noise_2 = torch.rand(len(xs), 1, generator=SOURCE), torch.randint(0, 5, (len(xs), 3), generator=SOURCE)
    return [x * noise[i] + noise_2[i] for i, x in enumerate(xs)]


def shaped(xs):
    return [x + torch.randn(x.shape, generator=SOURCE) for x in xs]


def shaped_form(xs):
    noise = torch.randn(torch.stack(xs).shape, generator=SOURCE)
    return [x + noise[i] for i, x in enumerate(xs)]


def appended(xs):
    out = []
    for x in xs:
        out.append(x + torch.randn(3, generator=SOURCE))  # noqa: PERF401  # it is the case
    return out


def appended_form(xs):
    out = []
    noise = torch.randn(len(xs), 3, generator=SOURCE)
    for i, x in enumerate(xs):
        out.append(x + noise[i])
    return out


FORMS = {
    "a draw": (noisy, noisy_form, "noise = torch.randn(len(xs), 3, generator=SOURCE); then [x + noise[i] for i"),
    "two draws": (twice, twice_form, "noise, noise_2 = torch.rand(len(xs), 1, generator=SOURCE), torch.randint(0, 5, ("
                  "len(xs), 3), generator=SOURCE); then [x * noise[i] + noise_2[i] for i, x in enumerate(xs)]"),
    "a shape": (shaped, shaped_form, "noise = torch.randn(torch.stack(xs).shape, generator=SOURCE); then [x + noise"),
    "a plain loop": (appended, appended_form, "noise = torch.randn(len(xs), 3, generator=SOURCE); then `for i, x in "),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_draws_in_a_loop_stand_before_it(name: str) -> None:
    process, form, words = FORMS[name]
    with pytest.warns(UserWarning, match="the length of 'xs' is fixed to 2, .*" + re.escape(words)):
        tracepack.trace(process, XS)
    mod = tracepack.trace(form, XS)
    for count in (1, 2, 5):
        xs = [torch.full((3,), float(i)) for i in range(count)]
        mod.seed(count)
        SOURCE.manual_seed(count)
        for got, wanted in zip(mod(xs), form(xs), strict=True):
            torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(
    ("process", "form"),
    [
        (
            lambda xs: [x + torch.randn(3) for x in xs],
            "noise = torch.randn(len(xs), 3, generator=generator); then [x + no",
        ),
        (
            lambda xs: [x + torch.rand_like(x) for x in xs],
            "noise = torch.rand(torch.stack(xs).shape, generator=generator)",
        ),
    ],
)
def test_draws_of_the_global_generator_in_a_loop_have_the_form_too(process, form) -> None:
    with pytest.raises(
        tracepack.RecordError, match=re.escape(form) + ".*with generator = torch.Generator.. before the"
    ):
        tracepack.trace(process, XS)


def chosen(xs):
    return [x + random.choice(["a", "b"]) for x in xs]


def chosen_form(xs, choice_of_each):
    return [x + choice for x, choice in zip(xs, choice_of_each, strict=True)]


def test_python_draws_for_each_item_before() -> None:
    words = (
        "Do [random.choice(['a', 'b']) for x in xs] before, and pass it as an argument: def chosen(xs, choice_of_each)"
    )
    with pytest.raises(tracepack.RecordError, match=re.escape(words)):
        tracepack.trace(chosen, ["q", "r", "s", "t", "u", "v", "w", "x"])
    mod = tracepack.trace(chosen_form, ["q", "r"], ["a", "b"])
    assert mod(["s", "t", "u"], ["b", "a", "b"]) == ["sb", "ta", "ub"]


def test_numpy_draws_before() -> None:
    with pytest.raises(tracepack.RecordError, match=re.escape("Do np.random.rand() before, and pass what it gives")):
        tracepack.trace(lambda x: x + np.random.rand(), torch.zeros(3))


def shuffled(xs):
    random.shuffle(xs)
    return xs


def shuffled_form(xs):
    xs = [xs[i] for i in torch.randperm(len(xs), generator=SOURCE).tolist()]
    return xs


def test_a_list_is_shuffled_by_a_permutation() -> None:
    words = "write xs = [xs[i] for i in torch.randperm(len(xs), generator=generator).tolist()], with generator = torch"
    with pytest.raises(tracepack.RecordError, match=re.escape(words)):
        tracepack.trace(shuffled, ["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(shuffled_form, ["a", "b", "c"])
    assert sorted(mod(["q", "s", "r", "t", "u"])) == ["q", "r", "s", "t", "u"]
