"""The fast entry of a pipeline: the generated function between `run` and the plan.

For inputs of a signature that was checked before, it costs under a microsecond: a few attribute reads and one set
lookup. Inputs of a pipeline on an accelerator are moved there where they lie elsewhere. All other feeds (other dtypes,
new sizes, containers, errors) go to the runner's slow run, which converts, checks and explains. Of numbers and texts
only the kind and the count are known; what the recording asks of them the plan itself checks in every run.

Where an engine runs all of the plan, the entry calls it at once: no operator runs that would ask for grad mode. Else
grad mode is switched off and on inside one `try`, and not by a `finally`: an interrupt can come at any bytecode, and
nothing catches one that comes inside a `finally`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_
from textwrap import indent
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...ops.graph.frozen_class import frozen_object
from ...ops.graph.graph import BodyCall, Node
from ...ops.graph.program import Program
from ...ops.graph.types import SCALARS, STRINGS, TensorType, Type
from ...ops.runtime.checks import sizes_check
from ...ops.runtime.interrupts.modes import asks_gradients, before_dispatch, count_modes, is_tracing
from ...ops.runtime.node_errors import fail
from ...ops.tracing_hook import current

if TYPE_CHECKING:
    from ...ops.runtime.engine_call import EngineCall

_SOURCE = """\
def make(T, seen, slowly, fast, enabled, enable, transform, fail, keys, kinds, homes, convert, arrive, followed, texts,
         alone, fit, asked):
    {bind}
    def entry(feed):
        if type(feed) is dict and len(feed) == {count}:
            try:
                {fetch}
                {convert}
                known = {tests}
            except (KeyError, RuntimeError):  # of a nested or sparse tensor: it has no strides
                return slowly(feed)
            if known:
                {run}
        return slowly(feed)
    return entry
"""


_BY_PLAN = """\
if enabled():
    if transform() is not None{grads}:
        return slowly(feed)
    try:
        enable(False)
        result = fast({names})
        enable(True)
        return result
    except BaseException as error:
        enable(True)
        failed = error
else:
    try:
        return fast({names})
    except BaseException as error:
        enable(False)
        failed = error
fail(failed, fast)
"""

_BY_ENGINE = """\
if not (transform() is not None{grads}):
    try:
        (result,) = alone({names})
        return result
    except Exception:  # an error of the nodes, which a slow run explains; they are pure
        pass
"""


Run = Callable[[Mapping[str, Any]], Any]


MOST_SIGNATURES = 4096  # signatures remembered as checked; beyond that number inputs are checked in every run


@frozen_object
class WholePlan:
    """An engine outside of torch that runs a whole plan.

    Attributes:
        run: the engine, as a function of the flat inputs with one result.
        fits: whether tensors of other sizes fit the signature; None where more decides whether the recording holds.
    """

    run: Callable[..., Any]
    fits: Callable[..., bool] | None

    @staticmethod
    def of(call: EngineCall | None, program: Program) -> WholePlan | None:
        """The engine of a call; None where there is none."""
        if call is None:
            return None
        types, facts = program.parameters.types, program.facts
        kinds = [kind for kind in types if isinstance(kind, TensorType)]
        alike = len(kinds) == len(types) and all(_asks_the_same(node, program) for node in call.checks)
        return WholePlan(call.function, sizes_check(kinds, facts) if alike else None)


def _asks_the_same(node: Node, program: Program) -> bool:
    """Whether a node is the call of an op that asks of its inputs what the signature of the pipeline asks of them."""
    if not isinstance(node.target, BodyCall):
        return False
    given, body, inputs = node.args, node.target.body, program.graph.inputs
    types = [value.type for value in body.graph.inputs]
    return (
        len(given) == len(inputs)
        and all(map(is_, given, inputs))
        and types == list(program.parameters.types)
        and body.facts.symbols == program.facts.symbols
        and list(map(str, body.facts.guards)) == list(map(str, program.facts.guards))
    )


@frozen_object
class EntryInputs:
    """The flat inputs of a pipeline in which each parameter is one tensor, number, text or list of texts.

    Attributes:
        names: the keys of the feed.
        types: the type of each input.
        homes: the device that each input must be on, as `Tensor.device` names it.
        written: whether a run may write into the inputs; then a write to a moved copy must reach the original.
        followed: tells whether torch makes a graph of the caller, which the slow run refuses; None where it may.
    """

    names: Sequence[str]
    types: Sequence[Type]
    homes: Sequence[torch.device]
    written: bool
    followed: Callable[[], bool] | None

    @property
    def are_tensors(self) -> bool:
        """Whether all of them are tensors, so that their signature says all that the recording asks of them."""
        return all(isinstance(kind, TensorType) for kind in self.types)


CLASSES: dict[Type, type] = {kind: python for python, kind in SCALARS.items()}
"""The class of a number or a text of each kind."""


def make_entry(
    inputs: EntryInputs, fast: Callable[..., Any], slowly: Run, seen: set[Any], alone: WholePlan | None = None
) -> Run:
    """The function behind `Pipeline.run` for inputs of plain classes.

    Args:
        inputs: their names, types and devices.
        fast: the plan's function of the flat inputs; without checks where these are tensors.
        slowly: a run that converts and checks everything, for any other feed.
        seen: the signatures that were checked; the set may grow later.
        alone: the engine outside of torch that runs all of the plan, with one result; None where there is more to run.
    """
    fits = None if alone is None else alone.fits
    count = len(inputs.names)
    names = [f"x{i}" for i in range(count)]
    given = ", ".join(f"[*{x}]" if kind == STRINGS else x for x, kind in zip(names, inputs.types, strict=True))
    tensors = (x for x, kind in zip(names, inputs.types, strict=True) if isinstance(kind, TensorType))
    grads = "".join(f" or ({x}.requires_grad and asked())" for x in tensors)
    source = _SOURCE.format(
        bind="; ".join(f"k{i} = keys[{i}]; d{i} = kinds[{i}]; h{i} = homes[{i}]" for i in range(count)),
        count=count,
        fetch="; ".join(f"x{i} = feed[k{i}]" for i in range(count)),
        tests=_tests(inputs, names, fits is not None),
        run=indent((_BY_PLAN if alone is None else _BY_ENGINE).format(names=given, grads=grads), " " * 16).strip(),
        convert="\n                ".join(_conversions(inputs, names)) or "pass",
    )
    namespace: dict[str, Any] = {}
    exec(compile(source, "<tracepack entry>", "exec"), namespace)
    entry: Run = namespace["make"](
        torch.Tensor, seen, slowly, fast,
        torch.is_grad_enabled, torch._C._set_grad_enabled, torch._C._functorch.peek_interpreter_stack, fail,
        tuple(inputs.names), tuple(map(_plain, inputs.types)), inputs.homes, _convert, _arrive,
        _followed(inputs), _are_texts, None if alone is None else alone.run, fits and _new_sizes(fits, seen),
        asks_gradients,
    )  # fmt: skip
    return entry


def _plain(kind: Type) -> Any:
    """What a value of a type is held against: its dtype, or its class."""
    return getattr(torch, kind.dtype) if isinstance(kind, TensorType) else CLASSES.get(kind)


def _followed(inputs: EntryInputs) -> Callable[[], bool] | None:
    """What tells whether the slow run must look at the caller: recordings take over what becomes of texts, too."""
    asked = inputs.followed
    if inputs.are_tensors:
        return asked
    return lambda: current() is not None or (asked is not None and asked())


def _are_texts(values: list[Any]) -> bool:
    """Whether all items are plain strings."""
    return all(type(value) is str for value in values)


def _conversions(inputs: EntryInputs, names: Sequence[str]) -> Iterator[str]:
    """The statements that make tensors of arrays, and move them where the slow run need not copy back from there."""
    for i, (x, kind, home) in enumerate(zip(names, inputs.types, inputs.homes, strict=True)):
        if not isinstance(kind, TensorType):
            continue
        if home.type == "cpu" or inputs.written:
            yield f"if type({x}) is not T: {x} = convert({x})"
        else:
            yield f"if type({x}) is not T or {x}.device != h{i}: {x} = arrive({x}, h{i})"


def _convert(value: Any) -> Any:
    """A tensor that shares the memory of a numpy array; anything else is returned as it is, for the slow run."""
    if type(value) is np.ndarray and value.flags.writeable:
        try:
            return torch.from_numpy(value)
        except (TypeError, ValueError):  # torch has no such dtype, or takes no such strides
            pass
    return value


def _arrive(value: Any, device: torch.device) -> Any:
    """The tensor or array as a tensor on a device."""
    value = _convert(value)
    return value.to(device) if type(value) is torch.Tensor else value


def _new_sizes(fits: Callable[..., bool], seen: set[Any]) -> Callable[..., bool]:
    """What tells whether tensors fit the signature, as a slow run would find, and remembers theirs."""

    def fit(key: Any, *values: torch.Tensor) -> bool:
        # Where a mode is on, a slow run finds out more. Little is called in Python: see `Engaged.function`.
        if count_modes() or before_dispatch[0] is not None or is_tracing() or not fits(*values):
            return False
        remember(seen, key)
        return True

    return fit


def remember(seen: set[Any], key: Any) -> None:
    """Adds the signature of inputs that were checked, and forgets all others where they are too many."""
    if len(seen) >= MOST_SIGNATURES:
        seen.clear()
    seen.add(key)


def _tests(inputs: EntryInputs, names: Sequence[str], fits: bool) -> str:
    """The generated condition that holds where the signature of the inputs was checked before, or is now."""
    found, key = [], ""
    for i, (x, kind, home) in enumerate(zip(names, inputs.types, inputs.homes, strict=True)):
        if isinstance(kind, TensorType):
            place = f"{x}.is_cpu" if home.type == "cpu" else f"{x}.device == h{i}"
            found.append(f"type({x}) is T and {x}.dtype is d{i} and {place}")
            key += f"({x}.shape, {x}.stride()), "
        elif kind == STRINGS:
            found.append(f"type({x}) is list and texts({x})")
            key += f"len({x}), "
        else:
            found.append(f"type({x}) is d{i}")
    followed = [] if _followed(inputs) is None else ["not followed()"]
    known = f"((key := ({key})) in seen or fit(key, {', '.join(names)}))" if fits else f"({key}) in seen"
    return " and ".join([*found, known, *followed])
