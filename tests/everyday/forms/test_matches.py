"""Matches of patterns for each item of a list: of code that asks whether there is one, and of code that needs it."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections import Counter

import pytest

import tracepack
from tests.everyday.case import Case, check, loaded
from tests.everyday.forms.test_forms import made
from tests.everyday.texts import asserted


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


def raised(lines):
    words = 0
    for line in lines:
        match = re.match(r"(\w+): (.*)", line)
        if match is None:
            raise ValueError(line)
        words += len(match[2].split())
    return words


def parsed(line):
    match = re.match(r"(\w+):", line)
    if not match:
        raise ValueError(line)
    return match[1].title()


def skipped(lines):
    names = []
    for line in lines:
        match = re.match(r"(\w+):", line)
        if match is None:
            continue
        names.append(match[1])
    return names


def kept(lines):
    return [match[1] for line in lines if (match := re.match(r"(\w+):", line)) is not None if match[1] != "x"]


def numbered(text):
    found = []
    for match in re.finditer(r"([a-z])(?P<n>\d)?", text):
        if not match["n"]:
            continue
        found.append(int(match[2]))
    return found


def demanded(lines):
    found = []
    for line in lines:
        words = line.split()
        if not words:
            raise ValueError(line)
        found.append(words[0])
    return found


GROUPS = ("a1 b",), [("c d4",), ("",), ("e f",)]
SOME = (["ann: hi", "nobody"],), [(["nobody"],), (["x: y", "no", "z: z"],), ([],)]
LINES = (["ann: hi there", "bob: yo"],), [(["x: one"],), ([],), (["q: b", "z: c d", "q: e"],)]
CASES = {
    "a group": Case(lambda lines: [re.match(r"(\w+): (.*)", line).group(2) for line in lines], *LINES),
    "a subscript": Case(lambda lines: [re.fullmatch(r"(\w+): .*", line)[1] for line in lines], *LINES),
    "counted": Case(by_name, ("ann: hi there\nbob: yo",), [("x: one",), ("q: b\nz: c d\nq: e",)]),
    "asserted": Case(asserted, *LINES),
    "raised": Case(raised, *LINES),
    "raised in a helper": Case(lambda lines: [parsed(line) for line in lines], *LINES),
    "skipped": Case(skipped, *SOME),
    "an assignment in a condition": Case(
        lambda lines: [match[1] for line in lines if (match := re.match(r"(\w+):", line))], *SOME
    ),
    "two conditions": Case(kept, (["nobody", "ann: hi", "x: y"],), SOME[1]),
    "a group that takes part": Case(numbered, *GROUPS),
    "one that need not": Case(
        lambda text: [m[2] if m[2] else "-" for m in re.finditer(r"([a-z])(\d)?", text)], *GROUPS
    ),
    "words demanded": Case(demanded, (["a b", "c"],), [(["q"],), ([],)]),
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


@pytest.mark.parametrize(
    ("process", "error"),
    [
        (asserted, "AssertionError"),
        (raised, "ValueError"),
        (lambda lines: [parsed(each) for each in lines], "ValueError"),
    ],
)
def test_an_item_without_the_match_that_the_code_demands_is_an_error_with_the_line(process, error) -> None:
    mod = loaded(process, ["ann: hi there", "bob: yo"])
    text = rf"\.py:\d+ in \w+: match = .*: the function raises {error} where there is no match"
    with pytest.raises(tracepack.GuardError, match=text):
        mod(["ann: hi", "nobody"])


@pytest.mark.usefixtures("no_blocks")
def test_what_catches_the_error_stays_a_branch() -> None:
    """A handler goes on without a match, so that none is no error of the function."""

    def caught(line):
        match = re.match(r"(\w+):", line)
        try:
            if match is None:
                raise ValueError(line)
        except ValueError:
            return "none"
        return match[1]

    mod = tracepack.trace(caught, "ann: hi")
    assert mod("bob: yo") == "bob"
    with pytest.raises(tracepack.GuardError, match="the function asks whether there is a match"):
        mod("nobody")


def test_a_list_of_a_loop_that_the_code_demands() -> None:
    with pytest.raises(
        tracepack.GuardError, match=r"test_matches.py:\d+ in demanded: if not words: the function raises ValueError"
    ):
        loaded(demanded, ["a b", "c"])(["a", " "])


def absent(text):
    return "none" if re.match("(a)(b)?", text)[2] is None else "some"


def in_parts(text):
    m = re.match(r"(\d)h(?: (\d)m)?$", text)
    hours, minutes = m.groups()
    return int(hours) * 60 + (int(minutes) if minutes is not None else 0), m.group(1, 2), m[2]


def alternatives(text):
    m = re.match("(?:(a+)|(b+))", text)
    return ("A" if m[1] else "B"), m[1] or m[2], m[2] == None  # noqa: E711  # the form is what is tested


def counted(words):
    total = 0
    for word in words:
        if (m := re.match(r"([a-z])(\d)?$", word)) and m[2] is not None:
            total += int(m[2])
    return total


GROUPS = {
    "a group that is None": Case(absent, ["ab"], [["ac"]]),
    "a group that is not": Case(absent, ["ac"], [["ab"]]),
    "in a text": Case(lambda text: f"{re.match('(a)(b)?', text)[2]}", ["ab"], [["ac"]]),
    "in parts": Case(in_parts, ["1h 2m"], [["3h"]]),
    "in parts without": Case(in_parts, ["3h"], [["1h 2m"]]),
    "of alternatives": Case(alternatives, ["aa"], [["bb"]]),
    "in a loop": Case(counted, [["a1", "b"]], [[["c", "d4", "-"]]]),
    "of all matches": Case(
        lambda text: [m[2] is None for m in re.finditer(r"([a-z])(\d)?", text)], ["a1 b"], [["ab"], ["a1"]]
    ),
    "that is a result": Case(lambda text: {"b": re.match("(a)(?P<b>b)?", text)["b"]}, ["ab"], [["ac"]]),
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_that_takes_no_part_is_none(name) -> None:
    check(GROUPS[name])


def test_a_group_that_the_function_needs_is_a_check_of_each_run() -> None:
    mod = loaded(lambda text: int(re.match(r"(a)(\d)?", text)[2]), "a1")
    assert mod("a5") == 5
    with pytest.raises(tracepack.GuardError, match="a value is None, and the function asks it for what None has not"):
        mod("ab")


@pytest.mark.usefixtures("no_blocks")
def test_groups_in_a_list_that_is_asked_for_more_have_a_form_that_works() -> None:
    def numbered(text):
        return ",".join([m[2] for m in re.finditer(r"([a-z])(\d)?", text) if m[2] is not None])

    with pytest.raises(tracepack.RecordError, match="Choose what stands for None before"):
        tracepack.trace(numbered, "a1 b")

    def chosen(text):
        return ",".join([m[2] or "" for m in re.finditer(r"([a-z])(\d)?", text) if m[2] is not None])

    mod = loaded(chosen, "a1 b")
    for text in ("a1 b", "ab", "a1b2"):
        assert mod(text) == numbered(text)


AT = re.compile("^a|b")


@pytest.mark.parametrize(
    "process",
    [
        lambda text: bool(AT.search(text, 1)),
        lambda text: bool(AT.fullmatch(text, 0, 1)),
        lambda text: AT.findall(text, pos=1),
        lambda text: [found.start() for found in AT.finditer(string=text, endpos=2)],
    ],
)
def test_a_pattern_that_begins_or_ends_at_a_place_is_refused(process) -> None:
    # none of them finds anything in the example, with or without its places
    with pytest.raises(tracepack.RecordError, match="of a pattern with a place where it begins or ends cannot be"):
        tracepack.trace(process, "xx")


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
@pytest.mark.usefixtures("no_blocks")
def test_the_form_that_is_shown_for_a_match_goes_both_ways(name, tmp_path) -> None:
    body, form = FORMS[name]
    source = f"import re\ndef process(text):\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    process = made(source, tmp_path / "process.py")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = loaded(process, "b=c")
    process = made(f"{source}    return locals()\n", tmp_path / "plain.py")  # which is not written anew
    with pytest.warns(UserWarning, match=rf"whether there is a match\. {re.escape(form)}.* keeps both ways"):
        tracepack.trace(process, "b=c")
    lines = [form] if form.startswith("return") else ["kind = 'none'", form, "return kind"]
    written = "".join(f"    {line}\n" for line in lines)
    mod = loaded(made(f"import re\ndef process(text):\n{written}", tmp_path / "written.py"), "b=c")
    for text in ("b=c", "b=x", "=x b=c", "", "q=r=s", "-=z"):
        assert mod(text) == asked(text) == process(text)
