"""The recording of one side of a choice, or of a condition or body of a loop: on copies of the operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import _pop_mode_temporarily
from torch.utils import _pytree as pytree

from ....ops.graph.errors import LoweringError, RecordError, SignatureError, TracepackError
from ....ops.tracing_hook import recording
from ...proxies.branches import of_both
from ...proxies.trees import concrete
from ...recheck.reach.objects import Objects
from ...recheck.vary import clones
from ...rules.gradients import follow_grad_mode
from ..branch import FAILS, Branch, BranchRecording, kind_of_result, may_be_none, names_of_members
from ..effects import Watch
from ..leaves.known_results import is_known_elsewhere
from ..leaves.spare_data import LEVELS, SpareData
from ..recorder import Recorder


class SideRecorder:
    """Records functions into a recording that runs.

    Args:
        recorder: of that.
        line: of the choice or the loop.
        error: makes one of what is wrong.
    """

    def __init__(self, recorder: Recorder, line: Any, error: Callable[..., RecordError]) -> None:
        self.recorder, self.line, self.error = recorder, line, error

    def record(
        self, function: Callable[..., Any], leaves: Sequence[Any], spec: Any, *, carried: bool, untaken: bool = False,
        data: SpareData | None = None,
    ) -> BranchRecording:  # fmt: skip
        """Records the function; on other data where it fails, and the example spares it.

        Args:
            function: the branch, the condition or the body.
            leaves: the operands.
            spec: their containers.
            carried: whether a loop carries them.
            untaken: whether the example does not take it.
            data: the other data.

        Raises:
            RecordError: it fails on all data, or does what no graph holds.
        """
        branch, objects = Branch(self.recorder, untaken, data), Objects(function, most=1000)
        with torch._C.DisableTorchFunction():
            copies = clones(concrete(list(leaves)))
            copies = [data.of(leaf) if data and isinstance(leaf, torch.Tensor) else leaf for leaf in copies]
            pairs = [branch.operand(*both, carried, self.error) for both in zip(leaves, copies, strict=True)]
        try:
            with _pop_mode_temporarily(), recording(branch), Watch(branch), branch:
                handed = pytree.tree_unflatten([each for _, each in pairs], spec)
                given = function(*handed)
                known = not carried and is_known_elsewhere(given)
                if known:
                    branch.values.keep(given, self.line)
                results, found = pytree.tree_flatten(given)
                results, members = (results, []) if carried else names_of_members(results)
                output = branch.outputs(results)
        except Exception as error:
            if isinstance(error, TracepackError) and not isinstance(error, LoweringError | SignatureError):
                raise
            level, error = (data.level, data.error) if data else (0, error)
            if untaken and level < LEVELS:
                other = SpareData(level + 1, error)
                return self.record(function, leaves, spec, carried=carried, untaken=True, data=other)
            if isinstance(error, TracepackError):  # of a model that it calls
                raise error from None
            raise self.error(f"{FAILS}: {type(error).__name__}: {error}") from error
        if branch.refused is not None:  # the function caught the refusal
            raise branch.refused
        branch.rounds.refuse_open()
        self.recorder.failed = self.recorder.failed or branch.failed
        self.recorder.plainly_used = of_both(self.recorder.plainly_used, branch.plainly_used)
        branch.refuse_outer_writes(self.line)
        self._refuse_changes(objects)
        branch.grad_mode = self.recorder.grad_mode
        follow_grad_mode(branch)
        self.recorder.asked |= branch.asked
        with torch._C.DisableTorchFunction():
            kinds = [kind_of_result(leaf if may_be_none(leaf) else concrete(leaf)) for leaf in results]
        inputs = [value for value, _ in pairs if value is not None]
        return BranchRecording(inputs, branch.nodes, output, kinds, found, branch.lifted, results, members, known)

    def _refuse_changes(self, objects: Objects) -> None:
        """Refuses a branch that changes a Python object: a trace runs both branches, Python runs one."""
        changes = objects.changes()
        if changes:
            objects.restore()
            place, key = changes[0]
            raise self.error(f"a branch changes {place.name} outside of it{f' at {key!r}' if key else ''}")
