"""The routes of the page: its files, which hold no data and need no token, and the data that its script asks for.

The page's own text is trusted and everything else is not: names, signatures and outputs come from whoever made a file.
So the policy below lets a browser run the script of this folder and nothing that stands in the page, and a graph is
shown as an image, in which no script runs; opened by itself, it has a policy that allows none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from ...ops.graph.svg.picture import svg
from ..models.repository import Repository
from ..protocol.http_body import dumps
from ..telemetry.metrics import Metrics
from .page_data import counted, described

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SVG_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_COMMON = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-cache"}
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_FILES = ("page.css", "page.js", "elements.js", "form.js", "image.js", "live.js")

OPEN_FILES = ("/", *(f"/page/{name}" for name in _FILES))


Answer = tuple[int, dict[str, str], bytes]


class Asked(Protocol):
    """What a handler here uses of an exchange of HTTP."""

    def path(self, name: str) -> str | None:
        """A part of the path."""


Handler = Callable[[Any], Awaitable[Answer]]  # of an `Asked`


def page_handlers(repository: Repository, metrics: Metrics) -> dict[str, Handler]:
    """What answers each path of the page.

    Args:
        repository: the models that the page shows.
        metrics: where the server counts its requests.
    """

    async def models(exchange: Asked) -> Answer:
        return _json(described(repository))

    async def counts(exchange: Asked) -> Answer:
        return _json(counted(metrics))

    async def graph(exchange: Asked) -> Answer:
        served = repository.model(str(exchange.path("model")), exchange.path("version"))
        pipeline = served.pipeline
        panels = [(pipeline.name, pipeline.graph, list(pipeline.program.parameters.names))]
        drawn = await asyncio.to_thread(svg, panels)  # a large graph takes a while
        headers = {**_COMMON, "content-type": "image/svg+xml", "content-security-policy": SVG_POLICY}
        return 200, headers, drawn.encode("ascii", "xmlcharrefreplace")

    return {
        "/": _file("index.html"),
        **{f"/page/{name}": _file(name) for name in _FILES},
        "/page/data/models": models,
        "/page/data/counts": counts,
        "/page/data/graph/{model}/{version}": graph,
    }


def _json(document: Any) -> Answer:
    return 200, {**_COMMON, "content-type": "application/json"}, dumps(document)


def _file(name: str) -> Handler:
    path = Path(__file__).with_name(name)
    content = path.read_bytes()
    kind = f"{_KINDS[path.suffix]}; charset=utf-8"
    headers = {**_COMMON, "content-type": kind, "content-security-policy": POLICY}

    async def answer(exchange: Asked) -> Answer:
        return 200, headers, content

    return answer
