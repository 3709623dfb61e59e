"""Matches of patterns for each item of a list: of code that asks whether there is one, and of code that needs it."""

from __future__ import annotations

import re
import textwrap
from collections import Counter

import pytest

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.forms.test_forms import made


def by_name(log):
    counts, words = Counter(), 0
    for line in log.split("\n"):
        match = re.match(r"(\w+): (.*)", line)
        counts[match.group(1)] += 1
        words += len(match.group(2).split())
    return {"by": dict(counts), "words": words}


def named(lines):
    names = []
    for line in lines:
        match = re.match(r"(\w+):", line)
        names.append(match[1] if match else "none")
    return names


LINES = (["ann: hi there", "bob: yo"],), [(["x: one"],), ([],), (["q: b", "z: c d", "q: e"],)]
CASES = {
    "a group": Case(lambda lines: [re.match(r"(\w+): (.*)", line).group(2) for line in lines], *LINES),
    "a subscript": Case(lambda lines: [re.fullmatch(r"(\w+): .*", line)[1] for line in lines], *LINES),
    "counted": Case(by_name, ("ann: hi there\nbob: yo",), [("x: one",), ("q: b\nz: c d\nq: e",)]),
    "asked": Case(named, (["ann: hi", "nobody"],), [(["nobody"],), (["x: y"] * 3,)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("error")
def test_matches_in_loops(name) -> None:
    check(CASES[name])


def test_an_item_without_the_match_that_the_code_goes_on_by_is_an_error_of_the_run() -> None:
    mod = loaded(*(CASES["a group"].process, *CASES["a group"].example))
    with pytest.raises(tracepack.TracepackError, match="the pattern does not match; got no match; expected a match"):
        mod(["ann: hi", "nobody"])


FORMS = {
    "a condition that makes the match": (
        """
        if (m := re.search("=([a-z])", text)) and m.group(1) != "x":
            return m.group(1)
        return "none"
        """,
        "return next((m.group(1) for m in [*re.finditer('=([a-z])', text)][:1] if m.group(1) != 'x'), 'none')",
    ),
    "a match of a variable": (
        """
        m = re.match("([a-z])=", text)
        return m[1] if m else "none"
        """,
        "return next((m[1] for m in [*re.finditer('([a-z])=', text)][:1] if m.start() == 0), 'none')",
    ),
    "no match": (
        """
        m = re.search("=([a-z])", text)
        if m is None:
            return "none"
        return m[1]
        """,
        "return next((m[1] for m in [*re.finditer('=([a-z])', text)][:1]), 'none')",
    ),
    "a variable that is set": (
        """
        kind = "none"
        if (m := re.search("=([a-z])", text)) is not None:
            kind = m[1].upper()
        return kind
        """,
        "kind = next((m[1].upper() for m in [*re.finditer('=([a-z])', text)][:1]), kind)",
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_form_that_is_shown_for_a_match_goes_both_ways(name, tmp_path) -> None:
    body, form = FORMS[name]
    process = made(
        f"import re\ndef process(text):\n{textwrap.indent(textwrap.dedent(body), '    ')}", tmp_path / "plain.py"
    )
    with pytest.warns(UserWarning, match=rf"whether there is a match\. {re.escape(form)}.* keeps both ways"):
        tracepack.trace(process, "b=c")
    lines = [form] if form.startswith("return") else ["kind = 'none'", form, "return kind"]
    written = "".join(f"    {line}\n" for line in lines)
    mod = loaded(made(f"import re\ndef process(text):\n{written}", tmp_path / "written.py"), "b=c")
    for text in ("b=c", "b=x", "=x b=c", "", "q=r=s", "-=z"):
        assert mod(text) == process(text)
