"""DescribedProgram: a pipeline as it is looked at: its name, its graph, its inputs and outputs, its signature."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ...ops.graph.errors import one_line
from ...ops.graph.graph import Graph
from ...ops.graph.program import Program
from ...ops.graph.sharing.memory import touched
from ...ops.graph.text import guards_text, types_text
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
        from .fields import input_fields

        return input_fields(self.program.parameters)

    @property
    def outputs(self) -> list[SignatureField]:
        """The outputs as data, like `inputs`; the size of a dimension that data decides is None."""
        from .fields import output_fields

        return output_fields(self.graph)

    def json_schema(self) -> dict[str, Any]:
        """A JSON schema (draft 2020-12) with the properties ``inputs`` and ``outputs``: for forms, clients, validators.

        Tensors are nested lists, with ``x-dtype`` and ``x-shape`` beside them; sizes that are fixed are bounds.

        Example:
            >>> import torch, tracepack
            >>> mod = tracepack.trace(lambda x: x * 2, torch.rand(3))
            >>> mod.json_schema()["properties"]["inputs"]["properties"]["x"]
            {'type': 'array', 'items': {'type': 'number'}, 'x-dtype': 'float32', 'x-shape': ['N']}
        """
        from .json_schema import json_schema

        return json_schema(self.name, self.program.parameters, self.graph)

    @property
    def signature(self) -> str:
        """Inputs and outputs with dtypes and sizes: an integer is fixed, a letter is free, equal letters are equal.

        An input marked ``(written)`` may be changed in place by a run; no other one is.
        """
        parameters, guards = self.program.parameters, self.program.facts.guards
        inputs = parameters.texts(touched(self.graph).inputs())
        text = f"({', '.join(inputs)}) -> {types_text(self.graph.output)}"
        texts = [*filter(None, [guards_text(guards)]), *conditions(self.graph, parameters.names)]
        asked = plain_conditions(texts, self.program.facts.symbols.keys() - {*parameters.names})
        return one_line(text + (f" where {' and '.join(asked)}" if asked else ""))  # names come from strangers
