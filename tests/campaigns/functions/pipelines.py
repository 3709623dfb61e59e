"""Random processing functions: Hypothesis writes them, and Python and the pipeline must never answer differently.

Run on the example, on other data and at other sizes; there a guard may refuse, but an answer must be Python's.
"""

from __future__ import annotations

import warnings

from tests.campaigns.check import Check, Finding, default_dtype
from tests.campaigns.functions.batches import counted, examine, records
from tests.campaigns.functions.programs import Program, programs
from tests.campaigns.functions.surroundings import packed
from tests.campaigns.journal import Record
from tests.campaigns.tally import Tally

BATCHES = 200  # of a full run, each with a seed of its own


def check(program: Program) -> Finding:
    """One program, held against its pipeline.

    Raises:
        Unusable: eager does not take the example.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with default_dtype(program.default):
            made = program.function(packed)
        held = Check(
            made, program.inputs(3), catches="try:" in program.source, make=program.function,
            stateful=program.stateful, default=program.default,
        )  # fmt: skip
        return held.run(program.others())


def run(share: int | None = None, jobs: int = 2, fresh: bool = False) -> Tally:
    """The tally of many programs, or of a part with seeds of its own."""
    tally = Tally("Random processing functions", "functions", full=share is None)
    tally.notes.append(
        "Each is called in a row, and so is a function of Python with a state of its own: on the example, on other "
        "data, with other strides, flags and numbers, with one tensor given twice, at other sizes, 0 and 1 among them, "
        "under another default dtype, and on the example again."
    )
    return counted(tally, records("pipelines", BATCHES, batch, share, jobs, fresh))


def batch(number: int) -> Record:
    """What is found of the programs that Hypothesis writes from one seed."""
    return examine(number, programs(), check)
