"""While a model is exported, what it asks about its export is answered as in a plain run."""

from __future__ import annotations

from ..lock import Patched
from . import mode_questions, plain_types, size_choices, size_identity
from .askers import Heard, hearing


class PlainAnswers(Patched):
    """While it is entered, the model that this thread exports gets the answers of a plain run.

    Args:
        heard: keeps what the model asks.
    """

    def __init__(self, heard: Heard) -> None:
        identity = size_identity.PATCHES if heard.compares_bools else ()
        super().__init__(*plain_types.PATCHES, *mode_questions.PATCHES, *size_choices.PATCHES, *identity)
        self.heard = heard

    def make(self) -> None:
        """Begins to answer."""
        hearing.append(self.heard)
        super().make()

    def undo(self) -> None:
        """Answers no more."""
        super().undo()
        if self.heard in hearing:
            hearing.remove(self.heard)
