"""Every operator of torch's own database, through trace, save, load and run, held against eager.

Two ways in: called in the processing function, which the recorder sees; and inside a module that is scripted, which
torch.export lowers. An operator is right if all its samples are, in every dtype tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

import tracepack
from tests.campaigns.check import Check, Finding, Unusable
from tests.campaigns.samples import UNINITIALISED, Entry, Sample, drawn, dtypes, entries, other_data, samples, variants
from tests.campaigns.tally import ERROR, REFUSED, RIGHT, WRONG, Tally

SHARES = 120
SAMPLES_OF_SHARE = 3  # for each operator and dtype
_GRAVEST = (WRONG, ERROR, REFUSED, RIGHT)


def run(share: int | None = None, jobs: int = 2, most: int = 10**9) -> Tally:
    """The recorder's tally, over everything or one part of it."""
    tally = Tally("Operator database, called in the processing function", "operators", full=share is None)
    return _run(tally, _recorded, share, jobs, most)


def run_scripted(share: int | None = None, jobs: int = 2, most: int = 10**9) -> Tally:
    """The tally of the same operators inside scripted modules: the first samples in float32, or the first dtype."""
    tally = Tally("Operator database, inside a scripted module", "operators", full=share is None)
    return _run(tally, _scripted, share, jobs, most)


Job = Callable[[int, int], "Outcome | None"]
Outcome = tuple[str, str, str, str, int]  # name, outcome, reason, detail, number of samples


def _run(tally: Tally, job: Job, share: int | None, jobs: int, most: int) -> Tally:
    total = len(entries())
    numbers = range(total) if share is None else range(share % SHARES, total, SHARES)
    cap = most if share is None else SAMPLES_OF_SHARE
    checked, skipped = 0, []
    for number, found in zip(numbers, _map(job, list(numbers), cap, jobs if share is None else 1), strict=True):
        if found is None:
            skipped.append(entries()[number].name)
            continue
        name, outcome, reason, detail, count = found
        tally.add(name, outcome, reason, detail)
        checked += count
    tally.notes.append(f"{checked} samples were run, each traced, saved, loaded and run again on other data.")
    if cap < 10**9:
        tally.notes.append(f"Of each operator and dtype, up to {cap} samples or so were taken, spread over all.")
    if skipped:
        tally.notes.append(f"Not counted, since eager torch itself has no sample for a CPU: {', '.join(skipped)}.")
    return tally


def _map(job: Job, numbers: list[int], cap: int, jobs: int) -> Iterator[Outcome | None]:
    caps = [cap] * len(numbers)
    if jobs == 1:
        yield from map(job, numbers, caps)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_quiet) as pool:
        yield from pool.map(job, numbers, caps, chunksize=4)


def _quiet() -> None:
    import warnings

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)


# -- one operator ----------------------------------------------------------------------------------------------


def _recorded(number: int, cap: int) -> Outcome | None:
    entry = entries()[number]
    return _outcome(entry, _chosen(entry, cap), check_recorded)


def _scripted(number: int, cap: int) -> Outcome | None:
    entry = entries()[number]
    kinds = dtypes(entry)
    first = torch.float32 if torch.float32 in kinds else next(iter(kinds), None)
    if first is None:
        return None
    usable = (s for s in samples(entry, first) if s.leaves)
    return _outcome(entry, (s for s, _ in zip(usable, range(min(cap, 2)), strict=False)), check_scripted)


def _chosen(entry: Entry, cap: int) -> Iterator[Sample]:
    """Samples of every dtype: all, or so many spread over them."""
    for dtype in dtypes(entry):
        found = list(samples(entry, dtype))
        yield from found[:: max(1, len(found) // cap)]
        if dtype in (torch.float32, torch.int64):
            yield from variants(entry, dtype)


def _outcome(entry: Entry, chosen: Iterator[Sample], check: Callable[[Entry, Sample], Finding]) -> Outcome | None:
    """The gravest outcome of an operator's samples."""
    counts: Counter[str] = Counter()
    first: dict[str, tuple[str, str]] = {}
    for sample in chosen:
        try:
            found = check(entry, sample)
        except Unusable:
            continue
        counts[found.outcome] += 1
        first.setdefault(found.outcome, (found.reason, sample.label))
    if not counts:
        return None
    outcome = next(kind for kind in _GRAVEST if counts[kind])
    reason, label = first[outcome]
    total = sum(counts.values())
    detail = "" if outcome == RIGHT else f"{counts[outcome]} of {total} samples, first {label}"
    return entry.name, outcome, reason, detail, total


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
