"""Repository: the models of a server by name and version, loaded, unloaded and replaced while requests are answered."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ...pipeline.load import load
from ...pipeline.opening import verify_golden
from ...pipeline.pipeline import Pipeline
from ...serialization.golden import golden_examples
from ..config import ServingConfig
from ..protocol.rejections import FORBIDDEN, NOT_FOUND, UNAVAILABLE, RejectedError, text_of
from .execution import Executor
from .model import ServedModel

Sources = Mapping[str, Mapping[str, Any]]


class Repository:
    """The models of a server.

    A request holds the `ServedModel` that it began with; one that is replaced or unloaded answers what it has begun.

    Args:
        sources: for each name and version a path or a pipeline.
        config: how models are loaded and run.
    """

    def __init__(self, sources: Sources, config: ServingConfig) -> None:
        self.sources = {name: dict(versions) for name, versions in sources.items()}
        self.config, self._executor = config, Executor(config)
        self._ready: dict[str, dict[str, ServedModel]] = {}
        self._reasons: dict[str, str] = {}
        self._loading = threading.Lock()
        self.tell: Callable[[str, str], None] = lambda verb, name: None  # told of changes that a client asked for
        self.fixed = ""  # why clients may not load and unload models; empty where they may
        self.draining = False  # whether the server ends, and wants no new requests

    def model(self, name: str, version: str | None = None) -> ServedModel:
        """A model that is ready; without a version the newest one.

        Raises:
            RejectedError: there is none of this name or version, or it is not loaded.
        """
        versions = self._ready.get(name)
        if versions:
            found = versions[max(versions, key=_order)] if version is None else versions.get(version)
            if found is not None:
                return found
        where = f"model {name!r}" + ("" if version is None else f", version {version!r}")
        if version not in {None, *self.sources.get(name, {})} or name not in self.sources:
            raise RejectedError(NOT_FOUND, "unknown model", where=where, expected=f"one of {', '.join(self.sources)}")
        raise RejectedError(UNAVAILABLE, "the model is not loaded", where=where)

    def load_all(self) -> None:
        """Loads every model.

        Raises:
            TracepackError: one cannot be loaded; none is served then.
        """
        for name in self.sources:
            self.load(name)

    def load(self, name: str) -> None:
        """Loads all versions of a model, again where they are loaded; it answers with the old ones until all are ready.

        Raises:
            RejectedError: no source has this name.
            TracepackError: a version cannot be loaded, or a golden example gives other outputs; the old ones stay.
        """
        sources = self.sources.get(name)
        if sources is None:
            raise RejectedError(NOT_FOUND, "unknown model", where=f"model {name!r}")
        self.replace(name, sources)

    def change(self, verb: str, name: str) -> None:
        """Loads or unloads a model as a client asks, and tells the other workers.

        Args:
            verb: ``"load"`` or ``"unload"``.
            name: of the model.

        Raises:
            RejectedError: the models of this server are fixed.
            TracepackError: as `load` and `unload`.
        """
        if self.fixed:
            raise RejectedError(FORBIDDEN, self.fixed, where=f"model {name!r}")
        (self.load if verb == "load" else self.unload)(name)
        self.tell(verb, name)

    def replace(self, name: str, versions: Mapping[str, Any]) -> None:
        """Loads a model from new sources, or one that is new.

        Raises:
            TracepackError: as `load`; the old sources and the old versions stay.
        """
        with self._loading:
            try:
                made = {version: self._made(name, version, source) for version, source in versions.items()}
            except Exception as error:
                if name in self.sources and name not in self._ready:
                    self._reasons[name] = text_of(error)
                raise
            for version, old in self._ready.get(name, {}).items():
                new = made.get(version)
                if new is not None and new.sequences is not None and old.sequences:
                    new.sequences.follow(old.sequences)
            self.sources = {**self.sources, name: dict(versions)}  # a new dict: the loop may go through the old one
            self._ready[name] = made
            self._reasons.pop(name, None)

    def unload(self, name: str) -> None:
        """Takes a model out of service; requests that have begun are answered.

        Raises:
            RejectedError: no source has this name.
        """
        if name not in self.sources:
            raise RejectedError(NOT_FOUND, "unknown model", where=f"model {name!r}")
        with self._loading:
            self._ready.pop(name, None)
            self._reasons[name] = "unloaded"

    def index(self) -> list[dict[str, str]]:
        """Each model with its version, its state and why it is not ready."""
        rows = []
        for name, versions in self.sources.items():
            ready = self._ready.get(name, {})
            for version in versions:
                state = "READY" if version in ready else "UNAVAILABLE"
                rows.append({"name": name, "version": version, "state": state, "reason": self._reasons.get(name, "")})
        return rows

    @property
    def ready(self) -> bool:
        """Whether every model is loaded that was not taken out of service."""
        return not self.draining and all(
            self._ready.get(name) or self._reasons.get(name) == "unloaded" for name in self.sources
        )

    @property
    def busy(self) -> bool:
        """Whether a run goes on, which may be one whose request was answered long ago."""
        return self._executor.busy

    def loaded(self) -> list[ServedModel]:
        """Every model that is ready."""
        return [model for versions in list(self._ready.values()) for model in versions.values()]

    def _made(self, name: str, version: str, source: Any) -> ServedModel:
        """A model of a source, after its golden examples passed."""
        if isinstance(source, Pipeline):
            made = ServedModel(name, version, source, self._executor, self.config)
            made.warm([])
            return made
        config = self.config
        path = os.fspath(source)
        pipeline = load(
            path, config.device, trust=name in config.trust, signed_by=list(config.signed_by) or None,
            packages=config.packages, budget=config.budget,
        )  # fmt: skip
        assert pipeline.origin is not None  # it was loaded
        archive = pipeline.origin.archive  # by now another file may have this path
        pairs = golden_examples(archive)
        if pairs:
            verify_golden(pipeline, archive).require()
        model = ServedModel(name, version, pipeline, self._executor, config)
        model.warm([feed for feed, _ in pairs])
        return model


def _order(version: str) -> tuple[int, str]:
    """Versions that are numbers in their order, before any others."""
    return (int(version), "") if version.isdecimal() else (1 << 62, version)
