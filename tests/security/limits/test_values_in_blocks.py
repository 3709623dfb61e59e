"""Decimals, dates, digests and objects from outside in blocks of forged files: bounded, and nothing of the machine."""

from __future__ import annotations

import re

import pytest

import tracepack
from tests.security.forge import one_node
from tracepack.ops.graph.errors import GraphError, GuardError
from tracepack.ops.runtime.primitives.plain_code.running import block_of

ONE = "def block(x):\n "
REFUSED = {
    "the clock": ("return datetime.datetime.now()", "a method that none has; got now"),
    "the day": ("return datetime.date.today()", "a method that none has; got today"),
    "a width": ("return datetime.date(2024, 1, 1).strftime('%100000000d')", "a format of a date cannot be used"),
    "a width of a format": ("return f'{datetime.date(2024, 1, 1):%99999999Y}'", "a format of a date cannot be used"),
    "the zone of the machine": ("return datetime.datetime(2024, 1, 1).strftime('%s')", "a format of a date cannot be"),
    "a moment of the machine": ("return datetime.datetime(2024, 1, 1).timestamp()", "hangs on the machine"),
    "a large exponent": ("return int(decimal.Decimal('1e999999'))", "has too large an exponent"),
    "a small exponent": ("return str(decimal.Decimal('1e-999999'))", "has too large an exponent"),
    "an exponent that grows": ("a = decimal.Decimal('1e9999')\n return str(a * a)", "too large an exponent"),
    "one that shrinks": ("a = decimal.Decimal('1e-9999')\n return str(a * a)", "too large an exponent"),
    "one that a handler catches": (
        "a = decimal.Decimal('1e9999')\n try: a /= decimal.Decimal('1e-99')\n except ArithmeticError: pass\n return 1",
        "too large an exponent",
    ),
    "a long decimal": ("return str(decimal.Decimal('1' * 5000))", "Decimal takes a number or a short text"),
    "a long format": ("return f'{decimal.Decimal(1):99999999f}'", "width"),
    "a long integer of bytes": ("return int.from_bytes(b'a' * 100000, 'big')", "int.from_bytes takes few bytes"),
    "an encoding that is none of texts": ("return 'a'.encode('idna')", "there is no such encoding"),
    "a large encoding": ("return len(('a' * 16000000).encode())", "the text of encode grows too large"),
    "an object from outside": (
        "k = new_class('A', 'A', (), {})\n a = held_outside(new_object(k, {'b': 1}))\n a.b = 2\n return 1",
        "changes an object that does not change",
    ),
    "a list of an object from outside": (
        "k = new_class('A', 'A', (), {})\n a = held_outside([new_object(k, {'b': [1]})])\n a[0].b.append(2)\n return 1",
        "changes a container that is not its own",
    ),
    "a list of them": ("a = held_outside([1])\n a.append(2)\n return 1", "changes a container that is not its own"),
    "another function of hashlib": ("return hashlib.pbkdf2_hmac('md5', b'', b'', 10**9)", "uses hashlib.pbkdf2_hmac"),
    "zlib makes bytes": ("return zlib.decompress(b'a')", "uses zlib.decompress"),
    "a context": ("return decimal.setcontext(1)", "uses decimal.setcontext"),
}


@pytest.mark.parametrize(("code", "named"), REFUSED.values(), ids=REFUSED)
def test_a_block_stays_within_bounds_and_asks_nothing_of_the_machine(code, named):
    with pytest.raises((GuardError, GraphError)) as caught:
        block_of(ONE + code).run((1,))
    assert named in str(caught.value)


PLAIN_ERRORS = {
    "a digest of a text": ("return hashlib.md5('a')", TypeError, "a bytes-like object is required"),
    "a checksum of a list": ("return zlib.crc32([1])", TypeError, "a bytes-like object is required"),
    "a class of another kind": ("a = new_class('A', 'A', (int,), {})", TypeError, "bases that blocks know"),
    "a class of text": ("a = new_class('A', 'A', 'bc', {})", TypeError, "bases that blocks know"),
}


@pytest.mark.parametrize(("code", "kind", "named"), PLAIN_ERRORS.values(), ids=PLAIN_ERRORS)
def test_what_python_refuses_a_block_refuses_as_well(code, kind, named):
    with pytest.raises(kind, match=named):
        block_of(ONE + code).run((1,))


CONSTANTS = {
    "a decimal that is none": "K = decimal.Decimal('x')",
    "a large exponent": "K = decimal.Decimal('1e99999')",
    "a day that is none": "K = datetime.date(2024, 13, 1)",
    "a call in a constant": "K = datetime.date(str(1))",
    "a method": "K = datetime.datetime.now()",
}


@pytest.mark.parametrize("line", CONSTANTS.values(), ids=CONSTANTS)
def test_a_constant_that_is_none_is_refused_at_load(line):
    said = "the file is malformed|is malformed|does more than define functions|a method that none has"
    with pytest.raises(tracepack.TracepackError, match=said):
        tracepack.load(one_node("py.plain_code", f"{line}\ndef block(x):\n return 1", "any", "x0"))


def test_a_flag_of_findall_is_no_place_in_the_text():
    code = "def block(x):\n return re.findall('a', x, 2), re.split('b', x, 1, 2), re.compile('a').findall(x, 2)"
    text = "AbaB"
    assert block_of(code).run((text,)) == (
        re.findall("a", text, 2), re.split("b", text, maxsplit=1, flags=2), re.compile("a").findall(text, 2),
    )  # fmt: skip


def test_objects_that_are_frozen_are_equal_and_hashed_by_their_fields():
    made = "k(%s)"
    code = (
        "def block(x):\n k = data_class('A', 'A', (), {}, {'b': field_of()}, {'frozen': True})\n"
        f" return {made % 'x'} in {{{made % 1}, {made % 2}}}, len({{{made % 'x'}, {made % 2}}})"
    )
    assert block_of(code).run((2,)) == (True, 1)
    assert block_of(code).run((3,)) == (False, 2)
