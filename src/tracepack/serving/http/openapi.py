"""The routes described in OpenAPI 3.1: those of the protocol, and ``/v1/{model}`` with each model's signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...serialization.container.version import __version__
from ..models.model import ServedModel

_JSON = "application/json"
_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_ANY: dict[str, Any] = {"type": "object"}
_TENSOR = {
    "type": "object",
    "required": ["name", "datatype", "shape"],
    "properties": {
        "name": {"type": "string"},
        "datatype": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}},
        "parameters": _ANY,
        "data": {"type": "array"},
    },
}
_REQUEST = {
    "type": "object",
    "required": ["inputs"],
    "properties": {
        "id": {"type": "string"},
        "parameters": _ANY,
        "inputs": {"type": "array", "items": _TENSOR},
        "outputs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "parameters": _ANY},
            },
        },
    },
}
_RESPONSE = {
    "type": "object",
    "properties": {
        "model_name": {"type": "string"},
        "model_version": {"type": "string"},
        "id": {"type": "string"},
        "outputs": {"type": "array", "items": _TENSOR},
    },
}
_NAME = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
_VERSION = {**_NAME, "name": "version"}


def openapi(models: Sequence[ServedModel]) -> dict[str, Any]:
    """The description for the models that are ready.

    Args:
        models: of several versions of a name the last one counts.
    """
    model, version = "/v2/models/{model}", "/v2/models/{model}/versions/{version}"
    paths: dict[str, Any] = {
        "/v2": {"get": _operation("The server")},
        "/v2/health/live": {"get": _operation("Whether the process answers")},
        "/v2/health/ready": {"get": _operation("Whether all models are loaded")},
        "/": {"get": _operation("A page for people, with a form for each model", kind="text/html")},
        "/metrics": {"get": _operation("Metrics for Prometheus, as text", kind="text/plain")},
        "/v2/repository/index": {"post": _operation("The models and their states")},
        "/v2/repository/models/{model}/load": {"parameters": [_NAME], "post": _operation("Loads a model, or again")},
        "/v2/repository/models/{model}/unload": {"parameters": [_NAME], "post": _operation("Unloads a model")},
    }
    for base, parameters in ((model, [_NAME]), (version, [_NAME, _VERSION])):
        paths[base] = {"parameters": parameters, "get": _operation("Inputs and outputs of a model")}
        paths[f"{base}/ready"] = {"parameters": parameters, "get": _operation("Whether a model is loaded")}
        paths[f"{base}/infer"] = {"parameters": parameters, "post": _operation("Inference", _REQUEST, _RESPONSE)}
    for served in models:
        paths[f"/v1/{served.name}"] = {"post": _plain(served)}
    info = {"title": "tracepack", "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": paths}


def _plain(served: ServedModel) -> dict[str, Any]:
    properties = served.pipeline.json_schema()["properties"]
    rows = {"type": "array", "items": _ANY, "minItems": 1}
    request = {"oneOf": [properties["inputs"], rows]}
    return _operation(served.pipeline.signature, request, {"oneOf": [properties["outputs"], rows]})


def _operation(summary: str, request: Any = None, response: Any = None, kind: str = _JSON) -> dict[str, Any]:
    answer = _content("The answer", response or {}, kind)
    found: dict[str, Any] = {"summary": summary, "responses": {"200": answer, "default": _content("An error", _ERROR)}}
    if request is not None:
        found["requestBody"] = {"required": True, **_content("", request)}
    return found


def _content(description: str, schema: Any, kind: str = _JSON) -> dict[str, Any]:
    described = {"description": description} if description else {}
    return {**described, "content": {kind: {"schema": schema}}}
