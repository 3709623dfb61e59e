"""Lists among what the ways through a loop give that have as many items as the way: each becomes one of any length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...proxies.trees import same_container
from ...recording.recorder import Recorder

Path = tuple[Any, ...]
"""Keys and numbers that lead to a part of a tree of containers."""


def uneven(results: Sequence[Any], path: Path = ()) -> Iterator[Path]:
    """Where some results have lists of several lengths, or a list of the recording beside a plain one."""
    kinds = set(map(type, results))
    if list in kinds:
        if kinds != {list} or len(set(map(len, results))) > 1:
            yield path
            return
    elif len(kinds) > 1 or not kinds <= {dict, tuple}:
        return
    first = results[0]
    keys = list(first) if isinstance(first, dict) else range(len(first))
    if all((list(each) == keys if isinstance(each, dict) else len(each) == len(first)) for each in results):
        for key in keys:
            yield from uneven([each[key] for each in results], (*path, key))


def with_lists(recorder: Recorder, tree: Any, paths: Sequence[Path]) -> Any:
    """A result with lists of the recording at some places."""
    if () in paths:
        return recorder.scalar("list", tree) if type(tree) is list else tree
    if not paths:
        return tree
    inner = {key: [path[1:] for path in paths if path[0] == key] for key in {path[0] for path in paths}}
    if isinstance(tree, dict):
        return {key: with_lists(recorder, item, inner.get(key, [])) for key, item in tree.items()}
    return same_container(tree, [with_lists(recorder, item, inner.get(at, [])) for at, item in enumerate(tree)])
