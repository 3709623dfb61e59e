"""Numbers and texts that may be None, as data decides: chosen, asked for, and given as results."""

from __future__ import annotations

import json
import warnings

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check, loaded

HIGH, LOW, HIGHEST = (torch.tensor(values) for values in ([0.9, 0.8], [0.1, 0.2, 0.3], [0.95, 0.99]))
WORDS = [["a", "bb"], ["a", "b", "c"], ["aa", "bbb", "c", "dd"], ["c"]]


def label(score):
    return "hit" if score > 0.5 else None


def graded(x):
    score = x.mean().item()
    if score > 0.9:
        return "A"
    return None


def kept(x):
    found = None
    if x.mean().item() > 0.5:
        found = "hit"
    return found


def asked(x):
    score = x.mean().item()
    found, rest = label(score), None if score > 0.9 else 2
    other = None if score > 0.9 else "low"
    return {
        "none": (found is None, found is not None, not found),
        "or": found or "nothing",
        "equal": (found == "hit", found != "hit", found == rest, found in ("hit", "x")),
        "text": (f"<{found}>", f"{found!r}", "%s" % found, str(rest)),  # noqa: UP031  # the form is what is tested
        "kind": (isinstance(found, str), isinstance(rest, (int, float)), isinstance(rest, str)),
        "held": [found, rest, "x"],
        "json": json.dumps({"label": found}),
        "both": (other or found, other and found),
    }


def chosen(x):
    found = label(x.mean().item())
    scale = 2.0 if x.mean().item() > 0.9 else None
    scaled = tracepack.cond(scale is None, lambda: x, lambda: x * scale)
    return tracepack.cond(found is None, lambda: "nothing", lambda: found.upper() + "!"), scaled


def by_cond(x):
    found = tracepack.cond(x.mean() > 0.5, lambda: {"label": "hit", "n": None}, lambda: {"label": None, "n": 1})
    alone = tracepack.cond(x.mean() > 0.5, lambda: None, lambda: x.mean().item())
    return found, found["label"] or "none", found["n"] is None, alone


def tag(word):
    return word if len(word) > 1 else None


def of_list(words):
    tags = [tag(word) for word in words]
    return {
        "tags": tags,
        "length": len(tags),
        "or": [each or "-" for each in tags],
        "none": [each is None for each in tags],
        "others": [each for each in tags if each is not None],
        "sum": sum(each is None for each in tags),
        "slices": (tags[1:], tags[::-1], tags + ["x"], ["y"] + tags, tags[0]),  # noqa: RUF005  # sums are tested
        "again": [each is None for each in tags[1:]],
        "sizes": [n * 2 if n is not None else 0 for n in [len(word) if len(word) > 1 else None for word in words]],
        "records": [{"word": word, "tag": "long" if len(word) > 1 else None} for word in words],
    }


def looped(words):
    found = []
    for word in words:
        found.append({"word": word, "pair": (len(word), tag(word))})  # noqa: PERF401  # the form is what is tested
    out = []
    for word in words:
        if len(word) > 1:
            out.append(word)
        else:
            out.append(None)
    return found, out, tracepack.map(tag, words)


def first(words):
    word = next((word for word in words if len(word) > 1), None)
    place = next((place for place, word in enumerate(words) if len(word) > 1), None)
    return word, word or "none", f"{place}", place, isinstance(word, str)


SCORES = {"a helper": lambda x: label(x.mean().item()), "return": graded, "a variable": kept, "what asks": asked}
SCORES |= {"another choice": chosen, "cond": by_cond, "a number": lambda x: 1.5 if x.mean() > 0.5 else None}
LISTS = {"a list": of_list, "a loop": looped}


@pytest.mark.parametrize("example", [HIGH, LOW], ids=["a text", "None"])
@pytest.mark.parametrize("name", SCORES)
def test_a_choice_with_none_goes_both_ways(name, example) -> None:
    check(Case(SCORES[name], [example], [[HIGH], [LOW], [HIGHEST]]))


@pytest.mark.parametrize("example", WORDS[:3], ids=["both", "None", "mixed"])
@pytest.mark.parametrize("name", LISTS)
def test_lists_with_none_have_any_length(name, example) -> None:
    check(Case(LISTS[name], [example], [[words] for words in WORDS]))


@pytest.mark.parametrize("example", [WORDS[0], WORDS[2]], ids=["second", "first"])
def test_the_first_item_or_none(example) -> None:
    check(Case(first, [example], [[words] for words in WORDS]))


def test_a_run_checks_that_what_is_asked_for_more_is_not_none() -> None:
    mod = loaded(lambda x: label(x.mean().item()).upper(), HIGH)
    assert mod(HIGHEST) == "HIT"
    with pytest.raises(tracepack.GuardError, match="a value is None, and the function asks it for what None has not"):
        mod(LOW)


@pytest.mark.parametrize(
    "process",
    [
        lambda words: [each["tag"] for each in [{"tag": tag(word)} for word in words]],
        lambda words: sorted([tag(word) for word in words], key=str),
        lambda words: list(zip(words, [tag(word) for word in words], strict=True)),
        lambda words: {word: tag(word) for word in words},
        lambda words: len({tag(word) for word in words}),
    ],
    ids=["parts", "sorted", "zip", "dict", "set"],
)
def test_other_uses_of_such_lists_keep_their_length(process) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the length and the texts are fixed
        mod = loaded(process, ["a", "bb"])
    assert mod(["a", "bb"]) == process(["a", "bb"])
    with pytest.raises(tracepack.TracepackError):
        mod(["a", "bb", "c"])


def test_a_tensor_beside_none_is_recorded() -> None:
    check(Case(lambda x: tracepack.cond(x.mean() > 0.5, lambda: x, lambda: None), [HIGH], [[LOW], [HIGHEST]]))


def test_a_call_beside_none_is_recorded_as_it_is_written() -> None:
    check(Case(lambda x: x.max().item() if x.mean().item() > 0.5 else None, [HIGH], [[LOW], [HIGHEST]]))
    process = lambda x: tracepack.cond(x.mean().item() > 0.5, lambda: x.max().item(), lambda: None)  # noqa: E731  # traced as it is
    check(Case(process, [HIGH], [[LOW], [HIGHEST]]))
