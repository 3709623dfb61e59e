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

from ..ops.errors import RecordError, TracepackError
from ..ops.graph import Constant, Guard, KernelCall, Literal, Node, Operator, Value, leaves
from ..ops.kernel import kernel_of_operator
from ..ops.operators import PYTHON, allowed, recorded_names
from ..ops.recording import Application, recording
from ..ops.records import is_record, to_record
from ..ops.types import ANY, DTYPES, SCALARS, STRINGS, TensorType, Type
from .effects import Effects
from .generators import Generators
from .lines import user_line
from .refusals import IGNORED, METADATA, SIZES, refusal
from .scalars import Traced, is_traced, traced


class Recorder(TorchFunctionMode):
    """Records one run. Use `record`; the attributes are the result.

    Args:
        settled: whether ops may only use the bodies that they have, as in a second recording.

    Attributes:
        nodes: what was recorded, in order.
        captured: tensors that the function used without being given them, by id.
        failed: the last error of torch that the function caught, with its line.
        refused: the first refusal.
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
        self._function: Any = None
        self._twins: set[int] = set()  # tensors that an operator gave back, as it may not with other strides

    # -- inputs and outputs ------------------------------------------------------------------------------------

    def input(self, concrete: Any) -> tuple[Value, Any]:
        """A graph input for one leaf of the examples, and what to hand to the function in its place."""
        if isinstance(concrete, torch.Tensor):
            value = Value(tensor_type(concrete))
            self._know(concrete, value)
            return value, concrete
        value = Value(STRINGS if isinstance(concrete, list) else SCALARS[type(concrete)])
        return value, traced(self, value, concrete, varies=False)

    def output(self, result: Any) -> Any:
        """The output tree of the graph for what the function returned.

        Raises:
            RecordError: it holds something that an archive cannot.
        """
        self._function = None
        return self._tree(result, self._output_leaf)

    def _output_leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor | Traced) or is_traced(leaf):
            return self._argument_leaf(leaf)
        if isinstance(leaf, torch.dtype | torch.device | torch.layout | torch.memory_format):
            return self._argument_leaf(leaf)
        if leaf is None or type(leaf) in (bool, int, float, complex, str, bytes):
            return leaf
        raise RecordError(
            f"the function returns a {type(leaf).__module__}.{type(leaf).__qualname__}, which an archive cannot hold",
            fix="Return tensors, numbers and strings in tuples, lists, dicts or namedtuples.",
        )

    # -- torch functions ---------------------------------------------------------------------------------------

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Called by torch for every torch function while this mode is on."""
        with self.refusing():
            return self._dispatch(func, args, kwargs or {})

    def _dispatch(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func in IGNORED:
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
            func = _overload(func, self.concrete(args), self.concrete(kwargs))
        if isinstance(func, torch._ops.OpOverload):
            kernel = kernel_of_operator(str(func).removesuffix(".default").replace(".", "::", 1))
            if kernel is not None:
                return self.apply(KernelCall(kernel), func, args, kwargs)
            if str(func) in allowed():
                return self.apply(Operator(str(func)), func, args, kwargs)
        raise RecordError(
            f"{_title(func)} cannot be recorded", where=str(user_line() or ""), fix="Use another torch function for it."
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
        before = {id(t): t._version for t in _tensors((args, kwargs))}
        try:
            with effects:
                result = func(*self.concrete(args), **self.concrete(kwargs))
        except Exception as error:
            self.failed = (error, line)
            raise
        result = self._separate(result, before)
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

    def _separate(self, result: Any, before: dict[int, int]) -> Any:
        """The result with another tensor object where an operator gave back an argument, as `contiguous` may.

        With other strides it would not, so the recording must tell the two apart. Only an operator that writes gives
        its argument back always.
        """
        if isinstance(result, torch.Tensor):
            same = id(result) in before
            if not same or result._version != before[id(result)] or _title(self._function).endswith("_"):
                self._refuse_reshaped_twin(result, same)
                return result
            twin = result.detach()
            self._twins |= {id(result), id(twin)}
            self._alive += (result, twin)
            return twin
        if type(result) in (tuple, list):
            return type(result)(self._separate(item, before) for item in result)
        return result

    def _refuse_reshaped_twin(self, tensor: torch.Tensor, written: bool) -> None:
        if written and id(tensor) in self._twins and _title(self._function).endswith(RESHAPING):
            raise RecordError(
                f"{_title(self._function)} changes the shape of a tensor that may be another one too",
                where=str(user_line() or ""),
                fix="Use the form that returns a new view, without the underscore.",
            )

    def _drawn(self, node: Node, effects: Effects) -> Node:
        """The node of a function that drew from torch's global generator, where `drawing` allows that."""
        if not self.sources or not isinstance(node.target, Operator):
            effects.refuse_random(_title(self._function))
        source = self.generators.value(self.sources[-1], effects.before)
        self.generators.drew([source], torch.get_rng_state())
        arguments = (source, node.target.name, node.args, node.kwargs)
        return Node(Operator("py.draw"), arguments, {}, None, node.line, node.varying)

    def call(self, application: Application) -> Any:
        """Records the call of an op and returns its result."""

        def run(*args: Any, **kwargs: Any) -> Any:
            with recording(None):
                return application.run(args, kwargs)

        with self.refusing():
            result = self.apply(application.target, run, application.args, application.kwargs)
        return application.rebuild(result)

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
        plain = self.concrete(args)
        with torch._C.DisableTorchFunction():
            concrete = PYTHON[name](*plain)
        varies = name in ("item", "is_nonzero") or any(
            a.varies if is_traced(a) else id(self._values.get(id(a))) in self._varying for a in args
        )
        value = Value(SCALARS.get(type(concrete), ANY))
        self.nodes.append(Node(Operator(f"py.{name}"), self.arguments(args), {}, value, user_line(), varies))
        if varies:
            self._varying.add(id(value))
        return traced(self, value, concrete, varies)

    def torch(self, func: Callable[..., Any], *args: Any) -> Any:
        """Records a torch function that torch's own parser would not take a traced scalar for."""
        with torch._C.DisableTorchFunction():
            return self._record(func, args, {})

    def pin(self, scalar: Any, reason: str) -> Any:
        """Guards that a traced scalar keeps its present value, and returns that."""
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

    def plain(self, tree: Any) -> Any:
        """Arguments of an op with traced scalars replaced by plain ones, each guarded."""
        reason = "a model takes it as a fixed number"
        return self._walk(tree, lambda leaf: self.pin(leaf, reason) if is_traced(leaf) else leaf)

    def _metadata(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Rank, dtype and device of a tensor; the first two can hang on sizes, so they are guarded."""
        found = func(*args, **kwargs)
        tensor = args[0] if args else None
        value = self._values.get(id(tensor))
        check = METADATA[func]
        if value is None or check is None:
            return found
        with torch._C.DisableTorchFunction():
            expected = PYTHON[check](tensor)
        read = Value(SCALARS[type(expected)])
        varies = id(value) in self._varying
        self.nodes.append(Node(Operator(f"py.{check}"), (value,), {}, read, user_line(), varies))
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
        return self._tree(tree, self._argument_leaf)

    def _argument_leaf(self, leaf: Any) -> Any:
        if is_traced(leaf):
            return leaf.value
        if isinstance(leaf, torch.Tensor):
            return self._values.get(id(leaf)) or self._capture(leaf)
        for kind in ("dtype", "layout", "memory_format"):
            if isinstance(leaf, getattr(torch, kind)):
                return Literal(kind, str(leaf).removeprefix("torch."))
        if isinstance(leaf, torch.device):
            return Literal("device", "cpu" if leaf.type == "cpu" else "op")
        if leaf in (int, float, bool, complex) and isinstance(leaf, type):
            return Literal("dtype", _PYTHON_DTYPES[leaf])
        if leaf is None or leaf is Ellipsis or type(leaf) in (bool, int, float, complex, str, bytes):
            return leaf
        if isinstance(leaf, torch.Generator):
            return self.generators.value(leaf)
        return self._numpy_leaf(leaf)

    def _numpy_leaf(self, leaf: Any) -> Any:
        """A numpy array is a constant; a numpy scalar a number."""
        kind = type(leaf)
        if kind.__module__ == "numpy" and hasattr(leaf, "item") and getattr(leaf, "ndim", 1) == 0:
            return leaf.item()
        raise RecordError(
            f"{_title(self._function)} has an argument that cannot be recorded",
            where=str(user_line() or ""),
            got=f"{kind.__module__}.{kind.__qualname__}",
            expected="tensors, numbers, strings and containers of them",
        )

    def _tree(self, tree: Any, leaf: Callable[[Any], Any]) -> Any:
        """A Python tree in the containers of the IR."""
        if is_traced(tree):
            return leaf(tree)
        if is_record(tree):
            return to_record(tree, tuple(self._tree(item, leaf) for item in tree))
        if isinstance(tree, tuple):
            return tuple(self._tree(item, leaf) for item in tree)
        if isinstance(tree, list):
            return [self._tree(item, leaf) for item in tree]
        if isinstance(tree, dict):
            return {self._key(key): self._tree(item, leaf) for key, item in tree.items()}
        if isinstance(tree, slice):
            return slice(*(self._tree(item, leaf) for item in (tree.start, tree.stop, tree.step)))
        return leaf(tree)

    def _key(self, key: Any) -> Any:
        if is_traced(key):
            return self.pin(key, "it is the key of a dict")
        if type(key) in (str, int, bool, float):
            return key
        raise RecordError("a dict has a key that cannot be recorded", got=repr(key), expected="str or int")

    def _walk(self, tree: Any, leaf: Callable[[Any], Any]) -> Any:
        """The same Python tree with every leaf replaced, containers of any registered kind."""
        return torch.utils._pytree.tree_map(leaf, tree, is_leaf=is_traced)

    def concrete(self, tree: Any) -> Any:
        """Arguments for a real call: traced scalars become plain ones."""
        if is_traced(tree):
            return tree.concrete
        if type(tree) in (tuple, torch.Size):
            return tuple(self.concrete(item) for item in tree)
        if type(tree) is list:
            return [self.concrete(item) for item in tree]
        if type(tree) is dict:
            return {key: self.concrete(item) for key, item in tree.items()}
        if isinstance(tree, slice):
            return slice(*(self.concrete(item) for item in (tree.start, tree.stop, tree.step)))
        return tree

    # -- values ------------------------------------------------------------------------------------------------

    def knows(self, tensor: Any) -> bool:
        """Whether a tensor is a value of the recording, rather than a captured one."""
        return id(tensor) in self._values

    def _know(self, tensor: torch.Tensor, value: Value) -> None:
        self._values[id(tensor)] = value
        self._alive.append(tensor)

    def _capture(self, tensor: torch.Tensor) -> Constant:
        """A tensor from outside becomes a constant of the graph."""
        constant = self.captured.get(id(tensor))
        if constant is None:
            if tensor.layout is not torch.strided:
                raise RecordError("a captured tensor is not dense", where=str(user_line() or ""), got=tensor.layout)
            constant = Constant(tensor, f"c{len(self.captured)}")
            self.captured[id(tensor)] = constant
            self._alive.append(tensor)
            self._versions[id(tensor)] = (tensor, tensor._version, user_line())
        return constant

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
            return outputs, _same_container(result, items)
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
        for tensor, version, line in self._versions.values():
            if tensor._version != version:
                raise RecordError(
                    "the function changes a tensor that is not one of its inputs",
                    where=str(line or ""),
                    got=f"a tensor of shape {tuple(tensor.shape)}",
                    fix="Pass it as an input and return the new value, or keep it as a buffer of a scripted module.",
                )


def _gives_any_rank(target: Any) -> bool:
    """Whether the rank of a result may hang on more than the ranks of the arguments."""
    if isinstance(target, Operator):
        return any(word in target.name for word in ("squeeze", "cov", "corrcoef", "lstsq"))
    return isinstance(target, KernelCall)


RESHAPING = ("squeeze_", "unsqueeze_", "transpose_", ".t_", "swapaxes_", "swapdims_")

_PYTHON_DTYPES = {
    int: "int64",
    float: str(torch.get_default_dtype()).removeprefix("torch."),
    bool: "bool",
    complex: "complex64",
}


def _same_container(result: Any, items: list[Any]) -> Any:
    """A container like the result, with its items replaced."""
    if type(result) is list:
        return items
    if hasattr(type(result), "_make"):
        return type(result)._make(items)
    if is_record(result):
        return type(result)(items)
    return tuple(items)


def tensor_type(tensor: torch.Tensor) -> Type:
    """The type of a tensor of the recording, with its sizes as they were.

    Raises:
        RecordError: it is not a dense tensor of a dtype that archives know.
    """
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES or tensor.layout is not torch.strided:
        raise RecordError(
            "a tensor that cannot be recorded", where=str(user_line() or ""), got=f"{tensor.dtype}, {tensor.layout}"
        )
    return TensorType(name, tuple(int(size) for size in torch.Tensor.size(tensor)))


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    """The tensors of a tree; a traced list of strings, which pretends to be a list, is not looked into."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif not is_traced(tree) and isinstance(tree, tuple | list | dict):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _tensors(item)


def _overload(packet: Any, args: Any, kwargs: Any) -> Any:
    """The overload that a call of a packet such as `torch.ops.aten.add` goes to."""
    with torch._C.DisableTorchFunction():
        try:
            name = torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
        except Exception:  # torch itself refuses the call, and says so when it is made
            return packet
    return getattr(packet, name or "default")


def _title(func: Any) -> str:
    if func is None:
        return "the result"
    name = recorded_names().get(func) or torch.overrides.resolve_name(func) or getattr(func, "__qualname__", str(func))
    return str(name)
