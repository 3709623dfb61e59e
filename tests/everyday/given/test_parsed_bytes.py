"""Bytes of a file that a loop goes through: chunks, numbers with signs, checksums, tags."""

from __future__ import annotations

import pytest

from tests.everyday.case import Case, check


def numbers(data):
    found, place = [], 0
    while place + 2 <= len(data):
        found.append(int.from_bytes(data[place : place + 2], "little", signed=True))
        place += 2
    return found


def chunks(data):
    found, place = [], 0
    while place < len(data):
        count = data[place]
        found.append(data[place + 1 : place + 1 + count])
        place += 1 + count
    return [each.hex() for each in found]


def varints(data):
    found, place = [], 0
    while place < len(data):
        number = shift = 0
        while True:
            byte = data[place]
            place += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        found.append(number)
    return found


def checksum(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
        crc &= 0xFFFF
    return crc


def tags(data):
    found, place = {}, 0
    while place + 2 <= len(data):
        name, count = data[place : place + 1].decode(), data[place + 1]
        found[name] = data[place + 2 : place + 2 + count].decode()
        place += 2 + count
    return found


def runs(data):
    found = []
    for byte in data:
        if found and found[-1][0] == byte:
            found[-1][1] += 1
        else:
            found.append([byte, 1])
    return found


def until_zero(files):
    found = []
    for data in files:
        place = 0
        while place < len(data) and data[place] != 0:
            place += 1
        found.append(place)
    return found


def of_a_request(request):
    place = 0
    while place < len(request["data"]) and request["data"][place] != request["stop"]:
        place += 1
    return place


def signed(data):
    return int.from_bytes(data[:2], "big", signed=True), int.from_bytes(data, "little", signed=True)


CASES = {
    "numbers": Case(numbers, [b"\xff\xff\x01\x02"], [[b"\x00\x80"], [b""], [b"\x80"], [b"\xfe\xff" * 3]]),
    "chunks": Case(chunks, [b"\x01a\x02bc"], [[b"\x03abc"], [b""], [b"\x00\x00\x09q"]]),
    "varints": Case(varints, [b"\x01\x96\x01"], [[b"\x00"], [b""], [b"\xff\xff\x03\x01"]]),
    "a checksum": Case(checksum, [b"123456789"], [[b""], [b"q\x00\xff"]]),
    "tags": Case(tags, [b"a\x01xb\x02yz"], [[b"q\x00"], [b""], [b"a\x01xa\x01y"]]),
    "runs": Case(runs, [b"aab"], [[b""], [b"q"], [b"xyyy"]]),
    "each of a list": Case(until_zero, [[b"ab\x00c", b"x"]], [[[b"abc\x00"]], [[]], [[b"", b"\x00", b"xyz"]]]),
    "of a dict": Case(of_a_request, [{"data": b"ab\x00c", "stop": 0}], [[{"data": b"ab\x05c", "stop": 5}]]),
    "with a sign": Case(signed, [b"\xff\xff\x01\x02"], [[b"\x00\x80"], [b""], [b"\x80"], [bytes(range(200, 230))]]),
}


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_gone_through(name) -> None:
    check(CASES[name])
