"""Says at once what a recording fixes: a text, a size, a number or a length, which else an error would say later."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

from ...ops.graph.cuts import is_cut
from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Graph, Guard, Node, Operator, SourceLine, Value
from ...ops.graph.operators.names import CODE, is_expression
from ...ops.graph.traverse import leaves, uses, walk
from ...ops.graph.types import SCALARS, STR, ScalarType, TensorType
from ...ops.runtime.safety.changed_constants import changed_constants
from ...ops.runtime.safety.code_patterns import unbounded_pattern
from ...ops.runtime.safety.patterns import is_linear, kind_of, pattern_among
from ...ops.runtime.user_code import user_stacklevel
from ..proxies.branches import BRANCH, HANDED
from ..proxies.lists import READ
from ..recording.guards import HELD, MATCH, ONE_BY_ONE
from ..rules.advice.before_calls import before_call
from ..rules.advice.branch_forms import form_of
from ..rules.advice.instead import (
    ANY_LENGTH,
    BOTH_WAYS,
    both_ways,
    form_of_generator,
    instead,
    of_any_length,
    with_match,
)
from ..rules.advice.loop_forms import loop_form, of_rounds
from ..rules.gradients import ASKS_GRAD_MODE
from ..rules.metadata import ROWS
from ..signature.handlers import caught_errors
from .plain_tables import OF_RUN_TIME


class _HasGraph(Protocol):
    """What has a graph."""

    @property
    def graph(self) -> Graph: ...


Traced = TypeVar("Traced", bound=_HasGraph)
_LENGTHS = (READ, "the length of the dict was read", "its length was read")
_AS_WITHOUT = "The pipeline answers as it does under torch.no_grad(), whatever the mode is in which it is called"
_ASKED_BY_PLACE = "getitem gives"
"""How the refusal of a list begins whose items are tensors, one of which is asked for by its place."""
_ANY_ROWS = "A list comprehension over them, or tracepack.map(fn, rows), keeps it free"
_BY_BRANCH = "A branch goes both ways: first(x) if condition else second(x)"
_ANY_KEY = "table.get(key, default) takes any text, and so does table[key] where the example is a key of the table"
_KEY, _FIXED = "it was used as a key", " is fixed to "
_KEYED, _COMPARED = f"because {_KEY}", "because it was compared"
_BECAUSE, _LENGTH_HINT = ", because ", "because len() read the first size of "
"""A line's reason; that of the length which Python asks for before it goes through the rows."""
_ONLY = "the recording holds for one value only, because "


OF_ONE_TYPE = "One side gives an int and one a float: with one type on all, as 1.0 for 1, it goes both ways"


_KEEPS = (
    "the function keeps state in a list or a dict, and a run that comes here is refused. Pass what it holds as an "
    "argument, and return what becomes of it"
)
_ROUNDS = ", because it was used as a plain integer"
"""How a line ends that says of a number of rounds that it is fixed."""


def telling(
    pipeline: Traced,
    lines: Iterable[str] = (),
    refused: RecordError | None = None,
    mixed: Collection[str] = (),
    causes: Mapping[str, str] = MappingProxyType({}),
    of_model: str = "",
) -> Traced:
    """A pipeline, with a line of warning for each value that it fixes, and for a need of trust; and some more lines.

    Args:
        pipeline: the pipeline.
        lines: more lines.
        refused: for what lists of any length were refused; it is why a comprehension has a fixed length.
        mixed: the lines of choices between an int and a float.
        causes: why choices go one way only, by their places.
        of_model: the form in which a model is called in rounds of any number; empty where there is none.
    """
    given = [_explained(_of_one_type(line, mixed), causes) for line in (*lines, *_lines(pipeline.graph))]
    keyed = {line.partition(_FIXED)[0] for line in given if _KEYED in line}  # which Python compares with the keys
    compared = (_COMPARED, _BRANCHED)
    given = [line for line in given if not any(w in line for w in compared) or line.partition(_FIXED)[0] not in keyed]
    walked = {line.partition(_BECAUSE)[0] for line in given if any(why in line for why in ONE_BY_ONE)}
    given = [line for line in given if _LENGTH_HINT not in line or line.partition(_BECAUSE)[0] not in walked]
    given = [f"{line}. {of_model}" if of_model and line.endswith(_ROUNDS) else line for line in given]
    found = [line if refused is None else _with_cause(line, refused) for line in given]
    for line in dict.fromkeys([*found, *caught_errors(pipeline.graph)]):
        warnings.warn(line, UserWarning, stacklevel=user_stacklevel())
    return pipeline


def _of_one_type(line: str, mixed: Collection[str]) -> str:
    """A line about a branch, with the reason where its sides are of two types."""
    before, branched, _ = line.partition(_BRANCHED)
    own = branched and any(line.startswith(f"{each}: ") for each in mixed)
    return f"{before}{branched}. {OF_ONE_TYPE}" if own else line


def _explained(line: str, causes: Mapping[str, str]) -> str:
    """A line about a branch, with the reason why it goes one way in place of a form that would not go both either."""
    cause = next((text for place, text in causes.items() if line.startswith(f"{place} in ")), "")
    for why in (_BRANCHED, "because it was compared", f"because {MATCH}") if cause else ():
        before, branched, _ = line.partition(f"{why}. ")
        if branched:
            return f"{before}{branched}{cause}"
    return line


_BRANCHED = f"because {BRANCH}"


def _with_cause(line: str, refused: RecordError) -> str:
    """A line whose advice helps nobody, since another line of the function is why, with that one in its place."""
    if line.endswith(f". {_ANY_KEY}") and OF_RUN_TIME in refused.what:
        return f"{line.removesuffix(f'. {_ANY_KEY}')}; {refused.what}. {refused.fix}"
    why = f"lists of any length were refused: {refused}"
    for advice, said in ((ANY_LENGTH, f", because {why}"), (_ANY_ROWS, f"; {why}"), (BOTH_WAYS, "")):
        if line.endswith(f". {advice}"):
            return line.removesuffix(f". {advice}") + said
    return line


def fixed_lengths(pipeline: _HasGraph) -> list[str]:
    """A line for each length of a list that a pipeline guards."""
    nodes = [node for node in walk(pipeline.graph) if isinstance(node.target, Guard)]
    return [
        line
        for node in nodes
        if isinstance(node.target, Guard) and node.target.reason.removeprefix(_ONLY) in _LENGTHS
        for line in _fixed(node, node.target, "")
    ]


def lengths(lists: Mapping[str, int], error: Exception) -> list[str]:
    """A line for each of some lists that keep their lengths.

    Args:
        lists: the length of each argument that is one.
        error: why they cannot be of any length.
    """
    where = f"{error.where}: " if isinstance(error, RecordError) and error.where else ""
    why = ". A list comprehension over it, or tracepack.map(fn, items), keeps it free, where all items are alike"
    if isinstance(error, RecordError) and not error.what.startswith(_ASKED_BY_PLACE):
        why = f", because {error.what}{f'. {error.fix}' if error.fix else ''}"
    return [f"{where}the length of {name!r} is fixed to {length}{why}" for name, length in lists.items()]


def fixed_pieces(graph: Graph) -> int:
    """How many tensors are cut into a number of pieces that is fixed."""
    return sum(is_cut(node) and not _is_unpacked(node) for node in walk(graph))


def fixed_values(graph: Graph) -> int:
    """How many texts, numbers, conditions on them, and lengths of lists hold for one value; sizes are not counted."""
    return sum(" is fixed to " in line and "a size is fixed" not in line for line in {*_lines(graph)})


def _lines(graph: Graph) -> Iterator[str]:
    constant = set(_constant_sizes(graph))
    made = {id(leaf): node for node in walk(graph) for leaf in leaves(node.output) if isinstance(leaf, Value)}
    inputs, unbounded = set(map(id, graph.inputs)), set[str]()
    for node in walk(graph):
        held = isinstance(node.target, Guard) and node.target.reason.startswith(_ONLY)
        if held and id(node.args[0]) not in constant and (form := before_call(node.line)):
            yield f"{node.line}: what it gives is fixed to that of the example. {form}"
        elif isinstance(node.target, Guard):
            value = node.args[0]
            yield from _rounds(node, node.target)
            what = "an argument" if id(value) in inputs else _named(made.get(id(value)))
            if id(value) not in constant or node.target.reason == ROWS:
                yield from _fixed(node, node.target, what)
            compared = list(_compared(node, node.target, made.get(id(value)), inputs))
            yield from compared or _of_condition(node, node.target, made, constant)
        elif _asks_for_gradients(node, inputs):
            yield f"{f'{node.line}: ' if node.line else ''}the function asks whether gradients are on. {_AS_WITHOUT}"
        elif is_cut(node) and not _is_unpacked(node):
            yield (
                f"{node.line}: the number of pieces is fixed to {len(node.output)}. A list comprehension over those of "
                "split or chunk keeps it free"
            )
        elif node.target == Operator(CODE) and (found := unbounded_pattern(node.args[0])):
            yield f"{node.line}: the file needs load(path, trust=True): the time of {found} has no bound"
        elif node.target == Operator(CODE) and (kept := changed_constants(node.args[0])):
            yield from (f"{line}: {_KEEPS}" for line in kept)
        elif isinstance(node.target, Operator) and is_expression(node.target.name):
            pattern, flags = pattern_among(node.target.name, node.args)
            if pattern not in unbounded and not is_linear(pattern, flags, kind_of(node.target.name, node.args)):
                unbounded.add(pattern)
                yield f"{node.line}: the file needs load(path, trust=True): the time of {pattern!r} has no bound"


def _asks_for_gradients(node: Node, inputs: set[int]) -> bool:
    """Whether a function asks for what the caller's gradient mode decides: of an input a guard holds it."""
    match node:
        case Node(Operator("py.own_backward"), (str(text),)):
            return text == ASKS_GRAD_MODE
        case Node(Operator("py.requires_grad"), (tensor, *_)):
            return id(tensor) not in inputs
    return False


def _is_unpacked(node: Node) -> bool:
    """Whether a statement unpacks the pieces that a node cuts, which fails for another number in Python, too."""
    return bool(form_of(node.line, _unpacking))


def _unpacking(tree: ast.AST, line: SourceLine) -> str:
    found = [each for each in ast.walk(tree) if isinstance(each, ast.Assign) and each.lineno == line.line]
    ofs = [each.value.func for each in found if isinstance(each.value, ast.Call) and _has_names_only(each.targets)]
    return "unpacks" if any(isinstance(each, ast.Attribute) and each.attr in ("split", "chunk") for each in ofs) else ""


def _has_names_only(targets: list[ast.expr]) -> bool:
    names = targets[0].elts if isinstance(targets[0], ast.Tuple | ast.List) else [ast.Starred(targets[0])]
    return not any(isinstance(each, ast.Starred) for each in names)


def _constant_sizes(graph: Graph) -> Iterator[int]:
    """The ids of the sizes that no input decides, such as that of the five best: to guard them fixes nothing."""
    inputs = set(map(id, graph.inputs))
    for node in graph.nodes:
        match node:
            case Node(Operator("py.size"), (Value(TensorType(_, shape)) as value, int(dim)), _, Value() as size):
                if id(value) not in inputs and isinstance(shape[dim], int):
                    yield id(size)


def _named(made: Node | None) -> str:
    """What a number is, by the node that makes it."""
    name = made.target.name if made is not None and isinstance(made.target, Operator) else ""
    return "a size" if name in ("py.size", "py.array_size") else "a number"


def _fixed(node: Node, guard: Guard, what: str) -> Iterator[str]:
    why, found = guard.reason.removeprefix(_ONLY), guard.expected
    if why in _LENGTHS:
        yield (f"{node.line}: the length is fixed to {found}. {of_any_length(node.line)}")
    elif guard.reason == HANDED:
        yield f"{node.line}: the length is fixed to {found}, because {why}"
    elif why == HELD:
        with_default = "table.get(key, default), with a default of the kind that the entries have, takes any key"
        yield f"{node.line}: whether the table has the key is fixed to {found}. {with_default}"
    elif why == ROWS:
        yield f"{node.line}: the number of rows is fixed to {found}. {form_of_generator(node.line) or _ANY_ROWS}"
    elif why == guard.reason or (why == BRANCH and (type(found) is not bool or what != "an argument")):
        return
    elif isinstance(found, str | list):
        form = _form_for_text(node, why)
        kind = "a list" if isinstance(found, list) and not all(isinstance(item, str) for item in found) else "a text"
        yield f"{node.line}: {kind} is fixed to {found!r}, because {why}{'. ' if form else ''}{form}"
    elif type(found) in (int, float, complex, bool) and (type(found) is not bool or what == "an argument"):
        rows = form_of_generator(node.line) or _ANY_ROWS
        any_form = both_ways(node.line) if why == BRANCH else rows if why in ONE_BY_ONE else ""
        form = instead(node.line) or any_form or loop_form(node.line)
        yield f"{node.line}: {what} is fixed to {found!r}, because {why}{'. ' if form else ''}{form.rstrip('.')}"


def _form_for_text(node: Node, why: str) -> str:
    if why == "it was compared":
        return both_ways(node.line)
    if why == _KEY:
        return _ANY_KEY
    plainly = why.startswith("its method ") or why in ("it was read as a string", "it was turned into text")
    return "Do it before, and pass what it gives as an argument" if plainly else ""


def _rounds(node: Node, guard: Guard) -> Iterator[str]:
    """The line for a `while` loop that Python ran: as many rounds as for the example."""
    if guard.reason == _ONLY + BRANCH and _is_while(node):
        yield f"{node.line}: the number of rounds is fixed. {of_rounds(node.line)}"


def _is_while(node: Node) -> bool:
    return node.line is not None and node.line.code.lstrip().startswith("while ")


def _of_condition(node: Node, guard: Guard, made: Mapping[int, Node], constant: set[int]) -> Iterator[str]:
    """The line for a condition: a text, a size or a number that takes the other way is refused."""
    value, why = node.args[0], guard.reason.removeprefix(_ONLY)
    if why not in (BRANCH, MATCH, _KEY) or type(guard.expected) is not bool or not isinstance(value, Value):
        return
    what = _subject(value, made, constant)
    if value.type == SCALARS[bool] and what and not _is_while(node):
        by_key = _BY_BRANCH if what != "a size" else ""  # of which a branch is fixed where its sides are of two kinds
        form = with_match(node.line) if why == MATCH else by_key if why == _KEY else both_ways(node.line)
        line = f"{node.line}: a condition on {what} is fixed to {guard.expected}, because {why}"
        yield f"{line}. {form}" if form else line


def _subject(value: Value, made: Mapping[int, Node], constant: set[int]) -> str:
    """What a condition compares, a text before a size; empty where it is nothing that a call decides."""
    seen, waiting, sized, number = set[int](), [value], False, False
    while waiting:
        asked = waiting.pop()
        if asked.type == STR:
            return "a text"
        node = made.get(id(asked))
        if id(asked) in seen or id(asked) in constant:
            continue
        seen.add(id(asked))
        if node is None:
            number = number or asked is not value
            continue
        parts = [leaf for leaf in uses(node) if isinstance(leaf, Value)]
        sized = sized or any(not isinstance(leaf.type, ScalarType) for leaf in parts)
        waiting += [leaf for leaf in parts if isinstance(leaf.type, ScalarType)]
    return "a size" if sized else "a number" if number else ""


def _compared(node: Node, guard: Guard, made: Node | None, inputs: set[int]) -> Iterator[str]:
    """The line for an argument that must equal a constant, as in ``if n == 2``."""
    name = made.target.name if made is not None and isinstance(made.target, Operator) else ""
    if made is None or (name, guard.expected) not in (("py.eq", True), ("py.ne", False)):
        return
    one, other = made.args
    constant = other if id(one) in inputs else one
    if (id(one) in inputs or id(other) in inputs) and not isinstance(constant, Value):
        yield f"{node.line}: an argument is fixed to {constant!r}, because it was compared. {both_ways(node.line)}"
