"""What cannot be recorded is refused with a form that can be: for loops whose state data decides, and for libraries."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch

import tracepack
from tests.everyday.labels import LABELS, SCORES


def rounds(x):
    order = x.argsort()
    while len(order) > 0:
        order = order[1:][x[order[1:]] > 0.5]
    return order


def decoded(x):
    runs, run = [], None
    for label in [LABELS[i] for i in x.argsort().tolist()]:
        if label.startswith("c"):
            run = [label]
            runs.append(run)
        elif run is not None:
            run.append(label)
    return runs


REFUSED = {
    "a greedy loop": (
        lambda x: [i for i in range(5) if all(x[i] > x[j] for j in range(i))],
        "for a loop whose rounds hang on each other tracepack.while_loop, as docs/guide.md does for boxes",
    ),
    "rounds by data": (
        rounds,
        r"Use tracepack.while_loop\(cond_fn, body_fn, \*carried\), as docs/guide.md does for boxes",
    ),
    "a state by data": (
        decoded,
        r"re.finditer over a text with one letter for each \(docs/guide.md, Runs of tags\)",
    ),
    "a number of bytes": (
        lambda x: int.from_bytes(f"{x.argmax().item()}".encode(), "little"),
        r"Use torch.frombuffer\(bytearray\(data\), dtype=torch.int32\).item\(\), with the dtype",
    ),
    "a generator of numpy": (
        lambda x: np.random.default_rng(x.argmax().item()).normal(),
        r"Use generator = torch.Generator\(\).manual_seed\(seed\), and torch.randn\(n, generator=",
    ),
    "a fraction": (
        lambda x: str(Fraction(x.argmax().item(), 3)),
        "Write numerator / denominator, which is recorded",
    ),
    "an array of texts": (
        lambda x: np.array(LABELS)[x.argsort().numpy()],
        r"Write a list: tracepack.lookup\(texts, tensor\)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_shows_a_form_that_is_recorded(name) -> None:
    process, words = REFUSED[name]
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, SCORES)


FORMS = {
    "a number of bytes": (
        lambda data: torch.frombuffer(bytearray(data[:4]), dtype=torch.int32).item(),
        lambda data: int.from_bytes(data[:4], "little"),
        [b"abcdef"],
        [b"\x01\x02\x03\x7f\xff"],
    ),
    "a fraction": (lambda n, d: n / d, lambda n, d: float(Fraction(n, d)), [1, 3], [4, 6]),
    "a greatest common divisor": (
        lambda n, d: torch.gcd(torch.tensor(n), torch.tensor(d)).item(),
        np.gcd,
        [1, 3],
        [4, 6],
    ),
    "an array of texts": (
        lambda ids: tracepack.lookup(np.array(LABELS), ids),
        lambda ids: np.array(LABELS)[ids.numpy()].tolist(),
        [torch.tensor([0, 2])],
        [torch.tensor([1, 1, 0])],
    ),
    "a generator": (
        lambda seed: torch.randn(3, generator=torch.Generator().manual_seed(seed)).tolist(),
        lambda seed: torch.randn(3, generator=torch.Generator().manual_seed(seed)).tolist(),
        [3],
        [8],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_that_is_shown_answers_as_the_refused_one_does(name) -> None:
    process, plain, example, other = FORMS[name]
    mod = tracepack.trace(process, *example)
    assert (mod(*example), mod(*other)) == (plain(*example), plain(*other))


def test_a_number_that_is_fixed_is_said_with_the_form_that_keeps_it_free() -> None:
    with pytest.warns(UserWarning, match="is fixed to 1, because .*Write numerator / denominator, which is recorded$"):
        tracepack.trace(lambda n: float(Fraction(n, 3)), 1)


def test_a_condition_of_a_loop_may_ask_for_the_length_of_a_tensor_from_outside() -> None:
    def process(x):
        return tracepack.while_loop(lambda i, total: i < len(x), lambda i, total: (i + 1, total + x[i]), 0, x[0] * 0)[1]

    mod = tracepack.trace(process, torch.ones(3))
    assert mod(torch.arange(6.0)) == 15
