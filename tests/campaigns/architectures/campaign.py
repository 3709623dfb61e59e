"""The campaign of architectures: each is scripted, traced, saved, loaded and held against eager.

A case is right where the reloaded pipeline answers as the eager model does on the example and at another batch size
and length. A model that is refused is refused with a typed error, at `script`, at `trace`, or when it is run at
sizes that its recording does not hold for.
"""

from __future__ import annotations

import contextlib
import io
import logging
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

import tracepack
from tests.campaigns.architectures.cases import Case, Inputs
from tests.campaigns.architectures.generation import generation_cases
from tests.campaigns.architectures.layers import layer_cases
from tests.campaigns.architectures.zoo import transformers_cases
from tests.campaigns.journal import Journal, Record, found_by
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, WRONG, Tally
from tracepack.ops.graph.graph import Operator
from tracepack.ops.graph.traverse import every_node

SHARES = 24
FRESH = 6  # every sixth case is loaded in a process of its own
TOLERANCE = 1e-4
EMITTED = Path(__file__).with_name("emitted.txt")


def all_cases() -> list[Case]:
    """Every case of the campaign."""
    return [*transformers_cases(), *generation_cases(), *layer_cases()]


def run(share: int | None = None, jobs: int = 2, fresh: bool = False) -> Tally:
    """Runs the campaign, or a part of it.

    Args:
        share: None for all cases; else every twenty-fourth, beginning with this one.
        jobs: processes for a full run.
        fresh: whether to run again what is kept from an earlier full run.
    """
    tally = Tally("Architectures", "architectures", full=share is None)
    names = [case.name for case in all_cases()]
    if share is None:
        records = list(Journal("architectures", fresh).complete(names, found, jobs))
    else:
        names = names[share % SHARES :: SHARES]
        records = [record for _, record in found_by(names, found, 1)]
    for name, record in zip(names, records, strict=True):
        tally.add(name, record["outcome"], record["reason"], record["kind"])
        tally.seconds += record["seconds"]
    emitted = {name for record in records for name in record["operators"]}
    if share is None:
        EMITTED.write_text("".join(f"{name}\n" for name in sorted(emitted)))
    for name in sorted(emitted - set(listed())):
        tally.add(name, ERROR, f"an operator that {EMITTED.name} does not list: run the whole campaign", "operator")
    tally.notes.append(
        "Each loaded pipeline runs on the example and at another batch size and length, every sixth in a fresh process, "
        f"and must agree with eager to {TOLERANCE:g}, since sums may be reordered."
    )
    for kind in dict.fromkeys(case.detail for case in tally.cases):
        outcomes = [case.outcome for case in tally.cases if case.detail == kind]
        tally.notes.append(f"{kind.capitalize()}: {outcomes.count(RIGHT)} of {len(outcomes)} are right.")
    return tally


def found(name: str) -> Record:
    """What is found of one case."""
    start = time.process_time()
    cases = all_cases()
    index = next(index for index, case in enumerate(cases) if case.name == name)
    emitted: set[str] = set()
    outcome, reason = check(cases[index], emitted, elsewhere=index % FRESH == 0)
    return {
        "outcome": outcome, "reason": reason, "kind": cases[index].kind, "seconds": time.process_time() - start,
        "operators": sorted(emitted),
    }  # fmt: skip


def listed() -> list[str]:
    """The operators that the last full run met."""
    return EMITTED.read_text(encoding="utf-8").split()


def check(case: Case, emitted: set[str], *, elsewhere: bool = False) -> tuple[str, str]:
    """The outcome of one case, and why.

    Args:
        case: what to pack.
        emitted: gets the names of the operators of its graphs.
        elsewhere: whether it is loaded in a process of its own.
    """
    with _quiet():
        torch.manual_seed(0)
        model = case.build()
        feeds = [case.inputs(*sizes) for sizes in case.sizes]
        make = case.process or _call_by_name
        wanted = [_flat(make(model)(**_copied(feed))) for feed in feeds]
        stage = "trace"
        try:
            pipeline = tracepack.trace(make(tracepack.script(model, contiguous=True)), **_copied(feeds[0]))
            nodes = every_node(pipeline.graph)
            emitted |= {node.target.name for node in nodes if isinstance(node.target, Operator)}
            stage = "run"
            traced = [_flat(pipeline.run(_copied(feed))) for feed in feeds]
            stage = "load"
            loaded = _reloaded(pipeline, feeds, elsewhere)
        except tracepack.TrustError as error:
            return ERROR, f"at {stage}: {error}"
        except tracepack.TracepackError as error:
            return REFUSED, f"at {stage}: {error}"
        except Exception as error:  # what the campaign is there to find
            return ERROR, f"at {stage}: {type(error).__name__}: {error}"
    for name, answers in (("traced", traced), ("loaded", loaded)):
        for where, a, b in zip(("the example", "other sizes"), wanted, answers, strict=True):
            gap = difference(a, b)
            if gap:
                return WRONG, f"{name}, {where}: {gap}"
    return RIGHT, ""


def _call_by_name(op: Any) -> Callable[..., Any]:
    def process(**inputs: Any) -> Any:
        with torch.no_grad():
            result = op(**inputs)
        if isinstance(result, dict):  # a cache cannot leave a pipeline; `generation` carries it between ops
            return {key: value for key, value in result.items() if key not in ("past_key_values", "cache_params")}
        return result

    return process


def _copied(feed: Inputs) -> Inputs:
    # Torch leaves it untyped.
    return torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, feed)  # type: ignore[no-any-return]


def _flat(result: Any) -> list[Any]:
    """The tensors and numbers of a result, in order; what has no value is left out."""
    return [leaf for leaf in torch.utils._pytree.tree_leaves(_plain(result)) if leaf is not None]


def _plain(tree: Any) -> Any:
    """A result as dicts and lists: an object that holds tensors, such as a cache, by its attributes."""
    if isinstance(tree, torch.Tensor | int | float | str | type(None)):
        return tree
    if isinstance(tree, dict):
        return {key: _plain(tree[key]) for key in tree}
    if isinstance(tree, tuple | list):
        return [_plain(item) for item in tree]
    return None


def difference(wanted: list[Any], got: list[Any]) -> str:
    """What differs between two flat results; empty where they agree as well as reordered sums can."""
    if len(wanted) != len(got):
        return f"{len(got)} results instead of {len(wanted)}"
    for index, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if not isinstance(a, torch.Tensor):
            if type(a) is not type(b) or a != b:
                return f"result {index} is {b!r} instead of {a!r}"
        elif not isinstance(b, torch.Tensor) or a.shape != b.shape or a.dtype != b.dtype:
            return f"result {index} is {_kind(b)} instead of {_kind(a)}"
        elif not torch.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE / 10, equal_nan=True):
            return f"result {index} differs by up to {(a.double() - b.double()).abs().max():.3g}"
    return ""


def _kind(value: Any) -> str:
    return f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


# -- reloading -------------------------------------------------------------------------------------------------

_SCRIPT = """
import pickle, sys, torch, tracepack
pipeline = tracepack.load(sys.argv[1])
feeds = torch.load(sys.argv[2])
torch.save([pipeline.run(feed) for feed in feeds], sys.argv[3])
"""


def _reloaded(pipeline: Any, feeds: Sequence[Inputs], elsewhere: bool) -> list[list[Any]]:
    if not elsewhere:
        file = io.BytesIO()
        pipeline.save(file)
        loaded = tracepack.load(file.getvalue())
        return [_flat(loaded.run(_copied(feed))) for feed in feeds]
    with tempfile.TemporaryDirectory() as folder:
        archive, given, results = (str(Path(folder) / name) for name in ("a.tpk", "in.pt", "out.pt"))
        pipeline.save(archive)
        torch.save(list(feeds), given)
        ran = subprocess.run(
            [sys.executable, "-c", _SCRIPT, archive, given, results], capture_output=True, text=True, check=False
        )
        if ran.returncode:
            raise RuntimeError(f"in a fresh process: {ran.stderr.strip().splitlines()[-1]}")
        return [_flat(result) for result in torch.load(results)]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of the libraries that the models come from."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(level)
