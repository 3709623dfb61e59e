"""Lowering: from a module (or any callable on tensors) and example inputs to the Body of an op.

The body is proved on the examples before anyone relies on it: it must give what the model gives, draw no random
numbers, and its answers at sizes 0 and 1, which torch.export does not reason about, are tried and either found
equal to the model's or excluded by a guard.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch._higher_order_ops.wrap import wrap_with_autocast
from torch.export import Dim
from torch.utils import _pytree as pytree

from . import integers
from .containers import pack, state, unpack
from .convert import convert
from .counts import Counts, Reads, numbers
from .errors import GuardError, LoweringError, TracepackError
from .evaluation import Attribute, Live, buffers_in_place, guarded_state, inference_form, scratch
from .export_errors import lowering_error
from .expr import compile_expression
from .graph import Body, Constant, Facts
from .plan import Plan
from .shapes import free_sizes
from .signature import size_of
from .strided import OutsideError
from .types import TensorType

Leaves = Sequence[Any]


@dataclass(frozen=True)
class Call:
    """The structure of one call of an op: everything but its tensors.

    Attributes:
        spec: torch's description of the containers of ``(args, kwargs)``.
        fixed: the leaves, with None in place of tensors.
        kinds: dtype and rank of each tensor; None for a number that is decided at run time, which counts as one.
        names: a name for each tensor.
    """

    spec: Any
    fixed: tuple[Any, ...]
    kinds: tuple[tuple[torch.dtype, int] | None, ...]
    names: tuple[str, ...]

    def rebuild(self, tensors: Leaves) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
        """The arguments, with tensors in their places, and the objects among them that hold tensors."""
        supply = iter(tensors)
        leaves = [next(supply) if fixed is _TENSOR else fixed for fixed in self.fixed]
        objects: list[Any] = []
        args, kwargs = unpack(pytree.tree_unflatten(leaves, self.spec), objects)
        return tuple(args), kwargs, objects


class _Tensor:
    """Marks the place of a tensor in `Call.fixed`."""

    def __repr__(self) -> str:
        return "tensor"


_TENSOR = _Tensor()


def flatten_call(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    parameters: Sequence[str] = (),
    plain: Callable[[Any], Any] = lambda leaf: leaf,
    free: Callable[[Any], bool] = lambda leaf: False,
) -> tuple[Call, list[Any]]:
    """Takes a call apart into its structure and its tensors.

    Args:
        args: positional arguments.
        kwargs: keyword arguments.
        parameters: names of the positional parameters, for messages.
        plain: makes a plain value of a leaf that is neither a tensor nor free.
        free: whether a leaf is a number that is decided at run time.
    """
    pairs, spec = pytree.tree_flatten_with_path(pack((args, kwargs), []))
    fixed, tensors, names = [], [], []
    for path, leaf in pairs:
        if isinstance(leaf, torch.Tensor) or free(leaf):
            fixed.append(_TENSOR)
            tensors.append(leaf)
            names.append(_leaf_name(path, parameters))
        else:
            fixed.append(plain(leaf))
    kinds = tuple((t.dtype, t.dim()) if isinstance(t, torch.Tensor) else None for t in tensors)
    return Call(spec, tuple(fixed), kinds, tuple(names)), tensors


def _leaf_name(path: tuple[Any, ...], parameters: Sequence[str]) -> str:
    root, first, *rest = path
    if root.idx == 0:
        index = first.idx
        name = parameters[index] if index < len(parameters) else f"arg{index}"
    else:
        name = str(first.key)
    return name + "".join(str(step) for step in rest)


@dataclass(frozen=True)
class Lowered:
    """A body with what a live call needs besides: how to rebuild the output's containers."""

    body: Body
    out_spec: Any


class _Flat(torch.nn.Module):
    """The model as a module from flat tensors to a flat tuple."""

    def __init__(self, model: Any, call: Call) -> None:
        super().__init__()
        self.model = model  # a submodule where it is one, so that names and ties of weights are kept
        self.call = call
        self.numbers: dict[str, Any] | None = None  # where sizes are followed through tensors; see `counts`

    def forward(self, *flat: Any) -> Any:
        given = [t.size(0) if kind is None else t for t, kind in zip(flat, self.call.kinds, strict=True)]
        args, kwargs, objects = self.call.rebuild(given)
        with buffers_in_place(self.model), self.followed():
            return tuple(pytree.tree_leaves(returned(self.model(*args, **kwargs), objects)))

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follows sizes through tensors, if this was asked for."""
        if self.numbers is None:
            yield
            return
        counts = Counts(self.model, self.numbers)
        with counts, Reads(counts):
            yield


def returned(result: Any, objects: Sequence[Any]) -> Any:
    """All that a call gives back: what it made of the objects among its arguments, and its result."""
    met = list(objects)
    return state(list(objects), met), pack(result, met)


def lower(
    model: Any,
    call: Call,
    tensors: Leaves,
    *,
    name: str,
    device: str,
    contiguous: bool,
    shared: dict[int, Constant] | None = None,
) -> Lowered:
    """Lowers a module or a callable for one call structure.

    Args:
        model: what to lower; left as it was.
        call: the structure of the example call.
        tensors: the example's tensors.
        name: the op's name.
        device: the device that the op is scripted for.
        contiguous: whether outputs are made contiguous instead of refused.
        shared: the constants of the op's other bodies; see `convert`.

    Raises:
        LoweringError: torch.export cannot take it, or the result differs from the model.
    """
    flat = _Flat(model, call)
    error: TracepackError | None = None
    sources = [f"L['flat'][{index}]" for index in range(len(tensors))]
    numbers_at = [index for index, kind in enumerate(call.kinds) if kind is None]
    notes = scratch(model, lambda: Live(model)(*call.rebuild(_separate(tensors))[:2]))
    with guarded_state(model, name, notes):
        for program in _programs(flat, tensors, model, name, _Reference(call, Live(model), name, notes)):
            try:
                body = convert(program, name, device, call.names, sources, contiguous, shared, numbers_at)
                if not _takes(body, tensors):
                    error = error or _fixes_ones(name)
                    continue
                return Lowered(*prove(body, tensors, lambda: _Reference(call, Live(model), name, notes)))
            except GuardError as caught:  # in another state than the first it goes another way
                error = error or _undecided(f"op {name!r}, {caught.where}")
            except TracepackError as caught:
                error = error or caught
    assert error is not None
    raise error


class _Reference:
    """The model as a function from flat tensors to all that it returns; it keeps its state from call to call."""

    def __init__(self, call: Call, live: Live, name: str, notes: frozenset[Attribute]) -> None:
        self.call, self.live, self.name, self.notes = call, live, name, notes

    def __call__(self, *tensors: Any) -> Any:
        args, kwargs, objects = self.call.rebuild(tensors)
        with guarded_state(self.live.model, self.name, self.notes):  # some remember the sizes that they met
            return returned(self.live(args, kwargs), objects)

    @property
    def changed(self) -> bool:
        """Whether the calls so far changed the model's state."""
        return self.live.changed


def _separate(tensors: Leaves) -> list[Any]:
    """Copies with memory of their own: torch.export takes two inputs that are one tensor for one input."""
    return [tensor.detach().clone() if isinstance(tensor, torch.Tensor) else tensor for tensor in tensors]


def _carriers(tensors: Leaves) -> list[torch.Tensor]:
    """The same with each number as the first size of an empty tensor: torch.export reasons about sizes best."""
    return [t if isinstance(t, torch.Tensor) else torch.empty(t, 0) for t in _separate(tensors)]


def _takes(body: Body, tensors: Leaves) -> bool:
    """Whether the sizes that a body has fixed are the example's: torch may fix the 2 that was tried for a 1."""
    return all(
        isinstance(size, str) or size == found
        for value, tensor in zip(body.graph.inputs, tensors, strict=True)
        if isinstance(value.type, TensorType)
        for size, found in zip(value.type.shape, tensor.shape, strict=True)
    )


def _programs(flat: _Flat, tensors: Leaves, model: Any, name: str, reference: Callable[..., Any]) -> Iterator[Any]:
    """Exports with sizes as free as the model allows; what is freer, but changes more while it exports, comes first.

    A first size of 1 is tried as 2, since torch fixes ones.

    Raises:
        LoweringError: torch.export cannot take the model in any of the ways.
    """
    error: Exception | None = None
    yielded = False
    for example in _examples(_carriers(tensors)):
        found, caught = _attempts(flat, example, model)
        yield from found
        yielded = yielded or bool(found)
        error = error or caught
    if yielded:
        return
    assert error is not None
    if isinstance(error, TracepackError):
        raise error
    raise lowering_error(error, name, lambda: reference(*_separate(tensors))) from error


def _fixes_ones(name: str) -> LoweringError:
    return LoweringError(
        "torch.export takes a size of 1 for another one", where=f"op {name!r}", fix="Trace with larger sizes."
    )


def _undecided(where: str) -> LoweringError:
    return LoweringError(
        "the model decides by its data which way to go, and only one way ran",
        where=where,
        fix="Rewrite that part with torch.where or tracepack.cond, or use torch.jit.script.",
    )


def _attempts(flat: _Flat, tensors: Sequence[torch.Tensor], model: Any) -> tuple[list[Any], Exception | None]:
    """The programs that torch.export makes of a model, the freest first, or its error.

    Where the model asks for plain integers, it is exported once more with `int` and `range` that keep sizes free;
    where it cannot be exported, with these and with sizes followed through tensors.
    """
    asking: list[integers.Globals] = []
    plain, error = _attempt(flat, tensors, model, asking)
    if plain is not None and not asking:
        return [plain], None
    flat.numbers = None if plain is not None else numbers(model)
    try:
        freer, later = _attempt(flat, tensors, model, asking)
        if freer is None and plain is None:  # it came further now, and other modules may have asked
            freer, later = _attempt(flat, tensors, model, asking)
    finally:
        flat.numbers = None
    return [program for program in (freer, plain) if program is not None], error and later


def _attempt(
    flat: _Flat, tensors: Sequence[torch.Tensor], model: Any, asking: list[integers.Globals]
) -> tuple[Any, Exception | None]:
    """One export; modules that ask for plain integers are lent their own, and others that ask are added to them."""
    with integers.noting() as noted:
        try:
            with integers.lent(asking):
                return export(flat, tensors, model), None
        except Exception as error:  # torch.export raises errors of many kinds
            return None, error
        finally:
            asking += [module for module in noted if not any(module is other for other in asking)]


def _examples(tensors: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    wide = [t.repeat(2, *[1] * (t.dim() - 1)) if t.dim() and t.size(0) == 1 and t.numel() else t for t in tensors]
    changed = any(a is not b for a, b in zip(wide, tensors, strict=True))
    return [wide, list(tensors)] if changed else [list(tensors)]


def export(flat: torch.nn.Module, tensors: Sequence[torch.Tensor], model: Any) -> Any:
    """torch.export with every size left to it, in the model's inference form, without its warnings."""
    shapes = tuple(dict.fromkeys(range(t.dim()), Dim.AUTO) for t in tensors)
    with torch.no_grad(), inference_form(model), inference_form(flat), quiet(), free_sizes():
        program = torch.export.export(flat, tuple(tensors), dynamic_shapes={"flat": shapes}, strict=False)
        # The casts of autocast are written out by torch's decompositions only, which leave all else as it is here.
        return program.run_decompositions({}) if _uses_autocast(program) else program


def _uses_autocast(program: Any) -> bool:
    modules = [module for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    return any(node.target is wrap_with_autocast for module in modules for node in module.graph.nodes)


@contextmanager
def quiet() -> Iterator[None]:
    """Without torch.export's warnings, log and prints: what matters of them is in the error that it raises."""
    from torch.export import _trace

    module: Any = _trace
    disabled, printing = logging.root.manager.disable, getattr(module, "print", print)
    logging.disable(logging.ERROR)
    module.print = lambda *_, **__: None  # what it calls to show the graph so far where it fails
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        module.print = printing
        logging.disable(disabled)


class Reference(Protocol):
    """A model to hold a body against; see `_Reference`."""

    @property
    def changed(self) -> bool:
        """Whether the calls so far changed the model's state."""
        ...

    def __call__(self, *tensors: Any) -> Any:
        """All that the model returns for flat tensors."""
        ...


def prove(body: Body, tensors: Leaves, reference: Callable[[], Reference]) -> tuple[Body, Any]:
    """Holds a body against the model on the examples, and settles what happens at sizes 0 and 1.

    Args:
        body: what was lowered.
        tensors: the example.
        reference: makes the model in its initial state.

    Returns:
        The body with its guards, and torch's description of the containers of the result.

    Raises:
        LoweringError: it answers differently, or draws random numbers.
    """
    checker = _Checker(body, reference)
    spec = checker.require_equal(tensors)
    guards = list(body.facts.guards)
    for symbol in body.facts.symbols:
        guards = [g for g in guards if g not in (f"{symbol} >= 2", f"{symbol} >= 1")]
        least = checker.least(symbol, tensors)
        tried = [size for size in (1, 0) if not any(f">= {size + 1}" in guard for guard in least)]
        guards = [checker.relaxed(guard, symbol, tried, tensors) for guard in guards] + least
    return replace(body, facts=Facts(body.facts.symbols, tuple(dict.fromkeys(guards)))), spec


class _Checker:
    def __init__(self, body: Body, reference: Callable[[], Reference]) -> None:
        self.body, self.reference = body, reference

    def require_equal(self, tensors: Leaves) -> Any:
        """Runs both on the example; returns the structure of the result."""
        where = f"op {self.body.name!r}"
        model, plan = self.reference(), Plan(self.body.graph)
        wanted, spec = pytree.tree_flatten(model(*_separate(tensors)))
        state = torch.get_rng_state()
        try:
            got = list(plan.run(_separate(tensors), checked=False))
        except OutsideError as error:
            raise LoweringError(
                error.what, where=f"op {self.body.name!r}, {error.where}", got=error.got, expected=error.expected,
                fix=error.fix,
            ) from error  # fmt: skip
        if not torch.equal(state, torch.get_rng_state()):
            torch.set_rng_state(state)
            raise LoweringError(
                "the model draws random numbers, so that no two runs agree",
                where=where,
                fix="Switch the randomness off, or take the random tensor as an input.",
            )
        if not same_leaves(wanted, got):
            raise LoweringError(
                "the lowered graph does not answer as the model does", where=where, got=difference(wanted, got)
            )
        if model.changed:
            self.require_state(model, plan, tensors)
        return spec

    def require_state(self, model: Reference, plan: Plan, tensors: Leaves) -> None:
        """Runs both once more, from the state that their first runs left."""
        wanted, got = pytree.tree_leaves(model(*_separate(tensors))), plan.run(_separate(tensors), checked=False)
        if not same_leaves(wanted, got):
            raise LoweringError(
                "the lowered graph does not keep the model's state",
                where=f"op {self.body.name!r}",
                got=f"in a second run, {difference(wanted, got)}",
                fix="Keep state in registered buffers and change it in place.",
            )

    def run(self, tensors: Leaves) -> list[Any]:
        """One run of the body on copies, without the rule of contiguity, which is checked at the first use."""
        graph = self.body.graph
        return list(Plan(graph).run(_separate(tensors), checked=False))

    def relaxed(self, guard: str, symbol: str, tried: Sequence[int], tensors: Leaves) -> str:
        """A guard that torch set only because it sets sizes of 0 and 1 apart, opened for those that were tried."""
        if not _SETS_APART.search(guard) or not re.search(rf"\b{symbol}\b", guard):
            return guard
        symbols = self.body.facts.symbols
        sizes = {name: size_of(tensors[index], dim) for name, (index, dim) in symbols.items()}
        holds = compile_expression(guard, symbols)
        failing = [size for size in tried if not _holds(holds, {**sizes, symbol: size})]
        return " or ".join([f"({guard})" if failing else guard, *(f"{symbol} == {size}" for size in failing)])

    def least(self, symbol: str, tensors: Leaves) -> list[str]:
        """The guard for the least size of a symbol, found by trying 1 and then 0.

        Where the model refuses a size alone, it is tried in all inputs at once: a batch of one has one of each.
        """
        for size in (1, 0):
            if not self.agrees([symbol], size, tensors):
                return [f"{symbol} >= {size + 1}{self.together(symbol, size, tensors)}"]
        return []

    def together(self, symbol: str, most: int, tensors: Leaves) -> str:
        """What to add to a guard for sizes that are right if all inputs have them."""
        places = self.body.facts.symbols
        peers = [
            other for other, (index, dim) in places.items() if dim == places[symbol][1] and _is_tensor(tensors[index])
        ]
        if len(peers) < 2:
            return ""
        good = [size for size in range(most, -1, -1) if self.agrees(peers, size, tensors)]
        return "".join(f" or ({' and '.join(f'{peer} == {size}' for peer in peers)})" for size in good)

    def agrees(self, symbols: Sequence[str], size: int, tensors: Leaves) -> bool:
        """Whether model and body agree where some symbols have another size."""
        small = [_resized(t, v.type, symbols, size) for t, v in zip(tensors, self.body.graph.inputs, strict=True)]
        for index, tensor in enumerate(tensors):
            if not _is_tensor(tensor) and any(self.body.facts.symbols[s][0] == index for s in symbols):
                small[index] = size
        state = torch.get_rng_state()
        try:
            return same_leaves(pytree.tree_leaves(self.reference()(*_separate(small))), self.run(small))
        except Exception:  # the model itself refuses this size
            return False
        finally:
            torch.set_rng_state(state)


# How torch writes that a computed size is neither 0 nor 1.
_SETS_APART = re.compile(r"(>= 2|> 1|!= 1|!= 0)$")


def _holds(condition: Callable[..., Any], sizes: dict[str, int]) -> bool:
    try:
        return bool(condition(*sizes.values()))
    except ArithmeticError:
        return False


def _is_tensor(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor)


def _resized(tensor: Any, kind: Any, symbols: Sequence[str], size: int) -> Any:
    if not isinstance(kind, TensorType):
        return tensor
    for dim, name in enumerate(kind.shape):
        if name in symbols and tensor.size(dim) >= size:
            tensor = tensor.narrow(dim, 0, size)
    return tensor.contiguous()


def same_leaves(wanted: Leaves, got: Leaves) -> bool:
    """Whether two flat results are equal: bit for bit, or within what reordered sums may differ by."""
    return len(wanted) == len(got) and all(_same(a, b) for a, b in zip(wanted, got, strict=True))


def _same(wanted: Any, got: Any) -> bool:
    if not isinstance(wanted, torch.Tensor):
        return type(wanted) is type(got) and bool(wanted == got)
    if not isinstance(got, torch.Tensor) or wanted.dtype != got.dtype or wanted.shape != got.shape:
        return False
    if wanted.dtype.is_floating_point or wanted.dtype.is_complex:
        wide = torch.complex128 if wanted.dtype.is_complex else torch.float64
        loose = 1e-2 if wanted.dtype.itemsize < 4 and not wanted.dtype.is_complex else 1e-5
        return torch.allclose(wanted.to(wide), got.to(wanted.device).to(wide), rtol=loose, atol=loose, equal_nan=True)
    return torch.equal(wanted, got.to(wanted.device))


def difference(wanted: Leaves, got: Leaves) -> str:
    """What differs between two flat results, in a few words."""
    if len(wanted) != len(got):
        return f"{len(got)} outputs instead of {len(wanted)}"
    for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if _same(a, b):
            continue
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            return f"output {index} is {b!r} instead of {a!r}"
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {index} is {b.dtype} {tuple(b.shape)} instead of {a.dtype} {tuple(a.shape)}"
        return f"output {index} differs by up to {(a.double() - b.double()).abs().max().item():.3g}"
    return "nothing"
