"""The recorder of one branch or loop body, and what it gives; values of the outer recording become its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch.utils import _pytree as pytree

from ...ops.graph.errors import RecordError, TracepackError
from ...ops.graph.graph import Graph, Node, Value
from ...ops.graph.types import ANY, SCALARS, STRINGS, Type
from ...ops.graph.verify import verify
from ...ops.lowering.user_model.write_marks import WriteMark
from ...ops.runtime.placement import home_of
from ...ops.runtime.plan import Plan
from ...ops.runtime.primitives.callables import resolve
from ...ops.runtime.user_code import user_line
from ...ops.tracing_hook import innermost
from ..proxies.base import is_traced
from ..proxies.lists import TracedList
from ..proxies.make import TracedOptional, sample_of, traced
from ..proxies.trees import concrete, tensor_type
from ..proxies.values.members import TracedMember, member_kind
from ..proxies.values.untaken_results import FAILURES, MATCHES, NOTHING, untaken_result
from ..recheck.prune import prune
from .leaves.spare_data import SpareData
from .recorder import Recorder
from .results import record_scalar

_RETURNS = "the function returns"
MOST_NODES = 5000
"""Of one branch."""
FAILS = "a branch fails on the example"
ALL_RUN = "Both are recorded: trace with an example on which both run."
_ASKED = "Give what is asked of it: lambda: rule.name for lambda: rule."


class Branch(Recorder):
    """Records a function inside another recording; values of the outer one become inputs.

    Attributes:
        lifted: the outer tensors and numbers that were used, each with its input, by id.
        untaken: whether the example does not take it, so that what fails for the values of the example is no error.
        stood_in: the first such failure.
        data: what stands for tensors from outside, where the side fails on those of the example.
    """

    branches = True

    def __init__(self, parent: Recorder, untaken: bool = False, data: SpareData | None = None) -> None:
        super().__init__(settled=parent.settled)
        self.parent = parent
        self.untaken = untaken or parent.untaken
        self.data = data
        self.stood_in: Exception | None = None if data is None else data.error
        self.states = parent.states
        self.values.share(parent.values)
        self.values.lift = self.lift
        self.lifted: dict[int, tuple[Any, Value]] = {}
        self.outer_marks: list[WriteMark] = []
        self.grad_mode = self.written_mode = parent.grad_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Makes inputs of the outer tensors among the arguments, then records as usual."""
        for leaf in pytree.tree_leaves((args, kwargs or {})):
            if isinstance(leaf, torch.Tensor):
                self.lift(leaf)
        return super().__torch_function__(func, types, self.with_spare_data(args), self.with_spare_data(kwargs or {}))

    def with_spare_data(self, tree: Any) -> Any:
        """Arguments with the other data for tensors from outside, where there is some."""
        tree = self.parent.with_spare_data(tree) if isinstance(self.parent, Branch) else tree
        return tree if self.data is None else pytree.tree_map_only(torch.Tensor, self._other, tree)

    def _other(self, tensor: torch.Tensor) -> torch.Tensor:
        assert self.data is not None
        with self.within():
            return self.data.of(tensor) if id(tensor) in self.lifted else tensor

    def scalar(self, name: str, *args: Any) -> Any:
        """Records arithmetic; refuses a loop without an end, as in a side that the example does not take."""
        if len(self.nodes) > MOST_NODES:
            self.refuse(
                "a branch has too many steps on the example: a loop in it may never end",
                "Take the example that goes this way, or bound the rounds of the loop.",
            )
        for leaf in pytree.tree_leaves(args) if self.data is not None else ():
            if isinstance(leaf, torch.Tensor):
                self.lift(leaf)
        args = self.with_spare_data(args)
        if self.untaken and innermost(self) is self and (found := self._instead(name, args)) is not NOTHING:
            return record_scalar(self, name, args, found)
        return super().scalar(name, *args)

    def _instead(self, name: str, args: Sequence[Any]) -> Any:
        """What stands for a result that the example has not; `NOTHING` where it has one, or none is known."""
        given = concrete(tuple(args))
        try:
            with torch._C.DisableTorchFunction(), self.within():
                if resolve(f"py.{name}")(*given) is None and name in MATCHES:
                    raise ValueError("there is no match")
        except Exception as error:
            fails = isinstance(error, FAILURES) or name == "ord"  # which takes a text of one character only
            found = untaken_result(name, args, given) if fails else NOTHING
            self.stood_in = self.stood_in or (None if found is NOTHING else error)
            return found  # an error of any other kind is raised where the operator is recorded
        return NOTHING

    def pin(self, scalar: Any, reason: str) -> Any:
        """Refuses a value that may hang on what stands for results that the example has not: no run would have it."""
        error = self._failure() if scalar.tracer is self and not self.printing else None
        if error is not None:
            what = f"{FAILS}: {type(error).__name__}: {error}"
            raise RecordError(what, where=str(user_line() or ""), fix=ALL_RUN) from error
        return super().pin(scalar, reason)

    def _failure(self) -> Exception | None:
        outer = self.parent._failure() if isinstance(self.parent, Branch) else None
        return self.stood_in or outer

    def operand(
        self, leaf: Any, copy: Any, carried: bool, error: Callable[..., RecordError]
    ) -> tuple[Value | None, Any]:
        """The input for one operand, and what the function gets for it; a plain number stays plain.

        Data decides what a loop carries, since it differs from round to round; of an operand of `cond` it may.

        Args:
            leaf: the operand.
            copy: of its value on the example.
            carried: whether a loop carries it.
            error: makes one of what is wrong.
        """
        if isinstance(copy, torch.Tensor):
            value = Value(tensor_type(copy))
            self.values.add(copy, value, carried or self.parent.values.varies(leaf))
            return value, copy
        if not carried and not is_traced(leaf):
            return None, leaf
        if type(leaf) is TracedOptional and not carried:
            value = Value(ANY)
            return value, TracedOptional(self, value, copy, leaf.varies, leaf.sample)
        if (type(copy) not in SCALARS or type(leaf) is TracedOptional) and not isinstance(copy, list):
            raise error("a loop cannot carry a value of this type", got=type(copy).__name__)
        value = Value(type_of_result(copy))
        handed = traced(self, value, copy, varies=carried or leaf.varies)
        if type(handed) is TracedList and type(leaf) is TracedList:
            handed.objects, handed.with_none = leaf.objects, leaf.with_none
        return value, handed

    def _drawn(self, node: Node, effects: Any, name: str) -> Node:
        """Refuses random numbers."""
        raise self._random()

    def allow_array_write(self, outputs: Any) -> None:
        """Refuses to write into an array: its memory may be that of a tensor from outside."""
        self.refuse("a branch writes to a numpy array", "Write before or after it, or use torch functions inside.")

    def allow_random(self) -> None:
        """Refuses random numbers."""
        raise self._random()

    def _random(self) -> RecordError:
        return RecordError(
            "a branch draws random numbers", where=str(user_line() or ""),
            fix="Draw them before cond or while_loop and pass the tensor as an operand.",
        )  # fmt: skip

    def _argument_leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Generator):
            raise self._random()
        if isinstance(leaf, torch.Tensor):
            self.lift(leaf)
            leaf = self.with_spare_data(leaf)
        if is_traced(leaf) and leaf.tracer is not self:
            return self.lift_scalar(leaf)
        return super()._argument_leaf(leaf)

    def outputs(self, results: Sequence[Any]) -> tuple[Any, ...]:
        """What a branch gives, in the form of the IR.

        Raises:
            RecordError: it gives what no graph holds, such as an object.
        """
        try:
            return tuple(map(self._output_leaf, results))
        except RecordError as error:
            if not error.what.startswith(_RETURNS):
                raise
            own = error.fix if error.what.startswith((f"{_RETURNS} a set", f"{_RETURNS} a slice")) else _ASKED
            what = error.what.replace(_RETURNS, "a branch gives", 1)
            raise RecordError(what, where=error.where, fix=own) from error

    def lift(self, tensor: torch.Tensor) -> None:
        """Makes a tensor of the outer recording an input of this one."""
        if isinstance(self.parent, Branch):
            self.parent.lift(tensor)
            tensor = self.parent.with_spare_data(tensor)
        if self.values.of(tensor) is not None:
            return
        if tensor in self.parent.values:
            with torch._C.DisableTorchFunction(), self.within():
                other = tensor if self.data is None else self.data.of(tensor)
                value = Value(tensor_type(other))
                self.outer_marks += map(WriteMark, (tensor, other))
            for each in (other, tensor):  # of which the first one is the example of the value
                self.values.add(each, value, self.parent.values.varies(tensor))
            self.lifted[id(tensor)] = (tensor, value)

    def lift_scalar(self, scalar: Any) -> Value:
        """Makes a number of the outer recording an input of this one."""
        if id(scalar.value) not in self.lifted:
            value = Value(scalar.value.type)
            self.lifted[id(scalar.value)] = (scalar, value)
            self.examples[id(value)] = scalar
        return self.lifted[id(scalar.value)][1]

    def refuse_outer_writes(self, line: Any) -> None:
        """Refuses a branch that wrote into a tensor that is not an operand.

        Raises:
            RecordError: it did.
        """
        if any(mark.is_written for mark in self.outer_marks):
            raise RecordError(
                "a branch writes to a tensor from outside",
                where=str(line or ""),
                fix="Pass the tensor to cond or while_loop as an operand.",
            )


@dataclass
class BranchRecording:
    """The recording of one branch, condition or loop body.

    Attributes:
        kinds: what each result is, as text.
        spec: torch's description of the containers of the results.
        results: what the function returned, without its containers; of members of an Enum their names.
        members: the class of each result that is a member of an Enum; None for any other.
        known: whether other code may know a list, a dict or an array in what it returned.
    """

    inputs: list[Value]
    nodes: list[Node]
    output: tuple[Any, ...]
    kinds: list[str]
    spec: Any
    lifted: dict[int, tuple[Any, Value]]
    results: Sequence[Any] = ()
    members: Sequence[Any] = ()
    known: bool = False

    def tree(self) -> Any:
        """What the function returned, in its containers."""
        return pytree.tree_unflatten(list(self.results), self.spec)

    def samples_beside(self, other: BranchRecording) -> list[Any] | None:
        """For each result that may be None, since one of two branches gives that, what it is otherwise, by an example.

        None where the two give different kinds.
        """
        if self.spec != other.spec or self.members != other.members:
            return None
        found = [sample_of(pair) for pair in zip(self.results, other.results, strict=True)]
        kinds = zip(self.kinds, other.kinds, found, strict=True)
        lists = {"list", LIST_WITH_NONE}
        alike = all(one == two or sample is not None or {one, two} == lists for one, two, sample in kinds)
        return found if alike else None

    def graph(self, outer: dict[int, Any]) -> Graph:
        """The closed graph: its inputs are the operands, then every outer value that a branch uses."""
        extra = [
            self.lifted[key][1] if key in self.lifted else Value(type_of_result(thing)) for key, thing in outer.items()
        ]
        graph = prune(Graph((*self.inputs, *extra), tuple(self.nodes), self.output))
        verify(graph)
        return graph

    def result(self, graph: Graph, operands: tuple[Any, ...], inside: bool) -> Any:
        """What its graph gives on the example: inside of a branch that the example does not take it may fail."""
        try:
            return Plan(graph, home=home_of(operands)).run(operands)
        except (*FAILURES, TracepackError):
            if not inside:
                raise
            return concrete(tuple(self.results))

    def with_members(self, recorder: Recorder, found: Any) -> Any:
        """What a branch gives, with members of an Enum for their names."""
        if not any(self.members):
            return found
        pairs = zip(pytree.tree_leaves(found), self.members, strict=True)
        return pytree.tree_unflatten(
            [TracedMember(recorder, kind, leaf) if kind else leaf for leaf, kind in pairs], self.spec
        )

    def types(self) -> list[Type]:
        """The type of each result; that of a constant is none in particular."""
        return [leaf.type if isinstance(leaf, Value) else ANY for leaf in self.output]

    def __str__(self) -> str:
        return f"{', '.join(self.kinds) or 'nothing'} in {type_of(self.spec)}"


def names_of_members(results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Results with names for members of an Enum, and for each the class of the member; None for any other."""
    members = [member_kind(leaf) for leaf in results]
    return [leaf if kind is None else leaf.name for leaf, kind in zip(results, members, strict=True)], members


LIST_WITH_NONE = "list whose items may be None"


def may_be_none(leaf: Any) -> bool:
    """Whether a result, or an item of it, may be None as data decides."""
    return type(leaf) is TracedOptional or (type(leaf) is TracedList and leaf.with_none is not None)


def kind_of_result(leaf: Any) -> str:
    """What both branches have to give alike, and a loop has to keep, as text."""
    if isinstance(leaf, torch.Tensor | np.ndarray):  # whose dtype and rank code may ask for
        return f"{str(leaf.dtype).removeprefix('torch.')} {'array ' * isinstance(leaf, np.ndarray)}of rank {leaf.ndim}"
    if type(leaf) is TracedOptional:
        return f"{type(leaf.sample).__name__} or None"
    if may_be_none(leaf):
        return LIST_WITH_NONE
    return type(leaf).__name__


def type_of_result(leaf: Any) -> Type:
    """The type of a tensor or scalar, traced or plain."""
    if is_traced(leaf):
        return cast(Type, leaf.value.type)
    if isinstance(leaf, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return tensor_type(leaf)
    return STRINGS if isinstance(leaf, list) else SCALARS[type(leaf)]


def type_of(spec: Any) -> str:
    """The outermost container of a result, as text."""
    if spec.is_leaf():
        return "a plain value"
    keys = f" of {', '.join(map(repr, spec.context))}" if spec.type is dict else ""
    return f"a {spec.type.__name__}{keys}"
