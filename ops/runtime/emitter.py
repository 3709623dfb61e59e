"""Turns a Graph into the source of one flat Python function: the heart of the Plan.

A node costs one line and less than a microsecond at run time; op bodies are inlined, so that a pipeline of ten small
ops costs as much as one. The source holds only integers, generated names and references to a table: nothing from a file
is ever pasted into it.

Two variants are made of one graph. The checked one verifies guards, op signatures and contiguity; it runs once for
each new input signature. The fast one leaves out checks that depend on the input signature alone, and keeps those that
depend on data (see `Node.varying`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..graph.device import CPU, Device
from ..graph.errors import GraphError, TracepackError
from ..graph.graph import Body, BodyCall, Constant, Graph, Guard, KernelCall, Node, Operator, Value
from ..graph.kernel import Kernel
from ..graph.operators.names import is_mark
from ..graph.sharing.memory import may_join
from ..graph.traverse import leaves, uses
from ..graph.types import ANY, BOOL, FLOAT, INT, TensorType
from .inplace import Grown, grown_in_place, in_place
from .interrupts.alarm import is_of_handler
from .placement import accelerator_mark, moves_to
from .primitives.bounded import NUMBERS_ONLY
from .primitives.callables import resolve, template
from .primitives.nesting import bounded_arguments, bounded_list, gathers
from .primitives.numpy import on_cpu
from .safety.growth import bits_of, inlined
from .scope import Bindings, Scope
from .source import Line, References, source_of

if TYPE_CHECKING:
    from .engine_call import EngineCall


class Emitter:
    """Writes the lines of one function; nested functions share its table."""

    def __init__(
        self, bindings: Bindings, *, checked: bool, table: References | None = None, grown: Grown | None = None
    ) -> None:
        self.bindings, self.checked = bindings, checked
        self.table = References() if table is None else table
        self.scope = Scope(bindings, self.table, self._nested)
        self._transposed: dict[Any, Any] = {}
        self._in_place: dict[int, str] = {}
        self._grown: Grown = dict(grown or {})
        self._looked_at: set[int] = set()  # graphs of which the nodes that may write in place are known
        self._metered: dict[str, Callable[..., Any]] = {}

    def _nested(self, graph: Graph, device: Device) -> str:
        """Writes a branch or a loop's body as a function of its own in the table."""
        inner = Emitter(
            self.bindings, checked=True, table=self.table, grown=self._grown
        )  # the checked run may have taken the other branch only
        return self.table.add(inner.function(graph, device, device), "g")

    # -- the function ------------------------------------------------------------------------------------------

    def function(self, graph: Graph, home: Device, device: Device | None = None) -> Callable[..., Any]:
        """Compiles a whole graph to a function of its flat inputs.

        Args:
            graph: the graph to write.
            home: the device of torch code without a tensor argument.
            device: the device of the inputs of a nested function.
        """
        try:
            return self._function(graph, home, device)
        except TracepackError:
            raise
        # Python's compiler has limits of its own, and a graph from a file can hold what no recorder writes.
        except Exception as error:
            if is_of_handler(error):
                raise
            got = f"{type(error).__name__}: {error}".split("\n")[0][:120]
            raise GraphError("the graph cannot be compiled", got=got) from error

    def _function(self, graph: Graph, home: Device, device: Device | None) -> Callable[..., Any]:
        scope = self.scope
        inputs = [scope.fresh() for _ in graph.inputs]
        for value, name in zip(graph.inputs, inputs, strict=True):
            if isinstance(value.type, TensorType):
                scope.devices[name] = device or self._input_home(graph, value, home)
            else:
                scope.varying.add(name)
                if device is None and value.type in (INT, FLOAT, BOOL):
                    scope.bits[id(value)] = 64  # the check of the inputs limits them to that
        if device is None:
            for index, name in enumerate(inputs):
                if index in self.bindings.reshaped and name in scope.devices:
                    same = f"{name}.expand_as({name})" if self.bindings.grad else f"{name}.detach()"
                    scope.lines.append(Line(f"{name} = {same}", None, [name], [name]))
        scope.as_recorded = accelerator_mark(graph) is not None
        self._inline(graph, inputs, home)
        if device is None:
            scope.part(graph, inputs)
        scope.reads = []
        source = source_of(scope.lines, inputs, scope.output(graph.output), scope.reads)
        code = compile(source.text, "<tracepack plan>", "exec")
        namespace = dict(self.table.objects) if device is None else self.table.objects
        exec(code, namespace)
        function: Callable[..., Any] = namespace.pop("plan")
        homes = [scope.devices.get(name, CPU) for name in inputs]
        known = {"nodes": source.nodes, "calls": source.calls, "homes": homes, "graph": graph, "home": home}
        function.__dict__.update(known, source=source.text)
        return function

    def _input_home(self, graph: Graph, value: Value, home: Device) -> Device:
        """The device that an input must be on: its example's, or that of the first op that takes it, or home."""
        if (mark := accelerator_mark(graph)) is not None:
            return home if graph.inputs.index(value) in mark.args else CPU
        for node in graph.nodes:
            if any(leaf is value for leaf in uses(node)):
                return self.bindings.place(node.target.body) if isinstance(node.target, BodyCall) else home
        return home

    # -- nodes -------------------------------------------------------------------------------------------------

    def _inline(self, graph: Graph, inputs: list[str], device: Device) -> None:
        """Writes the nodes of a graph whose inputs are the given variables."""
        for value, name in zip(graph.inputs, inputs, strict=True):
            self.scope.names[id(value)] = name
        if not self.bindings.grad and id(graph) not in self._looked_at:
            self._looked_at.add(id(graph))
            self._in_place |= in_place(graph)
            self._grown |= grown_in_place(graph) if self.bindings.budget is None else {}
        replaced = 0  # nodes to come that an engine runs
        for node in graph.nodes:
            if replaced:
                replaced -= 1
            elif (call := self.bindings.engines.get(id(node))) is not None:
                self._region(call, node, device)
                replaced = call.count - 1
            else:
                self._node(node, device)

    def _region(self, call: EngineCall, first: Node, device: Device) -> None:
        """Writes the call of an engine in place of the nodes of a region, with those of them that must run."""
        for node in call.checks if self.checked else call.kept:
            if isinstance(node.target, BodyCall):
                self._check_call(node, node.target.body)
            else:
                self._node(node, device)
        names = [self.scope.names[id(value)] for value in call.inputs]
        self._engine(call, [self.scope.moved(name, device) for name in names], first, device)

    def _engine(self, call: EngineCall, inputs: list[str], first: Node, device: Device) -> None:
        """Writes the line that calls an engine; an error in it belongs to the first node."""
        text = f"{self.table.ref(call.function, 'e')}({', '.join(inputs)})"
        self.scope.reads = list(inputs)
        made = Node(first.target, first.args, first.kwargs, call.outputs, first.line, first.varying)
        self.scope.line(text, made, device)

    def _check_call(self, node: Node, body: Body) -> None:
        """Writes the check of an op's inputs alone."""
        names = [self.scope.names[id(leaf)] for leaf in node.args]
        check = self.table.ref(self.bindings.check_inputs(body))
        self.scope.lines.append(Line(f"{check}({', '.join(names)})", node, names))

    def _node(self, node: Node, device: Device) -> None:
        scope = self.scope
        scope.reads = []
        if self.bindings.budget is not None:
            self.bindings.budget.tick()
        match node.target:
            case Operator("py.grad_mode" | "py.own_backward") if not self.bindings.grad:
                pass  # these nodes matter with gradients only
            case Operator(name) if is_mark(name):
                pass  # the binding of the inputs checks it
            case Operator(name):
                self._operator(node, name, device)
            case KernelCall(kernel):
                self._kernel(node, kernel)
            case Guard():
                self._guard(node, device)
            case BodyCall(body):
                self._call(node, body, device)

    def _kernel(self, node: Node, kernel: Kernel) -> None:
        """Writes the call of a kernel, with the check of what it returns."""
        scope, device = self.scope, self._device_of(node, CPU)
        arguments = scope.arguments(node, device, contiguous=not kernel.strided)
        run: Callable[..., Any] = self.bindings.kernel(kernel)
        if self.bindings.budget is not None:
            run = self.bindings.budget.metered_kernel(kernel, run)
        scope.line(f"{self.table.ref(run)}({arguments})", node, device)
        names = [scope.names[id(leaf)] for leaf in leaves(node.output) if _is_tensor(leaf)]
        if names and not kernel.own_check:
            check = self.table.ref(self.bindings.check_outputs(kernel.name))
            scope.lines.append(Line(f"{check}({', '.join(names)})", node, names))

    def _device_of(self, node: Node, device: Device) -> Device:
        """The device of a node of torch code: that of its first tensor with dimensions, else home."""
        scope = self.scope
        places = [
            scope.devices[scope.names[id(leaf)]]
            for leaf in uses(node)
            if isinstance(leaf, Value) and scope.names[id(leaf)] in scope.devices
        ]
        return next((place for place in places if not place.is_cpu), places[0] if places else device)

    def _operator(self, node: Node, name: str, device: Device) -> None:
        """Writes the call of an operator, on the device of its first tensor, or on the one to which it moves."""
        scope, moving = self.scope, moves_to(node, device)
        device = CPU if on_cpu(node) else moving if moving == device else self._device_of(node, device)
        name = self._in_place.get(id(node), name)
        gathering = gathers(node, name)
        inline, grows = None, self._grown.get(id(node))
        if self.bindings.budget is None and not gathering and inlined(node, name, scope.bits):
            inline = template(name)
        fast = not self.bindings.grad and self.bindings.budget is None
        if name == "aten.linear.default" and _is_affine(node) and fast:
            text = self._affine(node, device)
        elif inline is not None:
            if len(node.args) != (2 if "{1}" in inline else 1) or node.kwargs:
                raise GraphError("an operator has a wrong number of arguments", where=f"node {name}")
            text = inline.format(*(self.scope.tree(arg, device) for arg in node.args))
        elif name in _ASK_TABLES and node.args and _is_plain(node.args[0]):
            rest = "".join(f", {self.scope.tree(arg, device)}" for arg in node.args[1:])
            text = f"{self.table.ref(self._callable(name), 'f')}({self.table.ref(node.args[0], 't')}{rest})"
        elif grows is not None:
            text = f"{self.table.ref(grows, 'f')}({self.scope.arguments(node, device)})"
        else:
            function = self._callable(name, numbers=name in NUMBERS_ONLY and not may_join(node))
            if gathering:
                function = bounded_arguments(function)
            text = f"{self.table.ref(function, 'f')}({self.scope.arguments(node, device)})"
        self.scope.line(text, node, moving or device)
        grown = bits_of(node, scope.bits)
        if grown is not None and isinstance(node.output, Value):
            scope.bits[id(node.output)] = grown

    def _callable(self, name: str, *, numbers: bool = False) -> Callable[..., Any]:
        """The function behind an operator, with the check of a budget; that of numbers takes no list."""
        key = f"{name}, numbers" if numbers else name
        if self.bindings.budget is None:
            return NUMBERS_ONLY[name] if numbers else resolve(name)
        if key not in self._metered:
            self._metered[key] = self.bindings.budget.metered(NUMBERS_ONLY[name] if numbers else resolve(name), name)
        return self._metered[key]

    def _affine(self, node: Node, device: Device) -> str:
        """Writes a linear layer on a matrix as `addmm`, as torch does, with a weight that is transposed once."""
        x, weight, bias = node.args
        key = (id(weight), device)
        if key not in self._transposed:
            self._transposed[key] = self.bindings.constant(weight, device).t()
        transposed = self.table.ref(self._transposed[key], "w")
        addmm = self.table.ref(resolve("aten.addmm.default"), "f")
        return f"{addmm}({self.scope.tree(bias, device)}, {self.scope.tree(x, device)}, {transposed})"

    def _guard(self, node: Node, device: Device) -> None:
        """Writes a guard in the checked variant, and in the fast one where data decides it."""
        assert isinstance(node.target, Guard)
        scope, table, expected = self.scope, self.table, node.target.expected
        value = scope.tree(node.args[0], device)
        if self.checked or value in scope.varying:
            fail = table.ref(self.bindings.guard(node))
            test = f"{value} != {table.literal(expected)}"
            if isinstance(expected, bool) and getattr(node.args[0], "type", None) == BOOL:
                # Torch's compiler compares no condition on sizes with True.
                test = f"not {value}" if expected else value
            elif isinstance(expected, float):  # tells 2 from 2.0, and 0.0 from -0.0
                test = f"repr({value}) != {table.literal(repr(expected))}"
            scope.lines.append(Line(f"if {test}: {fail}({value})", node, list(scope.reads)))

    # -- ops ---------------------------------------------------------------------------------------------------

    def _call(self, node: Node, body: Body, device: Device) -> None:
        """Writes the call of an op: its checks around the inlined graph of its body."""
        scope, place = self.scope, self.bindings.place(body)
        as_recorded, scope.as_recorded = scope.as_recorded, False
        inputs = [scope.moved(self._input(arg, node, device), place) for arg in node.args]
        if self._wants_check(inputs):
            check = self.table.ref(self.bindings.check_inputs(body))
            scope.lines.append(Line(f"{check}({', '.join(inputs)})", node, list(inputs)))
        first = len(scope.lines)
        call = self.bindings.engines.get(id(body))
        if call is None:
            self._inline(body.graph, inputs, place)
        else:
            self._engine(call, inputs, node, place)
        for line in scope.lines[first:]:
            line.call = node
        scope.reads = []
        results = [scope.tree(leaf, place) for leaf in leaves(body.graph.output)]
        self._bind_results(node, body, results, place)
        scope.as_recorded = as_recorded

    def _input(self, arg: Any, node: Node, device: Device) -> str:
        """An argument of an op. A list gets a variable, since the graph of the body may name it many times."""
        if not isinstance(arg, list | tuple):
            return self.scope.tree(arg, device)
        made = Node(Operator("py.list"), (arg,), {}, Value(ANY), node.line)
        self.scope.line(f"{self.table.ref(bounded_list)}({self.scope.tree(arg, device)})", made, device)
        return self.scope.names[id(made.output)]

    def _wants_check(self, names: list[str]) -> bool:
        return self.checked or any(name in self.scope.varying for name in names)

    def _bind_results(self, node: Node, body: Body, results: list[str], place: Device) -> None:
        """Checks an op's outputs and gives their variables to the values of the node that called it."""
        scope, inner = self.scope, list(leaves(body.graph.output))
        for index, leaf in enumerate(inner):
            if isinstance(leaf, Constant):  # the caller must not write to a weight that is returned
                results[index] = scope.copied(f"{results[index]}.clone()", results[index], place)
        names = list(dict.fromkeys(r for leaf, r in zip(inner, results, strict=True) if _is_tensor(leaf)))
        if names:
            self._check_results(node, body, names)
        for outer, result in zip(leaves(node.output), results, strict=True):
            if outer is not None:
                scope.names[id(outer)] = result
        for name in names:
            scope.devices.setdefault(name, place)

    def _check_results(self, node: Node, body: Body, names: list[str]) -> None:
        """Writes the check (or the repair) of contiguity of an op's outputs."""
        lines = self.scope.lines
        if body.contiguous:
            lines += [Line(f"{name} = {name}.contiguous()", node, [name], [name]) for name in names]
        elif self._wants_check(names):
            check = self.table.ref(self.bindings.check_outputs(body.name))
            lines.append(Line(f"{check}({', '.join(names)})", node, list(names)))


_ASK_TABLES = ("py.lookup", "py.lookup_all", "py.contains")
"""Operators that read their first argument only: one that is constant is made once, and not in each run."""


def _is_plain(tree: Any) -> bool:
    """Whether a container holds plain values only."""
    kinds = (str, int, float, bool, complex, bytes, type(None))
    return isinstance(tree, list | tuple | dict) and all(isinstance(leaf, kinds) for leaf in leaves(tree))


def _is_affine(node: Node) -> bool:
    """Whether a linear layer has a bias and fixed weights, and takes a matrix."""
    match node.args:
        case (Value(TensorType(_, (_, _))), Constant(mutable=False), Constant(mutable=False)):
            return not node.kwargs
    return False


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, Constant) or (isinstance(leaf, Value) and isinstance(leaf.type, TensorType))
