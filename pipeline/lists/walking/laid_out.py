"""How a loop lays out what its variables hold: the parts of tuples one by one, members of an Enum by what stands for
them, and what is None at times as whether it is None, and what it is else.

A round begins with the question whether it is None, and goes both ways: on one of them the code has None itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....ops.graph.types import SCALARS
from ...proxies.base import is_traced
from ...proxies.make import TracedOptional
from ...proxies.trees import concrete, same_container
from ...proxies.values.maybe import MaybeThing
from ...proxies.values.members import MemberForm, member_kind
from ...proxies.values.plain_objects import form_of_alike, held_in, is_object, names_of
from ...recording.recorder import Recorder

Choose = Callable[[Any, Any], Any]
"""What gives None or a thing, by whether it is None."""
OF_TUPLE = "Carry its parts, or start with a list, [], and add to it: items += [item]."
"""What to write for a tuple that a loop makes longer, or another one of."""


class PlainPart:
    """How a thing is laid out: as it is.

    Args:
        start: what the variable begins with.
        sample: what it is on the example later on, where it begins with None.
    """

    def __init__(self, start: Any, sample: Any = ...) -> None:
        self.start, self.sample = start, sample

    def fits(self, thing: Any) -> bool:
        """Whether a thing can be laid out so."""
        return True

    def grown(self, recorder: Recorder, thing: Any, branches: bool) -> PlainPart:
        """The form that also takes a thing that a round made; this one where that does, or where none does.

        Args:
            recorder: of the recording.
            thing: what it made.
            branches: whether there are other rounds, which may make another thing.
        """
        sample = concrete(self.start) if self.sample is ... else self.sample
        if type(thing) is TracedOptional and (sample is None or type(sample) is type(thing.sample)):
            return MaybeParts(PlainPart(None, thing.sample))
        if thing is None and type(sample) in SCALARS:
            return MaybeParts(PlainPart(None, sample))
        if sample is None and thing is not None and branches and (found := _later(recorder, thing)) is not None:
            return MaybeParts(found)
        if thing is not self.start and is_object(thing) and type(thing) is type(self.start):
            return ObjectParts(recorder, self.start, [form_of(recorder, item) for item in held_in(self.start)])
        return self

    def flat(self, thing: Any) -> Iterator[Any]:
        """The parts of a thing."""
        yield thing

    def packed(self, parts: Iterator[Any], choose: Choose) -> Any:
        """The thing of some parts."""
        return next(parts)

    def samples(self) -> Iterator[Any]:
        """What each part is on the example later on; an ellipsis where it begins as that."""
        yield self.sample

    def empty(self) -> Iterator[Any]:
        """What each part may be where the thing is None."""
        yield type(self.sample)()


class MemberParts(PlainPart):
    """A member of an Enum.

    Args:
        form: how it stands in a list.
    """

    def __init__(self, form: MemberForm) -> None:
        super().__init__(None)
        self.form = form

    def fits(self, thing: Any) -> bool:
        """Whether it is a member of that Enum."""
        return member_kind(thing) is self.form.kind

    def grown(self, recorder: Recorder, thing: Any, branches: bool) -> PlainPart:
        """With None, where it is None."""
        return MaybeParts(self) if thing is None else self

    def flat(self, thing: Any) -> Iterator[Any]:
        """Its name or its value."""
        yield self.form.plain(thing)

    def packed(self, parts: Iterator[Any], choose: Choose) -> Any:
        """The member of a name or a value."""
        key = next(parts)
        members = [] if is_traced(key) else [each for each in self.form.kind if self.form.plain(each) == key]
        return members[0] if members else self.form(key)

    def empty(self) -> Iterator[Any]:
        """As the first member."""
        yield self.form.plain(next(iter(self.form.kind)))

    def samples(self) -> Iterator[Any]:
        """As it begins."""
        yield ...


class TupleParts(PlainPart):
    """A tuple, or a namedtuple.

    Args:
        like: one.
        parts: the forms of its parts.
    """

    def __init__(self, like: tuple[Any, ...], parts: Sequence[PlainPart]) -> None:
        super().__init__(like)
        self.parts = parts

    def fits(self, thing: Any) -> bool:
        """Whether it is such a tuple, of as many parts."""
        return self._is_alike(thing) and all(part.fits(item) for part, item in self._pairs(thing))

    def _is_alike(self, thing: Any) -> bool:
        """Whether it is of the same class, with as many parts."""
        return type(thing) is type(self.start) and len(thing) == len(self.parts)

    def _pairs(self, thing: Any) -> Iterator[tuple[PlainPart, Any]]:
        """The forms, each with its part."""
        return zip(self.parts, thing, strict=True)

    def _with(self, recorder: Recorder, parts: Sequence[PlainPart]) -> PlainPart:
        """The same with other forms."""
        return TupleParts(self.start, parts)

    def grown(self, recorder: Recorder, thing: Any, branches: bool) -> PlainPart:
        """With None, or with other parts."""
        if thing is None:
            return MaybeParts(self)
        if type(thing) is MaybeThing:
            return MaybeParts(self.grown(recorder, thing.thing, branches))
        if not self._is_alike(thing):
            return self
        parts = [part.grown(recorder, item, branches) for part, item in self._pairs(thing)]
        same = all(a is b for a, b in zip(parts, self.parts, strict=True))
        return self if same else self._with(recorder, parts)

    def flat(self, thing: Any) -> Iterator[Any]:
        """Its parts, and those of its parts."""
        for part, item in self._pairs(thing):
            yield from part.flat(item)

    def packed(self, parts: Iterator[Any], choose: Choose) -> Any:
        """A tuple of the same class."""
        return same_container(self.start, [part.packed(parts, choose) for part in self.parts])

    def samples(self) -> Iterator[Any]:
        """Those of its parts."""
        for part in self.parts:
            yield from part.samples()

    def empty(self) -> Iterator[Any]:
        """Those of its parts."""
        for part in self.parts:
            yield from part.empty()


class ObjectParts(TupleParts):
    """An object of a plain class, by its attributes; a round gets a copy, which nobody may change.

    Args:
        recorder: of the recording.
        like: one.
        parts: the forms of its attributes.
    """

    def __init__(self, recorder: Recorder, like: Any, parts: Sequence[PlainPart]) -> None:
        super().__init__(like, parts)
        self.form, self.copies = form_of_alike(like), recorder.rounds.copies

    def _is_alike(self, thing: Any) -> bool:
        return type(thing) is type(self.start) and names_of(thing) == self.form.names

    def _pairs(self, thing: Any) -> Iterator[tuple[PlainPart, Any]]:
        return zip(self.parts, held_in(thing), strict=True)

    def _with(self, recorder: Recorder, parts: Sequence[PlainPart]) -> PlainPart:
        return ObjectParts(recorder, self.start, parts)

    def packed(self, parts: Iterator[Any], choose: Choose) -> Any:
        """A copy of the object around the attributes."""
        found = self.form([part.packed(parts, choose) for part in self.parts])
        self.copies.add(found, {name: getattr(found, name) for name in self.form.names})
        return found


class MaybeParts(PlainPart):
    """What is None at times: whether it is, and its parts.

    Args:
        inner: the form of it where it is not None.
    """

    def __init__(self, inner: PlainPart) -> None:
        super().__init__(None)
        self.inner = inner

    def fits(self, thing: Any) -> bool:
        """Whether it is None, or laid out so."""
        inner = thing.thing if type(thing) is MaybeThing else thing
        return thing is None or type(thing) is TracedOptional or self.inner.fits(inner)

    def grown(self, recorder: Recorder, thing: Any, branches: bool) -> PlainPart:
        """With another form of what it is else."""
        if thing is None or type(thing) is TracedOptional:
            return self
        thing = thing.thing if type(thing) is MaybeThing else thing
        found = self.inner.grown(recorder, thing, branches)
        return self if found is self.inner else MaybeParts(found)

    def flat(self, thing: Any) -> Iterator[Any]:
        """Whether it is None, and the parts."""
        if type(thing) is TracedOptional:
            yield thing == None  # noqa: E711  # it is recorded
            yield from self.inner.flat(thing.known())
            return
        if type(thing) is MaybeThing:
            yield thing.missing
            yield from self.inner.flat(thing.thing)
            return
        yield thing is None
        yield from self.empty_parts() if thing is None else self.inner.flat(thing)

    def empty_parts(self) -> Iterator[Any]:
        """The parts that stand beside None."""
        return self.inner.empty()

    def packed(self, parts: Iterator[Any], choose: Choose) -> Any:
        """None, or the thing."""
        missing = next(parts)
        return choose(missing, self.inner.packed(parts, choose))

    def samples(self) -> Iterator[Any]:
        """As it begins, and those of the parts."""
        yield ...
        yield from self.inner.samples()

    def empty(self) -> Iterator[Any]:
        """As None."""
        yield True
        yield from self.inner.empty()


def form_of(recorder: Recorder, thing: Any, later: bool = False) -> PlainPart:
    """The form of what a variable begins with.

    Args:
        recorder: of the recording.
        thing: what it is.
        later: whether a round made it, where the variable begins with None.
    """
    if (kind := member_kind(thing)) is not None:
        return MemberParts(MemberForm(recorder, kind))
    if type(thing) is tuple or (isinstance(thing, tuple) and hasattr(type(thing), "_make")):
        return TupleParts(thing, [form_of(recorder, item, later) for item in thing])
    if later and is_object(thing):
        return ObjectParts(recorder, thing, [form_of(recorder, item, later) for item in held_in(thing)])
    if type(thing) is TracedOptional:
        return MaybeParts(PlainPart(None, thing.sample))
    if type(thing) is MaybeThing:
        return MaybeParts(form_of(recorder, thing.thing, later=True))
    return PlainPart(None, concrete(thing)) if later else PlainPart(thing)


def _later(recorder: Recorder, thing: Any) -> PlainPart | None:
    """The form of what a round makes of a variable that begins with None; None where it cannot be None at times."""
    found = form_of(recorder, thing, later=True)
    return found if all(each is ... or type(each) in SCALARS for each in found.samples()) else None
