"""Compares a lowered body with its model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice
from typing import Any, Protocol

import torch
from torch.utils import _pytree as pytree

from ..graph.device import Device
from ..graph.errors import LoweringError, OutsideError
from ..graph.graph import Body, Facts, KernelCall, Operator
from ..graph.guards import Expression
from ..graph.sharing.memory import handed_on, touched
from ..graph.traverse import walk
from ..runtime.checks import size_of
from ..runtime.placement import home_of_body
from ..runtime.plan import Plan
from ..runtime.primitives.control_flow import LimitedRounds
from ..runtime.primitives.random import draws_undone
from ..runtime.safety.card_indices import tried_on_cpu
from ..runtime.state import is_stateful
from .agreement.flat_results import difference, same_leaves
from .agreement.resized_example import sized
from .agreement.single_sizes import SizeTrial, allowing, holds_at, sets_apart
from .call import Leaves, separate
from .convert.layout_guards import grown, stepped, with_layouts
from .convert.other_data import hard, is_even, masked, uneven
from .layouts import ALWAYS, laid_out, where_asked


class Reference(Protocol):
    """The model that a body is compared with; it keeps its state from call to call."""

    @property
    def changed(self) -> bool:
        """Whether the calls so far changed the model's state."""
        ...

    def __call__(self, *tensors: Any) -> Any:
        """All that the model returns for flat tensors."""
        ...


MOST_ROUNDS = 10_000
TOGETHER = ((1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 2))  # sizes that are tried of two symbols at once
MOST_SECONDS = 10.0  # spent on them: only large models get fewer
MOST_PAIRS = 3
_OTHER_RESULTS = "the lowered graph gives other results than the model"
_FAST_PATHS = (
    "The export may take another branch of it: torch's fast paths do, which enable_nested_tensor="
    "False and torch.backends.mha.set_fastpath_enabled(False) switch off."
)


def prove(
    body: Body, tensors: Leaves, reference: Callable[[], Reference], asks: bool = False, chooses: bool = True
) -> tuple[Body, Any]:
    """Compares a body with the model on the examples, and decides which sizes of 0 and 1 the body takes.

    Args:
        body: the lowered model.
        tensors: the example.
        reference: makes the model in its initial state.
        asks: whether the model asks for strides.
        chooses: whether its code may choose by sizes that are computed, which guards on these then hold.

    Returns:
        The body with its guards, and torch's description of the containers of the result.

    Raises:
        LoweringError: the body gives other results, or the model draws random numbers.
    """
    checker = _Checker(body, reference, asks, home_of_body(body, tensors))
    spec = checker.require_equal(tensors)
    if not checker.trusts and any(map(is_even, tensors)) and checker.differs([*map(uneven, tensors)]):
        got = "other values than those of the example"
        raise LoweringError(_OTHER_RESULTS, where=f"op {body.name!r}", got=got, fix=checker.advice(""))
    for mask in () if checker.trusts else (True, False):
        alike = [masked(tensor, mask) for tensor in tensors]
        if any(a is not b for a, b in zip(alike, tensors, strict=True)) and checker.differs(alike):
            got = f"another answer where a mask is {mask} everywhere"
            raise LoweringError(_OTHER_RESULTS, where=f"op {body.name!r}", got=got, fix=checker.advice(_FAST_PATHS))
    guards = list(body.facts.guards)
    for symbol in body.facts.symbols:
        small = [Expression.parse(f"{symbol} >= {size}") for size in (2, 1)]
        guards = [guard for guard in guards if guard not in small]
        least, bounds = checker.least(symbol, tensors)
        tried = [size for size in (1, 0) if size != least - 1]
        guards = [*(checker.relaxed(guard, symbol, tried, tensors) for guard in guards), *bounds]
    present = {name: size_of(tensors[index], dim) for name, (index, dim) in body.facts.symbols.items()}
    guards = guards if chooses else allowing(guards, present, checker, tensors)
    guards += checker.together_only(guards, tensors)
    if checker.hangs_on_layout(tensors):
        body = replace(body, graph=with_layouts(body.graph, tensors, checker.reads_strides(tensors)))
    return replace(body, facts=Facts(body.facts.symbols, tuple(dict.fromkeys(guards)))), spec


def size_trial(body: Body, tensors: Leaves, reference: Callable[[], Reference]) -> SizeTrial:
    """What runs a body and its model at other sizes; as for `prove`."""
    return _Checker(body, reference, False, home_of_body(body, tensors))


class _Checker:
    def __init__(self, body: Body, reference: Callable[[], Reference], asks: bool, home: Device) -> None:
        self.body, self.reference, self.asks, self.home = body, reference, asks, home
        calls = [node.target for node in body.graph.nodes if isinstance(node.target, KernelCall)]
        self.unchecked = any(call.kernel.unchecked for call in calls)
        self.trusts = any(call.kernel.trusts_values for call in calls)
        self._moves = is_stateful(body.graph) or bool(touched(body.graph).constants())
        self._plan: Plan | None = None
        names = {node.target.name for node in walk(body.graph) if isinstance(node.target, Operator)}
        self._whole = any("_int_mm" in name for name in names)  # of layers that round to whole numbers
        self._hard: list[bool] | None = None  # whether both agree on such numbers at the example's sizes

    def plan(self) -> Plan:
        """A plan in its initial state, which is made anew only where runs change it."""
        if self._plan is None or self._moves:
            self._plan = Plan(self.body.graph, home=self.home)
        return self._plan

    def require_equal(self, tensors: Leaves) -> Any:
        """Runs body and model on the example and compares; returns the structure of the result."""
        where = f"op {self.body.name!r}"
        model, plan = self.reference(), self.plan()
        with draws_undone(lambda: self.both(tensors)) as drew:
            wanted, spec = pytree.tree_flatten(model(*separate(tensors)))
            try:
                got = list(plan.run(separate(tensors), checked=False))
            except OutsideError as error:
                raise LoweringError(
                    error.what, where=f"op {self.body.name!r}, {error.where}", got=error.got, expected=error.expected,
                    fix=error.fix,
                ) from error  # fmt: skip
            if drew():
                raise LoweringError(
                    "the model draws random numbers, so that no two runs agree",
                    where=where,
                    fix="Switch the randomness off, or take the random tensor as an input.",
                )
        if not same_leaves(wanted, got):
            got_instead, fix = difference(wanted, got), self.advice(_FAST_PATHS)
            raise LoweringError(_OTHER_RESULTS, where=where, got=got_instead, fix=fix)
        if model.changed:
            self.require_state(model, plan, tensors)
        return spec

    def advice(self, otherwise: str) -> str:
        """What to do about other results: where a buffer is returned that each call writes, later calls change them."""
        returned = any(of_constant for _, of_constant in handed_on(self.body.graph))
        return (
            "Return a copy of a buffer that the model writes: buffer.clone()."
            if returned and self._moves
            else otherwise
        )

    def require_state(self, model: Reference, plan: Plan, tensors: Leaves) -> None:
        """Runs body and model once more, from the state after the first runs, and compares."""
        wanted, got = pytree.tree_leaves(model(*separate(tensors))), plan.run(separate(tensors), checked=False)
        if not same_leaves(wanted, got):
            raise LoweringError(
                "the lowered graph does not keep the model's state",
                where=f"op {self.body.name!r}",
                got=f"in a second run, {difference(wanted, got)}",
                fix="Keep state in registered buffers and change it in place.",
            )

    def both(self, tensors: Leaves) -> tuple[list[Any], list[Any]]:
        """One run of the body, without the rule of contiguity, and one of the model, on copies."""
        got = self.plan().run(separate(tensors), checked=False)
        return list(got), pytree.tree_leaves(self.reference()(*separate(tensors)))

    def hangs_on_layout(self, tensors: Leaves) -> bool:
        """Whether model and body differ, in results or in inputs afterwards, for inputs of another memory layout."""
        kinds = [value.type for value in self.body.graph.inputs]
        larger = [grown(t, kind, self.body.facts.symbols) for t, kind in zip(tensors, kinds, strict=True)]
        bases = [] if self.unchecked else [tensors] if _strides(larger) == _strides(tensors) else [tensors, larger]
        even = [base for base in bases if any(map(is_even, base)) and not self.trusts]
        bases += [[*map(uneven, base)] for base in even]
        # A copy where one is needed decides between the ways of attention, which differ where all of a row is masked.
        alike = [(base, [masked(tensor, True) for tensor in base]) for base in bases if not self.trusts]
        bases += [made for base, made in alike if any(a is not b for a, b in zip(made, base, strict=True))]
        layouts = [*ALWAYS, *where_asked(tensors)] if self.asks else ALWAYS
        others = [other for base in bases for other in (*(laid_out(base, layout) for layout in layouts), base)]
        return any(self.differs(other) for other in others if _strides(other) != _strides(tensors))

    def reads_strides(self, tensors: Leaves) -> bool:
        """Whether the strides of sizes of 1 count, which may be any number in contiguous memory."""
        kinds = [value.type for value in self.body.graph.inputs]
        return any(
            self.differs([stepped(t, kind, names) for t, kind in zip(tensors, kinds, strict=True)])
            for names in [(symbol,) for symbol in self.body.facts.symbols] + [tuple(self.body.facts.symbols)]
        )

    def differs(self, tensors: Leaves) -> bool:
        """Whether both run and give different results or inputs; copies of the inputs keep their layout."""
        given, handed = separate(tensors), separate(tensors)
        try:
            with LimitedRounds(MOST_ROUNDS), tried_on_cpu(), draws_undone(lambda: self.both(tensors)):
                model, plan = self.reference(), self.plan()
                got, wanted = list(plan.run(handed, checked=False)), pytree.tree_leaves(model(*given))
                if self._moves:  # what the first run leaves shows in the second
                    wanted += pytree.tree_leaves(model(*separate(tensors)))
                    got += plan.run(separate(tensors), checked=False)
        except Exception:  # an error of either is no wrong result
            return False
        return not (same_leaves(wanted, got) and same_leaves(given, handed))

    def relaxed(self, guard: Expression, symbol: str, tried: Sequence[int], tensors: Leaves) -> Expression:
        """A guard that torch added only because it treats sizes of 0 and 1 as special, which allows the tried sizes."""
        if not sets_apart(guard.tree) or symbol not in guard.symbols:
            return guard
        symbols = self.body.facts.symbols
        sizes = {name: size_of(tensors[index], dim) for name, (index, dim) in symbols.items()}
        holds = guard.compile(symbols)
        failing = [size for size in tried if not holds_at(holds, {**sizes, symbol: size})]
        return Expression.any_of([guard, *(_equal(symbol, size) for size in failing)])

    def least(self, symbol: str, tensors: Leaves) -> tuple[int, list[Expression]]:
        """The least size of a symbol, found by trying 1 and then 0, and the guard for it where it is not 0.

        Where the model refuses the size in one input, it is tried in all inputs at once, as in a batch of one.
        """
        for size in (1, 0):
            if not self.agrees([symbol], size, tensors):
                others = self.together(symbol, size, tensors)
                return size + 1, [Expression.any_of([Expression.parse(f"{symbol} >= {size + 1}"), *others])]
        return 0, []

    def together(self, symbol: str, most: int, tensors: Leaves) -> list[Expression]:
        """A condition for a guard to allow: it is right where all inputs have it, as in one batch."""
        places = self.body.facts.symbols
        own, dim = places[symbol]
        others = {other: at for other, at in places.items() if _is_tensor(tensors[at[0]])}
        alike = [other for other, at in others.items() if at[1] == dim]
        large = [o for o, at in others.items() if size_of(tensors[at[0]], at[1]) == size_of(tensors[own], dim)]
        for peers in (alike, large):  # a batch may be another dimension of each
            good = [size for size in range(most, -1, -1) if len(peers) > 1 and self.agrees(peers, size, tensors)]
            if good:
                return [Expression.all_of(_equal(peer, size) for peer in peers) for size in good]
        return []

    def together_only(self, guards: Sequence[Expression], tensors: Leaves) -> list[Expression]:
        """Guards against small sizes that are right one by one, and not together."""
        symbols, until = self.body.facts.symbols, time.perf_counter() + MOST_SECONDS
        found: list[Expression] = []
        conditions = [guard.compile(symbols) for guard in guards]
        present = {name: size_of(tensors[index], dim) for name, (index, dim) in symbols.items()}
        for pair in islice(combinations(symbols, 2), MOST_PAIRS):
            for sizes in TOGETHER:
                if time.perf_counter() > until:
                    return found
                tried = dict(zip(pair, sizes, strict=True))
                small = {**present, **tried}
                if all(holds_at(holds, small) for holds in conditions) and self.differs_at(tried, tensors):
                    least = [Expression.parse(f"{name} != {size}") for name, size in tried.items()]
                    found.append(Expression.any_of(least))
        return found

    def differs_at(self, sizes: Mapping[str, int], tensors: Leaves) -> bool:
        """Whether model and body give other answers where some symbols have other sizes."""
        return not self.trusts and self.differs(sized(self.body, sizes, tensors))

    def agrees_at(self, sizes: Mapping[str, int], tensors: Leaves) -> bool:
        """Whether model and body agree where some symbols have other sizes; an unchecked index is 0, below 1."""
        least = min(sizes.values())
        if self.unchecked or (self.trusts and not least):
            return False
        if self.trusts:
            tensors = [torch.zeros_like(t) if _is_tensor(t) else t for t in tensors]
        small = sized(self.body, sizes, tensors)
        found = self._alike(small)  # whole numbers may be lengths, too large for this size
        return found is True or (found is None and self._alike([_clamped(t, least) for t in small]) is True)

    def _differs_on_hard(self, small: Leaves, tensors: Leaves) -> bool:
        """Whether numbers that few examples hold show a difference, which they do not show at the example's sizes.

        Torch's quantized layers forget a NaN, or fail, by its place in memory, and so for the sizes by chance.
        """
        many = 1 if self._whole else None
        if self._hard is None:
            self._hard = [not self.differs(each) for each in islice(hard(tensors), many)]
        return any(held and self.differs(each) for held, each in zip(self._hard, hard(small), strict=False))

    def agrees(self, symbols: Sequence[str], size: int, tensors: Leaves) -> bool:
        """Whether model and body agree where some symbols have the same other size, by which its code may choose."""
        sizes = dict.fromkeys(symbols, size)
        if not self.agrees_at(sizes, tensors):
            return False
        return size == 0 or self.trusts or not self._differs_on_hard(sized(self.body, sizes, tensors), tensors)

    def _alike(self, tensors: Leaves) -> bool | None:
        """Whether model and body agree; None where one refuses."""
        try:  # a loop on data may never end at a size for which the model is not made
            with LimitedRounds(MOST_ROUNDS), tried_on_cpu(), draws_undone(lambda: self.both(tensors)):
                model, plan = self.reference(), self.plan()
                for _ in range(2 if self._moves else 1):  # what the first run leaves shows in the second
                    found = list(plan.run(separate(tensors), checked=False))  # its loops are stopped, the model's not
                    if not same_leaves(pytree.tree_leaves(model(*separate(tensors))), found):
                        return False
        except Exception:  # the model itself refuses this size
            return None
        return True


def _equal(symbol: str, size: int) -> Expression:
    return Expression.parse(f"{symbol} == {size}")


def _is_tensor(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor)


def _clamped(tensor: Any, most: int) -> Any:
    return tensor.clamp(max=most) if _is_tensor(tensor) and tensor.dtype is torch.int64 else tensor


def _strides(tensors: Leaves) -> list[Any]:
    return [(t.shape, t.stride()) if _is_tensor(t) and t.layout is torch.strided else None for t in tensors]
