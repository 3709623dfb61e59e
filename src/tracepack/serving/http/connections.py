"""The connections of HTTP, with what uvicorn leaves open: how many there are, how long a request may take to arrive
and an answer to be taken, and how large a head may be. Whatever is refused here is answered as ``{"error": …}``, too.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from httptools import HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..protocol.http_body import dumps
from ..protocol.rejections import BAD_REQUEST, HEAD_TOO_LARGE, TOO_MANY, TOO_SLOW

MOST_HEAD = 1 << 16  # bytes of a request before its body
LEAST_TAKEN = 1 << 16  # bytes of an answer, where it is taken at all

_PHRASES = {
    BAD_REQUEST: "Bad Request", TOO_SLOW: "Request Timeout", TOO_MANY: "Too Many Requests",
    HEAD_TOO_LARGE: "Request Header Fields Too Large",
}  # fmt: skip


class _Outgoing:
    """A transport that drops what is written after its end, and ends where the client does not take what was written.

    uvloop raises an error for what is written after the end, and uvicorn tells only the last of several requests that
    their connection has ended. An answer that nobody takes would hold its memory and its connection for ever.

    Args:
        transport: of a connection.
        loop: of the server.
        seconds: in which the client must have taken what waits for it, or `LEAST_TAKEN` bytes of it.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._transport, self._loop, self._seconds = transport, loop, seconds
        self._written = self._taken = self._awaited = 0  # bytes: up to now, and up to the last look
        self._looking: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Sends data, unless the connection has ended."""
        if self._transport.is_closing():
            return
        self._written += len(data)
        self._transport.write(data)
        if self._looking is None:
            self._looking = self._loop.call_later(self._seconds, self._look)

    def forget(self) -> None:
        """The connection has ended."""
        if self._looking is not None:
            self._looking.cancel()

    def _look(self) -> None:
        """Ends the connection if what waited at the last look waits still, and hardly anything was taken since."""
        taken = self._written - self._transport.get_write_buffer_size()
        if taken < self._awaited and taken - self._taken < LEAST_TAKEN:
            self._transport.abort()
            return
        waits = taken < self._written
        self._taken, self._awaited = taken, self._written
        self._looking = self._loop.call_later(self._seconds, self._look) if waits else None


class _PlainParser:
    """uvicorn's parser for a server that knows no other protocol: a request that asks for one is read without that.

    httptools ends such a request behind its head, so that its body would be lost and be read as the next request. The
    HTTP client of Java and ``curl --http2`` ask so for HTTP/2, and a server without it goes on (RFC 9110, 7.8).

    Args:
        protocol: of a connection, which hears what is parsed.
    """

    def __init__(self, protocol: Any) -> None:
        self._protocol, self._parser = protocol, protocol.parser

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed_data(self, data: bytes) -> None:
        """Parses what arrived."""
        rest = memoryview(data)
        while True:
            try:
                self._parser.feed_data(rest)
                return
            except HttpParserUpgrade as asked:
                rest, head = rest[asked.args[0] :], self._protocol.plain_head()
            self._parser = HttpRequestParser(self._protocol)  # one that has seen its last request takes no more
            with contextlib.suppress(AttributeError):  # of httptools before 0.6.3
                self._parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
            self._parser.feed_data(head)


def limited_protocol(most: int, seconds: float) -> Any:
    """The class of uvicorn's connections, with limits.

    Args:
        most: connections that are open at a time.
        seconds: in which a request must have arrived as a whole, for a client that says nothing, too; and in which a
            client must take something of an answer that waits for it.
    """
    base: Any = HttpToolsProtocol

    class LimitedProtocol(base):  # type: ignore[misc]  # uvicorn's class has no types that mypy can follow here
        """A connection that is refused where there are too many, and ended where a request does not arrive."""

        refused = False
        _ended = False  # whether the client sends no more
        _again = False  # whether the head that was read is read again, without the question for another protocol
        _arriving: asyncio.TimerHandle | None = None
        _head = -1  # bytes of a head that is arriving; negative where none is
        _behind = False  # whether a request ended in what was read last: nobody knows how much of that is a head

        def connection_made(self, transport: Any) -> None:
            self.transport = transport = _Outgoing(transport, self.loop, seconds)
            if len(self.connections) >= most:
                self._refuse(TOO_MANY, f"too many connections; expected {most} at most")
                return
            super().connection_made(transport)
            self.parser = _PlainParser(self)
            self._begin_arrival()

        def data_received(self, data: bytes) -> None:
            if self.refused:
                return
            self._behind = False
            super().data_received(data)
            if self._head >= 0:
                self._head += 0 if self._behind else len(data)
                if self._head > MOST_HEAD and not self.refused:
                    self._refuse_head()

        def eof_received(self) -> bool:
            """The client sends no more; whether the connection stays open, for answers to what it has sent."""
            if self.refused or self.cycle is None or self.scheme == "https":  # TLS has no half of a connection
                return False
            if self.pipeline and self.cycle.more_body:
                self.pipeline.popleft()  # the last request, which will not arrive
            elif self.cycle.response_complete or self.cycle.more_body:
                return False
            self._end_arrival()
            self._ended = True
            return True

        def on_response_complete(self) -> None:
            last = self._ended and not self.pipeline
            super().on_response_complete()
            if last:
                self.transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_arrival()
            self.transport.forget()
            if self in self.connections:
                super().connection_lost(exc)

        # -- what the parser says ------------------------------------------------------------------------------

        def on_message_begin(self) -> None:
            self._head = 0
            self._begin_arrival()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head = -1
            if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MOST_HEAD:
                self._refuse_head()
                raise ValueError("the headers are too large")  # ends the parser, which may hold more of the request
            if self.parser.get_method() == b"CONNECT":
                raise ValueError("this is no proxy")
            self._again = self.parser.should_upgrade()
            if not self._again:
                super().on_headers_complete()

        def on_message_complete(self) -> None:
            if not self._again:
                self._behind = True
                self._end_arrival()
                super().on_message_complete()

        def plain_head(self) -> bytes:
            """The head that was read, without the question for another protocol."""
            version = self.parser.get_http_version().encode()
            lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
            lines += [b"%s: %s" % pair for pair in self.headers if pair[0] != b"upgrade"]
            return b"\r\n".join([*lines, b"", b""])

        def send_400_response(self, msg: str) -> None:
            if not self.refused:
                self._refuse(BAD_REQUEST, msg)

        # -- limits --------------------------------------------------------------------------------------------

        def _begin_arrival(self) -> None:
            if self._arriving is None:
                self._arriving = self.loop.call_later(seconds, self._too_slow)

        def _end_arrival(self) -> None:
            if self._arriving is not None:
                self._arriving.cancel()
                self._arriving = None

        def _too_slow(self) -> None:
            self._arriving = None
            if not self.pipeline:  # a request that waits for the one before it is not read on
                self._refuse(TOO_SLOW, f"the request did not arrive; expected it within {seconds:g} s")

        def _refuse_head(self) -> None:
            self._refuse(HEAD_TOO_LARGE, f"the headers are too large; expected at most {MOST_HEAD} bytes")

        def _refuse(self, status: int, text: str) -> None:
            """Answers, unless an answer has begun, and ends the connection."""
            self.refused = True
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                body = dumps({"error": text})
                head = f"HTTP/1.1 {status} {_PHRASES[status]}\r\ncontent-type: application/json\r\n"
                self.transport.write(f"{head}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
            self.transport.close()

    return LimitedProtocol
