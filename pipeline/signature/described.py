"""DescribedProgram: a pipeline as it is looked at: its name, its graph, its inputs and outputs, its signature."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...ops.graph.errors import one_line
from ...ops.graph.graph import Graph
from ...ops.graph.program import Program
from ...ops.graph.sharing.memory import touched
from ...ops.graph.text import guards_text
from ..left_out.ways_without import ways_of
from ..running.conditions import conditions
from .plain_conditions import plain_conditions

if TYPE_CHECKING:
    from .fields import SignatureField


class DescribedProgram:
    """What a program says of itself.

    Attributes:
        program: the program.
    """

    program: Program

    @property
    def name(self) -> str:
        """The name of the function that was traced."""
        return self.program.name

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of what was written about the pipeline when it was saved; see `save`."""
        return deepcopy(dict(self.program.metadata))

    @property
    def graph(self) -> Graph:
        """The graph of the pipeline; `print(pipeline.graph)` shows it as text."""
        return self.program.graph

    @property
    def input_names(self) -> list[str]:
        """The keys of `run`'s dict."""
        return [parameter.name for parameter in self.program.parameters.items]

    @property
    def inputs(self) -> list[SignatureField]:
        """The inputs as data: name, path, kind, dtype, shape and default of each; those in containers one by one.

        Example:
            >>> import torch, tracepack
            >>> mod = tracepack.trace(lambda x, k=2: {"best": x.topk(2).values * k}, torch.rand(3, 4))
            >>> [(field.name, field.kind, field.shape, field.default) for field in mod.inputs]
            [('x', 'tensor', ('N', 'M'), None), ('k', 'fixed', None, 2)]
            >>> [(field.path, field.dtype, field.shape) for field in mod.outputs]
            [(('best',), 'float32', ('N', None))]
        """
        from .way_fields import inputs_of

        return inputs_of(self.program)

    @property
    def outputs(self) -> list[SignatureField]:
        """The outputs as data, like `inputs`; the size of a dimension that data decides is None."""
        from .way_fields import outputs_of

        return outputs_of(self.program)

    def json_schema(self) -> dict[str, Any]:
        """A JSON schema (draft 2020-12) with the properties ``inputs`` and ``outputs``: for forms, clients, validators.

        Tensors are nested lists, with ``x-dtype`` and ``x-shape`` beside them; sizes that are fixed are bounds.

        Example:
            >>> import torch, tracepack
            >>> mod = tracepack.trace(lambda x: x * 2, torch.rand(3))
            >>> mod.json_schema()["properties"]["inputs"]["properties"]["x"]
            {'type': 'array', 'items': {'type': 'number'}, 'x-dtype': 'float32', 'x-shape': ['N']}
        """
        from .way_fields import schema_of

        return schema_of(self.program)

    @property
    def signature(self) -> str:
        """Inputs and outputs with dtypes and sizes: an integer is fixed, a letter is free, equal letters are equal.

        An input marked ``(written)`` may be changed in place by a run; no other one is.
        """
        program = self.program
        text = _text(program, frozenset())
        for way in ways_of(program):
            without = _text(way.program, way.names)
            if without != _text(program, way.names):
                text += f"; without {' and '.join(sorted(way.names))}: {without}"
        return one_line(text)  # names come from strangers


def _text(program: Program, without: frozenset[str]) -> str:
    """A signature, where some parameters are left out of it."""
    from .fields import output_text

    parameters, guards = program.parameters, program.facts.guards
    shown = replace(parameters, items=tuple(item for item in parameters.items if item.name not in without))
    text = f"({', '.join(shown.texts(touched(program.graph).inputs()))}) -> {output_text(program.graph)}"
    texts = [*filter(None, [guards_text(guards)]), *conditions(program.graph, parameters.names)]
    asked = plain_conditions(texts, program.facts.symbols.keys() - {*parameters.names})
    return text + (f" where {' and '.join(asked)}" if asked else "")
