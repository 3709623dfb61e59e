"""What no type tells of arguments: the order of keywords, an int for a float. A call is held to it where it counts."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import tracepack

X, ONES = torch.rand(2), torch.ones(2)


def saved(process: Any, *args: Any, **kwargs: Any) -> Any:
    file = io.BytesIO()
    tracepack.trace(process, *args, **kwargs).save(file)
    return tracepack.load(file.getvalue())


def test_the_order_of_keywords_on_which_the_answer_hangs() -> None:
    mod = saved(lambda x, **more: [v * x for v in more.values()], X, a=ONES, b=ONES * 2)
    for _ in range(2):  # the second call takes the fast path
        assert torch.equal(mod(X, a=ONES, b=ONES * 3)[1], X * 3)
        with pytest.raises(
            tracepack.SignatureError, match=r"in another order.*got \('b', 'a'\); expected \('a', 'b'\)"
        ):
            mod(X, b=ONES, a=ONES)
        with pytest.raises(tracepack.SignatureError, match="in another order"):
            mod.run({"b": ONES, "x": X, "a": ONES})


def test_keywords_that_are_looked_up_come_in_any_order() -> None:
    mod = saved(lambda x, **more: more["a"] * x - more["b"], X, a=ONES, b=ONES * 2)
    assert torch.equal(mod(X, b=ONES, a=ONES * 3), 3 * X - 1)


def test_an_int_for_a_float_where_the_answer_hangs_on_it() -> None:
    mod = saved(lambda x, n: torch.full((2,), n) + x, X, 2.5)
    assert torch.equal(mod(X, 3.0), X + 3)
    whole = saved(lambda x, n: torch.full((2,), n), X, 2.5)
    with pytest.raises(
        tracepack.SignatureError, match="input 'n': an int gives another answer than a float; got 3; expected float"
    ):
        whole(X, 3)
    assert whole(X, 3.0).dtype == torch.float32


@pytest.mark.parametrize("process", [lambda x, n: x * n, lambda x, n: n // 2, lambda x, n: x.clamp(max=n)])
def test_an_int_is_taken_for_a_float_where_it_gives_the_same(process: Any) -> None:
    got, wanted = saved(process, X, 2.5)(X, 3), process(X, 3)
    assert type(got) is type(wanted)
    assert torch.equal(torch.as_tensor(got), torch.as_tensor(wanted))
