"""The limit on open connections: one more is answered with 429 and closed, whatever it asks."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ..protocol.http_body import dumps
from ..protocol.rejections import TOO_MANY


def limited_protocol(most: int) -> Any:
    """The class of uvicorn's connections, with a limit on how many are open."""
    body = dumps({"error": f"too many connections; expected {most} at most"})
    head = f"HTTP/1.1 {TOO_MANY} Too Many Requests\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    refusal = f"{head}connection: close\r\n\r\n".encode() + body
    base: Any = AutoHTTPProtocol

    class LimitedProtocol(base):  # type: ignore[misc]  # which of uvicorn's classes it is depends on what is installed
        """A connection of HTTP, refused where there are too many."""

        refused = False

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= most:
                self.refused = True
                transport.write(refusal)
                transport.close()
                return
            super().connection_made(transport)

        def data_received(self, data: bytes) -> None:
            if not self.refused:
                super().data_received(data)

        def connection_lost(self, exc: Exception | None) -> None:
            if not self.refused:
                super().connection_lost(exc)

    return LimitedProtocol
