"""Classes in blocks of plain Python do what they do in Python."""

from __future__ import annotations

import sys
import warnings

import pytest
import torch

import tracepack
from tests.everyday.blocks.classes import of_classes as classes
from tests.everyday.blocks.classes import of_members as members
from tests.everyday.blocks.classes import of_real_classes as real
from tests.everyday.blocks.classes import of_tables as tables
from tests.everyday.case import Case, check
from tracepack.ops.runtime.primitives.plain_code.running import block_of

CASES = {
    "operators": Case(classes.money, [[1.0, 1.0, 0.0, 3.0]], [[[]], [[2.0, 2.0, 2.0, 0.0]]]),
    "container": Case(
        classes.bag, [["a", "b", "a"]], [[[]], [["x", "x", "x", "del", "b", "b", "b", "b"]]]
    ),
    "bases and setters": Case(classes.shapes, [[1.0, 3.0, 4.0]], [[[]], [[-1.0, 2.0, 1.0, 9.0]]]),
    "frozen dataclass": Case(classes.frozen, [[1.0, 1.0]], [[[]], [[2.0, 3.0, 2.0]]]),
    "its text": Case(classes.frozen2, [[1.0, 1.0]], [[[]], [[2.0, 3.0, 2.0]]]),
    "ordered dataclass and copies": Case(
        classes.jobs, [[(2, "a"), (1, "b"), (2, "c")]], [[[]], [[(1, "z")]], [[(3, "q"), (3, "p"), (1, "r")]]]
    ),
    "total_ordering": Case(classes.vers, [["1.2", "1.10", "1.3"]], [[[]], [["2.0", "1.0", "2.0"]]]),
    "dataclass with an __eq__ of its own": Case(
        classes.own, [["A", "a", "b"]], [[[]], [["x", "y", "X", "Y", "y"]]]
    ),
    "IntEnum": Case(
        members.alerts, [[("cpu", 95.0), ("mem", 70.0), ("x", 1.0)]],
        [[[]], [[("mem", 99.0), ("cpu", 60.0), ("cpu", 1.0)]]],
    ),
    "IntEnum by value": Case(members.byval, [[1, 2, 9, 3]], [[[]], [[3, 1, 3]]]),
    "Enum": Case(members.colors, [["red", "r", "b"]], [[[]], [["x", "y", "r", "x"]]]),
    "table of patterns": Case(members.route, ["hi bob"], [["bye now"], ["xx"]]),
    "filtered sets": Case(members.correct, ["teh the te"], [[""], ["tea xx thn th"]]),
    "table of functions": Case(
        tables.series, [[1.0, 2.0, 45.0], "mean"], [[[], "max"], [[5.0, 7.0, 33.0], "last"], [[9.0, 1.0], "max"]]
    ),
    "sorted before": Case(
        tables.kept, [torch.tensor([0.1, 0.9, 0.8]), ["a b", "c d", "c d"], 3],
        [[torch.tensor([0.5, 0.4]), ["x", "y"], 1], [torch.tensor([]), [], 2]],
    ),
    "errors with an __init__": Case(
        real.settings, [["a=1", "", "b", "c = 2.5"]], [[[]], [["x=1"]], [["", "", "y"]]]
    ),
    "slots and a hash": Case(real.slots, [[1.0, 2.0, 1.0]], [[[]], [[8.0, 1.0, 8.0, 15.0]]]),
    "Enums with methods": Case(real.levels, [[0.1, 0.5, 0.9]], [[[]], [[0.7, 0.7]], [[3.0, 0.0, 0.0]]]),
    "named tuples with methods": Case(
        real.boxes, [[(0.0, 5.0), (1.0, 2.0)]], [[[]], [[(0.5, 0.0), (-7.0, 3.5)]]]
    ),
    "several bases": Case(real.events, [["a-b", "c"]], [[[]], [["", "x-y-z", "q"]]]),
    "abstract classes": Case(
        real.shapes, [[("square", 2.0), ("circle", 1.0), ("other", 1.0)]],
        [[[]], [[("other", 1.0)]], [[("circle", 3.0), ("circle", 2.0), ("square", 0.5)]]],
    ),
    "dataclasses with all they can": Case(
        real.jobs, [[(1, "a"), (3, "b"), (1, "c")]], [[[]], [[(5, "x"), (5, "y"), (0, "z"), (5, "w")]]]
    ),
    "a class with what a block cannot have": Case(
        real.counted, [[1.0, 2.0, 3.0]], [[[]], [[5.0]], [[0.5, 0.5, 9.0]]]
    ),
    "table of named tuples": Case(
        tables.picked, [torch.tensor([0.4, 0.3, 0.9, 0.1]), ["s1"], 1],
        [[torch.tensor([0.1, 0.9, 0.3, 0.2]), [], 2], [torch.zeros(4), ["s4"], 1]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:.*regular expression")
def test_classes_do_what_they_do_in_python(name) -> None:
    check(CASES[name])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="StrEnum is of Python 3.11")
def test_members_of_a_str_enum_are_texts() -> None:
    from tests.everyday.blocks.classes import of_states

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(Case(of_states.states, [["a", "new", "b"]], [[[]], [["new", "new", "old"]]]))


def test_identity_of_two_things_is_a_refusal_that_no_handler_catches() -> None:
    code = "def block(x):\n try: return is_same_object(x, x)\n except TypeError: return 5"
    with pytest.raises(tracepack.GuardError, match="compares two things by identity; got list and list. Write =="):
        block_of(code).run(([1],))


KIND = "K = new_class('A', 'A', (), {methods})"
REFUSED = {
    "an endless object": (
        "{'__iter__': lambda a: (0 for b in range(10000) for c in range(30000))}", "list(a)", "grows too large",
    ),
    "its address": ("{}", "str(a)", "only numbers, texts and containers"),
    "a large text": ("{'__repr__': lambda a: 'x' * 10000000}", "str([a, a, a])", "grows too large"),
    "a field of a class of Python": ("{}", "a.__class__", "the name '__class__'"),
    "a private method": ("{}", "'a'._x", "has no attribute '_x'"),
    "its number in a text": ("{'__int__': lambda a: 3, '__repr__': lambda a: 'x'}", "'%5d' % a", "number of an object"),
    "the bases of a class": ("{}", "K.mro()", "type object 'A' has no attribute 'mro'"),
    "an attribute of a function": ("{'f': f}", "a.f.func_globals", "asks a function for an attribute"),
    "a part of a descriptor": ("{'f': property_of(f)}", "K.f.fget", "asks a MadeProperty for 'fget'"),
    "a function of a method": ("{'f': f}", "a.f.cr_frame", "asks a function for an attribute"),
    "a special method of Python's": ("{'__reduce__': f}", "a", "a class has no part '__reduce__'"),
    "a class method of Python's": ("{'__init_subclass__': f}", "a", "a class has no part '__init_subclass__'"),
    "a slot of Python's": ("{'__slots__': ('__class__',)}", "a", "a class has no part '__slots__'"),
    "a descriptor of Python's": ("{'f': len}", "a.f.x", "asks a function for an attribute"),
    "a method of the base": ("{}", "base_method(K, a, '__reduce__')", "asks a base for what it cannot have"),
    "a text of the base": ("{}", "base_method(K, a, '__repr__')", "object.__repr__"),
    "a class in a loop": ("{}", "[new_class('B', 'B', (), {}) for b in (1, 2)]", "makes classes in a loop"),
    "a maker that is handed on": ("{}", "map(new_class, 'ab')", "makes classes in a loop"),
    "the class of a number": ("{}", "class_asked(1)", "asks for a class that is not the user's"),
    "a class that is changed": ("{}", "setattr(K, 'a', 1)", "name 'setattr' is not defined"),
}  # fmt: skip


@pytest.mark.parametrize(("methods", "asked", "said"), REFUSED.values(), ids=REFUSED)
def test_objects_stay_within_the_bounds_of_blocks(methods, asked, said) -> None:
    made = KIND.format(methods=methods)
    code = (
        f"def block(x):\n f = lambda a: 1\n {made}\n a = new_object(K, {{}})\n"
        f" try: return {asked}\n except ValueError: return 5"
    )
    with pytest.raises((tracepack.GuardError, tracepack.GraphError, AttributeError, TypeError, NameError)) as caught:
        block_of(code).run((1,))
    assert said in str(caught.value)


def test_a_missing_field_is_an_attribute_error_and_a_constant_begins_a_count() -> None:
    made = KIND.format(methods="{'n': 1}")
    code = (
        f"def block(x):\n {made}\n a = new_object(K, {{}})\n a.n += 1\n"
        " try: a.m += 1\n except AttributeError: return a.n\n return 0"
    )
    assert block_of(code).run((1,)) == 2
