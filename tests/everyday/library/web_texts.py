"""Texts for the web, digests of texts, matches that a function replaces, and tables by members of an Enum."""

from __future__ import annotations

import base64
import enum
import hashlib
import html
import re
import textwrap
import urllib.parse
import zlib
from hashlib import sha256
from urllib.parse import quote_plus

import torch

from tests.everyday.case import Case

TEXTS = [[""], ["é漢 & <b>"], ["x" * 500], ["100%41 &lt;b&gt; &amp;amp;"]]
LISTS = [[[]], [["é"]], [["a", "b"] * 4]]
NAMES = {"a": "alpha", "b": "beta"}


class Tier(enum.Enum):
    FREE = "free"
    PRO = "pro"


class Priority(enum.IntEnum):
    LOW = 1
    HIGH = 2


LIMITS = {Tier.FREE: 10, Tier.PRO: 100}


def masked(match):
    found = match.group(0)
    return found[:2] + "*" * (len(found) - 2)


def fed(text):
    found = hashlib.sha1()
    found.update(text.encode())
    found.update(b"!")
    return found.hexdigest()


def hashed(tokens):
    counts = torch.zeros(8)
    for token in tokens:
        counts[zlib.crc32(token.encode()) % 8] += 1
    return counts / counts.sum().clamp(min=1)


def limited(name, used):
    tier = Tier(name)
    return {"left": LIMITS[tier] - used, "paid": tier in (Tier.PRO,), "again": LIMITS.get(tier, 0), "name": tier.name}


CASES = {
    "an arm by a digest": Case(
        lambda user, n: (int(hashlib.md5(user.encode("utf-8")).hexdigest(), 16) % n, sha256(user.encode()).hexdigest()),
        ["user-1", 10], [["", 3], ["é", 2]],
    ),
    "digests of a list": Case(
        lambda users: [hashlib.blake2b(user.encode()).hexdigest()[:8] for user in users], [["a", "b"]], LISTS
    ),
    "a digest that is fed": Case(fed, ["ab"], TEXTS),
    "a digest as bytes": Case(
        lambda text: base64.b64encode(hashlib.sha512(text.encode()).digest()).decode(), ["ab"], TEXTS
    ),
    "a digest of bytes": Case(lambda data: hashlib.sha3_256(data).hexdigest(), [b"ab"], [[b""], [b"\x00\xff" * 99]]),
    "a digest of a constant": Case(lambda text: text + hashlib.md5(b"a").hexdigest(), ["ab"], TEXTS),
    "counts by a checksum": Case(hashed, [["red", "blue", "red"]], LISTS),
    "another checksum": Case(lambda text: zlib.adler32(text.encode()), ["ab"], TEXTS),
    "a text in a page": Case(
        lambda text: (html.escape(text), html.escape(text, quote=False), html.unescape(text)), ["a & <b> &lt;"], TEXTS
    ),
    "a text in an address": Case(
        lambda text: (
            f"?q={quote_plus(text)}", urllib.parse.quote(text, safe=""), urllib.parse.unquote(text),
            urllib.parse.unquote_plus(urllib.parse.quote(text)),
        ),
        ["a b/c"], TEXTS,
    ),
    "a short text": Case(
        lambda text: (textwrap.shorten(text, width=9), textwrap.shorten(text, 20, placeholder="...")),
        ["some words of a text"], [*TEXTS, ["a b c " * 9]],
    ),
    "masked matches": Case(
        lambda text: re.sub(r"\d{3,}", masked, text), ["card 12345 9"], [*TEXTS, ["1234"], ["a123b4567"]]
    ),
    "counted matches": Case(
        lambda text: re.subn(r"\d", lambda m: str(int(m[0]) * 2), text), ["a1b22"], [*TEXTS, ["9"], ["1a1"]]
    ),
    "the first matches": Case(
        lambda text, n: re.sub(r"(?P<d>[a-z])", lambda m: "<" + m["d"] + ">", text, count=n), ["ab1", 1],
        [["abc", 2], ["", 1]],
    ),
    "a template": Case(
        lambda text: re.compile(r"\{(\w)\}").sub(lambda m: NAMES.get(m.group(1), m.group(0)), text),
        ["x {a} y {b} {z}"], [*TEXTS, ["{b}"], ["{q}{a}"]],
    ),
    "matches in a list": Case(
        lambda texts: [re.sub(r"\w", lambda m: f"[{m.group()}]", text) for text in texts], [["a1 b2", "c"]], LISTS
    ),
    "a limit of a tier": Case(limited, ["pro", 50], [["free", 3]]),
    "a table by numbers": Case(lambda n: {Priority.LOW: "later", 2: "now"}[Priority(n)], [1], [[2]]),
}  # fmt: skip

REFUSED = {
    "nothing to replace": (lambda s: re.sub("[0-9]", lambda m: m[0] * 2, s), "Trace with a text in which the"),
    "an option of a digest": (lambda s: hashlib.md5(s.encode()).copy(), "hashlib.md5.copy cannot be recorded"),
    "another option": (lambda s: textwrap.shorten(s, 9, break_on_hyphens=False), "an option that is not recorded"),
}  # fmt: skip
"""What is refused with what to write: the function, and words of the error."""
