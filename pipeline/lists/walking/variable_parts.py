"""How the variables of one loop are laid out: each by the parts of what it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....ops.graph.types import SCALARS
from ...proxies.trees import concrete
from ...proxies.values.maybe import MaybeThing
from ...recording.recorder import Recorder
from ..carried import Carried
from .laid_out import PlainPart, form_of


class VariableParts:
    """How the variables of one loop are laid out.

    Args:
        recorder: of the recording.
        values: the variables before the loop.
        names: what is known of them.
    """

    def __init__(self, recorder: Recorder, values: Sequence[Any], names: Carried) -> None:
        self.recorder, self.given, self.names = recorder, tuple(values), names
        self.forms = [form_of(recorder, value) for value in values]
        self.samples: list[Any] = [sample for form in self.forms for sample in form.samples()]

    def flat_names(self) -> Carried:
        """What is known of the parts."""
        known, at = self.names, 0
        places = list[range]()
        for form in self.forms:
            count = len(list(form.samples()))
            places.append(range(at, at := at + count))

        def of_parts(some: frozenset[int], whole: bool = True) -> frozenset[int]:
            return frozenset(
                part for place in some if not whole or type(self.forms[place]) is PlainPart for part in places[place]
            )

        names = tuple(name for name, parts in zip(known.names, places, strict=False) for _ in parts)
        growing, read, later = map(of_parts, (known.growing, known.read, known.later))
        unread, shared, deep = (of_parts(some, whole=False) for some in (known.unread, known.shared, known.deep))
        return Carried(names, growing, read, later, unread, known.left, shared, deep, of_parts(known.known))

    def holds_whole(self, part: int) -> bool:
        """Whether a part is all that a variable holds, so that its code may change a container in place."""
        counts = [len(list(form.samples())) for form in self.forms]
        return any(sum(counts[:at]) == part and type(form) is PlainPart for at, form in enumerate(self.forms))

    def grows(self, values: Sequence[Any], branches: bool) -> bool:
        """Whether the variables after a round need other forms, of which it takes note."""
        pairs = zip(self.forms, values, strict=True)
        forms = [form.grown(self.recorder, value, branches) for form, value in pairs]
        if all(a is b for a, b in zip(forms, self.forms, strict=True)):
            return False
        self.forms = forms
        self.samples = [sample for form in forms for sample in form.samples()]
        return True

    def unlike(self, values: Sequence[Any]) -> tuple[Any, Any] | None:
        """A variable before the loop and after a round, which is laid out otherwise then."""
        triples = zip(self.given, self.forms, values, strict=True)
        return next(((start, value) for start, form, value in triples if not form.fits(value)), None)

    def flat(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The parts of the variables."""
        return tuple(part for form, value in zip(self.forms, values, strict=True) for part in form.flat(value))

    def loosely(self, values: Sequence[Any]) -> list[Any]:
        """The parts of variables, some of which are laid out otherwise: ellipses stand for their parts."""
        found = list[Any]()
        for form, value in zip(self.forms, values, strict=True):
            found += form.flat(value) if form.fits(value) else [...] * len(list(form.samples()))
        return found

    def packed(self, parts: Sequence[Any], decide: Callable[[Any], bool] | None) -> tuple[Any, ...]:
        """The variables of some parts.

        Args:
            parts: the parts.
            decide: goes both ways in a round; None after the loop.
        """
        rest = iter(parts)

        def in_round(missing: Any, thing: Any) -> Any:
            assert decide is not None
            return None if (missing if type(missing) is bool else decide(missing)) else thing

        def afterwards(missing: Any, thing: Any) -> Any:
            if type(missing) is bool:
                return None if missing else thing
            if type(concrete(thing)) not in SCALARS:
                return MaybeThing(self.recorder, missing, thing)
            return self.recorder.scalar("getitem", [thing, None], missing)

        found = list[Any]()
        for place, form in enumerate(self.forms):
            after = (lambda missing, thing: None) if place in self.names.unread else afterwards
            found.append(form.packed(rest, in_round if decide is not None else after))
        return tuple(found)
