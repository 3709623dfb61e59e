"""The recorder: turns one run of a Python function on real tensors into a Graph.

Plain tensors flow through the function, so `print`, `isinstance` and containers work as always. A TorchFunctionMode
sees every torch function and records it by name; sizes and scalars come back as traced ones (`scalars`). Whatever
leaves this world (a branch on a tensor, `.numpy()`, a pointer) is recorded, guarded or refused with the user's own
line; nothing is silently frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ..ops.containers import is_held
from ..ops.errors import RecordError, TracepackError
from ..ops.graph import Constant, Guard, KernelCall, Node, Operator, Value, leaves
from ..ops.kernel import kernel_of_operator
from ..ops.operators import PYTHON, allowed, recorded_names
from ..ops.recording import Application, recording
from ..ops.records import is_record
from ..ops.types import ANY, SCALARS, STRINGS
from .effects import Effects
from .generators import Generators
from .lines import user_line
from .refusals import IGNORED, METADATA, SIZES, TEXTS, refusal
from .scalars import Traced, is_traced, traced
from .states import States
from .trees import concrete, overload_of, plain_leaf, same_container, tensor_type, title, to_ir
from .twins import Twins, version, versions


class Recorder(TorchFunctionMode):
    """Records one run. Use `record`; the attributes are the result.

    Args:
        settled: whether ops may only use the bodies that they have, as in a second recording.

    Attributes:
        nodes: what was recorded, in order.
        captured: tensors that the function used without being given them, by id.
        failed: the last error of torch that the function caught, with its line.
        refused: the first refusal.
        printing: whether `print` reads the values, so that their text does not come back.
        generators: what it drew random numbers from.
        sources: generators that stand in for torch's global one, the innermost last; see `drawing`.
    """

    def __init__(self, settled: bool = False) -> None:
        super().__init__()
        self.settled = settled
        self.nodes: list[Node] = []
        self.captured: dict[int, Constant] = {}
        self._values: dict[int, Value] = {}
        self._alive: list[Any] = []  # ids in _values stay taken
        self._varying: set[int] = set()
        self._loose: set[int] = set()  # values whose rank may hang on sizes
        self._versions: dict[int, tuple[torch.Tensor, int, Any]] = {}
        self.failed: tuple[BaseException, Any] | None = None
        self.generators = Generators(self.nodes.append)
        self.sources: list[torch.Generator] = []
        self.refused: TracepackError | None = None
        self.printing = False
        self.states = States()
        self._function: Any = None
        self._twins = Twins()
        self._inside: set[int] = set()  # memory of values, and of constants
        self._outside: set[int] = {0}
        self._depth = 0

    # -- inputs and outputs ------------------------------------------------------------------------------------

    def input(self, leaf: Any) -> tuple[Value, Any]:
        """A graph input for one leaf of the examples, and what to hand to the function in its place."""
        if isinstance(leaf, torch.Tensor):
            value = Value(tensor_type(leaf))
            self._know(leaf, value)
            return value, leaf
        value = Value(STRINGS if isinstance(leaf, list) else SCALARS[type(leaf)])
        return value, traced(self, value, leaf, varies=False)

    def output(self, result: Any) -> Any:
        """The output tree of the graph for what the function returned.

        Raises:
            RecordError: it holds something that an archive cannot.
        """
        self._function = None
        return to_ir(result, self._output_leaf, self._key)

    def _output_leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor | Traced) or is_traced(leaf):
            return self._argument_leaf(leaf)
        if isinstance(leaf, torch.dtype | torch.device | torch.layout | torch.memory_format):
            return self._argument_leaf(leaf)
        if leaf is None or type(leaf) in (bool, int, float, complex, str, bytes):
            return leaf
        raise RecordError(
            f"the function returns a {type(leaf).__module__}.{type(leaf).__qualname__}, which an archive cannot hold",
            fix="Return what it holds, such as [(layer.keys, layer.values) for layer in cache.layers], and make one of "
            "that in the next call."
            if is_held(leaf)
            else "Return tensors, numbers and strings in tuples, lists, dicts or namedtuples.",
        )

    # -- torch functions ---------------------------------------------------------------------------------------

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Called by torch for every torch function while this mode is on."""
        with self.refusing():
            return self._dispatch(func, args, kwargs or {})

    def _dispatch(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if torch._C._functorch.peek_interpreter_stack() is not None:
            raise RecordError(
                "torch.vmap and the other transforms of torch.func cannot be recorded",
                where=str(user_line() or ""),
                fix="Write the batch out with dimensions, or script the function that uses them.",
            )
        if func in IGNORED or (self.printing and func in TEXTS):
            with self.within():
                return func(*args, **kwargs)
        if func in METADATA:
            return self._metadata(func, args, kwargs)
        if func in SIZES:
            return SIZES[func](self, func, *args, **kwargs)
        why = refusal(func)
        if why is not None:
            raise RecordError(why.what, where=str(user_line() or ""), fix=why.fix)
        return self._record(func, args, kwargs)

    def _record(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = recorded_names().get(func)
        if name is None:
            return self._unknown(func, args, kwargs)
        return self.apply(Operator(name), func, args, kwargs)

    def _unknown(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An operator of torch.library that a kernel stands behind, or something that may not be recorded."""
        if isinstance(func, torch._ops.OpOverloadPacket):
            func = overload_of(func, concrete(args), concrete(kwargs))
        if isinstance(func, torch._ops.OpOverload):
            kernel = kernel_of_operator(str(func).removesuffix(".default").replace(".", "::", 1))
            if kernel is not None:
                return self.apply(KernelCall(kernel), func, args, kwargs)
            if str(func) in allowed():
                return self.apply(Operator(str(func)), func, args, kwargs)
        raise RecordError(
            f"{title(func)} cannot be recorded", where=str(user_line() or ""), fix="Use another torch function for it."
        )

    def apply(self, target: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs a function on real values and records it as one node."""
        line = user_line()
        self._function = func
        node_args, node_kwargs = self.arguments(args), self.arguments(kwargs)
        inputs = [leaf for leaf in leaves((node_args, node_kwargs)) if isinstance(leaf, Value)]
        varies = any(id(leaf) in self._varying for leaf in inputs)
        loose = _gives_any_rank(target) or any(id(leaf) in self._loose for leaf in inputs)
        effects = Effects(line)
        before = versions((args, kwargs))
        if torch._C._is_any_autocast_enabled():
            raise RecordError(
                "autocast cannot be recorded",
                where=str(line or ""),
                fix="Convert with .to(dtype), or script that part.",
            )
        try:
            with effects, self.within():
                result = func(*concrete(args), **concrete(kwargs))
        except Exception as error:
            self.failed = (error, line)
            raise
        with self.within():
            result = self._twins.separate(result, before, title(func))
        self.generators.drew(inputs)
        varying = effects.varying or (isinstance(target, KernelCall) and target.kernel.varying)
        node = Node(target, node_args, node_kwargs, None, line, varying)
        if effects.drew():
            node = self._drawn(node, effects)
        self.nodes.append(node)
        node.output, wrapped = self._result(result, varies or varying, args, kwargs)
        if loose:
            self._loose |= {id(leaf) for leaf in leaves(node.output) if leaf is not None}
        return wrapped

    def _drawn(self, node: Node, effects: Effects) -> Node:
        """The node of a function that drew from torch's global generator, where `drawing` allows that."""
        if not self.sources or not isinstance(node.target, Operator):
            effects.refuse_random(title(self._function))
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

    @contextmanager
    def within(self) -> Iterator[None]:
        """While it is entered, what torch runs is known to the recorder."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def watch(self, name: str, tree: Any) -> None:
        """Refuses an operator that ran on a value of the recording without the recorder's knowledge."""
        if self._depth == 0 and any(id(leaf) in self._values for leaf in leaves(tree)):
            with self.refusing():
                raise RecordError(
                    f"{name} ran on a tensor of the recording inside something that the recorder does not see",
                    where=str(user_line() or ""),
                    fix="Script the TorchScript function or the extension that calls it.",
                )

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Keeps the first refusal: the function may catch it and go on, but there is no recording any more."""
        try:
            yield
        except TracepackError as error:
            self.refused = self.refused or error
            raise

    # -- scalars -----------------------------------------------------------------------------------------------

    def scalar(self, name: str, *args: Any) -> Any:
        """Records arithmetic, or a scalar read off a tensor, and returns the traced result."""
        plain = concrete(args)
        with torch._C.DisableTorchFunction(), self.within():
            found = PYTHON[name](*plain)
        varies = name in ("item", "is_nonzero", "storage_offset") or any(
            a.varies if is_traced(a) else id(self._values.get(id(a))) in self._varying for a in args
        )
        value = Value(SCALARS.get(type(found), ANY))
        self.nodes.append(Node(Operator(f"py.{name}"), self.arguments(args), {}, value, user_line(), varies))
        if varies:
            self._varying.add(id(value))
        return traced(self, value, found, varies)

    def direct(self, func: Callable[..., Any], *args: Any) -> Any:
        """Records a torch function that torch's own parser would not take a traced scalar for."""
        with torch._C.DisableTorchFunction():
            return self._record(func, args, {})

    def pin(self, scalar: Any, reason: str) -> Any:
        """Guards that a traced scalar keeps its present value, and returns that."""
        if self.printing:
            return scalar.concrete
        line = user_line()
        if scalar.varies:
            with self.refusing():
                raise RecordError(
                    f"a value that data decides cannot leave the graph: {reason}",
                    where=str(line or ""),
                    got=repr(scalar.concrete),
                    fix="Use torch.where or tracepack.cond(pred, true_fn, false_fn, *args) for a choice that data "
                    "makes.",
                )
        guard = Guard(scalar.concrete, f"the recording holds for one value only, because {reason}")
        self.nodes.append(Node(guard, (scalar.value,), {}, None, line))
        return scalar.concrete

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
        return self._walk(tree, lambda leaf: self.pin(leaf, reason) if is_traced(leaf) else leaf)

    def _metadata(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Rank, dtype and device of a tensor; the first two can hang on sizes, so they are guarded."""
        with self.within():
            found = func(*args, **kwargs)
        tensor, options = (args[0], args[1:]) if args else (None, ())
        value = self._values.get(id(tensor))
        check = METADATA[func]
        if value is None or check is None:
            return found
        if check != "contiguous":
            options, kwargs = (), {}
        with torch._C.DisableTorchFunction(), self.within():
            expected = PYTHON[check](tensor, *options, **kwargs)
        read = Value(SCALARS[type(expected)])
        varies = id(value) in self._varying or check in ("is_conj", "is_neg")  # no part of a run's signature
        arguments = (value, *self.arguments(options))
        self.nodes.append(Node(Operator(f"py.{check}"), arguments, self.arguments(kwargs), read, user_line(), varies))
        reason = f"the function asked for the {check} of a tensor"
        self.nodes.append(Node(Guard(expected, reason), (read,), {}, None, user_line()))
        return found

    def rank(self, tensor: torch.Tensor) -> int:
        """The rank of a tensor of the recording, guarded where sizes may decide it."""
        value = self._values[id(tensor)]
        if id(value) in self._loose:
            self._loose.discard(id(value))
            self._metadata(torch.Tensor.dim, (tensor,), {})
        with torch._C.DisableTorchFunction():
            return int(tensor.dim())

    # -- arguments ---------------------------------------------------------------------------------------------

    def arguments(self, tree: Any) -> Any:
        """Arguments in the form of the IR."""
        return to_ir(tree, self._argument_leaf, self._key)

    def _argument_leaf(self, leaf: Any) -> Any:
        if is_traced(leaf):
            return leaf.value
        if isinstance(leaf, torch.Tensor):
            return self._values.get(id(leaf)) or self._capture(leaf)
        if isinstance(leaf, torch.Generator):
            return self.generators.value(leaf)
        return plain_leaf(leaf, title(self._function))

    def _key(self, key: Any) -> Any:
        if is_traced(key):
            return self.pin(key, "it is the key of a dict")
        if type(key) in (str, int, bool, float):
            return key
        raise RecordError("a dict has a key that cannot be recorded", got=repr(key), expected="str or int")

    def _walk(self, tree: Any, leaf: Callable[[Any], Any]) -> Any:
        """The same Python tree with every leaf replaced, containers of any registered kind."""
        return torch.utils._pytree.tree_map(leaf, tree, is_leaf=is_traced)

    # -- values ------------------------------------------------------------------------------------------------

    def knows(self, tensor: Any) -> bool:
        """Whether a tensor is a value of the recording, rather than a captured one."""
        return id(tensor) in self._values

    def varies(self, tensor: Any) -> bool:
        """Whether data decides the sizes of a tensor, or whether it exists at all."""
        return is_traced(tensor) or id(self._values.get(id(tensor))) in self._varying

    def _know(self, tensor: torch.Tensor, value: Value) -> None:
        self._inside.add(_memory(tensor))
        self._values[id(tensor)] = value
        self._alive.append(tensor)

    def _capture(self, tensor: torch.Tensor) -> Constant:
        """A tensor from outside becomes a constant of the graph."""
        constant = self.captured.get(id(tensor))
        if constant is None:
            self._refuse_unseen(tensor)
            if tensor.layout is not torch.strided:
                raise RecordError("a captured tensor is not dense", where=str(user_line() or ""), got=tensor.layout)
            constant = Constant(tensor, f"c{len(self.captured)}", parameter=isinstance(tensor, torch.nn.Parameter))
            self.captured[id(tensor)] = constant
            self._alive.append(tensor)
            self._versions[id(tensor)] = (tensor, version(tensor), user_line())
            self._outside.add(_memory(tensor))
        return constant

    def _refuse_unseen(self, tensor: torch.Tensor) -> None:
        """Refuses a tensor from outside that is one of the recording's own in another guise."""
        if _memory(tensor) in self._inside - self._outside:
            raise RecordError(
                "a tensor of the recording came back by a way that the recorder does not see",
                where=str(user_line() or ""),
                fix="Use torch functions, or script that part.",
            )

    def _result(self, result: Any, varies: bool, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The output pattern of a node, and the result for the function."""
        if isinstance(result, torch.Tensor):
            value = Value(tensor_type(result))
            self._know(result, value)
            if varies:
                self._varying.add(id(value))
            return value, result
        if is_record(result) or type(result) in (tuple, list, torch.Size):
            pairs = [self._result(item, varies, args, kwargs) for item in result]
            outputs, items = tuple(p[0] for p in pairs), [p[1] for p in pairs]
            return outputs, same_container(result, items)
        if type(result) is dict:
            found = {key: self._result(item, varies, args, kwargs) for key, item in result.items()}
            return {k: v[0] for k, v in found.items()}, {k: v[1] for k, v in found.items()}
        if type(result) in SCALARS:
            value = Value(SCALARS[type(result)])
            self._varying.add(id(value))
            return value, traced(self, value, result, varies=True)
        if isinstance(result, list) and all(isinstance(item, str) for item in result):
            value = Value(STRINGS)
            return value, traced(self, value, result, varies=True)
        return None, result

    def refuse_changes(self) -> None:
        """Refuses a function that wrote into a tensor from outside: its next run would start from another value.

        Raises:
            RecordError: naming the line where the tensor was first used.
        """
        for tensor, before, line in self._versions.values():
            if version(tensor) != before:
                raise RecordError(
                    "the function changes a tensor that is not one of its inputs",
                    where=str(line or ""),
                    got=f"a tensor of shape {tuple(tensor.shape)}",
                    fix="Pass it as an input and return the new value, or keep it as a buffer of a scripted module.",
                )


def _memory(tensor: torch.Tensor) -> int:
    """Where a tensor's memory begins; 0 for one that has none."""
    if tensor.layout is not torch.strided:
        return 0
    with torch._C.DisableTorchFunction():
        return tensor.untyped_storage().data_ptr() if tensor.device.type != "meta" else 0


def _gives_any_rank(target: Any) -> bool:
    """Whether the rank of a result may hang on more than the ranks of the arguments."""
    if isinstance(target, Operator):
        return any(word in target.name for word in ("squeeze", "cov", "corrcoef", "lstsq"))
    return isinstance(target, KernelCall)
