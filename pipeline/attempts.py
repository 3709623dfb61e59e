"""Several recordings of one function, held against each other.

One that is given up has called the function all the same. What the function keeps where nobody looks, such as a lock
that is taken or an attribute of an object of torch, is then another thing for the next recording, which may see nothing
but that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .examples import Examples
from .recheck.answers import difference
from .recheck.vary import clones, trials

MOST_TRIALS = 6


def agree(
    earlier: Sequence[Callable[..., Any]], found: Callable[..., Any], examples: Examples, plain: list[Any]
) -> bool:
    """Whether pipelines answer alike, on the example and on other data, as far as they take it."""
    others = [leaves for leaves, _ in zip(trials(examples.leaves, plain), range(MOST_TRIALS), strict=False)]
    for leaves in [examples.leaves, *others]:
        wanted = _answer(found, examples, leaves)
        for other in earlier:
            answer = _answer(other, examples, leaves)
            if wanted and answer and difference(wanted[0], answer[0], exact=False):
                return False
    return True


def _answer(pipeline: Callable[..., Any], examples: Examples, leaves: Sequence[Any]) -> list[Any]:
    """What a pipeline answers, in a list; an empty one where it does not take the data."""
    try:
        args, kwargs = examples.call(clones(leaves))
        return [pipeline(*args, **kwargs)]
    except Exception:
        return []
