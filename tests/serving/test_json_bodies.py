"""Bodies of JSON mean the same whichever library reads them: what the standard library makes of them."""

from __future__ import annotations

import json
import random
import struct

import pytest
import torch

from tracepack.serving.protocol import http_body
from tracepack.serving.protocol.datatypes import from_json
from tracepack.serving.protocol.rejections import RejectedError

EDGES = [2**bits + more for bits in (31, 53, 63, 64) for more in (-1, 0, 1)]  # of the integers that fit
DOCUMENTS = [
    *(f"[{number}, {-number}]" for number in EDGES),
    "-0", "0", "1" * 30, "1" * 4300, "1" * 4301, "1" + "0" * 400, "01", "-01", "+1", "0x1", "1_0", "-",
    # Numbers with a point or an exponent: each is the nearest double, or infinite.
    "-0.0", "1e5", "1E+5", "1e-5", "0e1", "1e999", "-1e999", "1e-999", "1.7976931348623158e308",
    "1.7976931348623159e308", "4.9e-324", "2.4e-324", "2.5e-324", "2.2250738585072011e-308", "9007199254740993.0",
    "0." + "1" * 900, "1.", ".5", "1e", "[NaN, Infinity, -Infinity]", "[1e400, NaN]", "nan", "True", "nul",
    # Texts.
    '"é€😀"', r'"\ud83d\ude00"', r'"\ud800"', r'"\udc00\ud800"', '"\x01"', '"\x7f"', r'"\x"', r'"\u12"', r'"\/"',
    r'"\u0000"',
    # Containers.
    '{"a": 1, "b": 3, "a": 2}', '{"a": 1,}', "[1,]", "{1: 2}", "{'a': 1}", "", "  ", "1 2", "[1]x", "\t\n\r [1]\n",
    "\u00a0[1]", "\ufeff[1]", "/**/1", "[" * 200 + "]" * 200, "[" * 20_000 + "]" * 20_000, "[" * 20,
]  # fmt: skip
BROKEN = [b'"\xff"', b'"\xed\xa0\x80"', b"\xff\xfe[\x001\x00]\x00", b'"\xe9"', b"1\x00"]


@pytest.fixture(params=["msgspec", "standard library"])
def parse(request, monkeypatch):
    """`parse_json` with each of the libraries."""
    if request.param == "msgspec":
        pytest.importorskip("msgspec", reason="the part of the extra serve that reads JSON is not installed")
        assert http_body._fast_decode is not None
    else:
        monkeypatch.setattr(http_body, "_fast_decode", None)
    return http_body.parse_json


def expected(body: bytes) -> object:
    """What the standard library makes of a body, with the types and bits of its numbers; None where it refuses it."""
    try:
        document = json.loads(body.decode("utf-8-sig"))
        json.dumps(document, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        return None
    return exact(document)


def exact(value: object) -> object:
    match value:
        case dict():
            return [(key, exact(item)) for key, item in value.items()]
        case list():
            return [exact(item) for item in value]
        case float():
            return "float", struct.pack("d", value)
    return type(value).__name__, value


@pytest.mark.parametrize("body", [*(text.encode() for text in DOCUMENTS), *BROKEN], ids=lambda body: repr(body)[:30])
def test_a_document_is_what_the_standard_library_reads(parse, body) -> None:
    wanted = expected(body)
    if wanted is None:
        with pytest.raises(RejectedError, match="the body is no JSON"):
            parse(body)
    else:
        assert exact(parse(memoryview(body))) == wanted


def test_random_numbers_are_what_the_standard_library_reads(parse) -> None:
    made = random.Random(0)
    numbers = [repr(made.random() * 10.0 ** made.randint(-308, 307)) for _ in range(5000)]
    numbers += [f"{made.getrandbits(80)}.{made.getrandbits(70)}e{made.randint(-360, 280)}" for _ in range(5000)]
    numbers += [str(made.getrandbits(made.randint(1, 90)) - (1 << 63)) for _ in range(5000)]
    body = f"[{','.join(numbers)}]".encode()
    assert exact(parse(body)) == expected(body)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("FP16", [60_000.0, 60_000.0, -60_000]),  # each fits, and their sum does not
        ("FP32", [3e38, 3e38, 1e-60]),
        ("FP32", [float("inf"), float("nan"), 1.0]),
        ("BF16", [3e38, 3e38]),
        ("FP32", []),
        ("FP32", [1.5, 10**20, -(10**30)]),  # as JavaScript writes 1e20
        ("FP64", [10**300, 1]),
    ],
)
def test_numbers_that_fit_a_narrow_datatype(kind, data) -> None:
    found = from_json(data, kind, (len(data),), "x")
    assert torch.equal(found.nan_to_num(7), torch.tensor(data, dtype=torch.float64).to(found.dtype).nan_to_num(7))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("FP16", [65_520.0, 0.0]),
        ("FP16", [70_000, -70_000]),  # integers
        ("FP32", [1e39, -1e39]),  # whose sum is no number
        ("FP32", [float("nan"), 1e39]),
        ("FP32", [float("inf"), -1e39]),
        ("BF16", [3.4e38, 1.0]),
        ("FP32", [10**39, 1]),
        ("FP64", [10**309, 1]),
    ],
)
def test_a_finite_number_that_a_narrow_datatype_lacks(kind, data) -> None:
    with pytest.raises(RejectedError, match=f"input 'x': not of the datatype {kind}|not of the datatype {kind}.*'x'"):
        from_json(data, kind, (len(data),), "x")
