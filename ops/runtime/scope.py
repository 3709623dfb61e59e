"""The scope of one generated function: its variables, the devices of their tensors, and source for arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..graph.device import Device
from ..graph.graph import Body, Constant, Graph, Literal, Node, Record, SizeTuple, Value
from ..graph.kernel import Kernel
from ..graph.sharing.memory import HandedOn
from ..graph.traverse import leaves
from ..graph.types import TensorType
from .primitives.named_tuples import as_size
from .primitives.views import apart
from .source import Line, References, keyword_name

if TYPE_CHECKING:
    from .engine_call import EngineCall
    from .safety.budget import Budget


@dataclass(eq=False, repr=False)
class Bindings:
    """The functions and settings that the emitter needs besides the graph.

    Attributes:
        place: the device of an op.
        constant: the tensor of a constant on a device.
        home: the device of torch code without a tensor argument.
        check_inputs: makes the function that checks the inputs of a body.
        check_outputs: makes the function that checks the outputs of an op of a name.
        record: builds a named tuple from a record's values.
        guard: makes the function that a failed guard calls with the value found; takes the guard's node.
        kernel: the kernel to call for one of the graph: its session where calls change it.
        grad: whether results must keep their gradients, so that nothing is computed in advance or in place.
        reshaped: the numbers of the inputs whose sizes a node may change: such a node gets another tensor object.
        budget: the limits of a run; without any no code checks them.
        engines: the calls of engines, by the id of the first node that each replaces, or of an op's body.
        handed_on: what the outputs of the whole graph share memory with, see `sharing`.
    """

    place: Callable[[Body], Device]
    constant: Callable[[Constant, Device], Any]
    home: Device
    check_inputs: Callable[[Body], Callable[..., None]]
    check_outputs: Callable[[str], Callable[..., Any]]
    record: Callable[[Record], Callable[..., Any]]
    guard: Callable[[Node], Callable[[Any], None]]
    kernel: Callable[[Kernel], Kernel]
    grad: bool = False
    reshaped: Collection[int] = ()
    budget: Budget | None = None
    engines: Mapping[int, EngineCall] = field(default_factory=dict)
    handed_on: HandedOn = ()


class Scope:
    """The variables of a function that is being written.

    Args:
        bindings: functions and settings from outside of the graph.
        table: the objects that the source refers to.
        nested: the name of a function made of a branch or of a loop's body.

    Attributes:
        names: the variable of a value, by the value's id.
        devices: the device of a variable's tensor.
        varying: the variables that data decides.
        bits: the largest number of bits of a value that is known to be a number, by the value's id.
        reads: the variables read by the line being written.
        lines: the lines so far.
    """

    def __init__(self, bindings: Bindings, table: References, nested: Callable[[Graph, Device], str]) -> None:
        self.bindings, self.table, self.nested = bindings, table, nested
        self.names: dict[int, str] = {}
        self.devices: dict[str, Device] = {}
        self.varying: set[str] = set()
        self.bits: dict[int, int] = {}
        self.reads: list[str] = []
        self.lines: list[Line] = []
        self._count = 0
        self.as_recorded = False  # whether tensors lie where they did in Python, so that none is moved

    def fresh(self, prefix: str = "v") -> str:
        """A new variable name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def use(self, value: Value) -> str:
        """The variable of a value, which counts as read by the line being written."""
        name = self.names[id(value)]
        self.reads.append(name)
        return name

    # -- copies ------------------------------------------------------------------------------------------------

    def copied(self, call: str, name: str, device: Device) -> str:
        """A variable for the result of a call on a tensor, written before the line."""
        copy = self.fresh()
        self.lines.append(Line(f"{copy} = {call}", None, [name], [copy]))
        self.devices[copy] = device
        return copy

    def moved(self, name: str, device: Device) -> str:
        """A variable with the tensor on a device: the variable itself, or that of a copy before the line."""
        here = self.devices.get(name)
        if here is None or here == device:
            return name
        target = self.table.torch_object(Literal("device", "op"), device)
        copy = self.copied(f"{name}.to({target})", name, device)
        self.reads.append(copy)
        if name in self.varying:
            self.varying.add(copy)
        return copy

    # -- trees of arguments ------------------------------------------------------------------------------------

    def arguments(self, node: Node, device: Device, contiguous: bool = False) -> str:
        """The arguments of a call as source; tensors contiguous where a kernel takes them."""
        parts = [self.tree(arg, device, contiguous) for arg in node.args]
        parts += [f"{keyword_name(name)}={self.tree(arg, device, contiguous)}" for name, arg in node.kwargs.items()]
        return ", ".join(parts)

    def tree(self, tree: Any, device: Device, contiguous: bool = False) -> str:
        """A tree of arguments as source, tensors moved to the device."""
        match tree:
            case Value():
                name = self.use(tree)
                return self._tensor(name if self.as_recorded else self.moved(name, device), contiguous)
            case Constant():
                name = self.table.ref(self.bindings.constant(tree, device), "w")
                self.devices.setdefault(name, device)
                return self._tensor(name, contiguous)
            case slice():
                parts = (self.tree(item, device) for item in (tree.start, tree.stop, tree.step))
                return f"slice({', '.join(parts)})"
            case Literal():
                return self.table.torch_object(tree, device)
            case Graph():
                return self.nested(tree, device)
        return self._container(tree, lambda item: self.tree(item, device, contiguous))

    def _tensor(self, name: str, contiguous: bool) -> str:
        return f"{name}.contiguous()" if contiguous and name in self.devices else name

    def _container(self, tree: Any, item: Callable[[Any], str]) -> str:
        """A container with every item as source, or a plain value."""
        match tree:
            case tuple():
                source = f"({''.join(item(part) + ', ' for part in tree)})"
                return f"{self.table.ref(as_size)}({source})" if isinstance(tree, SizeTuple) else source
            case list():
                return f"[{', '.join(map(item, tree))}]"
            case dict():
                return "{" + ", ".join(f"{self.table.literal(k)}: {item(v)}" for k, v in tree.items()) + "}"
            case Record():
                return f"{self.table.ref(self.bindings.record(tree))}({', '.join(map(item, tree.items))})"
        return self.table.literal(tree)

    # -- results -----------------------------------------------------------------------------------------------

    def output(self, tree: Any) -> str:
        """The returned tree as source; a tensor stays where it was computed."""
        match tree:
            case Value():
                return self.use(tree)
            case Constant():
                return f"{self.table.ref(self.bindings.constant(tree, self.bindings.home), 'w')}.clone()"
            case Literal():
                return self.table.torch_object(tree, self.bindings.home)
        return self._container(tree, self.output)

    def part(self, graph: Graph, inputs: Sequence[str]) -> None:
        """Gives results that may be views of weights memory of their own, since a caller may write to them."""
        parted: set[str] = set()
        for leaf, (places, constants) in zip(leaves(graph.output), self.bindings.handed_on, strict=True):
            name = self.names.get(id(leaf), "")
            if not constants or not name or name in parted:
                continue
            parted.add(name)
            given = [inputs[place] for place in sorted(places)]
            call = f"{name} = {self.table.ref(apart)}({', '.join([name, *given])})"
            self.lines.append(Line(call, None, [name, *given], [name]))

    def line(self, call: str, node: Node, device: Device) -> None:
        """Writes a call and unpacks its result into the variables of the node's values."""
        varies = node.varying or any(name in self.varying for name in self.reads)
        writes: list[str] = []
        if _has_dict(node.output):
            call = f"{self.table.ref(_values_of(node.output))}({call})"
        target = self._pattern(node.output, device, writes, varies)
        text = f"{target} = {call}" if target else call
        self.lines.append(Line(text, node, list(self.reads), writes))

    def _pattern(self, output: Any, device: Device, writes: list[str], varies: bool) -> str:
        """The left side of the assignment that unpacks a result."""
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
                parts = [self._pattern(item, device, writes, varies) or self.fresh("_") for item in items]
                return f"({''.join(part + ', ' for part in parts)})" if parts else "[]"


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
