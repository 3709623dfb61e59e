"""One exchange of HTTP in terms of ASGI: the body within its limit, the answer, and an error as ``{"error": …}``."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from ..protocol.http_body import dumps
from ..protocol.rejections import BAD_REQUEST, FORBIDDEN, INTERNAL, TOO_LARGE, RejectedError, status_of, text_of

log = logging.getLogger("tracepack.serving")

Headers = dict[str, str]
Answer = tuple[int, Headers, bytes]
JSON = {"content-type": "application/json"}
ENCODINGS = {b"gzip": 31, b"x-gzip": 31, b"deflate": 15}  # zlib's number for each


class Exchange:
    """A request of HTTP.

    Args:
        scope: of ASGI.
        receive: of ASGI.
        max_body: bytes of the body, also after it is unpacked.
    """

    def __init__(self, scope: Scope, receive: Receive, max_body: int) -> None:
        self._scope, self._receive, self._max_body = scope, receive, max_body
        self._headers: dict[bytes, bytes] = dict(scope["headers"])

    def header(self, name: str) -> str | None:
        """A header; None where it is not sent."""
        found = self._headers.get(name.lower().encode())
        return None if found is None else found.decode("latin-1")

    def headers(self) -> Headers:
        """All headers, by their names in lower case."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self._headers.items()}

    def refuse_other_sites(self) -> None:
        """Refuses what a page of another site makes a browser send, which no question to that site prevents.

        Raises:
            RejectedError: the request says that it comes from there.
        """
        origin, site = self.header("origin"), self.header("sec-fetch-site")
        host = self.header("host")
        if site in (None, "same-origin", "none") and (origin is None or origin.partition("://")[2] == host):
            return
        raise RejectedError(FORBIDDEN, "a page of another site asks for a change", got=origin or site, expected=host)

    def path(self, name: str) -> str | None:
        """A part of the path; None where the route has none of this name."""
        found: str | None = self._scope["path_params"].get(name)
        return found

    async def body(self) -> bytes | bytearray:
        """The whole body, unpacked.

        Raises:
            RejectedError: it is larger than the limit, or packed in another way than gzip or deflate.
        """
        length = self._headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self._max_body:
            raise self._too_large()
        parts: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError("the client has gone")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._max_body:
                raise self._too_large()
            more = message.get("more_body", False)
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        encoding = self._headers.get(b"content-encoding", b"identity").lower()
        return body if encoding == b"identity" else self._unpacked(body, encoding)

    def _unpacked(self, body: bytes, encoding: bytes) -> bytes:
        if encoding not in ENCODINGS:
            raise RejectedError(
                BAD_REQUEST, "unknown Content-Encoding", got=repr(encoding)[:40], expected="gzip, deflate"
            )
        reader = zlib.decompressobj(ENCODINGS[encoding])
        try:
            found = reader.decompress(body, self._max_body + 1)
        except zlib.error as error:
            raise RejectedError(BAD_REQUEST, f"the body is no {encoding.decode()}", got=error) from None
        if len(found) > self._max_body:
            raise self._too_large()
        if not reader.eof:
            raise RejectedError(BAD_REQUEST, f"the body is no whole {encoding.decode()}")
        if reader.unused_data:
            raise RejectedError(BAD_REQUEST, f"bytes follow the {encoding.decode()}", got=len(reader.unused_data))
        return found

    def _too_large(self) -> RejectedError:
        return RejectedError(TOO_LARGE, "the body is too large", expected=f"at most {self._max_body} bytes")


Handler = Callable[[Exchange], Awaitable[Answer]]


class Endpoint:
    """An ASGI application of one handler, whose errors become answers.

    Args:
        handler: answers an exchange.
        max_body: bytes of a request.
    """

    def __init__(self, handler: Handler, max_body: int) -> None:
        self._handler, self._max_body = handler, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request of HTTP."""
        try:
            answer = await self._handler(Exchange(scope, receive, self._max_body))
        except ConnectionResetError:
            return
        except Exception as error:
            answer = error_answer(error)
        await send_answer(send, answer)


def error_answer(error: Exception) -> Answer:
    """The answer to a request that failed; what is no error of ours goes to the log, and only there."""
    status = status_of(error)
    if status == INTERNAL:
        log.error("internal error", exc_info=error)
    # The rest of a body that is too large is not read: the connection ends here.
    headers = {**JSON, "connection": "close"} if status == TOO_LARGE else JSON
    return status, headers, dumps({"error": text_of(error)})


async def send_answer(send: Send, answer: Answer) -> None:
    """Sends an answer."""
    status, headers, body = answer
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def json_answer(document: Any, status: int = 200) -> Answer:
    """An answer of JSON."""
    return status, JSON, dumps(document)
