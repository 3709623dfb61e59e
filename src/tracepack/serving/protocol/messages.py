"""One request for inference and its response, whatever the wire form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from .rejections import BAD_REQUEST, RejectedError

NOTHING: Mapping[str, Any] = MappingProxyType({})


class NamedTensor(NamedTuple):
    """A tensor of the protocol.

    Attributes:
        datatype: such as ``"FP32"``.
        shape: its sizes.
        value: a torch tensor; for BYTES a flat list of texts.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    value: Any


class InferRequest(NamedTuple):
    """A request.

    Attributes:
        inputs: by name.
        outputs: the outputs that are wanted, each with whether it is sent as bytes; empty for all.
        id: given back in the response.
        parameters: of the request: ``sequence_id``, ``binary_data_output`` and the like.
    """

    inputs: Mapping[str, NamedTensor]
    outputs: Mapping[str, bool] = NOTHING
    id: str = ""
    parameters: Mapping[str, Any] = NOTHING


class InferResponse(NamedTuple):
    """A response.

    Attributes:
        outputs: those that were asked for, in this order; all of them otherwise.
        parameters: what is said of the answer: the sequence that it belongs to.
    """

    model: str
    version: str
    id: str
    outputs: tuple[NamedTensor, ...]
    parameters: Mapping[str, Any] = NOTHING


_EXTENSIONS = {
    "shared_memory_region": "tensors in shared memory are not taken", "classification": "there is no classification",
}  # fmt: skip


def refuse_extensions(parameters: Mapping[str, Any], where: str) -> None:
    """Refuses what Triton's extensions would give instead of the tensor: a client would take one for the other.

    Args:
        parameters: of an input or an output.
        where: which one it is.

    Raises:
        RejectedError: they ask for such an extension.
    """
    if not parameters:
        return
    for name, text in _EXTENSIONS.items():
        if parameters.get(name):
            raise RejectedError(BAD_REQUEST, text, where=where, got=f"the parameter {name!r}")


def by_name(inputs: list[NamedTensor]) -> dict[str, NamedTensor]:
    """The inputs of a request by name.

    Raises:
        RejectedError: one is given twice.
    """
    found = {tensor.name: tensor for tensor in inputs}
    if len(found) < len(inputs):
        names = [tensor.name for tensor in inputs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RejectedError(BAD_REQUEST, "an input is given twice", where=f"input {twice!r}")
    return found
