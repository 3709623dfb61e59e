"""The inputs on which a command measures a file: its golden examples, or random ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..pipeline.pipeline import Pipeline
from ..serialization.container.archive import Archive
from ..serialization.golden import golden_examples
from .random_inputs import random_feed


def example_feeds(path: str, pipeline: Pipeline, sizes: Mapping[str, int]) -> tuple[list[Mapping[str, Any]], str]:
    """The feeds, and where they come from.

    Args:
        path: the file.
        pipeline: loaded from it.
        sizes: of the signature, for random inputs instead of the golden examples.

    Raises:
        UsageError: a size is unknown, or no size tried fits.
    """
    examples = [] if sizes else golden_examples(Archive(path))
    if examples:
        return [feed for feed, _ in examples], "golden examples"
    return [random_feed(pipeline, sizes)], "random"
