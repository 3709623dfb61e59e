"""Converts an ExportedProgram to the Graph and Body of an op.

The graph of torch.export keeps in-place operators and their order, so it is converted node by node. Objects of this
process are replaced: parameters by Constants, the model's device by "this op's device", operators by their names on the
allow-list. Any other object is refused here, and not at load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram

from ...graph.errors import LoweringError
from ...graph.graph import Body, Constant, Value
from ...graph.types import INT, TensorType, Type
from ...graph.verify import verify
from ..mutation import mutated_inputs
from ..sizes import Sizes, read_sizes, with_numbers
from .nodes import NodeReader, Shared
from .value_types import dtype_name


def convert(
    program: ExportedProgram,
    name: str,
    device: str,
    inputs: Sequence[str],
    sources: Sequence[str],
    contiguous: bool,
    shared: Shared | None = None,
    numbers: Sequence[int] = (),
) -> Body:
    """Makes the body of an op from an exported program whose outputs are a flat tuple.

    Args:
        program: the result of torch.export.
        name: the op's name.
        device: the device that the op is scripted for.
        inputs: a name for each flat tensor input.
        sources: the text of each input in the guards of torch.export.
        contiguous: whether outputs are made contiguous.
        shared: the constants of the op's other bodies by the id of the model's tensor: they have one state.
        numbers: the inputs that are numbers, each exported as the first size of an empty tensor.

    Raises:
        LoweringError, UnknownOperatorError: a graph cannot hold a node or an object of the program.
    """
    letters: dict[str, str | int] = {}
    reader = NodeReader(program.graph_module, name, letters)
    reader.constants(program, {} if shared is None else shared)
    users = [n for n in program.graph.nodes if n.op == "placeholder" and n.name not in reader.known]
    sizes = with_numbers(_sizes(program, users, sources, name), numbers)
    letters |= sizes.letters
    values = []
    for index, (node, shape) in enumerate(zip(users, sizes.shapes, strict=True)):
        value = Value(_input_type(node, shape, name) if index not in numbers else INT)
        reader.known[node.name] = value
        reader.define(value, node)
        values.append(value)
    graph = reader.graph(program.graph, tuple(values))
    for index in mutated_inputs(program.graph):
        placeholder = [n for n in program.graph.nodes if n.op == "placeholder"][index]
        if isinstance(constant := reader.known[placeholder.name], Constant) and not constant.mutable:
            _refuse_shared(constant, reader.known.values(), name)
            copy = constant.tensor.detach().clone()  # the user's model may change its own
            constant.mutable, constant.tensor = True, copy
    verify(graph)
    return Body(name, device, graph, sizes.facts, tuple(inputs), contiguous)


def _refuse_shared(written: Constant, known: Iterable[Any], name: str) -> None:
    """Refuses a buffer that the model writes where one element is another's, too: a copy of it would not be."""
    memory = written.tensor.untyped_storage().data_ptr()
    others = [other for other in known if isinstance(other, Constant) and other is not written]
    shared = [other for other in others if memory and other.tensor.untyped_storage().data_ptr() == memory]
    if shared or _overlaps_itself(written.tensor):
        raise LoweringError(
            f"the model writes to its buffer {written.name!r}, "
            + (f"whose memory is also that of {shared[0].name!r}" if shared else "whose elements share memory"),
            where=f"op {name!r}",
            fix="Register one buffer with memory for each element, and take views of it in forward.",
        )


def _overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether two elements of a tensor may lie in one place."""
    reach = 1
    for step, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and step < reach:
            return True
        reach += (size - 1) * step
    return False


def _input_type(node: torch.fx.Node, shape: tuple[int | str, ...], name: str) -> Type:
    value = node.meta["val"]
    if isinstance(value, torch.Tensor):
        return TensorType(dtype_name(value.dtype), shape)
    raise LoweringError("an input is not a tensor", where=f"op {name!r}, input {node.name!r}", got=type(value).__name__)


def _sizes(program: ExportedProgram, users: Sequence[torch.fx.Node], sources: Sequence[str], name: str) -> Sizes:
    if not hasattr(program, "_guards_code"):  # without guards a body would give wrong results at other sizes
        raise LoweringError(
            "this torch does not report the sizes for which an export holds",
            where=f"op {name!r}",
            got=f"torch {torch.__version__}",
            fix="Script models with a newer torch; archives that are made there load with this one too.",
        )
    shapes = [_shape(node.meta["val"]) for node in users]
    ranges = {}
    for symbol, bound in program.range_constraints.items():
        lower, upper = (None if "oo" in str(end) else int(end) for end in (bound.lower, bound.upper))
        ranges[str(symbol)] = (max(0, lower or 0), upper)
    return read_sizes(shapes, ranges, list(program._guards_code or []), sources)


def _shape(value: Any) -> tuple[object, ...]:
    if not isinstance(value, torch.Tensor):
        return ()
    return tuple(size if isinstance(size, int) else str(size) for size in value.shape)
