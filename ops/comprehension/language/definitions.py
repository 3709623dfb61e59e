"""Makes checked definitions of a text: fills in constants, checks names, and chooses forward and backward."""

from __future__ import annotations

import string
from collections.abc import Mapping

from ..expr.errors import AlreadyDefinedError, ComprehensionInputError, ConstantsError, UndefinedNameError
from ..expr.ir import Definition
from .parser import parse
from .syntax import DefSyntax


def formatted(text: str, constants: Mapping[str, object] | None) -> str:
    """The text with constants in place; without constants, doubled braces are read as single ones.

    Raises:
        ComprehensionInputError: it is no text.
        ConstantsError: a constant is missing, or a brace is not written twice.
    """
    if not isinstance(text, str):
        raise ComprehensionInputError("the comprehension is no text", got=type(text).__name__)
    if constants is None:
        return text.replace("{{", "{").replace("}}", "}") if "{{" in text else text
    try:
        return string.Formatter().vformat(text, (), dict(constants))
    except KeyError as error:
        if not str(error.args[0]).isidentifier():
            raise ConstantsError("with constants, the text's own braces are written twice", got=error) from error
        raise ConstantsError(
            f"the text names the constant {error}",
            got=sorted(constants),
            fix="Give it, or double its braces.",
        ) from error
    except (ValueError, IndexError) as error:
        raise ConstantsError("with constants, the text's own braces are written twice", got=error) from error


def parsed(text: str) -> list[DefSyntax]:
    """The definitions of a text, each name once."""
    found = parse(text)
    seen: set[str] = set()
    for definition in found:
        if definition.name in seen:
            raise AlreadyDefinedError(f"'{definition.name}' is already defined", at=definition.place)
        seen.add(definition.name)
    return found


def named(definitions: Mapping[str, Definition], name: str) -> Definition:
    """The definition of a name."""
    if name not in definitions:
        raise UndefinedNameError(f"there is no definition '{name}'", expected=f"one of {sorted(definitions)}")
    return definitions[name]


def chosen(definitions: Mapping[str, Definition], name: str | None, backward: str | None) -> Definition:
    """The forward: the one named, or the only one beside the backward."""
    if name is not None:
        return named(definitions, name)
    others = [d for d in definitions.values() if d.name != backward]
    if len(others) != 1:
        raise UndefinedNameError("there are several definitions", expected=f"name= one of {sorted(definitions)}")
    return others[0]
