"""`cond` and `while_loop`: choices and loops that data decides, with both branches in the graph.

They work eagerly, and inside a processing function that is being traced. There every branch is recorded as a graph of
its own, on copies of the operands, whether the example takes it or not. Outer values that a branch uses become
operands, so that its graph is closed. The result for the example is computed by the recorded graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...ops.graph.errors import RecordError, SignatureError
from ...ops.graph.graph import Constant, Graph, Node, Operator
from ...ops.graph.sharing.memory import handed_on
from ...ops.graph.traverse import leaves as leaves_of
from ...ops.graph.types import ANY, Type
from ...ops.runtime.placement import home_of
from ...ops.runtime.plan import Plan
from ...ops.runtime.primitives.control_flow import EndlessError, LimitedRounds, rounds
from ...ops.runtime.torch_compiler import exports_here, takes_control_flow
from ...ops.runtime.user_code import user_line
from ...ops.tracing_hook import current
from ..proxies.arrays import TracedArray
from ..proxies.base import is_traced
from ..proxies.lists import TracedList
from ..proxies.trees import concrete
from ..proxies.values.maybe import MaybeThing
from ..recheck.diff import difference
from ..recheck.vary import clones
from ..rules.gradients import follow_grad_mode
from .branch import ALL_RUN, FAILS, Branch, BranchRecording, kind_of_result, may_be_none
from .recorder import Recorder
from .results import optional, wrapped_result, wrapped_scalar
from .sides.alike_sides import of_lists, on_example, types_of, with_none
from .sides.recorded_side import SideRecorder
from .sides.within_itself import ending


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *args: Any) -> Any:
    """Calls one of two functions, as data decides: the branch that a trace can follow.

    In a trace both functions are recorded, so both run on the example, and the loaded pipeline takes the right one.
    They may call ops, and use tensors from outside, which they must not write to.

    Args:
        pred: a tensor of one element, or a bool, which may come from `.item()` or a size.
        true_fn: called with `args` where `pred` holds.
        false_fn: called with `args` otherwise; returns the same containers, dtypes and ranks as `true_fn`.
        *args: tensors, numbers, and containers of them.

    Returns:
        What the chosen function returns.

    Raises:
        SignatureError: a branch is no function, or `pred` is a tensor of several elements.
        RecordError: in a trace, where the functions return different structures, dtypes or ranks, where one fails
            on the example, or writes to a tensor from outside.

    Example:
        >>> import torch, tracepack
        >>> def process(x):
        ...     return tracepack.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, x)
        >>> mod = tracepack.trace(process, torch.ones(3))
        >>> mod.run({"x": -torch.ones(2)})
        tensor([1., 1.])
    """
    recorder = current()
    require_functions("cond", true_fn, false_fn)
    pred = pred.truth() if type(pred) is MaybeThing else pred
    if exports_here() or (isinstance(pred, torch.Tensor) and takes_control_flow()):
        return torch.cond(pred, true_fn, false_fn, args)
    if not isinstance(recorder, Recorder) or not _is_decided_by_data(pred):
        return true_fn(*args) if _holds(pred) else false_fn(*args)
    with recorder.within(), ending(true_fn):
        return ControlFlow(recorder, "cond").choose(pred, true_fn, false_fn, args)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], *carried: Any) -> Any:
    """Repeats a function while a condition on data holds: a loop that a trace can follow.

    Args:
        cond_fn: called with the carried values; returns a tensor of one element, or a bool.
        body_fn: called with the carried values; returns the next ones, a tuple where there are several. Dtypes and
            ranks stay; sizes may change.
        *carried: the first values: tensors, numbers, and containers of them.

    Returns:
        The last values: a tuple, or the value itself where there is one.

    Raises:
        SignatureError: one of the two is no function.
        RecordError: in a trace, where the body returns another structure, dtype or rank than it was given, depends
            on how often it ran, or writes to a tensor from outside.

    Example:
        >>> import torch, tracepack
        >>> def process(x):
        ...     return tracepack.while_loop(lambda x: x.max() < 100, lambda x: x * 2, x)
        >>> tracepack.trace(process, torch.ones(2)).run({"x": torch.tensor([3.0])})
        tensor([192.])
    """
    recorder = current()
    require_functions("while_loop", cond_fn, body_fn)
    if exports_here() or (takes_control_flow() and isinstance(cond_fn(*carried), torch.Tensor)):
        loop: Any = torch.while_loop
        result = loop(cond_fn, lambda *state: _tuple(body_fn(*state)), carried)
    elif isinstance(recorder, Recorder):
        with recorder.within():
            result = ControlFlow(recorder, "while_loop").repeat(cond_fn, body_fn, carried)
    else:
        result = carried
        while _holds(cond_fn(*result)):
            result = _tuple(body_fn(*result))
    return result if len(carried) != 1 else result[0]


def _holds(pred: Any) -> bool:
    if isinstance(pred, torch.Tensor) and pred.numel() != 1:
        got = f"a tensor of shape {tuple(pred.shape)}"
        raise SignatureError("a condition of several elements decides nothing", got=got, expected="one element")
    return bool(pred)


def require_functions(name: str, *functions: Any) -> None:
    """Refuses what cannot be called, where a function is expected.

    Raises:
        SignatureError: one of them is no function.
    """
    for function in functions:
        if not callable(function):
            raise SignatureError(f"{name} calls functions", got=type(function).__name__, expected="a function")


def _is_decided_by_data(pred: Any) -> bool:
    return is_traced(pred) or isinstance(pred, torch.Tensor)


def _tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


MOST_UNTAKEN = 1000
"""The rounds of a loop that runs on a side which the example does not take, where it may never end."""
_UNLIKE = "the branches return different structures or dtypes"


class ControlFlow:
    """Records one `cond` or `while_loop` into a recorder."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        self.recorder, self.name, self.line = recorder, name, user_line()
        self.record = SideRecorder(recorder, self.line, self.error).record

    def choose(
        self, pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], args: tuple[Any, ...]
    ) -> Any:
        """Records both branches, and runs the one that the example takes."""
        leaves, spec = pytree.tree_flatten(args)
        functions = (true_fn, false_fn)
        with torch._C.DisableTorchFunction():
            taken = 0 if self.truth(concrete(pred)) else 1
        first, second = both = self.alike(functions, leaves, spec, taken)
        samples = first.samples_beside(second)
        if samples is None:
            kinds = zip(first.kinds, second.kinds, strict=False)
            fix = "Give one type on both sides: 1.0 for 1." if {"int", "float"} in map(set, kinds) else ""
            raise self.error(_UNLIKE, got=str(second), expected=str(first), fix=fix)
        outer = {key: thing for branch in (first, second) for key, (thing, _) in branch.lifted.items()}
        graphs = [branch.graph(outer) for branch in (first, second)]
        operands = (*filter(_is_decided_by_data, leaves), *outer.values())
        with torch._C.DisableTorchFunction():
            result = (first, second)[taken].result(graphs[taken], concrete(operands), isinstance(self.recorder, Branch))
        shown = [each.results for each in both]
        result = on_example(result, first.spec, shown[:: 1 if taken == 0 else -1])
        types = types_of(first.spec, shown, [each.types() for each in both])
        arguments = self.recorder.arguments
        known = first.known or second.known
        found = self.add((arguments(pred), *graphs, arguments(operands)), result, first.spec, types, samples, known)
        for leaf, *sides in zip(pytree.tree_leaves(found), first.results, second.results, strict=True):
            for given in filter(may_be_none, sides if type(leaf) is TracedList else ()):
                leaf.with_none, leaf.value.type = given.with_none, ANY
        return first.with_members(self.recorder, found)

    def alike(self, functions: Sequence[Callable[..., Any]], *how: Any) -> tuple[BranchRecording, BranchRecording]:
        """The recordings of both branches; anew in a form that both have, where they give other containers."""
        first, second = self.alike_but_for_none(functions, *how)
        if first.spec != second.spec:  # lists may be of other lengths
            first, second = self.alike_but_for_none(tuple(map(of_lists, functions)), *how)
        return first, second

    def alike_but_for_none(
        self, functions: Sequence[Callable[..., Any]], *how: Any
    ) -> tuple[BranchRecording, BranchRecording]:
        """The recordings of both branches; anew with a flag for what is None in one of them."""
        first, second = self.sides(functions, *how)
        made = with_none(functions, (first.tree(), second.tree())) if first.samples_beside(second) is None else None
        if made is not None:
            first, second = self.sides(made, *how)
        return first, second

    def sides(
        self, functions: Sequence[Callable[..., Any]], leaves: Sequence[Any], spec: Any, taken: int
    ) -> Iterator[BranchRecording]:
        """The recordings of both branches, of which the example takes one."""
        for place, function in enumerate(functions):
            yield self.record(function, leaves, spec, carried=False, untaken=place != taken)

    def repeat(self, cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried: tuple[Any, ...]) -> Any:
        """Records condition and body, and runs the loop from the example's values."""
        leaves, spec = pytree.tree_flatten(carried)

        def step(*state: Any) -> Any:
            return _tuple(body_fn(*state))

        test, body = (self.record(function, leaves, spec, carried=True) for function in (cond_fn, step))
        self.check_loop(test, body, leaves, spec)
        outer = {key: thing for part in (test, body) for key, (thing, _) in part.lifted.items()}
        graphs = [part.graph(outer) for part in (test, body)]
        state, constant = concrete(tuple(leaves)), tuple(outer.values())
        extra = concrete(constant)
        plans = [Plan(graph, home=home_of((*state, *extra))) for graph in graphs]
        with torch._C.DisableTorchFunction():
            following = plans[1].run([*clones(state), *extra])
        again = self.record(step, following, spec, carried=True)
        if not again.lifted.keys() <= outer.keys() or difference(body.graph(outer), again.graph(outer)):
            raise self.error("the body records other operators in its second round than in its first")
        with torch._C.DisableTorchFunction():
            going, body_plan = (lambda *now: [self.truth(plans[0].run([*now])[0])], lambda *now: plans[1].run([*now]))
            try:
                with LimitedRounds(MOST_UNTAKEN) if self.recorder.untaken else nullcontext():
                    state = rounds(going, body_plan, state, extra)
            except EndlessError:  # on an example that Python never takes there
                state = following
        arguments = self.recorder.arguments
        return self.add((*graphs, arguments(tuple(leaves)), arguments(constant)), state, spec)

    def check_loop(self, test: BranchRecording, body: BranchRecording, leaves: Sequence[Any], spec: Any) -> None:
        """Refuses a condition that is not one value, and a body that returns other kinds than it takes."""
        if len(test.output) != 1:
            raise self.error("the condition must return one truth value", got=str(test))
        with torch._C.DisableTorchFunction():
            given = BranchRecording([], [], (), [kind_of_result(leaf) for leaf in concrete(leaves)], spec, {})
        if body.spec != spec or body.kinds != given.kinds:
            raise self.error(
                "the body returns another structure or other dtypes than it takes", got=str(body), expected=str(given)
            )

    def add(
        self, args: tuple[Any, ...], result: Any, spec: Any, types: Sequence[Type] | None = None,
        samples: Sequence[Any] = (), known: bool = False,
    ) -> Any:  # fmt: skip
        """Adds the node; returns the result as the function gets it.

        Args:
            args: of the node.
            result: on the example.
            spec: the containers of the result.
            types: of the lists of any length in it; None where there are none.
            samples: for each result that may be None what it is otherwise, by an example; else None.
            known: whether other code may know a list, a dict or an array in what a side gives.
        """
        node = Node(Operator(self.name), args, {}, None, self.line, True)
        follow_grad_mode(self.recorder)
        self.recorder.nodes.append(node)
        with torch._C.DisableTorchFunction():
            found = self.separated(result)
            kinds = types or [ANY] * len(found)
            pairs = [
                optional(self.recorder, leaf, True, sample)
                if sample is not None
                else wrapped_scalar(self.recorder, kind, leaf, True)
                if type(leaf) is list and types
                else wrapped_result(self.recorder, leaf, True)
                for leaf, kind, sample in zip(found, kinds, samples or [None] * len(found), strict=True)
            ]
        node.output, wrapped = tuple(output for output, _ in pairs), [leaf for _, leaf in pairs]
        for leaf in wrapped:
            if type(leaf) is TracedList:
                leaf.handed_on = True
            if type(leaf) is TracedArray:
                leaf.handed_on = known
        self.watch_handed_on(args, wrapped)
        whole = pytree.tree_unflatten(list(wrapped), spec)
        if known:
            self.recorder.values.keep(whole, self.line)
        return whole

    def watch_handed_on(self, args: tuple[Any, ...], results: Sequence[Any]) -> None:
        """Has writes into results refused that may be a tensor from outside, which a branch or a loop hands on."""
        operands = [leaf for arg in args if isinstance(arg, tuple) for leaf in leaves_of(arg)]
        outside = {place for place, leaf in enumerate(operands) if isinstance(leaf, Constant)}
        ways = [handed_on(graph) for graph in args if isinstance(graph, Graph)]
        if self.name == "while_loop":  # the first graph is the condition; there may be no round
            ways[0] = [(frozenset((place,)), False) for place in range(len(results))]
        for way in ways:
            for result, (found, constant) in zip(results, way, strict=True):
                if constant or not outside.isdisjoint(found):
                    self.recorder.values.watch(result, self.line)

    def separated(self, result: Any) -> tuple[Any, ...]:
        """The results, with new tensor objects for those that a branch returns unchanged: another branch may not."""
        values, found = self.recorder.values, list[Any]()
        for leaf in result:
            known = leaf in values or id(leaf) in values.captured or any(leaf is other for other in found)
            found.append(values.twin(leaf) if known and isinstance(leaf, torch.Tensor) else leaf)
        return tuple(found)

    def truth(self, value: Any) -> bool:
        """A condition as a bool; refuses a tensor of more than one element."""
        if isinstance(value, torch.Tensor) and value.numel() != 1:
            raise self.error("the condition must have one element", got=f"shape {tuple(value.shape)}")
        return bool(value)

    def error(self, what: str, got: object = None, expected: object = None, fix: str = "") -> RecordError:
        """An error with the line of the call."""
        fix = ALL_RUN if what.startswith(FAILS) else fix
        return RecordError(f"{self.name}: {what}", where=str(self.line or ""), got=got, expected=expected, fix=fix)
