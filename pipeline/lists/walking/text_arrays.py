"""Constant arrays of texts, such as the names of classes, that are asked by an array of places or of truths."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...proxies.arrays import TracedArray
from ...proxies.lists import TracedList
from ...recording.recorder import Recorder
from ...rules.assertions import required
from ..constant_look_ups import entries_at

_LIST = "Write tracepack.lookup(texts, ids), which gives the lists of texts[ids].tolist()."


def asks_texts(recorder: Recorder, texts: Any, places: Any) -> bool:
    """Whether an array of texts is asked by an array or a tensor of the recording."""
    own = type(places) is TracedArray or (isinstance(places, torch.Tensor) and places in recorder.values)
    return own and is_array_of_texts(texts)


def is_array_of_texts(thing: Any) -> bool:
    """Whether a thing is an array of one dimension with texts only."""
    if type(thing) is not np.ndarray or thing.ndim != 1:
        return False
    return thing.dtype.kind == "U" or (thing.dtype.kind == "O" and all(type(item) is str for item in thing.tolist()))


def texts_at(recorder: Recorder, texts: np.ndarray[Any, Any], places: Any) -> Any:
    """The texts at some places, or where an array is true: a list of any length that stands for the array.

    One place, which an array or a tensor without dimensions holds, gives its text.
    """
    if places.ndim == 0 and places.dtype not in (np.bool_, torch.bool):
        return recorder.scalar("lookup", texts.tolist(), places.item())
    if isinstance(places, torch.Tensor) and places.ndim < 2:  # numpy takes one of a single element for a number
        recorder.refuse("an array of texts was asked by a tensor", "Write texts[ids.numpy()].")
    if places.ndim != 1:
        recorder.refuse("an array of texts was asked by an array of several dimensions", _LIST)
    if places.dtype == np.bool_:
        if not required(recorder, places.shape[0] == len(texts), "a mask has another length than the array of texts"):
            raise IndexError("a mask has another length than the array of texts")
        places = recorder.array("numpy.flatnonzero", places)
    found: TracedList = entries_at(recorder, texts.tolist(), torch.from_numpy(places.copy()))
    found.of_array = True
    return found
