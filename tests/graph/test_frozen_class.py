"""Frozen classes behave as the dataclasses of Python's standard library that they stand for."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from tracepack.ops.graph.frozen_class import frozen, frozen_object


@frozen
class Ours:
    name: str
    items: tuple[int, ...] = ()
    note: list[int] = field(default_factory=list, compare=False, repr=False)


@dataclass(frozen=True)
class Theirs:
    name: str
    items: tuple[int, ...] = ()
    note: list[int] = field(default_factory=list, compare=False, repr=False)


@frozen_object
class Thing:
    items: list[int]


@pytest.mark.parametrize(
    ("left", "right"),
    [(("a",), ("a",)), (("a", (1,)), ("a", (1,), [2])), (("a",), ("b",)), (("a", (1,)), ("a", (2,)))],
)
def test_equality_and_hash_are_those_of_a_dataclass(left, right):
    same = Theirs(*left) == Theirs(*right)
    assert (Ours(*left) == Ours(*right)) is same
    assert (hash(Ours(*left)) == hash(Ours(*right))) is same
    assert len({Ours(*left), Ours(*right)}) == len({Theirs(*left), Theirs(*right)})


def test_text_and_arguments_are_those_of_a_dataclass():
    assert repr(Ours("a", (1, 2), [3])) == repr(Theirs("a", (1, 2), [3])).replace("Theirs", "Ours")
    assert Ours.__match_args__ == Theirs.__match_args__
    assert Ours("a") != Theirs("a")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        Ours()


def test_a_field_is_set_once():
    ours, theirs = Ours("a"), Theirs("a")
    for change in (lambda x: setattr(x, "name", "b"), lambda x: delattr(x, "name")):
        with pytest.raises(FrozenInstanceError) as expected:
            change(theirs)
        with pytest.raises(FrozenInstanceError) as found:
            change(ours)
        assert str(found.value) == str(expected.value)
    assert ours.name == "a"


def test_copies_are_equal():
    ours = Ours("a", (1,))
    assert replace(ours, items=(2,)) == Ours("a", (2,))
    assert copy.copy(ours) == copy.deepcopy(ours) == pickle.loads(pickle.dumps(ours)) == ours


def test_an_object_is_equal_to_itself_alone():
    thing = Thing([1])
    assert thing == thing
    assert thing != Thing([1])
    assert {thing: 1}[thing] == 1
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'items'"):
        thing.items = []


def test_a_method_of_the_class_is_kept():
    @frozen
    class Own:
        key: list[int]

        def __hash__(self):
            return 7

        def __repr__(self):
            return "own"

    assert hash(Own([1])) == 7
    assert repr(Own([1])) == "own"
    assert Own([1]) == Own([1])
