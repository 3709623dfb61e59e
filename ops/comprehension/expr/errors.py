"""The errors and the one warning of tensor comprehensions: each error says where in the text, with a caret.

`Place` is the only thing that knows the text; syntax and IR nodes carry one so that an error found late (at a
call, with sizes at hand) still points at the user's own line.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import TracepackError, printable

_BEFORE, _AFTER = 200, 100  # characters of a line of text that are shown around a place


@dataclass(frozen=True)
class Place:
    """A place in a comprehension's text, both counts from 1."""

    line: int
    column: int
    text: str

    def caret(self) -> str:
        r"""The line of text with a caret under the place; of a long one what stands around it.

        A text of a file comes from a stranger: it shows no control characters, as no error does.

        Example:
            >>> print(Place(1, 4, "a\tb$").caret())
                a\tb$
                    ^
        """
        at = self.column - 1
        start = max(0, at - _BEFORE) if len(self.text) > _BEFORE + _AFTER else 0
        before, after = printable(self.text[start:at]), printable(self.text[at : start + _BEFORE + _AFTER])
        before = f"…{before}" if start else before
        return f"    {before}{after}\n    {' ' * len(before)}^"


class ComprehensionWarning(UserWarning):
    """Something is slower than it could be, or was ignored; results are not affected."""


class ComprehensionError(TracepackError):
    """The base of what can be wrong with a comprehension, its inputs or its options.

    Args:
        what: what went wrong, in a few words.
        at: the place in the text, when there is one.
        where: the place in words, when the text is not to blame.
        got: what was found.
        expected: what would have been right.
        fix: one sentence that says what to do next.
    """

    def __init__(
        self,
        what: str,
        *,
        at: Place | None = None,
        where: str = "",
        got: object = None,
        expected: object = None,
        fix: str = "",
    ) -> None:
        where = f"line {at.line}, column {at.column}" if at else where
        super().__init__(what, where=where, got=got, expected=expected, fix=fix)
        self.at = at
        if at:
            self.args = (f"{self.args[0]}\n{at.caret()}",)


class ComprehensionSyntaxError(ComprehensionError):
    """The text does not follow the grammar."""


class UndefinedNameError(ComprehensionError):
    """A tensor, a size or a definition is used that nothing defines."""


class AlreadyDefinedError(ComprehensionError):
    """A name is defined twice, or an index variable hides something."""


class DimensionCountError(ComprehensionError):
    """A tensor is indexed, annotated or passed with another number of dimensions than it has."""


class ArityError(ComprehensionError):
    """A built-in function is called with another number of arguments than it takes."""


class OperandTypeError(ComprehensionError):
    """An operand has a type that its operator does not take."""


class NarrowingError(ComprehensionError):
    """A value would lose range or precision on assignment, and there is no cast."""


class ImmutableInputError(ComprehensionError):
    """A statement assigns to an input."""


class ReductionError(ComprehensionError):
    """Reduction variables and the assignment's operator do not fit together."""


class TensorAccessError(ComprehensionError):
    """A tensor is read where none may be, or while it is being written."""


class RangeInferenceError(ComprehensionError):
    """The range of an index variable cannot be inferred."""


class EmptyRangeError(ComprehensionError):
    """An index variable has no value to take."""


class OutOfBoundsError(ComprehensionError):
    """An access cannot be shown to stay inside its tensor."""


class SizeMismatchError(ComprehensionError):
    """A dimension has another size than the text or another input says."""


class ContentsError(ComprehensionError):
    """A tensor is accumulated into before it has contents."""


class ComprehensionInputError(ComprehensionError):
    """A call's arguments do not fit the definition's parameters."""


class IndexRangeError(ComprehensionError):
    """An index read from a tensor, or guarded by a condition, lies outside of the tensor that it indexes."""


class OptionsError(ComprehensionError):
    """Options name something that does not exist, or do not fit the comprehension."""


class DerivativeError(ComprehensionError):
    """No backward can be derived, or the named backward does not fit the forward."""


class CompilerError(ComprehensionError):
    """The machine's compiler is missing or refused generated code."""


class NoCompilerError(CompilerError):
    """The machine has no compiler that works, or its code can neither be kept nor loaded: torch's operators can run."""


class ConstantsError(ComprehensionError):
    """The text's braces and the constants that were given do not fit together."""


def index_outside(tensor: str, size: int, at: Place | None, dim: int | None = None) -> IndexRangeError:
    """The error for an index outside of its tensor in a run.

    Args:
        tensor: the version that was read.
        size: the size of the dimension.
        at: the access in the text.
        dim: the number of the dimension, where it is known.
    """
    where = f"dimension {dim} of " if dim is not None else ""
    return IndexRangeError(
        f"an index of {where}'{tensor.partition('#')[0]}' is not in 0:{size}",
        at=at,
        fix="Correct the indices, or define with gather='clamp'." if size else "There is no element to take.",
    )
