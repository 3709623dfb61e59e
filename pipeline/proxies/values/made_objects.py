"""Objects that a loop makes, as the items of a list of the graph: the graph holds their attributes, in tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..byte_strings import form_of_bytes
from ..loops.copies import Copies
from ..tracer import Tracer
from .members import MemberForm, members_of
from .plain_objects import ObjectForm, form_of_alike, is_object, names_of


@dataclass(frozen=True)
class MadeForm:
    """How objects that one loop made stand in a list: as constants that are objects do.

    Attributes:
        form: of the objects; inner: those of their attributes that are objects, by name.
        copies: takes note of what the code gets for an item.
    """

    form: ObjectForm
    inner: dict[str, MadeForm]
    copies: Copies

    @property
    def is_record(self) -> bool:
        """Whether the tuple is all that there is of an object, so that it may be a result."""
        return self.form.is_record and all(each.is_record for each in self.inner.values())

    @property
    def kind(self) -> type:
        """The class of the objects."""
        return self.form.kind

    @property
    def classes(self) -> frozenset[type]:
        """The class of the objects, and those of the objects that they hold."""
        return self.form.classes.union(*(each.classes for each in self.inner.values()))

    @property
    def is_compared_otherwise(self) -> bool:
        """Whether Python does not compare the objects as it does the tuples, item by item."""
        return self.form.is_compared_otherwise or any(each.is_compared_otherwise for each in self.inner.values())

    def plain(self, thing: Any) -> Any:
        """The tuple of an object."""
        found = self.form.plain(thing)
        parts = [
            self.inner[name].plain(part) if name in self.inner else part
            for name, part in zip(self.form.names, found, strict=True)
        ]
        return type(found)(*parts) if self.form.is_record else tuple(parts)

    def __call__(self, parts: Sequence[Any]) -> Any:
        """The object around the parts of a tuple."""
        pairs = zip(self.form.names, parts, strict=True)
        found = self.form([self.inner[name](part) if name in self.inner else part for name, part in pairs])
        self.copies.add(found, {name: getattr(found, name) for name in names_of(found)})
        return found


def form_of_made(found: Sequence[Any], copies: Copies) -> MadeForm | None:
    """The form of objects of one class that a loop made, one on each way; None for anything else."""
    first = found[0] if found else None
    kinds = {(type(each), names_of(each)) if is_object(each) else None for each in found}
    if len(kinds) != 1 or None in kinds:
        return None
    columns = {name: [getattr(each, name) for each in found] for name in names_of(first)}
    forms = {name: form_of_made(column, copies) for name, column in columns.items()}
    inner = {name: form for name, form in forms.items() if form is not None}
    return MadeForm(form_of_alike(first), inner, copies)


def form_of_results(recorder: Tracer, found: Sequence[Any]) -> Any:
    """The form of what a loop gives on its ways, that is members of an Enum, bytes or other objects; else None."""
    kind = members_of(found)
    made = form_of_made(found, recorder.rounds.copies) if kind is None else MemberForm(recorder, kind)
    return made or form_of_bytes(recorder, found)
