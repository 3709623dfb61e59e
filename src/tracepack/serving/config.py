"""The settings of a server: its limits, its batching, and what its files may do. Plain data, no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..ops.graph.errors import SignatureError


@dataclass(frozen=True)
class ServingConfig:
    """The settings of a server.

    Attributes:
        max_body: bytes of a request; a larger one is answered with 413.
        max_queue: requests that are run or wait; one more is answered with 429.
        max_connections: open at a time; one more is answered with 429.
        timeout: seconds that a request may wait and run; then it is answered with 504. A run that has begun goes on: a
            budget ends it.
        max_batch: rows that are run together; 1 runs each request by itself.
        max_delay_ms: how long a request waits for others to be run with.
        parallel: runs at a time, beside those that are too short for a thread of their own; by default 4, or as many as
            there are cores.
        threads: of torch for each run; by default the cores divided by `parallel`.
        max_sequences: streams that are open, of each model with state; one more is answered with 429.
        sequence_idle: seconds after which an open stream that nobody uses is dropped.
        token: what a client must send as ``Authorization: Bearer …``; None for no check.
        trust: the names of the models that may run code.
        signed_by: public keys, as `load` takes them, by one of which every file must be signed.
        packages: as of `load`.
        device: as of `load`.
        budget: as of `load`, for every run.
        log_requests: whether each request is a line of JSON in the log ``tracepack.requests``.
        spans: whether each request is a span of OpenTelemetry.
    """

    max_body: int = 64 << 20
    max_queue: int = 256
    max_connections: int = 1024
    timeout: float = 60.0
    max_batch: int = 1
    max_delay_ms: float = 0.0
    parallel: int = min(4, os.cpu_count() or 1)
    threads: int = max(1, (os.cpu_count() or 1) // min(4, os.cpu_count() or 1))
    max_sequences: int = 1024
    sequence_idle: float = 300.0
    token: str | None = None
    trust: tuple[str, ...] = ()
    signed_by: tuple[Any, ...] = ()
    packages: tuple[str, ...] = ()
    device: Any = None
    budget: Mapping[str, float] | None = None
    log_requests: bool = False
    spans: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ServingConfig:
        """The settings by name.

        Raises:
            SignatureError: one is unknown, or no number of its range.

        Example:
            >>> ServingConfig.of({"max_batch": 32}).max_batch
            32
        """
        known: dict[str, Any] = {field.name: field.default for field in fields(cls)}
        if unknown := sorted(settings.keys() - known.keys()):
            raise SignatureError("unknown setting", where=unknown[0], expected=f"one of {', '.join(known)}")
        for name, value in settings.items():
            if type(known[name]) in (int, float):
                _check_number(name, value, known[name])
        lists = {name: tuple(settings[name]) for name in ("trust", "signed_by", "packages") if name in settings}
        return cls(**{**settings, **lists})


def _check_number(name: str, value: Any, default: int | float) -> None:
    whole = type(default) is int
    least = 0 if name == "max_delay_ms" else 1 if whole else 1e-3
    if type(value) not in ((int,) if whole else (int, float)) or not least <= value < 1 << 40:
        expected = f"a {'whole ' if whole else ''}number of at least {least}"
        raise SignatureError("no setting of its range", where=name, got=repr(value)[:40], expected=expected)
