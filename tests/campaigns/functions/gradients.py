"""Random functions with gradients: pipelines loaded with `grad=True`, held against autograd of the plain function.

Results, whether they require gradients, and the gradient of every input and weight count, and also which of them
get none. A function whose gradients no graph keeps is refused at load.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

import tracepack
from tests.campaigns.check import GOOD, Finding, Unusable, copies, difference, one_line
from tests.campaigns.functions.batches import counted, examine, records
from tests.campaigns.functions.programs import Program, differentiable
from tests.campaigns.functions.surroundings import packed, plain
from tests.campaigns.journal import Record
from tests.campaigns.tally import ERROR, REFUSED, WRONG, Tally

BATCHES = 50  # of a full run, each with a seed of its own
BOTH, FIRST, SECOND = (True, True), (True, False), (False, True)
REFUSALS = (tracepack.GuardError, tracepack.SignatureError)


@dataclass(frozen=True)
class Answer:
    """A result, and the gradients of inputs and weights; None for one that gets none."""

    result: Any
    gradients: dict[str, torch.Tensor | None]


def check(program: Program) -> Finding:
    """One program, held against its pipeline.

    Raises:
        Unusable: eager does not take the example, or cannot differentiate it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        example = program.inputs(3)
        try:
            _python(program, example, BOTH)
        except Exception as error:
            raise Unusable(one_line(error)) from error
        try:
            file = io.BytesIO()
            tracepack.trace(program.function(packed), *copies(example)).save(file)
            loaded = tracepack.load(file.getvalue(), grad=True)
        except tracepack.TracepackError as error:
            return Finding(REFUSED, one_line(error), error.what)
        except Exception as error:
            return Finding(ERROR, one_line(error))
        calls = [(example, BOTH), (example, FIRST), (example, SECOND), (example, BOTH)]
        calls += [(call.leaves, (BOTH, FIRST, SECOND)[n % 3]) for n, call in enumerate(program.others())]
        return _held(program, loaded, calls)


def _held(program: Program, loaded: Any, calls: Sequence[Any]) -> Finding:
    """Every call held against Python's, each from the state in which both begin."""
    for number, (leaves, asked) in enumerate(calls):
        loaded.reset()
        try:
            wanted = _python(program, leaves, asked)
        except Exception:
            continue
        try:
            got = _answer(loaded, leaves, asked, {name.split(".", 1)[1]: w for name, w in loaded.weights().items()})
        except REFUSALS as error:
            if number in (0, 3) and "requires_grad" not in str(error):  # what the function asks for is another answer
                return Finding(ERROR, f"refuses its own example: {one_line(error)}")
            continue
        except tracepack.NodeError as error:
            caught = "try:" in program.source and (number not in (0, 3) or "leaf Variable" in str(error))
            if caught:  # by Python; that of an input which requires gradients was none when it was traced
                continue
            return Finding(ERROR, f"call {number}, {asked}: {one_line(error)}")
        except Exception as error:
            return Finding(ERROR, f"call {number}, {asked}: {one_line(error)}")
        found = _difference(wanted, got)
        if found:
            return Finding(WRONG, f"call {number}, {asked}: {found}")
    return GOOD


def _python(program: Program, leaves: Sequence[Any], asked: tuple[bool, bool]) -> Answer:
    namespace = program.namespace(plain)
    weights = {name: w for model in namespace["models"].values() for name, w in model.named_parameters()}
    return _answer(namespace["process"], leaves, asked, weights)


def _answer(process: Any, leaves: Sequence[Any], asked: tuple[bool, bool], weights: dict[str, torch.Tensor]) -> Answer:
    """Calls a function and differentiates what it gives, by inputs and weights."""
    given = copies(leaves)
    inputs = {}
    for name, leaf, wants in zip("xy", given, asked, strict=False):
        if wants and leaf.is_floating_point():
            inputs[name] = leaf.requires_grad_()
    with torch.enable_grad():
        result = process(*given)
        tensors = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        totals = [_total(tensor) for tensor in tensors]
    wanted = {**inputs, **weights}
    found: Sequence[torch.Tensor | None] = [None] * len(wanted)
    if totals and wanted:
        found = torch.autograd.grad(totals, list(wanted.values()), allow_unused=True)
    return Answer(result, dict(zip(wanted, found, strict=True)))


def _total(tensor: torch.Tensor) -> torch.Tensor:
    """A number that every element moves by another amount."""
    flat = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    flat = flat.double().reshape(-1)
    return (flat * torch.linspace(0.5, 1.5, max(1, flat.numel()), dtype=torch.float64)[: flat.numel()]).sum()


def _difference(wanted: Answer, got: Answer) -> str:
    """What differs, results and gradients; rounding does not count."""
    found = difference(_detached(wanted.result), _detached(got.result), near=True)
    if found:
        return found
    pairs = zip(pytree.tree_leaves(wanted.result), pytree.tree_leaves(got.result), strict=True)
    for number, (a, b) in enumerate(pairs):
        if isinstance(a, torch.Tensor) and a.requires_grad != b.requires_grad:
            return f"result {number} requires {'a' if b.requires_grad else 'no'} gradient"
    for name, gradient in wanted.gradients.items():
        found = _gradient_difference(gradient, got.gradients.get(name))
        if found:
            return f"the gradient of {name}: {found}"
    return ""


def _gradient_difference(wanted: torch.Tensor | None, got: torch.Tensor | None) -> str:
    if wanted is None or got is None:
        return (
            ""
            if wanted is got
            else f"{'none' if got is None else 'one'} instead of {'none' if wanted is None else 'one'}"
        )
    finite = wanted[wanted.isfinite()].double().abs()
    scale = float(finite.max()) if finite.numel() else 0.0
    loose = 1e-3 if wanted.dtype.itemsize > 2 else 3e-2
    near = torch.allclose(wanted.double(), got.double(), rtol=loose, atol=loose * 1e-1 * scale + 1e-9, equal_nan=True)
    return "" if near and wanted.dtype == got.dtype else f"{got} instead of {wanted}"


def _detached(tree: Any) -> Any:
    return pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, tree)


def run(share: int | None = None, jobs: int = 2, fresh: bool = False) -> Tally:
    """The tally of many programs, or of a part with seeds of its own."""
    tally = Tally("Random functions with gradients", "functions", full=share is None)
    tally.notes.append(
        "Each is loaded with grad=True and differentiated by one input, the other, or both, and by the weights of its "
        "models: on the example and on other data, strides and sizes. Which of them get no gradient counts, too."
    )
    return counted(tally, records("gradients", BATCHES, batch, share, jobs, fresh))


def batch(number: int) -> Record:
    """What is found of the programs that Hypothesis writes from one seed."""
    return examine(number, differentiable(), check)
