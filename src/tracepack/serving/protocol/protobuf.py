"""The messages of ``inference.GRPCInferenceService``: their names, fields and numbers, and the classes made of them.

The classes are made at run time from this table, so that no generated code asks for one version of protobuf. They live
in a pool of their own: a client of the protocol in the same process registers messages of the same names.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "inference"
SERVICE = f"{PACKAGE}.GRPCInferenceService"

# Message -> its fields, each ``name:type=number``. ``*`` repeats, ``{}`` maps texts to it, ``|`` is one of a choice.
_TENSOR = "name:string=1 datatype:string=2 shape:*int64=3"
_TENSOR_DATA = f"{_TENSOR} parameters:{{}}InferParameter=4 contents:InferTensorContents=5"
_MODEL = "name:string=1 version:string=2"
_CHANGE = "repository_name:string=1 model_name:string=2 parameters:{}ModelRepositoryParameter=3"
_HEAD = "model_name:string=1 model_version:string=2 id:string=3 parameters:{}InferParameter=4"
MESSAGES = {
    "ServerLiveRequest": "",
    "ServerLiveResponse": "live:bool=1",
    "ServerReadyRequest": "",
    "ServerReadyResponse": "ready:bool=1",
    "ModelReadyRequest": _MODEL,
    "ModelReadyResponse": "ready:bool=1",
    "ServerMetadataRequest": "",
    "ServerMetadataResponse": "name:string=1 version:string=2 extensions:*string=3",
    "ModelMetadataRequest": _MODEL,
    "ModelMetadataResponse": "name:string=1 versions:*string=2 platform:string=3 "
    "inputs:*ModelMetadataResponse.TensorMetadata=4 outputs:*ModelMetadataResponse.TensorMetadata=5",
    "ModelMetadataResponse.TensorMetadata": _TENSOR,
    "InferParameter": "bool_param:|bool=1 int64_param:|int64=2 string_param:|string=3 double_param:|double=4 "
    "uint64_param:|uint64=5",
    "InferTensorContents": "bool_contents:*bool=1 int_contents:*int32=2 int64_contents:*int64=3 "
    "uint_contents:*uint32=4 uint64_contents:*uint64=5 fp32_contents:*float=6 fp64_contents:*double=7 "
    "bytes_contents:*bytes=8",
    "ModelInferRequest": f"{_HEAD} inputs:*ModelInferRequest.InferInputTensor=5 "
    "outputs:*ModelInferRequest.InferRequestedOutputTensor=6 raw_input_contents:*bytes=7",
    "ModelInferRequest.InferInputTensor": _TENSOR_DATA,
    "ModelInferRequest.InferRequestedOutputTensor": "name:string=1 parameters:{}InferParameter=2",
    "ModelInferResponse": f"{_HEAD} outputs:*ModelInferResponse.InferOutputTensor=5 raw_output_contents:*bytes=6",
    "ModelInferResponse.InferOutputTensor": _TENSOR_DATA,
    "ModelStreamInferResponse": "error_message:string=1 infer_response:ModelInferResponse=2",
    "ModelRepositoryParameter": "bool_param:|bool=1 int64_param:|int64=2 string_param:|string=3 bytes_param:|bytes=4",
    "RepositoryIndexRequest": "repository_name:string=1 ready:bool=2",
    "RepositoryIndexResponse": "models:*RepositoryIndexResponse.ModelIndex=1",
    "RepositoryIndexResponse.ModelIndex": f"{_MODEL} state:string=3 reason:string=4",
    "RepositoryModelLoadRequest": _CHANGE,
    "RepositoryModelLoadResponse": "",
    "RepositoryModelUnloadRequest": _CHANGE,
    "RepositoryModelUnloadResponse": "",
}


@cache
def message(name: str) -> Any:
    r"""The class of a message.

    Example:
        >>> message("ServerLiveResponse")(live=True).SerializeToString()
        b'\x08\x01'
    """
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{name}"))


@cache
def _pool() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="tracepack/inference.proto", package=PACKAGE, syntax="proto3")
    made: dict[str, Any] = {}
    for name, fields in MESSAGES.items():
        outer, _, inner = name.rpartition(".")
        holder = made[outer].nested_type if outer else file.message_type
        made[name] = holder.add(name=inner)
        for field in fields.split():
            _add(made[name], f".{PACKAGE}.{name}", field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add(into: Any, path: str, text: str) -> None:
    """Adds a field to a message."""
    name, _, rest = text.partition(":")
    kind, _, number = rest.partition("=")
    field = into.field.add(name=name, number=int(number), label=3 if kind[0] in "*{" else 1)
    if kind.startswith("{}"):  # on the wire a map is a list of pairs
        entry = into.nested_type.add(name="".join(map(str.title, name.split("_"))) + "Entry")
        entry.options.map_entry = True
        _typed(entry.field.add(name="key", number=1, label=1), "string")
        _typed(entry.field.add(name="value", number=2, label=1), kind[2:])
        field.type, field.type_name = field.TYPE_MESSAGE, f"{path}.{entry.name}"
        return
    if kind.startswith("|"):
        if not into.oneof_decl:
            into.oneof_decl.add(name="parameter_choice")
        field.oneof_index = 0
    _typed(field, kind.lstrip("*|"))


def _typed(field: Any, kind: str) -> None:
    scalar = getattr(field, f"TYPE_{kind.upper()}", None)
    field.type = scalar or field.TYPE_MESSAGE
    if scalar is None:
        field.type_name = f".{PACKAGE}.{kind}"
