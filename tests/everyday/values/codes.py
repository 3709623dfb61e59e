"""Texts that are base64 or hexadecimal digits, numbers in other bases, and what is read of the bytes behind them."""

from __future__ import annotations

import base64
from base64 import b64decode

import numpy as np
import torch

from tests.everyday.case import Case


def written(*values, dtype="float32"):
    """Numbers as a request holds them: base64 of their bytes."""
    return base64.b64encode(np.array(values, dtype).tobytes()).decode()


def samples(text):
    return np.frombuffer(base64.b64decode(text.encode("ascii")), dtype="float32")


SOUND, SOUNDS = written(1, 2), [[written(3, 4, 5)], [written(-1)]]
TEXTS = [[""], ["é中?>"], ["abcd " * 50]]
DIGITS = [["0"], ["-7f"], [" +12 "], ["f_f"]]


def text_of(process):
    return Case(process, ["abc"], TEXTS)


def code(process):
    return Case(process, ["YWJj"], [[""], ["AAEC"], ["w6k="], ["Y\nWJj"]])


def number(process):
    return Case(process, ["ff"], DIGITS)


CASES = {
    "a text of base64": code(lambda s: base64.b64decode(s).decode("latin-1")),
    "a text of base64, by its own name": code(lambda s: b64decode(s).decode("latin-1").upper()),
    "an array of base64": code(lambda s: np.frombuffer(base64.b64decode(s), dtype=np.uint8)),
    "a list of base64": code(lambda s: torch.tensor(list(base64.standard_b64decode(s)), dtype=torch.int64)),
    "base64 of other letters": Case(
        lambda s: (base64.urlsafe_b64decode(s).hex(), base64.b64decode(s, altchars=b"-_").hex()),
        ["YWJj"], [["_-8="], [""]],
    ),
    "strict base64": Case(lambda s: base64.b64decode(s, validate=True).hex(), ["YWJj"], [["AAEC"], [""]]),
    "base64 of a text": text_of(lambda s: base64.b64encode(s.encode()).decode()),
    "base64 of bytes and a text": text_of(lambda s: base64.b64encode(b"x:" + s.encode() + b"!").decode("ascii")),
    "base64 for a URL": text_of(lambda s: base64.urlsafe_b64encode(s.encode()).decode() + "#"),
    "base64 of a list": Case(
        lambda texts: [len(base64.b64decode(text)) for text in texts], [["YWJj", "AA=="]], [[[]], [["AAE="] * 3]]
    ),
    "sound": Case(
        lambda s: torch.frombuffer(bytearray(base64.b64decode(s)), dtype=torch.float32) * 2, [SOUND], SOUNDS
    ),
    "sound in a helper": Case(lambda s: {"peak": samples(s).max().item(), "n": len(samples(s))}, [SOUND], SOUNDS),
    "a picture of a request": Case(
        lambda record: (
            torch.from_numpy(np.frombuffer(base64.b64decode(record["data"].split(",", 1)[1]), np.uint8).copy()).view(
                record["rows"], -1
            )
            / 255
        ),
        [{"data": "image/raw;base64," + written(1, 2, 3, 4, dtype="uint8"), "rows": 2}],
        [[{"data": "," + written(*range(15), dtype="uint8"), "rows": 3}]],
    ),
    "bytes by a count": Case(
        lambda data, n: torch.frombuffer(bytearray(data), dtype=torch.int16, count=n),
        [b"abcdef", 2], [[b"abcd", 1], [b"abcdefgh", 4]],
    ),
    "bytes after a header": Case(
        lambda data: np.frombuffer(data, np.uint8, offset=4), [b"headbody"], [[b"head"], [b"head" * 9]]
    ),
    "hexadecimal digits": Case(lambda data: data.hex(), [b"abc"], [[b""], [b"\x00\xff" * 9]]),
    "bytes of hexadecimal digits": Case(
        lambda s: bytes.fromhex(s).decode("latin-1"), ["6162"], [[""], ["00 ff 7E"]]
    ),
    "in base 16": number(lambda s: int(s, 16)),
    "in a base by its name": number(lambda s: int(s, base=36) * 2),
    "in the base of its prefix": Case(lambda s: int(s, 0), ["0x10"], [["12"], ["-0b11"]]),
    "in a base that is an argument": Case(lambda s, base: int(s, base), ["11", 2], [["zz", 36], ["7", 8]]),
    "a constant text in a base": Case(lambda base: int("11", base), [2], [[10], [36]]),
    "a colour": Case(
        lambda s: [int(s.lstrip("#")[i : i + 2], 16) / 255 for i in (0, 2, 4)], ["#ff8000"], [["102030"], ["#000001"]]
    ),
    "bits of each": Case(lambda texts: [int(text, 2) for text in texts], [["1", "101"]], [[[]], [["0", "11", "111"]]]),
}  # fmt: skip

FAILING = {
    "no base64": (lambda s: b64decode(s).hex(), "YWJj", "YW", "a text is no base64; got Incorrect padding"),
    "not strict base64": (
        lambda s: b64decode(s, validate=True).hex(), "YWJj", "YW!Jj",
        "a text is no base64; got (Only base64 data|Non-base64 digit)",
    ),
    "no hexadecimal digits": (lambda s: bytes.fromhex(s).hex(), "6162", "zz", "a text is no hexadecimal digits"),
    "another digit": (lambda s: int(s, 2), "101", "3", "invalid literal for int"),
    "an empty buffer": (
        lambda s: torch.frombuffer(bytearray(b64decode(s)), dtype=torch.uint8), "YWJj", "", "a buffer is too short",
    ),
    "a short buffer": (
        lambda data: torch.frombuffer(bytearray(data), dtype=torch.int16, count=2), b"abcde", b"abc",
        "a buffer is too short",
    ),
    "a short header": (lambda data: np.frombuffer(data, np.uint8, offset=4), b"headb", b"hea", "a buffer is too short"),
}  # fmt: skip
"""What fails in Python fails in the file: the function, an example, one that fails, and words of the error."""
