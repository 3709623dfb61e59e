"""`docs/format.md` names every limit of the reader, with its number: the tables are held against the code's constants.

The other way round, too: a constant whose name says that it is a limit, in a module that reads files or runs them, is
in a table, or is named here with the reason why a file cannot meet it.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
SCHEMA, GUARDS = "serialization.container.schema", "ops.graph.guards"
JSON, TEXTS = "ops.runtime.safety.tokenizer_json", "ops.runtime.primitives.text.texts"
CHECKED, VJP = "ops.comprehension.language.typecheck", "ops.comprehension.program.vjp"
SCHEDULES, BOUNDED = "ops.comprehension.loops.description", "ops.runtime.primitives.bounded"
DECIMALS, DATES = (f"ops.runtime.primitives.values.{name}" for name in ("decimals", "dates"))
CODE = "ops.runtime.primitives.plain_code"
PATTERNS, TABLES = "ops.runtime.safety.patterns", "ops.runtime.primitives.tables"

# The beginning of a row, then what its second column says of which constants, in order.
ROWS: dict[str, tuple[str, ...]] = {
    "members": ("{}", f"{SCHEMA}.MOST_MEMBERS"),
    "the manifest, and each graph's member": ("{} MiB", f"{SCHEMA}.LARGEST_MANIFEST"),
    "rows of each list of the manifest": ("{}", f"{SCHEMA}.MOST_ROWS"),
    "nodes in all graphs together": ("{}", f"{SCHEMA}.MOST_NODES"),
    "nodes that are added": ("{}", f"{SCHEMA}.MOST_ADDED"),
    "ops that call ops": ("{} deep", f"{SCHEMA}.DEEPEST_CALLS"),
    "levels of trees, a subgraph counted as 10": ("{}", f"{SCHEMA}.DEEPEST"),
    "symbols of a signature": ("{}", f"{SCHEMA}.MOST_SYMBOLS"),
    "characters, and levels, of an expression": ("{}, and {}", f"{GUARDS}._LONGEST", f"{GUARDS}._DEEPEST"),
    "powers in an expression": ("{}, and {}", f"{GUARDS}._MOST_POWERS", f"{GUARDS}._LARGEST_POWER"),
    "bits of an integer in an expression": ("{}", f"{GUARDS}._MOST_BITS"),
    "characters of a keyword, a symbol or a field": ("{}", f"{GUARDS}._LONGEST_NAME"),
    "digits of an integer that needs more": ("{}", f"{SCHEMA}.MOST_DIGITS"),
    "dimensions of a tensor": ("{}", f"{SCHEMA}.MOST_DIMENSIONS"),
    "elements of a tensor": ("{} - 1", f"{SCHEMA}.MOST_ELEMENTS"),
    "bytes of all mutable constants": (
        "{} GiB and {} times the bytes of the member", f"{SCHEMA}.LEAST_STATE", f"{SCHEMA}.STATE_TIMES"),
    "characters and items of `metadata`": (
        "{}, and {}", "serialization.user_metadata.LARGEST", "serialization.user_metadata.DEEPEST"),
    "rows of `engines` times nodes": ("{}", "pipeline.optimizing.engaging._MOST_WORK"),
    "nodes `left_out`": ("{}", "pipeline.left_out.ways_without.MOST_WAYS"),
    "signatures that are read": ("{}", "serialization.container.signatures._MOST"),
    "items of a list among the arguments": ("{}", "ops.runtime.safety.arguments.MOST_ITEMS"),
    "entries of a table": ("{}", "ops.runtime.safety.arguments.MOST_ENTRIES"),
    "its characters, with trust, too": ("{}", f"{TEXTS}.LONGEST_PATTERN"),
    "ways to match at one place": ("{}", f"{PATTERNS}.MOST_WAYS"),
    "characters that it looks at": ("{}", f"{PATTERNS}.MOST_STEPS"),
    "the count of a bounded repetition": ("{}", f"{PATTERNS}.MOST_COPIES"),
    "its characters |": ("{}", f"{JSON}.LARGEST"),
    "its levels": ("{}, and once", "ops.runtime.safety.tokenizer_growth.MOST_LEVELS"),
    "tokens of a text after padding": ("{}", f"{JSON}.LONGEST"),
    "a length is padded to a multiple of": ("{}", f"{JSON}.MOST_MULTIPLE"),
    "characters of a replacement": ("{}", f"{JSON}.LONGEST_CONTENT"),
    "steps of a normalizer": ("{}", f"{JSON}.MOST_STEPS"),
    "times the bytes of a text": ("{}", f"{JSON}.MOST_GROWTH"),
    "characters of a word": ("{}", f"{JSON}.LONGEST_WORD"),
    "characters of a piece": ("{}", f"{JSON}.LONGEST_PIECE"),
    "bytes that a table of characters": ("{}", f"{JSON}.MOST_REPLACED"),
    "templates, parts of one": ("1, {}, and 1", f"{JSON}.MOST_COPIES"),
    "ids of a token in a template": ("{}", f"{JSON}.MOST_IDS"),
    "statements of a definition": ("{}", f"{CHECKED}.MOST_STATEMENTS"),
    "parts of an expression": ("{}, and {}", f"{CHECKED}.LARGEST", f"{CHECKED}.MOST_PARTS"),
    "parts, and levels, of the gradients": ("{}, and {}", f"{VJP}.MOST_PARTS", f"{VJP}.DEEPEST"),
    "levels of an expression: 1 for each further term or factor, 3 for": (
        "{}", "ops.comprehension.language.parser.DEEPEST"),
    "elements that one statement computes": ("{}", "ops.comprehension.program.specialise.MOST_STEPS"),
    "characters of the name of an axis": ("{}", f"{SCHEDULES}.LONGEST_NAME"),
    "vectors at once": (
        "{}, {}, and {}", f"{SCHEDULES}.MOST_VECTORS", f"{SCHEDULES}.MOST_UNROLLED", f"{SCHEDULES}.MOST_AT_ONCE"),
    "threads": ("{}", f"{SCHEDULES}.MOST_THREADS"),
    "lanes of a vector": ("{}, {}, {}, {}, {}, {} or {}", f"{SCHEDULES}.LANES"),
    "characters of a text, items of a list": ("{}", f"{BOUNDED}.MOST_ITEMS"),
    "items of the lists, tuples and dicts inside": (
        "{}; {}", "ops.runtime.primitives.nesting.MOST_NESTED", "ops.runtime.primitives.nesting.MOST_LEVELS"),
    "bits of an integer, and": ("{}, and {}", f"{BOUNDED}.MOST_BITS", f"{TABLES}.MOST_STATISTIC"),
    "characters of a block": (
        "{}; {}; {}; {}; {}; {}", f"{CODE}.running.LONGEST", f"{CODE}.allowed._MOST_STARS",
        f"{CODE}.one_run.metering.MOST_DEEP", f"{CODE}.objects.made_classes._MOST_BASES",
        f"{CODE}.objects.user_names._LONGEST", f"{CODE}.block_tensors.MOST_RANK"),
    "digits of a text": ("{}", f"{BOUNDED}.MOST_DIGITS"),
    "keys of one hash": ("{}", f"{TABLES}.MOST_ALIKE"),
    "characters of the texts that are sorted": ("{}", "ops.runtime.primitives.lists.sorting.MOST_COMPARED"),
    "combining marks": ("{}", f"{TEXTS}.MOST_MARKS"),
    "groups that": ("{}", f"{TEXTS}.MOST_GROUPS"),
    "steps of a search from the end": ("{}", f"{TEXTS}.MOST_STEPS"),
    "characters of a separator": ("{}, and {}", f"{TEXTS}._LONGEST_SEPARATOR", f"{TEXTS}._WIDEST_INDENT"),
    "token ids that a tokenizer's call makes": (
        "{}, and {}", "ops.tokenizer.batch.MOST_TOKENS", "ops.tokenizer.cut_pieces.MOST_PIECES"),
    "characters that a tokenizer's call decodes": ("{}", "ops.tokenizer.kernel.MOST_CHARACTERS"),
    "digits of `round`": ("{}", f"{BOUNDED}._MOST_ROUNDED"),
    "places of a decimal number": ("{}", f"{BOUNDED}.MOST_PLACES"),
    "letters of a text that becomes": ("{}, and {}", f"{DECIMALS}._MOST_CHARACTERS", f"{DATES}._MOST_CHARACTERS"),
    "degree of a polynomial": ("{}", "ops.runtime.primitives.preconditions._LARGEST_DEGREE"),
    "matrices without elements": ("{}", "ops.runtime.primitives.preconditions._MOST_EMPTY"),
}  # fmt: skip
WITHOUT_NUMBER = ("an op's graph, and an asset", "regular expressions |", "dropout of BPE |")

NO_LIMITS = {
    "ops.runtime.safety.constant_texts._MOST_STEPS": "how far a pattern is followed to its table: others need trust",
    "ops.runtime.inplace._LEVELS": "how deep loops are looked at: deeper ones copy what they carry",
    f"{SCHEMA}.LEVELS_OF_SUBGRAPH": "a weight, in the row of levels",
    "ops.comprehension.language.parser.NESTED": "a weight, in the row of levels",
    "serialization.decoder.LONGEST_PATH": "cuts texts of messages",
    "serialization.kernel_data._LONGEST": "cuts texts of messages",
    "ops.graph.errors._LONGEST": "cuts texts of messages",
    "ops.graph.svg.layout.MOST_PLACES": "of a picture",
    "ops.runtime.interrupts.held_signal._LONGEST": "seconds that a signal waits",
    "ops.runtime.interrupts.verbs._MOST_TRIES": "of restoring after interrupts",
    "ops.runtime.safety.characters.MOST_CHARACTERS": "beyond it a pattern counts as one without a bound",
    "ops.runtime.safety.arguments.LARGEST_INT": "64 bits",
    f"{TEXTS}.MOST_EXPANSION": "what NFKD makes of a character, counted against the characters of a text",
    "ops.runtime.primitives.numpy._LONGEST_DTYPE": "the longest name of a dtype",
    "ops.runtime.primitives.views._MOST_GAPS": "beyond it memory is read in another way",
    "ops.tokenizer.decode._LARGEST": "32 bits",
    "ops.tokenizer.cut_pieces._MOST_REPEATED": "frees texts that are long themselves from their limit",
    "ops.tokenizer.kernel.MOST_TOKENIZERS": "of a cache",
    "ops.tokenizer.kernel.MOST_READY": "of a cache",
    "ops.runtime.checks.MOST_PASSED": "of a cache",
    f"{JSON}.MOST_REPEATED": "follows from the stride, and is refused in the call",
    "serialization.weights._WIDEST": "the widest element",
    "ops.comprehension.loops.splits.MOST": "beyond it loops stay as they are",
}
"""Constants that are named like limits, and are none that a file could meet."""
READERS = (
    "serialization", "ops/graph", "ops/runtime", "ops/tokenizer", "ops/comprehension/language",
    "ops/comprehension/program", "ops/comprehension/loops", "pipeline/optimizing/engaging.py", "pipeline/left_out",
)  # fmt: skip
LIKE_LIMITS = re.compile(r"_?(MOST|LARGEST|LONGEST|DEEPEST|WIDEST|NESTED|LEVELS|LEAST_STATE|STATE_TIMES|LANES)(_|$)")


def value_of(name: str) -> Any:
    module, _, constant = name.rpartition(".")
    return getattr(importlib.import_module(f"tracepack.{module}"), constant)


def written(number: int, form: str) -> str:
    """A number as the page has it: in units, as a power of two, or with a space before each three digits."""
    if "iB" in form:
        return str(number >> (30 if "GiB" in form and number >= 1 << 30 else 20)) if number > 1 << 19 else str(number)
    if form == "{} - 1":
        number += 1
    if number >= 1 << 32:
        return f"2^{number.bit_length() - 1}"
    return f"{number:,}".replace(",", " ")


def expected(form: str, *names: str) -> str:
    values = [value_of(name) for name in names]
    return form.format(*(written(each, form) for each in (values[0] if isinstance(values[0], tuple) else values)))


def rows() -> dict[str, str]:
    """The rows of the tables of limits: the first column with a bar after it, and the second."""
    tables = re.findall(r"\| what \| at most \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
    assert len(tables) == 5
    pairs = [line.strip("| ").rsplit(" | ", 1) for table in tables for line in table.splitlines()]
    found = {f"{what} |": most for what, most in pairs}
    assert len(found) == len(pairs)
    return found


@pytest.mark.parametrize("start", ROWS)
def test_a_row_has_the_number_of_the_code(start):
    form, *names = ROWS[start]
    found = [most for what, most in rows().items() if what.startswith(start)]
    assert found == [expected(form, *names)]


def test_no_row_of_the_page_is_left_untested():
    known = (*ROWS, *WITHOUT_NUMBER)
    assert [what for what in rows() if sum(what.startswith(start) for start in known) != 1] == []


def constants() -> Iterator[str]:
    """The constants of the readers that are named like limits."""
    for place in READERS:
        path = ROOT / place
        for file in [path] if path.suffix else sorted(path.rglob("*.py")):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            for statement in ast.parse(file.read_text(encoding="utf-8")).body:
                for target in statement.targets if isinstance(statement, ast.Assign) else ():
                    if isinstance(target, ast.Name) and LIKE_LIMITS.match(target.id):
                        yield f"{module}.{target.id}"


def test_every_limit_of_the_code_is_on_the_page():
    named = {name for _, *names in ROWS.values() for name in names}
    found = set(constants())
    assert found - named - NO_LIMITS.keys() == set()
    assert NO_LIMITS.keys() - found == set(), "a reason for a constant that is gone"


def test_a_changed_number_would_be_seen(monkeypatch):
    monkeypatch.setattr(importlib.import_module(f"tracepack.{SCHEMA}"), "MOST_NODES", 250_001)
    with pytest.raises(AssertionError):
        test_a_row_has_the_number_of_the_code("nodes in all graphs together")
