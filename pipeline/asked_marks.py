"""What calls must keep to beyond the types of inputs, since the function answers otherwise where they do not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ..ops.graph.errors import RecordError, TracepackError
from ..ops.graph.graph import Graph
from ..ops.graph.operators.names import (
    DICT_ONLY,
    FLOAT_ONLY,
    ITEM_FIELDS,
    KEY_ORDER,
    KEYWORD_ORDER,
    LIST_ONLY,
    NO_SUBCLASS,
    NOT_OF_NUMPY,
    PLAIN_ONLY,
    SOME_FLOAT,
    TENSOR_ONLY,
)
from ..ops.graph.program import Parameter, Slot
from ..ops.lowering.autocast import with_autocast_guard
from ..ops.runtime.user_code import names_in
from ..ops.tracing_hook import plainly
from .recheck.given.containers import classes_of, has_dict, holds_any, holds_others, ordered, other_classes
from .recheck.given.key_order import has_order, turned, with_marks
from .recheck.given.named_classes import made_of_fields, made_of_named, tensors_of_named, with_other_records
from .recheck.given.numpy_numbers import INTS, NARROW, NUMBERS, ComputedInt, NumpyNumbers, given, plain_numbers
from .recheck.glimpses import has_float, has_tensor, named_ints, one_float, one_whole, whole
from .recheck.sizes import has_other_dtypes
from .recheck.vary import clones

if TYPE_CHECKING:
    from .examples import Examples
    from .replay import Replay

ROUNDED = (math.ceil, math.floor)  # the ints that are tried for a float, beside those that the code names

ASKING_DTYPE = frozenset(
    "dtype itemsize element_size finfo promote_types result_type can_cast isinstance type nbytes".split()
)


ASKING_FIELDS = frozenset("hasattr getattr AttributeError attrgetter Exception".split())


class AskedMarks:
    """Calls that ask what a function's answer hangs on.

    Args:
        replay: holds the pipeline against the function.
    """

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    def marked(self, graph: Graph, names: Sequence[str]) -> Graph:
        """A graph that says what calls must keep to; the same one where that is nothing.

        Args:
            graph: of the function.
            names: of its inputs.

        Raises:
            RecordError: the example itself does not, with an int where its list has floats.
        """
        marks, hangs = self._marks(names), self._hangs_on_autocast()
        graph = with_marks(graph, marks) if marks else graph
        return with_autocast_guard(graph) if hangs else graph

    def _marks(self, names: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
        """What calls must keep to beyond the types of inputs, since another answer follows where they do not.

        Raises:
            RecordError: the example itself does not, with an int where its list has floats.
        """
        items, leaves = self.replay.examples.items, self.replay.examples.leaves
        found: list[tuple[str, Sequence[str]]] = [
            (KEY_ORDER, [item.name]) for index, item in enumerate(items) if self._hangs_on_order(index, item)
        ]
        keywords = list(self.replay.examples.collected)
        if len(keywords) > 1:
            others = [item for item in items if item.name not in keywords]
            last = [item for item in reversed(items) if item.name in keywords]
            if self._hangs_on(replace(self.replay.examples, items=(*others, *last)), leaves):
                found.append((KEYWORD_ORDER, keywords))
        for index, leaf in enumerate(leaves):
            if isinstance(leaf, list) and any(self._hangs_on_class({index: made}) for made in classes_of(leaf)):
                found.append((LIST_ONLY, [names[index]]))
        for index, form in self.replay.examples.lists.items():
            found += [(ITEM_FIELDS, [names[index], path, *fields]) for path, fields in form.fields()]
        found += [*self._plain_marks(), *self._dict_marks(), *self._class_marks(names), *self._numpy_marks(names)]
        floats = self._float_marks(names)
        self._refuse_own_ints(names, [name for mark, named in floats if mark == FLOAT_ONLY for name in named])
        found += floats
        tensors = [index for index, leaf in enumerate(leaves) if has_tensor(leaf)]
        made = tensors_of_named(self.replay.objects.classes) if tensors else []
        hangs = any(self._hangs_on_class(dict.fromkeys(tensors, each)) for each in made)
        return [*found, (TENSOR_ONLY, [names[index] for index in tensors])] if hangs else found

    def _hangs_on_autocast(self) -> bool:
        """Whether the function answers otherwise under autocast than the pipeline: it asks for a dtype of a result."""
        if not any(not ASKING_DTYPE.isdisjoint(names_in(each.__code__)) for each in self.replay.objects.functions):
            return False
        exact, self.replay.exact = self.replay.exact, False
        try:
            with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
                return self._hangs_on(self.replay.examples, self.replay.examples.leaves, refusing=False)
        finally:
            self.replay.exact = exact

    def _float_marks(self, names: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
        """The inputs in which an int gives another answer than a float: one int, or ints for all floats at once."""
        leaves = self.replay.examples.leaves
        floats = {index: leaf for index, leaf in enumerate(leaves) if has_float(leaf)}
        ints = (*ROUNDED, *named_ints(self.replay.objects.plain_values(), self._asks_int()))

        def sees(change: Callable[[int, Any, Any], Any]) -> bool:
            tried = ([change(n, leaf, to) if n in floats else leaf for n, leaf in enumerate(leaves)] for to in ints)
            found = (self._hangs_on(self.replay.examples, each, refusing=False) for each in tried)
            return any(
                other or has_other_dtypes(self.replay.pipeline.graph, self.replay.shapes[-1:]) for other in found
            )

        def alone(index: int) -> bool:
            return sees(lambda n, leaf, to: one_whole(leaf, to) if n == index else leaf)

        def all_but_one(index: int) -> bool:
            return sees(lambda n, leaf, to: one_float(leaf, to) if n == index else whole(leaf, to))

        only = [index for index in floats if alone(index)]
        for index in only:
            del floats[index]
        if not floats or not sees(lambda n, leaf, to: whole(leaf, to)):
            return [(FLOAT_ONLY, [names[index]]) for index in only]
        if any(map(all_but_one, floats)):  # the other answer hangs on some of them, and nothing tells which
            return [(FLOAT_ONLY, [names[index]]) for index in (*only, *floats)]
        return [*((FLOAT_ONLY, [names[index]]) for index in only), (SOME_FLOAT, [names[index] for index in floats])]

    def _plain_marks(self) -> list[tuple[str, Sequence[str]]]:
        """The parameters with tuples and dicts, where another answer follows from such of other classes."""
        examples = self.replay.examples
        if self.replay.stateful or examples.originals:  # an example of such a class is what the function wants
            return []
        if not any(map(holds_others, examples.call(examples.alike(examples.leaves)))):
            return []
        if not any(self._hangs_on(replace(examples, dicts=made), examples.leaves) for made in other_classes()):
            return []
        return [(PLAIN_ONLY, [item.name for item in examples.items])]

    def _dict_marks(self) -> list[tuple[str, Sequence[str]]]:
        """The parameters with dicts, where another answer follows from OrderedDicts: they are printed otherwise."""
        examples = self.replay.examples
        held = {place for place, leaf in enumerate(examples.leaves) if has_dict(leaf)}  # in lists
        dicts = [item.name for item in examples.items if has_dict(item.tree) or held & {*_places(item.tree)}]
        if not dicts or examples.originals or not self._hangs_on(replace(examples, dicts=ordered), examples.leaves):
            return []
        return [(DICT_ONLY, dicts)]

    def _class_marks(self, names: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
        """The parameters with containers, where another answer follows from such of a class that the function names.

        Or from named tuples of any other class, and from such with a field that it asks for by name.
        """
        examples = self.replay.examples
        if (
            self.replay.stateful
            or examples.originals
            or not any(map(holds_any, examples.call(examples.alike(examples.leaves))))
        ):
            return []
        functions = self.replay.objects.functions
        asks = any(not ASKING_FIELDS.isdisjoint(names_in(each.__code__)) for each in functions)
        texts = [each for each in self.replay.objects.plain_values() if type(each) is str] if asks else []
        texts += [name for each in functions if asks for name in names_in(each.__code__)]
        made = [*made_of_named(self.replay.objects.classes), with_other_records, *made_of_fields(texts)]
        if not any(self._hangs_on(replace(examples, dicts=each), examples.leaves) for each in made):
            return []
        forms = [(NO_SUBCLASS, [names[n], *pair]) for n, form in examples.lists.items() for pair in form.names()]
        return [*((NO_SUBCLASS, [item.name]) for item in examples.items), *forms]

    def _numpy_marks(self, names: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
        """The inputs with numbers for which another answer follows from such of numpy, with the dtypes of these."""
        known = self.replay.examples.numbers  # the function was recorded with one of numpy
        leaves = {n: leaf for n, leaf in enumerate(self.replay.examples.leaves) if n not in known}
        found: dict[int, list[str]] = {}
        ints = {place for place, leaf in leaves.items() if INTS.holds(leaf)}
        if ints and self._computes(ints):
            found = {place: [*NARROW] for place in ints if len(ints) == 1 or self._computes({place})}
        for numbers in NUMBERS:
            held = {place: leaf for place, leaf in leaves.items() if numbers.holds(leaf)}
            if held and self._differs(held, numbers):
                for place, leaf in held.items():
                    if len(held) == 1 or self._differs({place: leaf}, numbers):
                        found.setdefault(place, []).extend(numbers.dtypes)
        return [(NOT_OF_NUMPY, [names[place], *dict.fromkeys(dtypes)]) for place, dtypes in found.items()]

    def _differs(self, leaves: Mapping[int, Any], numbers: NumpyNumbers) -> bool:
        """Whether another answer follows where some numbers are of numpy."""
        return any(self._hangs_on_given(given(leaves, numbers, value), plain_numbers) for value in numbers.values)

    def _computes(self, places: Collection[int]) -> bool:
        """Whether the function computes with ints at some places and others."""
        heard: list[bool] = []
        leaves = [
            INTS.each(leaf, lambda value: ComputedInt.of(value, heard)) if place in places else leaf
            for place, leaf in enumerate(clones(self.replay.examples.leaves))
        ]
        if self.replay.stateful or time.perf_counter() > self.replay.until:
            return False
        with self.replay.aside(), suppress(Exception):  # of a class that the function does not take
            self.replay.plain(leaves)
        return bool(heard)

    def _asks_int(self) -> bool:
        """Whether a function names what floats have, and ints lack in this Python."""
        lacking = {*dir(float)} - {*dir(int)}
        return any(not lacking.isdisjoint(names_in(each.__code__)) for each in self.replay.objects.functions)

    def _refuse_own_ints(self, names: Sequence[str], only: Sequence[str]) -> None:
        """Refuses lists of any length where an int of the example among floats gives another answer than a float."""
        leaves, whole = self.replay.examples.leaves, self.replay.examples.whole
        for index, items in whole.items():
            given = [items if n == index else leaf for n, leaf in enumerate(leaves)]
            if names[index] in only or self._hangs_on(self.replay.examples, given, refusing=False):
                raise RecordError(
                    f"an int among the floats of {names[index]!r} gives another answer than a float",
                    fix="Write floats only, as 1.0 for 1, and it may have any length",
                )

    def _hangs_on_class(self, other: Mapping[int, Callable[[Any], Any]]) -> bool:
        """Whether the function answers otherwise where some inputs are of another class, which no pipeline sees."""
        leaves = clones(self.replay.examples.leaves)
        return self._hangs_on_given({n: (leaves[n], make(clones([leaves[n]])[0])) for n, make in other.items()})

    def _hangs_on_given(
        self, other: Mapping[int, tuple[Any, Any]], seen: Callable[[Any], Any] = lambda result: result
    ) -> bool:
        """Whether the function answers otherwise for what it is given than the pipeline for what stands for that.

        Args:
            other: both for some inputs by their places.
            seen: what is compared of the function's result.
        """
        if self.replay.stateful or time.perf_counter() > self.replay.until:
            return False
        mine, handed = clones(self.replay.examples.leaves), clones(self.replay.examples.leaves)
        for place, pair in other.items():
            mine[place], handed[place] = pair
        args, kwargs = self.replay.examples.call(mine)
        with self.replay.aside(), plainly():  # a model may ask, too
            try:
                got = self.replay.pipeline(*args, **kwargs)
                return bool(self.replay.difference(seen(self.replay.plain(handed)), got))
            except TracepackError:
                return False
            except Exception:  # the function takes no such class
                return True

    def _hangs_on_order(self, number: int, item: Parameter) -> bool:
        if not has_order(item.tree):
            return False
        items, other = self.replay.examples.items, replace(item, tree=turned(item.tree))
        examples = replace(self.replay.examples, items=(*items[:number], other, *items[number + 1 :]))
        return self._hangs_on(examples, self.replay.examples.leaves)

    def _hangs_on(self, examples: Examples, leaves: Sequence[Any], refusing: bool = True) -> bool:
        """Whether function and pipeline differ in a call; `refusing`: or one of them refuses it."""
        ran, found = self.replay.first_call(leaves, examples)
        return bool(found) or (refusing and not ran)


def _places(tree: Any) -> Iterator[int]:
    """The places of the leaves of a parameter."""
    if isinstance(tree, Slot):
        yield tree.index
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, tuple | list) else ():
        yield from _places(part)
