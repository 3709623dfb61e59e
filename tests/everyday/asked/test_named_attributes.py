"""`getattr` and `hasattr` with a name that a text decides are refused with a form that runs; dtypes by a text, too."""

from __future__ import annotations

import pytest
import torch

import tracepack
from tests.everyday.case import Case, check


class TwoSides(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)


NET = TwoSides().eval()
X = torch.rand(3, 2)
NAMED = "{} is asked for a name that is decided at run time. {}"
TABLE = "Write a table of them, with an entry for each name, in place of {}: {}."


def converted(x, kind):
    return x.to(getattr(torch, kind))


def by_branch(x, kind):
    return x.to(torch.float16) if kind == "float16" else x.to(torch.float32)


CASES = {
    "a method": (
        lambda x, mode: getattr(x, mode)(0), "sum", TABLE.format("getattr(x, mode)", "{'sum': x.sum, …}[mode]"),
        lambda x, mode: {"sum": x.sum, "mean": x.mean}[mode](0), "mean",
    ),
    "a function": (
        lambda x, act: getattr(torch, act)(x), "relu",
        TABLE.format("getattr(torch, act)", "{'relu': torch.relu, …}[act]"),
        lambda x, act: {"relu": torch.relu, "tanh": torch.tanh}[act](x), "tanh",
    ),
    "a default": (
        lambda x, act: getattr(torch, act, torch.relu)(x), "tanh",
        TABLE.format("getattr(torch, act, torch.relu)", "{'tanh': torch.tanh, …}.get(act, torch.relu)"),
        lambda x, act: {"tanh": torch.tanh, "exp": torch.exp}.get(act, torch.relu)(x), "none",
    ),
    "a model": (
        lambda x, side: getattr(NET, side)(x), "left",
        TABLE.format("getattr(NET, side)", "{'left': NET.left, …}[side]"),
        lambda x, side: {"left": NET.left, "right": NET.right}[side](x), "right",
    ),
    "a method of a text": (
        lambda s, how: getattr(s, how)(), "upper",
        TABLE.format("getattr(s, how)", "{'upper': str.upper, …}[how], called with s"),
        lambda s, how: {"upper": str.upper, "lower": str.lower}[how](s), "lower",
    ),
    "whether there is one": (
        lambda x, name: hasattr(x, name), "sum", "Write name in ('sum', …), with all names that it has.",
        lambda x, name: name in ("sum", "mean"), "nope",
    ),
    "a dtype": (
        converted, "float16",
        "Write the names out, in a function that is written with def: x.to(torch.float16) if kind == 'float16' else "
        "x.to(torch.float32).",
        by_branch, "float32",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CASES)
def test_an_attribute_by_a_text_shows_a_form_that_runs(name) -> None:
    process, text, fix, form, other = CASES[name]
    given = "Ab" if name == "a method of a text" else X
    with pytest.raises(tracepack.RecordError) as error:
        tracepack.trace(process, given, text)
    asked = "hasattr" if name == "whether there is one" else "getattr"
    assert NAMED.format(asked, fix) in str(error.value)
    check(Case(form, [given, text], [[given, other]]))


def test_a_table_of_dtypes_shows_a_form_that_runs() -> None:
    with pytest.warns(UserWarning, match="torch.dtype") as lines:
        tracepack.trace(lambda x, k: x.to({"half": torch.float16, "full": torch.float32}[k]), X, "half")
    assert str(lines[0].message).endswith(
        "a text is fixed to 'half', because it was used as a key; a table whose entries are torch.dtype is asked by a "
        "traced key. Write the names out, in a function that is written with def: x.to(torch.float64) if name == "
        "'float64' else x.to(torch.float32)."
    )


def test_plain_names_are_asked_as_before() -> None:
    check(Case(lambda x: (getattr(x, "sum")(0), hasattr(x, "mean")), [X], [[X[:1]]]))  # noqa: B009  # the form that is tried
