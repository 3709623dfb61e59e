"""Turns a Graph into the source of one flat Python function: the heart of the Plan.

A node costs one line and next to nothing at run time; op bodies are inlined, so a pipeline of ten small ops costs
what one of them costs. Every node is exactly one line, so that a failing line number leads back to its node. The
source holds only integers, generated names and references to a table: nothing from a file is ever pasted into it.

Two variants are made of one graph. The checked one verifies guards, op signatures and contiguity; it runs once for
each new input signature. The fast one leaves out what can only depend on the input signature, and keeps what
depends on data (see `Node.varying`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .arrays import numpy_object, on_cpu
from .device import CPU, Device
from .errors import GraphError
from .graph import (
    Body,
    BodyCall,
    Constant,
    Graph,
    Guard,
    KernelCall,
    Literal,
    Node,
    Operator,
    Record,
    Value,
    leaves,
    uses,
)
from .kernel import Kernel
from .operators import resolve, template
from .reuse import in_place
from .types import TensorType


@dataclass
class Line:
    """One line of generated source, with what it reads and writes, and the call of an op that it belongs to."""

    text: str
    node: Node | None
    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    call: Node | None = None


@dataclass
class Bindings:
    """What the emitter needs to know of the world outside the graph.

    Attributes:
        place: the device of an op.
        constant: the tensor of a constant on a device.
        home: the device of torch code that no tensor decides.
        checks: makes the function that checks the inputs of a body, or its outputs.
        record: builds a named tuple from a record's values.
        guard: the function that fails a guard: called with the guard's node and the value found.
        kernel: the kernel to call for one of the graph: its session where calls change it.
        grad: whether results must keep their gradients, so that nothing is computed ahead or written over.
    """

    place: Callable[[Body], Device]
    constant: Callable[[Constant, Device], Any]
    home: Device
    check_inputs: Callable[[Body], Callable[..., None]]
    check_outputs: Callable[[Body], Callable[..., Any]]
    record: Callable[[Record], Callable[..., Any]]
    guard: Callable[[Node], Callable[[Any], None]]
    kernel: Callable[[Kernel], Kernel]
    grad: bool = False


class Emitter:
    """Writes the lines of one function; nested functions share its table."""

    def __init__(self, bindings: Bindings, *, checked: bool, table: dict[str, Any] | None = None) -> None:
        self.bindings, self.checked = bindings, checked
        self.table: dict[str, Any] = {} if table is None else table
        self._refs: dict[int, str] = {}
        self.lines: list[Line] = []
        self.names: dict[int, str] = {}  # id(Value) -> variable
        self.devices: dict[str, Device] = {}  # variable of a tensor -> where it lies
        self.varying: set[str] = set()
        self._count = 0
        self._reads: list[str] = []
        self._keep: list[Any] = []  # ids in _refs stay taken
        self._transposed: dict[Any, Any] = {}
        self._in_place: dict[int, str] = {}

    # -- names -----------------------------------------------------------------------------------------------

    def fresh(self, prefix: str = "v") -> str:
        """A new variable name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def ref(self, thing: Any, prefix: str = "k") -> str:
        """A name for an object in the table; one name an object."""
        key = id(thing)
        if key not in self._refs:
            self._refs[key] = f"{prefix}_{len(self.table)}"
            self.table[self._refs[key]] = thing
            self._keep.append(thing)
        return self._refs[key]

    def literal(self, plain: Any) -> str:
        """A plain Python value as source: integers are written, everything else is a table reference."""
        if plain is None or plain is True or plain is False:
            return repr(plain)
        if type(plain) is int:
            return repr(plain)
        if plain is Ellipsis:
            return "..."
        key = f"c_{type(plain).__name__}_{len(self.table)}"
        self.table[key] = plain
        return key

    # -- graphs ----------------------------------------------------------------------------------------------

    def inline(self, graph: Graph, inputs: list[str], device: Device) -> None:
        """Writes the nodes of a graph whose inputs are the given variables."""
        for value, name in zip(graph.inputs, inputs, strict=True):
            self.names[id(value)] = name
        if not self.bindings.grad:
            self._in_place |= in_place(graph)
        for node in graph.nodes:
            self.node(node, device)

    def node(self, node: Node, device: Device) -> None:
        """Writes one node."""
        self._reads = []
        match node.target:
            case Operator(name):
                self.operator(node, name, device)
            case KernelCall(kernel):
                device = self.device_of(node, CPU)
                arguments = self.arguments(node, device, wrap="_contiguous")
                self.line(f"{self.ref(self.bindings.kernel(kernel))}({arguments})", node, device)
            case Guard():
                self.guard(node, device)
            case BodyCall(body):
                self.call(node, body, device)

    def operator(self, node: Node, name: str, device: Device) -> None:
        """Writes the call of an operator, on the device of its first tensor."""
        device = CPU if on_cpu(node) else self.device_of(node, device)
        name = self._in_place.get(id(node), name)
        inline = template(name)
        if name == "aten.linear.default" and _is_affine(node) and not self.bindings.grad:
            text = self.affine(node, device)
        elif inline is not None:
            if len(node.args) != (2 if "{1}" in inline else 1) or node.kwargs:
                raise GraphError("an operator has another number of arguments than it takes", where=f"node {name}")
            text = inline.format(*(self.tree(arg, device) for arg in node.args))
        else:
            text = f"{self.ref(resolve(name), 'f')}({self.arguments(node, device)})"
        self.line(text, node, device)

    def affine(self, node: Node, device: Device) -> str:
        """A linear layer on a matrix as the `addmm` that torch makes of it, the weight transposed once and for all."""
        x, weight, bias = node.args
        key = (id(weight), device)
        if key not in self._transposed:
            self._transposed[key] = self.bindings.constant(weight, device).t()
        transposed = self.ref(self._transposed[key], "w")
        addmm = self.ref(resolve("aten.addmm.default"), "f")
        return f"{addmm}({self.tree(bias, device)}, {self.tree(x, device)}, {transposed})"

    def device_of(self, node: Node, device: Device) -> Device:
        """Where a node of torch code runs: with its first tensor that is not a mere scalar, else at home."""
        places = [
            self.devices[self.names[id(leaf)]]
            for leaf in uses(node)
            if isinstance(leaf, Value) and self.names[id(leaf)] in self.devices
        ]
        return next((place for place in places if not place.is_cpu), places[0] if places else device)

    def guard(self, node: Node, device: Device) -> None:
        """Writes a guard where it is needed: in the checked variant, or where data decides it."""
        assert isinstance(node.target, Guard)
        value = self.tree(node.args[0], device)
        if self.checked or value in self.varying:
            expected = self.literal(node.target.expected)
            fail = self.ref(self.bindings.guard(node))
            test = f"{value} != {expected}"
            if isinstance(node.target.expected, float):  # tells 2 from 2.0, and 0.0 from -0.0
                test = f"repr({value}) != {self.literal(repr(node.target.expected))}"
            self.lines.append(Line(f"if {test}: {fail}({value})", node, list(self._reads)))

    def call(self, node: Node, body: Body, device: Device) -> None:
        """Writes an op: its checks around the inlined graph of its body."""
        place = self.bindings.place(body)
        inputs = [self.moved(self.tree(arg, device), place) for arg in node.args]
        if self.checked or any(name in self.varying for name in inputs):
            check = self.ref(self.bindings.check_inputs(body))
            self.lines.append(Line(f"{check}({', '.join(inputs)})", node, list(inputs)))
        first = len(self.lines)
        self.inline(body.graph, inputs, place)
        for line in self.lines[first:]:
            line.call = node
        self._reads = []
        results = [self.tree(leaf, place) for leaf in leaves(body.graph.output)]
        self.bind_results(node, body, results, place)

    def bind_results(self, node: Node, body: Body, results: list[str], place: Device) -> None:
        """Checks an op's outputs and gives their variables to the values of the node that called it."""
        outputs = list(leaves(node.output))
        inner = list(leaves(body.graph.output))
        for index, leaf in enumerate(inner):
            if isinstance(leaf, Constant):  # a weight that is returned must not be open to writes
                results[index] = self.cloned(results[index], place)
        names = list(dict.fromkeys(r for leaf, r in zip(inner, results, strict=True) if _is_tensor(leaf)))
        if names:
            self.check_results(node, body, names)
        for outer, result in zip(outputs, results, strict=True):
            if outer is not None:
                self.names[id(outer)] = result
        for name in names:
            self.devices.setdefault(name, place)

    def cloned(self, name: str, device: Device) -> str:
        """A copy of a tensor, written before what follows."""
        copy = self.fresh()
        self.lines.append(Line(f"{copy} = {name}.clone()", None, [name], [copy]))
        self.devices[copy] = device
        return copy

    def check_results(self, node: Node, body: Body, names: list[str]) -> None:
        """Writes the check (or the repair) of contiguity of an op's outputs."""
        if body.contiguous:
            for name in names:
                self.lines.append(Line(f"{name} = {name}.contiguous()", node, [name], [name]))
        elif self.checked or any(name in self.varying for name in names):
            check = self.ref(self.bindings.check_outputs(body))
            self.lines.append(Line(f"{check}({', '.join(names)})", node, list(names)))

    # -- arguments and results ---------------------------------------------------------------------------------

    def arguments(self, node: Node, device: Device, wrap: str = "") -> str:
        """The arguments of a call as source."""
        parts = [self.tree(arg, device, wrap) for arg in node.args]
        parts += [f"{self.keyword(name)}={self.tree(arg, device, wrap)}" for name, arg in node.kwargs.items()]
        return ", ".join(parts)

    @staticmethod
    def keyword(name: str) -> str:
        """A keyword's name, which comes from a file: an identifier or nothing."""
        import keyword

        if not name.isidentifier() or keyword.iskeyword(name):
            raise GraphError("a keyword argument has an impossible name", got=repr(name[:80]))
        return name

    def tree(self, tree: Any, device: Device, wrap: str = "") -> str:
        """A tree of arguments as source, tensors moved to the device."""
        match tree:
            case Value():
                return self.wrapped(self.moved(self.use(tree), device), wrap)
            case Constant():
                tensor = self.bindings.constant(tree, device)
                name = self.ref(tensor, "w")
                self.devices.setdefault(name, device)
                return self.wrapped(name, wrap)
            case tuple():
                return f"({''.join(self.tree(item, device, wrap) + ', ' for item in tree)})"
            case list():
                return f"[{', '.join(self.tree(item, device, wrap) for item in tree)}]"
            case dict():
                pairs = (f"{self.literal(k)}: {self.tree(v, device, wrap)}" for k, v in tree.items())
                return "{" + ", ".join(pairs) + "}"
            case slice():
                parts = (self.tree(item, device) for item in (tree.start, tree.stop, tree.step))
                return f"slice({', '.join(parts)})"
            case Record():
                return f"{self.ref(self.bindings.record(tree))}({', '.join(self.tree(i, device) for i in tree.items)})"
            case Literal():
                return self.ref(_torch_object(tree, device))
            case Graph():
                return self.subgraph(tree, device)
            case _:
                return self.literal(tree)

    def wrapped(self, name: str, wrap: str) -> str:
        """A tensor variable, made contiguous where a kernel takes it."""
        return f"{name}.contiguous()" if wrap and name in self.devices else name

    def use(self, value: Value) -> str:
        """The variable of a value, noted as read by the line being written."""
        name = self.names[id(value)]
        self._reads.append(name)
        return name

    def moved(self, name: str, device: Device) -> str:
        """The variable with its tensor on a device: the same one, or a copy written before the line."""
        here = self.devices.get(name)
        if here is None or here == device:
            return name
        copy = self.fresh()
        target = self.ref(_torch_object(Literal("device", "op"), device))
        self.lines.append(Line(f"{copy} = {name}.to({target})", None, [name], [copy]))
        self.devices[copy] = device
        self._reads.append(copy)
        if name in self.varying:
            self.varying.add(copy)
        return copy

    def subgraph(self, graph: Graph, device: Device) -> str:
        """A branch or a loop's body as a function of its own in the table."""
        inner = Emitter(self.bindings, checked=True, table=self.table)  # the other branch may never have been checked
        inner._refs = self._refs
        function = inner.function(graph, device, device)
        self.table[name := f"g_{len(self.table)}"] = function
        return name

    def line(self, call: str, node: Node, device: Device) -> None:
        """Writes a call and unpacks its result into the variables of the node's values."""
        varies = node.varying or any(name in self.varying for name in self._reads)
        writes: list[str] = []
        if _has_dict(node.output):
            call = f"{self.ref(_values_of(node.output))}({call})"
        target = self.pattern(node.output, device, writes, varies)
        text = f"{target} = {call}" if target else call
        self.lines.append(Line(text, node, list(self._reads), writes))

    def pattern(self, output: Any, device: Device, writes: list[str], varies: bool) -> str:
        """The left side of an assignment that takes a result apart."""
        match output:
            case None:
                return ""
            case Value():
                name = self.fresh()
                self.names[id(output)] = name
                writes.append(name)
                if isinstance(output.type, TensorType):
                    self.devices[name] = device
                if varies:
                    self.varying.add(name)
                return name
            case _:
                items = output.values() if isinstance(output, dict) else output
                parts = [self.pattern(item, device, writes, varies) or self.fresh("_") for item in items]
                return f"({''.join(part + ', ' for part in parts)})" if parts else "[]"

    # -- the function ------------------------------------------------------------------------------------------

    def function(self, graph: Graph, home: Device, device: Device | None = None) -> Callable[..., Any]:
        """Compiles a whole graph to a function of its flat inputs."""
        inputs = [self.fresh() for _ in graph.inputs]
        for value, name in zip(graph.inputs, inputs, strict=True):
            if isinstance(value.type, TensorType):
                self.devices[name] = device or self.input_home(graph, value, home)
            else:
                self.varying.add(name)
        self.inline(graph, inputs, home)
        self._reads = []
        result = self.output(graph.output)
        source, nodes, calls = self.source(inputs, result)
        code = compile(source, "<tracepack plan>", "exec")
        namespace = dict(self.table) if device is None else self.table
        exec(code, namespace)
        function: Callable[..., Any] = namespace.pop("plan")
        function.__dict__.update(
            source=source, nodes=nodes, calls=calls, homes=[self.devices.get(n, CPU) for n in inputs]
        )
        return function

    def output(self, tree: Any) -> str:
        """The returned tree as source; a tensor stays where it was computed."""
        match tree:
            case Value():
                return self.use(tree)
            case Constant():
                return f"{self.ref(self.bindings.constant(tree, self.bindings.home), 'w')}.clone()"
            case tuple():
                return f"({''.join(self.output(item) + ', ' for item in tree)})"
            case list():
                return f"[{', '.join(map(self.output, tree))}]"
            case dict():
                return "{" + ", ".join(f"{self.literal(k)}: {self.output(v)}" for k, v in tree.items()) + "}"
            case Record():
                return f"{self.ref(self.bindings.record(tree))}({', '.join(map(self.output, tree.items))})"
            case Literal():
                return self.ref(_torch_object(tree, self.bindings.home))
            case _:
                return self.literal(tree)

    def input_home(self, graph: Graph, value: Value, home: Device) -> Device:
        """Where an input is wanted first: with the first op that takes it, else at home."""
        for node in graph.nodes:
            if any(leaf is value for leaf in uses(node)):
                return self.bindings.place(node.target.body) if isinstance(node.target, BodyCall) else home
        return home

    def source(self, inputs: list[str], result: str) -> tuple[str, dict[int, Node], dict[int, Node]]:
        """The text, with values freed after their last use; for every line its node and its op's call."""
        last = {name: index for index, line in enumerate(self.lines) for name in _variables(line)}
        kept = {*self._reads, *inputs}
        text = [f"def plan({', '.join(inputs)}):"]
        nodes: dict[int, Node] = {}
        calls: dict[int, Node] = {}
        for index, line in enumerate(self.lines):
            text.append(f" {line.text}")
            if line.node is not None:
                nodes[len(text)] = line.node
            if line.call is not None:
                calls[len(text)] = line.call
            dead = [n for n in _variables(line) if last[n] == index and n not in kept]
            if dead and index + 1 < len(self.lines) and not line.text.startswith("if "):
                text[-1] += f"; del {', '.join(dead)}"
        text.append(f" return {result}")
        return "\n".join(text), nodes, calls


def _is_affine(node: Node) -> bool:
    """Whether a linear layer has a bias and fixed weights, and takes a matrix."""
    match node.args:
        case (Value(TensorType(_, (_, _))), Constant(mutable=False), Constant(mutable=False)):
            return not node.kwargs
    return False


def _has_dict(output: Any) -> bool:
    if isinstance(output, tuple | list):
        return any(map(_has_dict, output))
    return isinstance(output, dict)


def _values_of(output: Any) -> Callable[[Any], Any]:
    """Makes the function that turns the dicts of a result into tuples in the order of the node's output."""
    if isinstance(output, dict):
        parts = [(key, _values_of(item)) for key, item in output.items()]
        return lambda result: tuple(values(result[key]) for key, values in parts)
    if isinstance(output, tuple | list):
        inner = [_values_of(item) for item in output]
        return lambda result: tuple(values(item) for values, item in zip(inner, result, strict=True))
    return lambda result: result


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, Constant) or (isinstance(leaf, Value) and isinstance(leaf.type, TensorType))


def _variables(line: Line) -> list[str]:
    """The local variables of a line, without table references and literals."""
    return [name for name in dict.fromkeys((*line.reads, *line.writes)) if name.startswith("v")]


def _torch_object(literal: Literal, device: Device) -> Any:
    """The object that a literal names: of torch (dtype, layout, memory format, device) or numpy (dtype, scalar)."""
    import torch

    if literal.kind.startswith("numpy."):
        return numpy_object(literal.kind, literal.name)
    if literal.kind == "device":
        return torch.device(str(CPU if literal.name == "cpu" else device))
    kinds = {"dtype": torch.dtype, "layout": torch.layout, "memory_format": torch.memory_format}
    found = getattr(torch, literal.name, None)
    if literal.kind not in kinds or not isinstance(found, kinds[literal.kind]):
        raise GraphError(f"this torch has no {literal.kind} {literal.name!r}", where="a literal of the graph")
    return found
