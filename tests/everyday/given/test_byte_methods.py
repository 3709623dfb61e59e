"""Methods of bytes as an argument: they do what they do to bytes of all values, not to letters."""

from __future__ import annotations

import pytest

import tracepack
from tests.everyday.case import Case, check, loaded

EXAMPLE = [b"RIFFabc\n12"]
OTHERS = [[b"RI"], [b"XX\x00\xff,q"], [b""], [b" \xa0 F \x85"], [b"\x1cRa\nb\n\nF\x0b"], [bytes(range(256)) * 2]]


def kind(data):
    if data.startswith(b"RIFF"):
        return "wav"
    if data[:1] == b"X":
        return "x"
    return "raw"


def header(data):
    head, _, body = data.partition(b"\n")
    return head.decode("latin-1"), len(body)


CASES = {
    "startswith": lambda data: data.startswith(b"RI"),
    "startswith one of several": lambda data: data.startswith((b"RI", b"XX")),
    "endswith": lambda data: data.endswith((b"12", b"q")),
    "find": lambda data: (data.find(b"F"), data.find(b"F", 2), data.rfind(b"F"), data.find(70)),
    "count": lambda data: (data.count(b"F"), data.count(0)),
    "split": lambda data: [part.hex() for part in data.split(b"\n")],
    "split at most once": lambda data: [len(part) for part in data.split(b"\n", 1)],
    "one part": lambda data: data.split(b"\n")[0].hex(),
    "parts sorted": lambda data: [len(part) for part in sorted(data.split(b"\n"), key=len)],
    "strip": lambda data: (data.strip().hex(), data.lstrip().hex(), data.rstrip(None).hex()),
    "strip of bytes": lambda data: data.strip(b"R1\xff").hex(),
    "replace": lambda data: data.replace(b"F", b"\xe4\xe5").hex(),
    "partition": header,
    "removeprefix": lambda data: (data.removeprefix(b"RI").hex(), data.removesuffix(b"q").hex()),
    "a branch": kind,
    "a choice": lambda data: "wav" if data.startswith(b"RIFF") else "raw",
    "from_bytes": lambda data: (int.from_bytes(data[:2], "little"), int.from_bytes(data[:4], "big")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_method_of_bytes(name) -> None:
    check(Case(CASES[name], EXAMPLE, OTHERS))


REFUSED = {
    "split at blanks": (lambda data: len(data.split()), r"Write data.split\(b\" \"\)"),
    "letters": (lambda data: data.upper().hex(), "bytes.upper cannot be recorded. Decode it"),
    "a result": (lambda data: data[2:], r"Return data.hex\(\), base64.b64encode\(data\).decode\(\), or list\(data\)"),
    "a list as a result": (
        lambda data: data.split(b"F"),
        r"a list of bytes.*Return \[data.hex\(\) for data in parts\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_bytes_have_not_is_refused_with_a_form(name) -> None:
    process, words = REFUSED[name]
    with pytest.raises(tracepack.RecordError, match=words):
        tracepack.trace(process, EXAMPLE[0])


def test_a_loop_that_carries_bytes_says_what_it_can_carry() -> None:
    def joined(files):
        whole = b""
        for data in files:
            whole = whole + data
        return whole.decode()

    with pytest.warns(UserWarning, match=r"carries bytes. Write b\"\".join\(\[part for part in parts\]\)"):
        tracepack.trace(joined, [b"a", b"b"])
    mod = loaded(lambda files: b"".join([data + b";" for data in files]).decode(), [b"a", b"b"])
    assert (mod([b"a", b"bc", b""]), mod([])) == ("a;bc;;", "")


@pytest.mark.parametrize("kind", [bytearray, memoryview, bytes])
def test_a_run_takes_what_holds_bytes(kind) -> None:
    mod = loaded(lambda data: (len(data), data.hex()), b"RIFF")
    assert mod(kind(b"ab\xff")) == mod.run({"data": kind(b"ab\xff")}) == (3, "6162ff")
    files = loaded(lambda files: [len(data) for data in files], [b"a", b"bc"])
    assert files([kind(b"abc"), kind(b""), kind(b"q")]) == [3, 0, 1]


@pytest.mark.parametrize(
    "function",
    [repr, str, ascii, lambda data: f"<{data}>", lambda data: f"{data!r:>12}|", lambda data: "{}".format(data)],  # noqa: UP032  # the forms are what is tested
    ids=["repr", "str", "ascii", "an f-string", "with a width", "a format"],
)
def test_their_text_is_recorded(function) -> None:
    mod = tracepack.trace(lambda data: function(data), b"ab")
    for data in (b"ab", b"", b"'\"\\\n\t\x00\x7f\xff", b"it's", bytes(range(256))):
        assert mod(data) == function(data)
