"""The gRPC server: the methods of the service over a repository of models."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from ...serialization.container.version import __version__
from ..config import ServingConfig
from ..models.repository import Repository
from ..protocol.protobuf import SERVICE, message
from ..protocol.protobuf_body import parse_message, render_message
from ..protocol.rejections import (
    BAD_REQUEST,
    INTERNAL,
    NOT_FOUND,
    TIMED_OUT,
    TOO_LARGE,
    TOO_MANY,
    UNAUTHORIZED,
    UNAVAILABLE,
    RejectedError,
    status_of,
    text_of,
)
from ..telemetry.watcher import Watcher
from ..tokens import bears

log = logging.getLogger("tracepack.serving")

CODES = {
    UNAUTHORIZED: grpc.StatusCode.UNAUTHENTICATED, NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    TOO_LARGE: grpc.StatusCode.RESOURCE_EXHAUSTED, TOO_MANY: grpc.StatusCode.RESOURCE_EXHAUSTED,
    INTERNAL: grpc.StatusCode.INTERNAL, UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    TIMED_OUT: grpc.StatusCode.DEADLINE_EXCEEDED,
}  # fmt: skip
EXTENSIONS = ["model_repository", "sequence"]
OPEN = ("ServerLive", "ServerReady")  # probes have no token

Method = Callable[[Any, Any], Awaitable[Any]]


def rpc_server(repository: Repository, config: ServingConfig, watcher: Watcher, shared: bool = False) -> Any:
    """A server of grpc.aio, without a port yet; to be made on the loop that runs it.

    Args:
        repository: the models.
        config: limits, and the token.
        watcher: of the requests.
        shared: whether other processes listen on its port, too.
    """
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", config.max_body),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", int(shared)),
        ],
        maximum_concurrent_rpcs=config.max_connections,
    )
    server.add_generic_rpc_handlers((_handlers(Methods(repository, watcher), config),))
    return server


class Methods:
    """The methods of the service.

    Args:
        repository: the models.
        watcher: of the requests.
    """

    def __init__(self, repository: Repository, watcher: Watcher) -> None:
        self._repository, self._watcher = repository, watcher

    async def server_live(self, request: Any, context: Any) -> Any:
        """Whether the process answers."""
        return message("ServerLiveResponse")(live=True)

    async def server_ready(self, request: Any, context: Any) -> Any:
        """Whether all models are loaded."""
        return message("ServerReadyResponse")(ready=self._repository.ready)

    async def model_ready(self, request: Any, context: Any) -> Any:
        """Whether a model is loaded."""
        try:
            self._repository.model(request.name, request.version or None)
        except RejectedError as error:
            if error.status != UNAVAILABLE:
                raise
            return message("ModelReadyResponse")(ready=False)
        return message("ModelReadyResponse")(ready=True)

    async def server_metadata(self, request: Any, context: Any) -> Any:
        """The metadata of the server."""
        return message("ServerMetadataResponse")(name="tracepack", version=__version__, extensions=EXTENSIONS)

    async def model_metadata(self, request: Any, context: Any) -> Any:
        """The metadata of a model."""
        described = self._repository.model(request.name, request.version or None).metadata()
        return message("ModelMetadataResponse")(
            name=request.name, versions=list(self._repository.sources[request.name]), platform=described["platform"],
            inputs=described["inputs"], outputs=described["outputs"],
        )  # fmt: skip

    async def model_infer(self, request: Any, context: Any) -> Any:
        """Answers a request for inference."""
        model = self._repository.model(request.model_name, request.model_version or None)
        with self._watcher.request(model, "grpc", lambda: _headers(context)) as passage:
            begun = time.perf_counter()
            parsed = parse_message(request)
            passage.compute_input = time.perf_counter() - begun
            response = await model.infer(parsed, passage)
            begun = time.perf_counter()
            made = render_message(response)
            passage.compute_output += time.perf_counter() - begun
        return made

    async def repository_index(self, request: Any, context: Any) -> Any:
        """Lists the models."""
        rows = [row for row in self._repository.index() if row["state"] == "READY" or not request.ready]
        return message("RepositoryIndexResponse")(models=rows)

    async def repository_model_load(self, request: Any, context: Any) -> Any:
        """Loads a model, or loads it again."""
        await asyncio.to_thread(self._repository.change, "load", request.model_name)
        return message("RepositoryModelLoadResponse")()

    async def repository_model_unload(self, request: Any, context: Any) -> Any:
        """Takes a model out of service."""
        await asyncio.to_thread(self._repository.change, "unload", request.model_name)
        return message("RepositoryModelUnloadResponse")()


def _headers(context: Any) -> dict[str, str]:
    """The metadata of a call, as far as it is text."""
    return {name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)}


def _handlers(service: Methods, config: ServingConfig) -> Any:
    """The methods as gRPC calls them, by the names of the protocol."""
    gate = _Gate(config)
    methods = {
        # To the client it is a method of one request. As such, gRPC would read the request before it calls us.
        name: grpc.stream_unary_rpc_method_handler(
            gate.unary(name, getattr(service, _method(name))),
            request_deserializer=_reader(f"{name}Request"),
            response_serializer=message(f"{name}Response").SerializeToString,
        )
        for name in (
            "ServerLive", "ServerReady", "ModelReady", "ServerMetadata", "ModelMetadata", "ModelInfer",
            "RepositoryIndex", "RepositoryModelLoad", "RepositoryModelUnload",
        )
    }  # fmt: skip
    methods["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(
        gate.stream(service.model_infer),
        request_deserializer=_reader("ModelInferRequest"),
        response_serializer=message("ModelStreamInferResponse").SerializeToString,
    )
    return grpc.method_handlers_generic_handler(SERVICE, methods)


def _reader(name: str) -> Callable[[bytes], Any]:
    """Reads a message; gives what is wrong with one that is none, since gRPC would answer with Python's own words."""
    read = message(name).FromString

    def message_or_error(data: bytes) -> Any:
        try:
            return read(data)
        except DecodeError:
            return RejectedError(BAD_REQUEST, f"the bytes are no {name}", got=f"{len(data)} bytes")

    return message_or_error


def _method(name: str) -> str:
    """The name in Python: ``ModelInfer`` -> ``model_infer``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


class _Gate:
    """Checks the token before a request is read, ends one that does not come, and turns errors into codes of gRPC.

    Args:
        config: the token that clients send as ``authorization: Bearer …``, None for no check; and how long a request
            may take to come: each that has begun holds one of ``max_connections``.
    """

    def __init__(self, config: ServingConfig) -> None:
        self._token, self._timeout = config.token, config.timeout

    def unary(self, name: str, method: Method) -> Method:
        """A method of one request and one response."""
        asked = name not in OPEN

        async def call(requests: Any, context: Any) -> Any:
            try:
                if asked:
                    self._check(context)
                return await method(await self._first(context), context)
            except Exception as error:
                await context.abort(*_code_and_text(error))

        return call

    async def _first(self, context: Any) -> Any:
        try:
            request = await asyncio.wait_for(_read(context), self._timeout)
        except (asyncio.TimeoutError, TimeoutError):
            raise RejectedError(
                TIMED_OUT, "the request did not come in time", expected=f"within {self._timeout:g} s"
            ) from None
        if request is grpc.aio.EOF:
            raise RejectedError(BAD_REQUEST, "the call has no message", expected="one")
        if isinstance(request, RejectedError):
            raise request
        return request

    def stream(self, method: Method) -> Callable[[Any, Any], AsyncIterator[Any]]:
        """A method of many requests, answered one after the other; one that fails does not end the stream."""
        response = message("ModelStreamInferResponse")

        async def call(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
            try:
                self._check(context)
            except RejectedError as error:
                await context.abort(*_code_and_text(error))
            async for request in requests:
                try:
                    if isinstance(request, RejectedError):
                        raise request
                    yield response(infer_response=await method(request, context))
                except Exception as error:
                    text = _code_and_text(error)[1]
                    yield response(error_message=text, infer_response={"id": getattr(request, "id", "")})

        return call

    def _check(self, context: Any) -> None:
        if self._token is None:
            return
        given = dict(context.invocation_metadata() or ()).get("authorization", "")
        given = given if isinstance(given, bytes) else given.encode()
        if not bears(given, self._token):
            raise RejectedError(UNAUTHORIZED, "no valid token", expected="the metadata authorization: Bearer …")


async def _read(context: Any) -> Any:
    """The next message. A coroutine of gRPC that is cancelled before it begins would warn that nobody awaited it."""
    return await context.read()


def _code_and_text(error: Exception) -> tuple[Any, str]:
    status = status_of(error)
    if status == INTERNAL:
        log.error("internal error", exc_info=error)
    return CODES.get(status, grpc.StatusCode.INVALID_ARGUMENT), text_of(error)
