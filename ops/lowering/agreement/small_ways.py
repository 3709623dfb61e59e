"""Ways that a model takes at sizes of 0 and 1 only, by choices of its own code.

torch.export takes all free sizes for 2 at least, so that ``if x.shape[0] == 1 and x.shape[1] > 8`` leaves no guard: not
on the first size, and none on the second, since that was not asked. That body and model agree at 1 on the example says
nothing of a second size of 9. So the model is exported once more at each such size, and what it asks there is a guard;
and body and model run there at other sizes of all others, since the way may answer alike on the example only.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import sympy  # type: ignore[import-untyped]  # torch needs it, and it has no types

from ...graph.graph import Body
from ...graph.guards import Expression
from ...graph.types import TensorType
from ...runtime.checks import size_of
from ..call import Leaves
from ..convert.layout_guards import grown
from ..patches.plain.askers import Heard
from .resized_example import sized
from .single_sizes import SizeTrial, holds_at, sets_apart

MOST_EXPORTS = 6
"""Further ones are not made: their sizes are refused."""
MOST_SECONDS = 10.0  # spent on runs at other sizes: only large models get fewer
_SMALL = (1, 0)
_OTHERS = (1, 2, 3)
_SIZE = re.compile(r"\['flat'\]\[(\d+)\]\.size\(\)\[(\d+)\]$")
Sizes = Mapping[str, int]
Export = Callable[[Sequence[Any], Heard], Body | None]
"""Exports the model for other inputs and notes what it asks; None where that fails."""


def with_small_ways(body: Body, tensors: Leaves, heard: Heard, export: Export, trial: SizeTrial) -> Body:
    """The body with guards on what its model asks at sizes of 0 and 1 alone.

    Args:
        body: the lowered model, with the guards that it has.
        tensors: the example.
        heard: what the model asked for it.
        export: exports it once more.
        trial: runs model and body.
    """
    return _SmallWays(body, tensors, export, trial).guarded(heard)


class _SmallWays:
    def __init__(self, body: Body, tensors: Leaves, export: Export, trial: SizeTrial) -> None:
        self.body, self.tensors, self.export, self.trial = body, tensors, export, trial
        self.until = time.perf_counter() + MOST_SECONDS
        self.symbols = body.facts.symbols
        self.present = {name: size_of(tensors[index], dim) for name, (index, dim) in self.symbols.items()}
        self.conditions = [guard.compile(self.symbols) for guard in body.facts.guards]

    def guarded(self, heard: Heard) -> Body:
        found = list[Expression]()
        waiting, met = [*self._turning(heard, {})], list[Sizes]()
        while waiting:
            sizes = waiting.pop(0)
            if sizes in met or not self._takes(sizes):
                continue
            met.append(sizes)
            other, asked = Heard(heard.told), None
            if len(met) <= MOST_EXPORTS:
                asked = self.export(sized(self.body, sizes, self.tensors), other)
            apart = [Expression.parse(f"{name} != {size}") for name, size in sizes.items()]
            if asked is None or self._differs(sizes):
                found.append(Expression.any_of(apart))
                continue
            found += [Expression.any_of([*apart, each]) for each in self._guards_of(asked, sizes, other)]
            waiting += self._turning(other, sizes)
        if not found:
            return self.body
        return replace(self.body, facts=replace(self.body.facts, guards=(*self.body.facts.guards, *found)))

    def _takes(self, sizes: Sizes) -> bool:
        return all(holds_at(holds, {**self.present, **sizes}) for holds in self.conditions)

    def _differs(self, sizes: Sizes) -> bool:
        """Whether body and model differ at some sizes where others are not those of the example."""
        inputs = zip(self.tensors, self.body.graph.inputs, strict=True)
        larger = [grown(tensor, value.type, self.symbols) for tensor, value in inputs]
        tried = [{**sizes, name: size} for name in self.symbols if name not in sizes for size in _OTHERS]
        if self.trial.differs_at(sizes, larger):
            return True
        for others in tried:
            if time.perf_counter() > self.until:
                return False
            if self._takes(others) and self.trial.differs_at(others, larger):
                return True
        return False

    def _turning(self, heard: Heard, sizes: Sizes) -> Iterator[Sizes]:
        """Sizes of one more symbol at which a choice goes another way."""
        present = {**self.present, **sizes}
        for node, test, answer in heard.choices:
            asked, places = node.expr, self._places(node)
            names = sorted({each for each in places.values() if isinstance(each, str)} - {*sizes})
            for others in _small_sizes(names, present):
                found = _value(asked, places, {**present, **others})
                if found is None or test(found) != answer:
                    yield {**sizes, **others}

    def _places(self, node: Any) -> dict[Any, str | int | None]:
        """What each of torch's symbols in a condition is: a symbol of the body, or a size; None where it is open."""
        sources = node.shape_env.var_to_sources
        return {symbol: self._place(sources.get(symbol, ())) for symbol in node.expr.free_symbols}

    def _place(self, sources: Sequence[Any]) -> str | int | None:
        for source in sources:
            name = source.name() if callable(source.name) else source.name
            if (found := _SIZE.search(name)) is not None:
                index, dim = map(int, found.groups())
                kind = self.body.graph.inputs[index].type
                if isinstance(kind, TensorType):
                    return kind.shape[dim]
                return next((own for own, place in self.symbols.items() if place == (index, dim)), None)
        return None

    def _guards_of(self, other: Body, sizes: Sizes, heard: Heard) -> Iterator[Expression]:
        """What the export at some sizes asks of all others, over the symbols of the body."""
        names = dict[str, str | int]()
        for value, found in zip(self.body.graph.inputs, other.graph.inputs, strict=True):
            if not isinstance(value.type, TensorType) or not isinstance(found.type, TensorType):
                continue
            for own, size in zip(value.type.shape, found.type.shape, strict=True):
                if not isinstance(own, str) or own in sizes:
                    continue
                known = names.setdefault(size, own) if isinstance(size, str) else size
                if known != own:
                    yield Expression.parse(f"{own} == {known}")
        for guard in other.facts.guards:
            if heard.chooses_by_sizes or not sets_apart(guard.tree):
                named = guard.renamed(names)
                if not _is_least(named) and named not in self.body.facts.guards and named.symbols <= {*self.symbols}:
                    yield named


def _small_sizes(names: Sequence[str], present: Sizes) -> Iterator[Sizes]:
    """Sizes of 0 and 1 of each of some symbols, and of two at once."""
    for count in (1, 2):
        for own in combinations(names, count):
            for sizes in product(_SMALL, repeat=count):
                if all(size < present[name] for name, size in zip(own, sizes, strict=True)):
                    yield dict(zip(own, sizes, strict=True))


def _value(asked: Any, places: Mapping[Any, str | int | None], present: Sizes) -> Any:
    """What a number or a condition is at some sizes; None where that is open."""
    values = {symbol: present[at] if isinstance(at, str) else at for symbol, at in places.items()}
    try:
        found = asked.xreplace({symbol: sympy.Integer(at) for symbol, at in values.items() if at is not None})
    except ArithmeticError:
        return None
    return found if found in (sympy.true, sympy.false) or found.is_number else None


def _is_least(guard: Expression) -> bool:
    """Whether a guard only says that a size is 1 or 2 at least, which torch takes for granted."""
    match guard.tree:
        case ast.Compare(ast.Name(), [ast.GtE()], [ast.Constant(1 | 2)]):
            return True
    return False
