"""What a generator function that is written anew calls: where it begins, goes through something, and ends.

All that it yields is made at once, when it is called. Where that could show, the recording is given up, and the
generator is run as Python runs it.
"""

from __future__ import annotations

from typing import Any

from .....ops.graph.errors import RecordError
from .....ops.graph.graph import Node, Operator
from .....ops.graph.operators.names import DRAWING, FRESH, VIEW, effect
from .....ops.graph.traverse import subgraphs
from ....lists.iterating import goes_through_list
from ....lists.walking.iterators import ListIterator
from ....proxies.base import is_traced
from ....proxies.trees import concrete
from ...hooks import active
from ...python.rounds.asking import iterator_over

_CONTAINERS: tuple[Any, ...] = ([], (), range(0), "", set(), {}, {}.values(), {}.items())
_OF_CONTAINERS = tuple({type(iter(each)) for each in _CONTAINERS})
_UNCHANGING = (int, float, complex, bool, str, bytes)


def begun(*given: Any) -> Any:
    """Where a generator begins; gives what `yielded` needs to see what it did.

    Args:
        given: its arguments.
    """
    recorder = active()
    for each in given:
        finite(each)
    return None if recorder is None else (recorder, len(recorder.nodes))


def finite(items: Any) -> Any:
    """What a generator goes through.

    Raises:
        RecordError: it may have no end, or do something whenever it is asked.
    """
    plain = is_traced(items) or type(items) in (ListIterator, *_OF_CONTAINERS) or not hasattr(items, "__next__")
    if active() is not None and not plain and not goes_through_list(items):
        raise RecordError("a generator goes through an iterator that may have no end")
    return items


def unchanging(item: Any, *variables: Any) -> Any:
    """What a generator yields.

    Args:
        item: it.
        variables: those in it to which the generator adds, as in ``total += x``.

    Raises:
        RecordError: one holds a list or a tensor, which is changed in place.
    """
    if not all(type(concrete(each)) in _UNCHANGING for each in variables):
        raise RecordError("a generator yields what it changes later")
    return item


def yielded(items: Any, start: Any) -> Any:
    """What a generator gives to its caller.

    Args:
        items: all that it yields.
        start: what `begun` gave.

    Raises:
        RecordError: it drew random numbers, or wrote to something, and the order of that and of what is done with the
            items may show.
    """
    recorder = active()
    if recorder is None:
        return iter(items)
    if start is None or start[0] is not recorder or any(map(_does_more, recorder.nodes[start[1] :])):
        raise RecordError("a generator does more than compute what it yields")
    found = iterator_over(items)
    if type(found) is ListIterator:
        found.of_generator = True
    return found


def _does_more(node: Node) -> bool:
    """Whether a node does more than compute."""
    if any(_does_more(each) for graph in subgraphs(node) for each in graph.nodes):
        return True
    if not isinstance(node.target, Operator):
        return False
    return node.target.name in DRAWING or effect(node.target.name) not in (FRESH, VIEW)
