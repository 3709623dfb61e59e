"""Converts the nodes of torch's fx graph to Nodes.

Operators are converted to names on the allow-list, sizes to ``py.…`` arithmetic, the model's device to "this op's
device". Anything that a graph cannot hold is refused here, with the user's line.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from ...graph.errors import LoweringError, UnknownOperatorError
from ...graph.graph import Constant, Graph, Guard, KernelCall, Literal, Node, Operator, Value
from ...graph.operators.names import PYTHON, check_name, why_not
from ...graph.traverse import map_leaves
from ...graph.types import BOOL, INT, ScalarType
from ...kernels.package_operator import OF_SCRIPT, PUT_INTO_MODULE, operator_kernel
from ...kernels.registry import check_registered, kernel_of_operator
from ..size_expressions import written_out
from .source_lines import source_line
from .value_types import dtype_name, output_values, value_type

_ARITHMETIC: dict[Any, str] = {
    **{getattr(operator, name): name for name in PYTHON if hasattr(operator, name) and not name.startswith("_")},
    **{getattr(math, name): name for name in ("ceil", "floor", "trunc", "sqrt", "log2")},
    torch.sym_max: "max",
    torch.sym_min: "min",
    torch.sym_float: "float",
    torch.sym_int: "int",
    torch.sym_not: "not_",
    torch.sym_sum: "sum",
    round: "round",
    operator.truediv: "truediv",
}
_COMPOSED = ("aten.where.default", "aten.repeat_interleave.self_Tensor", "aten.argwhere.default")
"""Operators whose sizes data decides, and which lack torch's tag for that, being composed of others."""
# torch's operators that read a size -> ours.
_READS = {
    "aten.sym_size.int": "size",
    "aten.sym_stride.int": "stride",
    "aten.sym_numel.default": "numel",
    "aten.sym_storage_offset.default": "storage_offset",
    "aten._local_scalar_dense.default": "item",
    "aten.item.default": "item",
    "aten.is_nonzero.default": "is_nonzero",
}
# Operators that only tell torch's symbolic reasoning a fact.
_HINTS = (
    "aten.sym_constrain_range.default", "aten.sym_constrain_range_for_size.default",
    "aten._assert_tensor_metadata.default",
)  # fmt: skip
_ASSERTIONS = ("aten._assert_async.default", "aten._assert_async.msg")  # on a tensor's one element
# Operators that transformers calls only while it is exported -> those that it calls in eager mode.
_EQUAL = {"transformers.grouped_mm_fallback.default": "aten._grouped_mm.default"}
# Without gradients these return their argument.
_NOTHING = ("aten.detach_.default", "aten.lift_fresh.default", "aten.alias.default")


Shared = dict[int, tuple[torch.Tensor, Constant]]
"""The constants of an op's bodies by the ids of tensors, with the tensors: no other one may get the id meanwhile."""


class NodeReader:
    """Reads one fx graph; subgraphs get a reader of their own."""

    def __init__(self, module: torch.nn.Module, op: str, letters: Mapping[str, str | int]) -> None:
        self.module, self.op, self.letters = module, op, letters
        self.known: dict[str, Any] = {}  # fx node name -> Value, Constant, Graph, or a tuple of Values
        self.symbols: dict[Any, tuple[Value, int]] = {}  # torch's symbol -> an input, and its dimension of this size
        self.nodes: list[Node] = []

    def constants(self, program: ExportedProgram, shared: Shared) -> None:
        """Defines the parameters, the buffers and the tensors that the model captured."""
        kinds = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
        for spec in program.graph_signature.input_specs:
            if spec.kind == InputKind.USER_INPUT:
                continue
            tensor = program.state_dict.get(str(spec.target), program.constants.get(str(spec.target)))
            if spec.kind not in kinds or not isinstance(tensor, torch.Tensor):
                raise LoweringError(
                    f"the model holds {spec.target!r}, which is not a tensor",
                    where=f"op {self.op!r}",
                    got=spec.kind.name,
                )
            dtype_name(tensor.dtype)
            if tensor.layout is not torch.strided:
                raise LoweringError(
                    f"{spec.target!r} is not a dense tensor", where=f"op {self.op!r}", got=tensor.layout
                )
            trained = tensor.requires_grad and tensor.is_leaf  # also one that is no Parameter
            constant = Constant(tensor, str(spec.target).removeprefix("model."), parameter=trained)
            _, self.known[spec.arg.name] = shared.setdefault(id(tensor), (tensor, constant))

    def define(self, value: Value, node: torch.fx.Node) -> None:
        """Defines an input, and the symbols that are its sizes."""
        for dim, size in enumerate(node.meta["val"].shape):
            if isinstance(size, torch.SymInt):
                self.symbols.setdefault(size.node.expr, (value, dim))

    def graph(self, graph: torch.fx.Graph, inputs: tuple[Value, ...]) -> Graph:
        """Converts all nodes; the placeholders are known already."""
        output: Any = ()
        for node in graph.nodes:
            match node.op:
                case "placeholder":
                    if node.name not in self.known:
                        raise LoweringError(
                            "an input of the export has no place among the arguments",
                            where=f"op {self.op!r}",
                            got=node.name,
                        )
                case "get_attr":
                    self.known[node.name] = self.attribute(node)
                case "call_function":
                    self.call(node)
                case "output":
                    output = tuple(self.argument(leaf) for leaf in torch.utils._pytree.tree_leaves(node.args[0]))
                case _:
                    raise LoweringError(
                        f"the export has a node of kind {node.op}, which cannot be packed", where=f"op {self.op!r}"
                    )
        return Graph(inputs, tuple(self.nodes), output)

    def attribute(self, node: torch.fx.Node) -> Any:
        """Converts an attribute of the module: the graph of a branch or of a loop's body, or a tensor."""
        found = operator.attrgetter(str(node.target))(self.module)
        if isinstance(found, torch.fx.GraphModule):
            return found
        if isinstance(found, torch.Tensor):
            return Constant(found, str(node.target))
        raise LoweringError(
            f"the model holds {node.target!r}, which is not a tensor", where=f"op {self.op!r}", got=type(found).__name__
        )

    def subgraph(self, module: torch.fx.GraphModule) -> Graph:
        """The graph of a branch, whose placeholders are all inputs."""
        reader = NodeReader(module, self.op, self.letters)
        values = []
        for node in module.graph.nodes:
            if node.op == "placeholder":
                reader.known[node.name] = value = Value(value_type(node.meta.get("val"), reader.letters))
                values.append(value)
        return reader.graph(module.graph, tuple(values))

    def call(self, node: torch.fx.Node) -> None:
        """Converts one application."""
        target = node.target
        if target is operator.getitem and isinstance(self.known.get(getattr(node.args[0], "name", "")), tuple):
            # The type was checked just before.
            self.known[node.name] = self.known[node.args[0].name][node.args[1]]  # type: ignore[union-attr, index]
        elif target in _ARITHMETIC:
            self.add(node, Operator(f"py.{_ARITHMETIC[target]}"))
        elif target is torch.sym_ite and node.args[1:] == (1, 0):  # torch writes a bool as an int so
            self.add(node, Operator("py.int"), most=1)
        elif isinstance(target, torch._ops.OpOverload):
            self.overload(node, target)
        elif isinstance(target, torch._ops.HigherOrderOperator):
            self.higher(node, target)
        else:
            raise LoweringError(
                f"the model calls {getattr(target, '__name__', target)!r}, which is not an operator",
                where=self.where(node),
            )

    def overload(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> None:
        """Converts an operator of torch, or one that a kernel is registered under."""
        name = _EQUAL.get(str(target), str(target))
        if name == "aten._assert_scalar.default":
            if not self.on_sizes(node.args[0]):
                self.guard(node, self.argument(node.args[0]), str(node.args[1]))
            return
        if name in _ASSERTIONS:
            holds = Value(BOOL)
            self.nodes.append(Node(Operator("py.is_nonzero"), (self.argument(node.args[0]),), {}, holds, varying=True))
            self.guard(node, holds, str(node.args[1]) if len(node.args) > 1 else "an assertion on a tensor failed")
            return
        if name in _HINTS:
            return
        if name == "aten.promote_types.default":  # `torch.tensor` of a size asks it about the items
            kinds: Any = node.args  # dtypes, which the types of torch.fx do not say
            self.known[node.name] = self.argument(torch.promote_types(*kinds))
            return
        if name in _NOTHING:
            self.known[node.name] = self.argument(node.args[0])
            return
        if name in _READS:
            match self.argument(node.args[0]):
                case Value(type=ScalarType()) as number:  # the size of the tensor that carries the number
                    self.known[node.name] = number
                    return
            self.add(node, Operator(f"py.{_READS[name]}"), varying=_READS[name] in ("item", "is_nonzero"))
            if _READS[name] == "item":
                self.guard_prediction(node)
            return
        kernel = kernel_of_operator(name.rsplit(".", 1)[0].replace(".", "::", 1))
        if kernel is not None:
            check_registered(kernel)
            self.add(node, KernelCall(kernel), varying=_varies(node, target))
            return
        try:
            check_name(name)
        except UnknownOperatorError as error:
            found = operator_kernel(target)
            if isinstance(found, str):
                raise LoweringError(
                    f"operator {name} cannot be packed{found or why_not(name)}",
                    where=self.where(node),
                    fix=PUT_INTO_MODULE if found == OF_SCRIPT else "Write that part with other operators.",
                ) from error
            self.add(node, KernelCall(found), varying=True)
            return
        self.add(node, Operator(name), varying=_varies(node, target))

    def on_sizes(self, condition: Any) -> bool:
        """Whether a condition is on sizes of inputs alone: then it is a guard of the body's facts already.

        A number of data that a condition says to equal a size, or a constant, is replaced by it in torch's expression.
        """
        value = condition.meta.get("val") if isinstance(condition, torch.fx.Node) else None
        on_inputs = isinstance(value, torch.SymBool) and all(s in self.symbols for s in value.node.expr.free_symbols)
        return on_inputs and not self.reads_data(condition)

    def reads_data(self, number: Any) -> bool:
        """Whether data decides a number or a condition: one that is read off a tensor, or a size that data decides."""
        if not isinstance(number, torch.fx.Node):
            return False
        name = str(number.target)
        if _READS.get(name) in ("item", "is_nonzero"):
            return not isinstance(number.meta.get("val"), torch.SymInt)  # of an integer: see `guard_prediction`
        if name in _READS:
            found = number.meta.get("val")
            return isinstance(found, torch.SymInt) and any(s not in self.symbols for s in found.node._expr.free_symbols)
        return any(map(self.reads_data, number.all_input_nodes))

    def guard(self, node: torch.fx.Node, value: Any, reason: str) -> None:
        """Adds a guard for an assertion, without torch's text, which holds symbols that a user does not know."""
        if value is True:
            return
        if reason.startswith("Runtime assertion failed"):
            reason = "a number that data decides is outside of what the model was lowered for"
        self.nodes.append(Node(Guard(True, reason), (value,), {}, None, source_line(node)))

    def guard_prediction(self, node: torch.fx.Node) -> None:
        """Guards a number read off a tensor that torch takes for an expression over sizes; see `scalar_tensors`."""
        found = node.meta.get("val")
        known = found.node.expr if isinstance(found, torch.SymInt) else None
        if known is None or (known.is_Symbol and known not in self.symbols):
            return
        expected = written_out(known, self.size, self.arithmetic)
        same = self.arithmetic("eq", (self.known[node.name], expected))
        self.guard(node, same, "a number that the model reads off a tensor is not what its sizes said")

    def size(self, symbol: Any) -> Value:
        """The value of a symbol."""
        if symbol not in self.symbols:
            raise LoweringError("data decides a number in a way that cannot be packed", where=f"op {self.op!r}")
        value, dim = self.symbols[symbol]
        return value if value.type == INT else self.arithmetic("size", (value, dim))

    def arithmetic(self, name: str, args: tuple[Any, ...]) -> Value:
        """Adds a node that computes with numbers."""
        value = Value(BOOL if name in ("eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "not_") else INT)
        self.nodes.append(Node(Operator(f"py.{name}"), args, {}, value))
        return value

    def higher(self, node: torch.fx.Node, target: torch._ops.HigherOrderOperator) -> None:
        """Converts control flow on data, and replaces the wrapper of a `no_grad` block by its nodes."""
        name = str(target.name())  # type: ignore[no-untyped-call]  # torch leaves it untyped
        if name in ("cond", "while_loop"):
            self.add(node, Operator(name), varying=True)
        elif name == "wrap_with_set_grad_enabled":
            wrapped = node.args[1]
            assert isinstance(wrapped, torch.fx.Node)
            self.inline(node, self.known[wrapped.name], node.args[2:])
        else:
            raise LoweringError(f"the model uses torch's {name!r}, which cannot be packed", where=self.where(node))

    def inline(self, node: torch.fx.Node, module: torch.fx.GraphModule, args: Sequence[Any]) -> None:
        """Writes the nodes of a wrapped block in place of the wrapper."""
        reader = NodeReader(module, self.op, self.letters)
        reader.nodes = self.nodes
        places = [n for n in module.graph.nodes if n.op == "placeholder"]
        reader.known = {place.name: self.argument(arg) for place, arg in zip(places, args, strict=True)}
        self.known[node.name] = reader.graph(module.graph, ()).output

    def add(
        self, node: torch.fx.Node, target: Operator | KernelCall, varying: bool = False, most: int | None = None
    ) -> None:
        """Adds a node, with at most `most` arguments."""
        args = tuple(self.argument(arg) for arg in node.args[:most])
        kwargs = {key: self.argument(arg) for key, arg in node.kwargs.items() if not _default(key, arg)}
        output = output_values(node.meta.get("val"), self.letters)
        self.known[node.name] = output if output is not None else ()
        self.nodes.append(Node(target, args, kwargs, output, source_line(node), varying))

    def argument(self, arg: Any) -> Any:
        """A tree of arguments in the form of the IR."""
        return map_leaves(self.leaf, arg)

    def leaf(self, arg: Any) -> Any:
        """One argument in the form of the IR."""
        match arg:
            case torch.fx.Node():
                found = self.known[arg.name]
                return self.subgraph(found) if isinstance(found, torch.fx.GraphModule) else found
            case torch.device():
                return Literal("device", "op" if arg.type != "cpu" or self.on_cpu() else "cpu")
            case torch.dtype():
                return Literal("dtype", str(arg).removeprefix("torch."))
            case torch.layout():
                return Literal("layout", str(arg).removeprefix("torch."))
            case torch.memory_format():
                return Literal("memory_format", str(arg).removeprefix("torch."))
            case None | bool() | int() | float() | complex() | str():
                return arg
            case _ if arg is Ellipsis:
                return arg
        raise LoweringError("an argument cannot be packed", where=f"op {self.op!r}", got=type(arg).__name__)

    def on_cpu(self) -> bool:
        """Whether every tensor that the model holds is on the CPU, so that "cpu" means the model's device."""
        held = [c.tensor for c in self.known.values() if isinstance(c, Constant)]
        return all(tensor.device.type == "cpu" for tensor in held)

    def where(self, node: torch.fx.Node) -> str:
        """The op, and the user's line."""
        line = source_line(node)
        return f"op {self.op!r}, {line}" if line else f"op {self.op!r}"


def _varies(node: torch.fx.Node, target: torch._ops.OpOverload) -> bool:
    """Whether data decides a size, which an assertion of the model may have fixed since."""
    tagged = torch.Tag.dynamic_output_shape in target.tags or torch.Tag.data_dependent_output in target.tags
    return tagged or str(target) in _COMPOSED or bool(node.meta.get("unbacked_bindings"))


def _default(key: str, arg: Any) -> bool:
    return (key == "pin_memory" and not arg) or (key in ("layout", "dtype", "device", "memory_format") and arg is None)
