"""The recorder: turns one run of a Python function on real tensors into a Graph.

Plain tensors flow through the function, so `print`, `isinstance` and containers work as always. A TorchFunctionMode
sees every torch function and records it by name; sizes and scalars come back as stand-ins (`proxies`). Whatever
leaves torch (a branch on a tensor, `.numpy()`, a pointer) is recorded, guarded or refused with the user's own line;
nothing is silently frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ...ops.graph.errors import RecordError, TracepackError
from ...ops.graph.graph import Node, Operator, SizeTuple, Value
from ...ops.graph.program import Program
from ...ops.graph.traverse import leaves
from ...ops.graph.types import SCALARS, STR, STRINGS
from ...ops.runtime.primitives.callables import resolve
from ...ops.runtime.primitives.numpy import writes
from ...ops.runtime.state import State
from ...ops.runtime.user_code import user_line
from ...ops.tracing_hook import Application, current, innermost, recording
from ..proxies.arrays import handing_on, refuse_known
from ..proxies.base import is_traced
from ..proxies.branches import BRANCH
from ..proxies.loops.rounds import Rounds
from ..proxies.make import traced_argument
from ..proxies.trees import concrete, list_type, refuse_foreign, title, to_ir
from ..rules.custom_operators import gives_any_rank, sized_by_tensors
from ..rules.dispatch import dispatch, record
from ..rules.gradients import follow_grad_mode, own_backward
from ..rules.metadata import array_rank, rank
from ..rules.numpy_functions import captured_leaf, data_decides, is_of_numpy, outputs_of, record_function, record_ufunc
from ..rules.settings import refuse_autocast, refuse_errstate
from .aliases import versions
from .effects import Effects
from .guards import may_stay_free, pin
from .leaves.ended import refuse_ended
from .leaves.long_loops import RecordedNodes
from .leaves.result_leaf import output_leaf
from .leaves.settled_keywords import settled
from .random import Generators
from .results import record_scalar, varying_of, wrapped_result
from .rollback import States
from .splice import hold, splice
from .tensors import Values


class Recorder(TorchFunctionMode):
    """Records one run, while it is entered as a mode; the attributes are the result.

    Args:
        settled: whether ops may only use the bodies that they have, as in a second recording.

    Attributes:
        nodes: the recorded nodes, in order.
        values: the tensors that it knows.
        failed: the last error of torch that the function caught, with its line.
        refused: the first refusal.
        printing: whether `print` turns values into text, which cannot come back into the graph.
        states: the states of the ops that were called, as they were before.
        generators: the generators that the function drew random numbers from.
        sources: generators that stand in for torch's global one, the innermost last; see `drawing`.
        ended: whether the recording is over; given: ids of the tensors that are inputs.
        branches: whether it is that of a branch; untaken: of one that the example does not take.
        grad_mode: whether gradients are on, as the function sees it; written_mode: what the graph says so far.
        asked: the settings of torch that the function asked for, by their operators: `default_dtype`, `autocast`.
        plainly_used: why a string, a list or a number was guarded first; a recording of other code may need no guard.
        rounds: the loops over lists of any length; examples: the stand-in of a value that is no tensor, by its id.
    """

    untaken = branches = False

    def __init__(self, settled: bool = False) -> None:
        super().__init__()
        self.settled = settled
        self.nodes, self.values = RecordedNodes(), Values()
        self.failed: tuple[BaseException, Any] | None = None
        self.generators = Generators(self.nodes.append)
        self.sources: list[torch.Generator] = []
        self.refused: TracepackError | None = None
        self.printing, self.states = False, States()
        self._calling, self._depth, self.ended = "", 0, False
        self.given: set[int] = set()
        self.grad_mode = self.written_mode = True
        self.asked, self.plainly_used = set[str](), ""
        self.rounds, self.examples = Rounds(), dict[int, Any]()

    # -- inputs and outputs ------------------------------------------------------------------------------------

    def input(self, leaf: Any) -> tuple[Value, Any]:
        """A graph input for one leaf of the examples, and the tensor or stand-in that the function gets for it."""
        if isinstance(leaf, torch.Tensor):
            self.given.add(id(leaf))
            return self.values.add(leaf), leaf
        value = Value(SCALARS[type(leaf)] if not isinstance(leaf, list) else list_type(leaf) or STRINGS)
        return value, traced_argument(self, value, leaf)

    def output(self, result: Any) -> Any:
        """The output tree of the graph for what the function returned.

        Raises:
            RecordError: it holds something that an archive cannot.
        """
        self._calling = "the result"
        refuse_foreign(result)
        return to_ir(result, self._output_leaf, self._key, SizeTuple)

    def _output_leaf(self, leaf: Any) -> Any:
        self.values.refuse_chosen(leaf, self.nodes)
        return output_leaf(self, leaf)

    # -- torch functions ---------------------------------------------------------------------------------------

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Called by torch for every torch function while this mode is on."""
        with self.refusing():
            return dispatch(self, func, args, kwargs or {})

    def apply(self, target: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a function on real values and records it as one node."""
        self.refuse_ended()
        line = user_line()
        name = self._calling = target.name if isinstance(target, Operator) else title(func)
        node_args, node_kwargs = self.arguments(args), self.arguments(kwargs)
        self._calling = "a function"  # texts mean dtypes to functions of numpy only
        inputs = [leaf for leaf in leaves((node_args, node_kwargs)) if isinstance(leaf, Value)]
        varies, decided, here = any(id(leaf) in self.values.varying for leaf in inputs), True, False
        if is_of_numpy(name, inputs):
            self.values.open_captured(args)
            varies, decided, here = data_decides(name, args, kwargs, inputs, self.values.varying)
        loose = gives_any_rank(target) or any(id(leaf) in self.values.loose or leaf.type == STR for leaf in inputs)
        effects, before = Effects(line), versions((args, kwargs))
        refuse_autocast(self)
        try:
            with effects, self.within():
                result = func(*concrete(args), **concrete(kwargs))
        except Exception as error:
            self.failed = (error, line)
            raise
        with self.within():
            result = self.values.twins.separate(result, before, name, self.given)
        self.generators.drew(inputs)
        by, lists = varying_of(target)
        varying = here or effects.varying or by
        with self.within():
            node_kwargs |= settled(name, args, kwargs, result)
        node = Node(target, node_args, node_kwargs, None, line, varying)
        effects.refuse_random_on_card(name)
        if effects.drew():
            node = self._drawn(node, effects, name)
        node.varying = node.varying or sized_by_tensors(name, inputs)
        follow_grad_mode(self)
        self.nodes.append(node)
        node.output, wrapped = wrapped_result(self, result, varies or varying, decided, lists)
        if loose:
            self.values.loose |= {id(leaf) for leaf in leaves(node.output) if leaf is not None}
        return wrapped

    def _drawn(self, node: Node, effects: Effects, name: str) -> Node:
        """The node of a function that drew from torch's global generator, where `drawing` allows that."""
        if not self.sources or not isinstance(node.target, Operator):
            effects.refuse_random(name)
        source = self.generators.value(self.sources[-1], effects.before)
        self.generators.drew([source], torch.get_rng_state())
        arguments = (source, node.target.name, node.args, node.kwargs)
        return Node(Operator("py.draw"), arguments, {}, None, node.line, node.varying)

    def call(self, application: Application) -> Any:
        """Records the call of an op and returns its result."""

        def run(*args: Any, **kwargs: Any) -> Any:
            with recording(None):
                return application.run(args, kwargs)

        self.states.enter(application.state)
        with self.refusing():
            result = self.apply(application.target, run, application.args, application.kwargs)
        return application.rebuild(result)

    def splice(self, program: Program, inputs: Sequence[Any], state: State, run: Callable[[Sequence[Any]], Any]) -> Any:
        """Records the call of a pipeline by its nodes and returns its result."""
        with torch._C.DisableTorchFunction():
            self.states.enter(state)
        with self.refusing():
            hold(self, program, inputs)
            return splice(self, program.graph, inputs, run)

    def allow_random(self) -> None:
        """Allows a call to draw random numbers; `Branch` refuses it."""

    @contextmanager
    def within(self) -> Iterator[None]:
        """While it is entered, what torch runs is known to the recorder."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Keeps the first refusal: the function may catch it and go on, but there is no recording any more."""
        try:
            yield
        except TracepackError as error:
            self.refused = self.refused or error
            raise

    def scalar(self, name: str, *args: Any) -> Any:
        """Records arithmetic, or a scalar read off a tensor, and returns the traced result: in the running branch."""
        if (running := innermost(self)) is not self:
            return running.scalar(name, *args)
        self.refuse_ended()
        self._calling = f"py.{name}"
        try:
            with torch._C.DisableTorchFunction(), self.within():
                found = resolve(self._calling)(*concrete(args))
        except Exception as error:
            self.failed = (error, user_line())
            raise
        return record_scalar(self, name, args, found)

    def direct(self, func: Callable[..., Any], *args: Any) -> Any:
        """Records a torch function that torch's own parser would not take a traced scalar for."""
        with torch._C.DisableTorchFunction():
            return record(self, func, args, {})

    def pin(self, scalar: Any, reason: str) -> Any:
        """Guards, in the branch that made it, that a traced scalar keeps its present value, and returns that."""
        if scalar.tracer is not self:
            return scalar.tracer.pin(scalar, reason)
        self.refuse_ended()
        if self.printing:
            return scalar.concrete
        if self.plainly_used in ("", BRANCH) and may_stay_free(self, scalar, reason):
            self.plainly_used = reason
        return pin(self, scalar, reason)

    @contextmanager
    def printed(self) -> Iterator[None]:
        """While it is entered, values may be turned into text."""
        before, self.printing = self.printing, True
        try:
            yield
        finally:
            self.printing = before

    def concrete(self, tree: Any) -> Any:
        """Arguments with traced scalars replaced by plain ones, unguarded."""
        return concrete(tree)

    def plain(self, tree: Any) -> Any:
        """Arguments of an op with traced scalars replaced by plain ones, each guarded."""
        reason = "a model takes it as a fixed number"
        return torch.utils._pytree.tree_map(
            lambda leaf: self.pin(leaf, reason) if is_traced(leaf) else leaf, tree, is_leaf=is_traced
        )

    def rank(self, tensor: torch.Tensor) -> int:
        """The rank of a tensor of the recording, guarded where sizes may decide it."""
        return rank(self, tensor)

    @property
    def busy(self) -> bool:
        """Whether what runs now is known to the recorder, so that it need not be recorded."""
        return self._depth > 0

    def array(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Records a function of numpy, or an operator on arrays; one that writes nothing in the running branch."""
        if (running := innermost(self)) is not self and not (writes(name) or outputs_of(kwargs)):
            return running.array(name, *args, **kwargs)
        with self.refusing(), torch._C.DisableTorchFunction():
            refuse_errstate(self)
            if writes(name) or outputs_of(kwargs):
                self.allow_array_write(outputs_of(kwargs))
                refuse_known(self, [*outputs_of(kwargs), *(args[:1] if writes(name) else ())])
            return handing_on(args, self.apply(Operator(name), resolve(name), args, kwargs))

    def array_rank(self, array: Any) -> int:
        """The rank of an array of the recording, guarded where sizes may decide it."""
        return array_rank(self, array)

    def allow_array_write(self, outputs: Iterable[Any]) -> None:
        """Refuses to write into an array from outside of this recording, where such are to take results, too."""
        if current() is not self:
            self.refuse("a branch writes to a numpy array", "Write before or after it, or use torch functions inside.")
        if any(type(out) is np.ndarray for out in outputs):
            self.refuse("an array from outside takes a result", "Use the form without out=, or without the `=`.")

    def ufunc(self, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Records a universal function of numpy, or the Python operator for which numpy called it."""
        return record_ufunc(self, ufunc, method, inputs, kwargs)

    def array_function(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Records any other function of numpy."""
        return record_function(self, func, args, kwargs)

    def refuse(self, what: str, fix: str) -> NoReturn:
        """Refuses with the user's line.

        Raises:
            RecordError: always.
        """
        with self.refusing():
            raise RecordError(what, where=str(user_line() or ""), fix=fix)

    def refuse_ended(self) -> None:
        """Refuses to go on when the recording is over: a stand-in was kept beyond it, and is used now."""
        refuse_ended(self)

    def own_backward(self, name: str) -> None:
        """Writes into the graph that a function has a custom backward, which is not recorded."""
        own_backward(self, name)

    def pin_setting(self, name: str) -> None:
        """Remembers that the function read a setting of torch, so that the pipeline guards it."""
        self.asked.add(name)

    # -- arguments ---------------------------------------------------------------------------------------------

    def arguments(self, tree: Any) -> Any:
        """Arguments in the form of the IR."""
        return to_ir(tree, self._argument_leaf, self._key)

    def _argument_leaf(self, leaf: Any) -> Any:
        if is_traced(leaf):
            leaf.tracer.refuse_ended()
            return self.rounds.inside(leaf.value)
        if isinstance(leaf, torch.Tensor):
            return self.rounds.inside(self.values.of(leaf)) or self.values.capture(leaf)
        if isinstance(leaf, torch.Generator):
            return self.generators.value(leaf)
        return captured_leaf(self, leaf, self._calling)

    def _key(self, key: Any) -> Any:
        if is_traced(key):
            return self.pin(key, "it is the key of a dict")
        if type(key) in (str, int, bool, float):
            return key
        raise RecordError("a dict has a key that cannot be recorded", got=repr(key), expected="str or int")
