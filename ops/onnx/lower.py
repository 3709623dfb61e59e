"""The body of an ONNX op: one node, which calls the kernel, with what the model says of its inputs and outputs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from ..graph.graph import Body, Graph, KernelCall, Node, Value
from ..graph.types import STR, STRINGS, TensorType, Type
from ..lowering.sizes import settle
from .kernel import OnnxKernel
from .ports import TEXT, Port


def lower_onnx(kernel: OnnxKernel, inputs: Sequence[Port], outputs: Sequence[Port], name: str, device: str) -> Body:
    """Makes the body of an op.

    Sizes that have one name in the model are one symbol, and are checked to be equal; those without a name are free.

    Args:
        kernel: the model.
        inputs: its inputs, all with shapes.
        outputs: its outputs; those without shapes count as scalars.
        name: the op's name.
        device: the device that it was scripted for.
    """
    tokens: dict[str, str] = {}
    unnamed = (f"free{number}" for number in itertools.count())
    shapes = [_tokens(each, tokens, unnamed) for each in inputs]
    sizes = settle(shapes, {}, [])
    letters = {size: sizes.letters.get(token, "") for size, token in tokens.items()}
    values = tuple(Value(_type(each, shape)) for each, shape in zip(inputs, sizes.shapes, strict=True))
    unknown = (f"u{number}" for number in itertools.count())
    results = tuple(Value(_type(each, tuple(_sizes(each, letters, unknown)))) for each in outputs)
    varying = any(each.dtype == TEXT for each in outputs) or next(unknown) != "u0"
    node = Node(KernelCall(kernel), values, {}, results, varying=varying)
    return Body(name, device, Graph(values, (node,), results), sizes.facts, tuple(each.name for each in inputs))


def _tokens(port: Port, tokens: dict[str, str], unnamed: Iterator[str]) -> tuple[int | str, ...]:
    """The shape of an input with an identifier for each size that is not fixed: names of a model may be any text."""
    if port.dtype == TEXT:
        return ()  # the length of a list of strings is no symbol
    return tuple(
        size if isinstance(size, int) else next(unnamed) if size is None else tokens.setdefault(size, f"n{len(tokens)}")
        for size in port.shape or ()
    )


def _sizes(port: Port, letters: Mapping[str, int | str], unknown: Iterator[str]) -> Iterator[int | str]:
    """The shape of an output; a size that the inputs do not name may depend on data."""
    for size in port.shape or ():
        yield size if isinstance(size, int) else letters.get(size or "", "") or next(unknown)


def _type(port: Port, shape: tuple[int | str, ...]) -> Type:
    if port.dtype != TEXT:
        return TensorType(port.dtype, shape)
    return STR if port.shape == () else STRINGS
