"""The ASGI application: the routes of the protocol, and the guard before them."""

from __future__ import annotations

import asyncio
import time
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ...serialization.container.version import __version__
from ..config import ServingConfig
from ..models.repository import Repository
from ..page.page_routes import OPEN_FILES, page_handlers
from ..protocol.http_body import BINARY_HEADER, parse_request, render_response
from ..protocol.rejections import UNAUTHORIZED, UNAVAILABLE, RejectedError
from ..telemetry.metrics import CONTENT_TYPE
from ..telemetry.watcher import Watcher
from ..tokens import bears
from .exchange import Answer, Endpoint, Exchange, Handler, error_answer, json_answer, send_answer
from .openapi import openapi
from .plain_rows import answer_plainly

OPEN = ("/v2/health/live", "/v2/health/ready", *OPEN_FILES)  # probes have no token, and the page asks for it
INFER = "/v2/models/{model}/infer"
EXTENSIONS = ["binary_tensor_data", "model_repository", "sequence"]


def application(repository: Repository, config: ServingConfig, watcher: Watcher | None = None) -> Starlette:
    """The application that serves the models of a repository.

    Args:
        repository: the models.
        config: limits, and the token.
        watcher: of the requests; by default one of its own.
    """
    watcher = watcher or Watcher(config)
    handlers = Handlers(repository, watcher)

    def route(path: str, handler: Handler, method: str = "GET") -> Route:
        return Route(path, Endpoint(handler, config.max_body), methods=[method])

    model, versions = "/v2/models/{model}", "/v2/models/{model}/versions/{version}"
    routes = [  # what is asked most stands first
        route(INFER, handlers.infer, "POST"),
        route(f"{versions}/infer", handlers.infer, "POST"),
        route("/v2", handlers.server),
        route("/v2/health/live", handlers.live),
        route("/v2/health/ready", handlers.ready),
        *(route(base, handlers.metadata) for base in (model, versions)),
        *(route(f"{base}/ready", handlers.model_ready) for base in (model, versions)),
        route("/v2/repository/index", handlers.index, "POST"),
        route("/v2/repository/models/{model}/load", handlers.load, "POST"),
        route("/v2/repository/models/{model}/unload", handlers.unload, "POST"),
        route("/v1/{model}", handlers.plain, "POST"),
        route("/openapi.json", handlers.openapi),
        route("/metrics", handlers.metrics),
        *(route(path, handler) for path, handler in page_handlers(repository, watcher.metrics).items()),
    ]
    guards = [] if config.token is None else [Middleware(TokenGuard, token=config.token)]
    return _DirectStarlette(routes=routes, middleware=guards, exception_handlers={HTTPException: _routing_error})


class _DirectStarlette(Starlette):
    """Starlette, whose layers a request for inference does not cross where no middleware stands among them.

    They take a tenth of the server's time for it. Nothing of ours is in them: an endpoint turns errors into answers.
    """

    def build_middleware_stack(self) -> ASGIApp:
        whole, route = super().build_middleware_stack(), cast(Route, self.routes[0])
        if self.user_middleware or route.path != INFER:
            return whole
        infer = route.app

        async def first(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
                match scope["path"].split("/"):
                    case ["", "v2", "models", model, "infer"] if model:
                        scope["path_params"] = {"model": model}
                        return await infer(scope, receive, send)
            return await whole(scope, receive, send)

        return first


class Handlers:
    """What answers each route.

    Args:
        repository: the models.
        watcher: of the requests.
    """

    def __init__(self, repository: Repository, watcher: Watcher) -> None:
        self._repository, self._watcher = repository, watcher

    async def server(self, exchange: Exchange) -> Answer:
        """The metadata of the server."""
        return json_answer({"name": "tracepack", "version": __version__, "extensions": EXTENSIONS})

    async def live(self, exchange: Exchange) -> Answer:
        """Whether the process answers."""
        return json_answer({"live": True})

    async def ready(self, exchange: Exchange) -> Answer:
        """Whether all models are loaded."""
        ready = self._repository.ready
        return json_answer({"ready": ready}, 200 if ready else UNAVAILABLE)

    async def metadata(self, exchange: Exchange) -> Answer:
        """The metadata of a model."""
        name = str(exchange.path("model"))
        model = self._repository.model(name, exchange.path("version"))
        return json_answer({"name": name, "versions": list(self._repository.sources[name]), **model.metadata()})

    async def model_ready(self, exchange: Exchange) -> Answer:
        """Whether a model is loaded."""
        name = str(exchange.path("model"))
        try:
            self._repository.model(name, exchange.path("version"))
        except RejectedError as error:
            if error.status != UNAVAILABLE:
                raise
            return json_answer({"name": name, "ready": False}, UNAVAILABLE)
        return json_answer({"name": name, "ready": True})

    async def infer(self, exchange: Exchange) -> Answer:
        """Answers a request for inference."""
        model = self._repository.model(str(exchange.path("model")), exchange.path("version"))
        body = await exchange.body()
        with self._watcher.request(model, "http", exchange.headers) as passage:
            begun = time.perf_counter()
            request = parse_request(body, exchange.header(BINARY_HEADER))
            passage.compute_input = time.perf_counter() - begun
            response = await model.infer(request, passage)
            begun = time.perf_counter()
            headers, content = render_response(response, request)
            passage.compute_output += time.perf_counter() - begun
        return 200, headers, content

    async def plain(self, exchange: Exchange) -> Answer:
        """Answers plain JSON."""
        model = self._repository.model(str(exchange.path("model")))
        body = await exchange.body()
        with self._watcher.request(model, "json", exchange.headers) as passage:
            return json_answer(await answer_plainly(model, body, passage))

    async def metrics(self, exchange: Exchange) -> Answer:
        """The metrics for Prometheus."""
        return 200, {"content-type": CONTENT_TYPE}, self._watcher.metrics.text()

    async def index(self, exchange: Exchange) -> Answer:
        """Lists the models."""
        return json_answer(self._repository.index())

    async def load(self, exchange: Exchange) -> Answer:
        """Loads a model, or loads it again."""
        return await self._change("load", exchange)

    async def unload(self, exchange: Exchange) -> Answer:
        """Takes a model out of service."""
        return await self._change("unload", exchange)

    async def _change(self, verb: str, exchange: Exchange) -> Answer:
        exchange.refuse_other_sites()
        await exchange.body()
        await asyncio.to_thread(self._repository.change, verb, str(exchange.path("model")))
        return json_answer({})

    async def openapi(self, exchange: Exchange) -> Answer:
        """The description of the routes."""
        return json_answer(openapi(self._repository.loaded()))


class TokenGuard:
    """Lets only requests pass that bear the token; those that ask for health need none.

    Args:
        app: behind the guard.
        token: that clients send as ``Authorization: Bearer …``.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with 401."""
        if scope["type"] == "http" and scope["path"].removeprefix(scope.get("root_path", "")) not in OPEN:
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not bears(given, self._token):
                refused = RejectedError(UNAUTHORIZED, "no valid token", expected="the header Authorization: Bearer …")
                status, headers, body = error_answer(refused)
                return await send_answer(send, (status, {**headers, "www-authenticate": "Bearer"}, body))
        return await self._app(scope, receive, send)


async def _routing_error(request: Request, error: Exception) -> JSONResponse:
    """No route has the path, or the route has another method."""
    assert isinstance(error, HTTPException)
    text = f"{request.method} {request.url.path}: {error.detail}"
    return JSONResponse({"error": text}, error.status_code, headers=error.headers)
