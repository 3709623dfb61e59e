"""Every operator of torch's own database, through trace, save, load and run, held against eager.

Two ways in: called in the processing function, which the recorder sees; and inside a module that is scripted, which
torch.export lowers. An operator is right if all its samples are, in every dtype tried.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch

import tracepack
from tests.campaigns.check import Check, Finding, Unusable
from tests.campaigns.journal import Journal, Record, found_by
from tests.campaigns.limit import SECONDS, Overdue, limited
from tests.campaigns.samples import UNINITIALISED, Entry, Sample, drawn, dtypes, entries, other_data, samples, variants
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, WRONG, Tally

SHARES = 120
SAMPLES_OF_SHARE = 3  # for each operator and dtype
SAMPLES_OF_MODULE = 2  # torch.export takes a hundred times as long as a recording
ALL = 10**9
_GRAVEST = (WRONG, ERROR, REFUSED, RIGHT)


def run(share: int | None = None, jobs: int = 2, most: int = ALL, fresh: bool = False) -> Tally:
    """The recorder's tally, over everything or one part of it."""
    tally = Tally("Operator database, called in the processing function", "operators", full=share is None)
    cap = most if share is None else SAMPLES_OF_SHARE
    if cap < ALL:
        tally.notes.append(f"Of each operator and dtype, up to {cap} samples or so were taken, spread over all.")
    return _run(tally, "operators", partial(recorded, cap=cap), share, jobs, cap, fresh)


def run_scripted(share: int | None = None, jobs: int = 2, most: int = ALL, fresh: bool = False) -> Tally:
    """The tally of the same operators inside scripted modules: the first samples in float32, or the first dtype."""
    tally = Tally("Operator database, inside a scripted module", "operators", full=share is None)
    cap = min(most, SAMPLES_OF_MODULE)
    tally.notes.append(f"Of each operator, the first {cap} samples in float32, or in the first dtype that it has.")
    return _run(tally, "scripted", partial(scripted, cap=cap), share, jobs, cap, fresh)


def _run(
    tally: Tally, name: str, find: Callable[[int], Record], share: int | None, jobs: int, cap: int, fresh: bool
) -> Tally:
    if share is None:
        numbers: Sequence[int] = range(len(entries()))
        records = list(Journal(f"{name}-{cap}" if cap < ALL else name, fresh).complete(numbers, find, jobs))
    else:
        records = [record for _, record in found_by(range(share % SHARES, len(entries()), SHARES), find, 1)]
    skipped = []
    for record in records:
        if record["outcome"]:
            tally.add(record["name"], record["outcome"], record["reason"], record["detail"])
        else:
            skipped.append(record["name"])
        tally.tried += record["tried"]
        tally.seconds += record["seconds"]
    if skipped:
        tally.notes.append(f"Not counted, since eager torch itself has no sample for a CPU: {', '.join(skipped)}.")
    return tally


# -- one operator ----------------------------------------------------------------------------------------------


def recorded(number: int, cap: int = ALL) -> Record:
    """What is found of an entry, called in the processing function."""
    entry = entries()[number]
    return _record(entry, _chosen(entry, cap), check_recorded)


def scripted(number: int, cap: int) -> Record:
    """What is found of an entry, called in a scripted module."""
    entry = entries()[number]
    kinds = dtypes(entry)
    first = torch.float32 if torch.float32 in kinds else next(iter(kinds), None)
    usable = (sample for sample in samples(entry, first) if sample.leaves) if first else ()
    return _record(entry, (s for s, _ in zip(usable, range(cap), strict=False)), check_scripted)


def _chosen(entry: Entry, cap: int) -> Iterator[Sample]:
    """Samples of every dtype: all, or so many spread over them."""
    for dtype in dtypes(entry):
        found = list(samples(entry, dtype))
        yield from found[:: max(1, len(found) // cap)]
        if dtype in (torch.float32, torch.int64):
            yield from variants(entry, dtype)


def _record(entry: Entry, chosen: Iterable[Sample], check: Callable[[Entry, Sample], Finding]) -> Record:
    """The gravest outcome of an operator's samples; none if there is no sample that eager takes."""
    start = time.process_time()
    counts: Counter[str] = Counter()
    first: dict[str, tuple[str, str]] = {}
    for sample in chosen:
        try:
            with limited():
                found = check(entry, sample)
        except Unusable:
            continue
        except Overdue:
            found = Finding(ERROR, f"no answer within {SECONDS} s")
        counts[found.outcome] += 1
        first.setdefault(found.outcome, (found.reason, sample.label))
    outcome = next((kind for kind in _GRAVEST if counts[kind]), "")
    reason, label = first.get(outcome, ("", ""))
    detail = f"{counts[outcome]} of {counts.total()} samples, first {label}" if outcome not in (RIGHT, "") else ""
    return {
        "name": entry.name, "outcome": outcome, "reason": reason, "detail": detail, "tried": counts.total(),
        "seconds": time.process_time() - start,
    }  # fmt: skip


def check_recorded(entry: Entry, sample: Sample) -> Finding:
    """One sample, called in the processing function; random operators draw from a generator that is seeded."""
    values = entry.name.split(".")[0] not in UNINITIALISED
    others = [other_data(sample.leaves)]
    found = Check(sample.process, sample.leaves, values=values).run(others)
    if found.outcome == REFUSED and "random numbers" in found.reason:
        return Check(drawn(sample.process), sample.leaves, values=values).run(others)
    return found


class _Module(torch.nn.Module):
    def __init__(self, process: Callable[..., Any]) -> None:
        super().__init__()
        self.process = process

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.process(*tensors)


def check_scripted(entry: Entry, sample: Sample) -> Finding:
    """One sample inside a scripted module; its outputs are made contiguous, as the rule of ops asks."""
    values = entry.name.split(".")[0] not in UNINITIALISED
    op = tracepack.script(_Module(sample.process), device="cpu", contiguous=True)

    def process(*tensors: torch.Tensor) -> Any:
        return op(*tensors)

    check = Check(process, sample.leaves, values=values, eager=lambda *given: _contiguous(sample.process(*given)))
    return check.run([other_data(sample.leaves)])


def _contiguous(tree: Any) -> Any:
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.contiguous(), tree)
