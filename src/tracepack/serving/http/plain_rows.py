"""``POST /v1/{model}``: an object of inputs, or a list of rows, and an answer in the pipeline's own structure.

    {"x": [[1, 2], [3, 4]]}              -> {"scores": [[…], […]]}
    [{"x": [1, 2]}, {"x": [3, 4]}]       -> [{"scores": […]}, {"scores": […]}]

Rows are run together where the pipeline was shown to work row by row; each is a run of its own elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import torch

from ...pipeline.signature.feeds import build_feed
from ..models.execution import Passage, too_long
from ..models.model import ServedModel
from ..protocol.http_body import parse_json
from ..protocol.interface import plain
from ..protocol.rejections import BAD_REQUEST, RejectedError

MOST_ROWS = 10_000


async def answer_plainly(model: ServedModel, body: Any, passage: Passage) -> Any:
    """The answer to a body of plain JSON.

    Raises:
        RejectedError: the body is no object and no list of them.
        SignatureError: an input is missing, unknown or does not fit; TracepackError: as `Pipeline.run`.
    """
    document = parse_json(body)
    if isinstance(document, dict):
        return plain(await _one(model, document, passage))
    if not isinstance(document, list) or not document or not all(isinstance(row, dict) for row in document):
        raise RejectedError(
            BAD_REQUEST, "neither an object of inputs nor a list of them", got=repr(document)[:60],
            expected=", ".join(model.interface.inputs),
        )  # fmt: skip
    if len(document) > MOST_ROWS:
        raise RejectedError(BAD_REQUEST, "too many rows", got=len(document), expected=f"{MOST_ROWS} at most")
    if not await asyncio.to_thread(_works_by_rows, model):
        return await model.within(_each(model, document, passage))
    return _split(await _one(model, _stacked(document), passage), len(document))


def _works_by_rows(model: ServedModel) -> bool:
    return not model.why_not_by_rows


async def _each(model: ServedModel, rows: list[dict[str, Any]], passage: Passage) -> list[Any]:
    loop = asyncio.get_running_loop()
    found, until = [], loop.time() + model.timeout
    for row in rows:
        if loop.time() > until:  # up to Python 3.11 a run that ends as it is cancelled hides that
            raise too_long(model.timeout)
        found.append(plain(await _one(model, row, passage)))
        await asyncio.sleep(0)  # short runs are performed where they are: the loop has its turn for others, and timers
    return found


async def _one(model: ServedModel, inputs: Mapping[str, Any], passage: Passage) -> Any:
    feed = build_feed(model.pipeline.program.parameters, inputs)
    return await model.perform(feed, {}, passage)


def _stacked(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The inputs of all rows, a list for each.

    Raises:
        RejectedError: a row has other inputs than the first one.
    """
    for index, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise RejectedError(
                BAD_REQUEST, "a row has other inputs than the first one", where=f"row {index}",
                got=", ".join(row), expected=", ".join(rows[0]),
            )  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]}


def _split(tree: Any, count: int) -> list[Any]:
    """The rows of a result whose tensors have them as their first size."""
    if isinstance(tree, torch.Tensor):
        rows: list[Any] = plain(tree)
        return rows
    if isinstance(tree, Mapping):
        parts = {str(plain(key)): _split(part, count) for key, part in tree.items()}
        return [{key: part[index] for key, part in parts.items()} for index in range(count)]
    if isinstance(tree, list | tuple):
        fields = getattr(type(tree), "_fields", None)
        if fields:
            return _split(dict(zip(fields, tree, strict=True)), count)
        columns = [_split(part, count) for part in tree]
        return [[column[index] for column in columns] for index in range(count)]
    return [plain(tree)] * count
