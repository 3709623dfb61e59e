"""Watches the ATen operators that one torch function runs.

Operators carry tags: some draw random numbers, some give a shape that data decides. The tags are exact, whatever Python
function called the operators.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import SourceLine
from ...ops.graph.traverse import leaves
from ..proxies.tracer import Tracer
from ..rules.advice.draws_in_loops import drawn_before_loop
from ..rules.advice.plain_models import DRAWS, OF_LOADER, form_for_loader


class Effects(TorchDispatchMode):
    """Watches the operators that run while it is entered.

    Attributes:
        varying: whether an operator gave a shape or a value that data decides.
    """

    def __init__(self, line: SourceLine | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.line = line
        self.varying = self.random = False
        self._state: Any = None
        self._on_card: Any = None

    def __enter__(self) -> Any:
        self._state, self._on_card = torch.get_rng_state(), _state_on_card()
        return super().__enter__()  # type: ignore[no-untyped-call]  # torch leaves it untyped

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        if torch.Tag.dynamic_output_shape in func.tags or torch.Tag.data_dependent_output in func.tags:
            self.varying = True
        self.random = self.random or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))

    @property
    def before(self) -> Any:
        """The state of torch's global generator before."""
        return self._state

    def drew(self) -> bool:
        """Whether a random operator ran, and torch's global generator changed, which another thread may have done."""
        return self.random and not torch.equal(self._state, torch.get_rng_state())

    def refuse_random_on_card(self, name: str) -> None:
        """Refuses a draw from the global generator of a card, of which no file can hold one.

        Raises:
            RecordError: there was one.
        """
        if self.random and self._on_card is not None and not torch.equal(self._on_card, _state_on_card()):
            torch.cuda.set_rng_state(self._on_card)
            raise RecordError(
                f"{name} draws random numbers on the accelerator, so that no two runs agree",
                where=str(self.line or ""),
                fix="Draw on the CPU, as torch.randn(x.shape, generator=generator).to(x.device) does, or take the "
                "numbers as an input.",
            )

    def refuse_random(self, name: str) -> NoReturn:
        """Refuses a draw from torch's global generator, whose state is restored.

        Raises:
            RecordError: always.
        """
        torch.set_rng_state(self._state)
        if form := form_for_loader():
            raise RecordError(OF_LOADER, where=str(self.line or ""), fix=form)
        raise RecordError(
            f"{name} {DRAWS}, so that no two runs agree",
            where=str(self.line or ""),
            fix=f"{form}, with generator = torch.Generator() before the function."
            if (form := drawn_before_loop(self.line, "generator"))
            else _DRAWING,
        )


_DRAWING = (
    "Draw inside `with tracepack.drawing(generator):`, with generator = torch.Generator() before the function, or take "
    "the numbers as an input."
)


def _state_on_card() -> Any:
    cuda: Any = torch.cuda  # which torch leaves untyped in parts
    return cuda.get_rng_state() if cuda.is_initialized() else None


class Watch(TorchDispatchMode):
    """Refuses an operator that runs on a tensor of the recording where the recorder does not record it."""

    def __init__(self, recorder: Tracer) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every operator."""
        recorder = self.recorder
        if not recorder.busy and any(leaf in recorder.values for leaf in leaves((args, kwargs or {}))):
            recorder.refuse(
                f"{func} ran on a tensor of the recording inside something that the recorder does not see",
                "Script the TorchScript function or the extension that calls it.",
            )
        return func(*args, **(kwargs or {}))
