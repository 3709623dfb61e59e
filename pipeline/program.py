"""Program: a processing function as data, before any device is chosen for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ops.graph import Facts, Graph
from .inputs import Parameters


@dataclass(frozen=True)
class Program:
    """What an archive holds, and what a pipeline shares with its sessions.

    Attributes:
        name: the function's name.
        graph: what it does.
        parameters: how it is called.
        facts: what is known about the sizes of its inputs.
        source: the mapped file, kept so that other loads of it share its weights.
    """

    name: str
    graph: Graph
    parameters: Parameters
    facts: Facts
    source: Any = None
