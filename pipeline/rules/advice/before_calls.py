"""The last form that holds: what a library makes of plain values is made before the call, and passed as an argument."""

from __future__ import annotations

import ast
import builtins
import linecache
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePath
from types import FunctionType

from ....ops.graph.graph import SourceLine
from .branch_forms import form_of, holds

OP_BEFORE = "Make an op of it before: "
_MODULES = frozenset(
    """array ast bz2 calendar configparser csv ctypes difflib email fnmatch gettext glob gzip html.parser http io
    ipaddress locale logging lzma pathlib pickle platform random secrets shelve shlex shutil socket sqlite3 string
    struct subprocess sys tempfile textwrap time tokenize urllib.request uuid xml zipfile zoneinfo""".split()
)
"""Modules of Python's library whose functions take plain values."""
_FUNCTIONS = (
    "builtins.open", "builtins.eval", "os.path", "unicodedata.name", "unicodedata.numeric", "unicodedata.decimal",
    "unicodedata.bidirectional", "unicodedata.east_asian_width", "urllib.parse.urlparse", "urllib.parse.urlsplit",
    "urllib.parse.parse_qs", "urllib.parse.urlencode", "urllib.parse.urljoin", "zlib.compress", "zlib.decompress",
    "json.load", "json.loads", "os.environ", "os.getenv", "os.urandom", "os.listdir", "os.walk",
    "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow", "datetime.date.today",
    "numpy.random.rand", "numpy.random.choice", "numpy.random.uniform", "numpy.random.normal",
    "numpy.random.permutation",
)  # fmt: skip
_RECORDED = (
    "struct.pack", "struct.unpack", "struct.unpack_from", "struct.calcsize", "struct.error", "struct.Struct",
    "textwrap.shorten", "textwrap.fill", "textwrap.dedent", "textwrap.indent",
    "string.ascii_letters", "string.ascii_lowercase", "string.ascii_uppercase", "string.digits",
    "string.punctuation", "string.whitespace", "string.capwords", "sys.maxsize", "sys.float_info",
)  # fmt: skip
_BY_MOMENT = (
    "random",
    "secrets",
    "time",
    "uuid",
    "os.urandom",
    "datetime.datetime",
    "datetime.date.today",
    "numpy.random",
)
"""What draws random numbers, or asks for the time."""
_DRAWN = ("random.", "secrets.", "uuid.", "os.urandom", "numpy.random.")
"""What gives something else in each round of a loop."""
_SHUFFLED = (
    "Shuffle before the call, or write {0} = [{0}[i] for i in torch.randperm(len({0}), generator=generator).tolist()], "
    "with generator = torch.Generator() before the function"
)
_SEEDED = (
    "Write generator = torch.Generator().manual_seed({0}), and torch.rand(n, generator=generator).tolist() for "
    "numbers, or [{1}[i] for i in torch.randperm(len({1}), generator=generator).tolist()] for another order of {1}"
)
"""For Python's own random numbers, whose state cannot be an argument."""
_DATES = ("datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow", "datetime.date.today")


def before_call(line: SourceLine | None) -> str:
    """A form in which what a line asks a library for is an argument; empty where it asks none such."""
    return form_of(line, _form)


def shuffled(line: SourceLine | None) -> str:
    """A form of a line that shuffles a list; empty where it is no such line."""
    found = re.search(r"\bshuffle\((\w+)\)", line.code if line is not None else "")
    return _SHUFFLED.format(found[1]) if found else ""


def drawn_before(functions: Iterable[FunctionType]) -> tuple[str, SourceLine | None]:
    """The same for what some functions draw, or for the time that they ask for, with its line."""
    for code in (function.__code__ for function in functions):
        for number in sorted({number for _, _, number in code.co_lines() if number}):
            text = linecache.getline(code.co_filename, number).strip()
            line = SourceLine(PurePath(code.co_filename).name, number, code.co_name, text)
            if form := form_of(line, _form_of_moment):
                return form, line
    return "", None


def _form_of_moment(tree: ast.AST, line: SourceLine) -> str:
    return _form(tree, line) if any(name.startswith(_BY_MOMENT) for _, name in _asked(tree, line)) else ""


def _form(tree: ast.AST, line: SourceLine) -> str:
    asked = next(_asked(tree, line), None)
    function = _around(tree, line)
    if asked is None or function is None:
        return ""
    value, name = asked
    if name == "csv.writer":
        return _ROWS
    if name in ("random.Random", "random.seed") and isinstance(seeding := _innermost_call(value), ast.Call):
        return _SEEDED.format(ast.unparse(seeding.args[0]) if seeding.args else "0", "items")
    if name in _DATES:
        value = _innermost_call(value)  # the date itself, not what is asked of it
    given = _name_of(tree, value, _given(function))
    if any(isinstance(each, ast.withitem) and each.context_expr is value for each in ast.walk(tree)):
        return f"Read the file before, and pass what it holds as an argument: {_signature(function, 'text')}"
    match value:
        case ast.Call(ast.Attribute(owner)) if name in _DATES:
            made = f"{ast.unparse(owner)}.fromisoformat({given})"
            return f"Pass {given}={ast.unparse(value)}.isoformat(): {_signature(function, given)}, and {made} for it"
    text = _text(value, name)
    if (loop := _loop_around(tree, value, name.startswith(_DRAWN))) is not None:
        target, items, given = ast.unparse(loop.target), ast.unparse(loop.iter), f"{given}_of_each"
        where = f"{_signature(function, given)}, whose items go with those of zip({items}, {given})"
        return f"Do [{text} for {target} in {items}] before, and pass it as an argument: {where}"
    inner = [_given(each) for each in ast.walk(function) if isinstance(each, ast.Lambda) and each is not function]
    needed = ", ".join(sorted(_names(value) & set().union(*inner) - _given(function)))
    each = f" for each {needed}" if needed else ""
    return f"Do {text} before{each}, and pass what it gives as an argument: {_signature(function, given)}"


def _innermost_call(value: ast.expr) -> ast.expr:
    """The first call of a chain, as `now()` in `now().date().isoformat()`."""
    inner: ast.expr = value
    while not isinstance(inner, ast.Name):
        match inner:
            case ast.Call(function):
                value, inner = inner, function
            case ast.Attribute(owner) | ast.Subscript(owner):
                inner = owner
            case _:
                break
    return value


_ROWS = (
    r"""Write "\r\n".join([f"{name},{score}" for name, score in rows]), with as many columns, where no text has a """
    "comma or a quote"
)


def _text(value: ast.expr, name: str) -> str:
    """What makes the value, as one that is an argument."""
    text = ast.unparse(value)
    if isinstance(value, ast.Call) and name in ("csv.reader", "csv.DictReader"):
        return f"list({text})"
    return f"str({text})" if isinstance(value, ast.Call) and name.startswith("uuid.") else text


def _loop_around(tree: ast.AST, value: ast.expr, any_loop: bool) -> ast.For | ast.comprehension | None:
    """The innermost loop whose variable an expression needs, or any that it is in."""
    needed = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    found: ast.For | ast.comprehension | None = None
    for each in ast.walk(tree):
        loops = getattr(each, "generators", [each] if isinstance(each, ast.For) else [])
        inside = any(part is value for part in ast.walk(each))
        for loop in loops if inside else ():
            targets = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
            asks = any(part is value for part in ast.walk(loop.iter))
            found = loop if (targets & needed or any_loop) and not asks else found
    return found


def _asked(tree: ast.AST, line: SourceLine) -> Iterator[tuple[ast.expr, str]]:
    """What a line asks such functions for, the outermost first, with their names."""
    known = _imported(tree)
    for part in ast.walk(tree):
        if isinstance(part, ast.Call | ast.Attribute | ast.Subscript) and holds(part, line.line):
            name = _name_in_library(part, known)
            if name.startswith("io.") and isinstance(part, ast.Call) and not (part.args or part.keywords):
                continue  # an empty stream, to which the line writes
            if name and not name.startswith(_RECORDED) and (name.startswith(_FUNCTIONS) or _is_of_module(name)):
                yield part, name


def _is_of_module(name: str) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:count]) in _MODULES for count in (1, 2))


def _name_in_library(value: ast.expr, known: dict[str, str]) -> str:
    """The full name of the function that an expression begins with; empty where it calls none of a module."""
    inner: ast.expr = value
    called, names = False, list[str]()
    while not isinstance(inner, ast.Name):
        match inner:
            case ast.Call(function):
                inner, called, names = function, True, []
            case ast.Attribute(owner, name):
                inner, names = owner, [name, *names]
            case ast.Subscript(owner):
                inner, called, names = owner, True, []
            case _:
                return ""
    found = known.get(inner.id, f"builtins.{inner.id}" if hasattr(builtins, inner.id) else "")
    return ".".join([found, *names]) if found and called else ""


@lru_cache(8)
def _imported(tree: ast.AST) -> dict[str, str]:
    """What the names that a file imports stand for."""
    found = dict[str, str]()
    for part in ast.walk(tree):
        match part:
            case ast.Import(names):
                found |= {each.asname or each.name.partition(".")[0]: _module(each) for each in names}
            case ast.ImportFrom(str(module), names, 0):
                found |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
    return found


def _module(name: ast.alias) -> str:
    return name.name if name.asname else name.name.partition(".")[0]


def _around(tree: ast.AST, line: SourceLine) -> ast.FunctionDef | ast.Lambda | None:
    """The function that a line belongs to: of a lambda in another function, the one whose variables it needs."""
    around = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.Lambda)]
    around = [each for each in around if holds(each, line.line)]
    named = [each for each in around if isinstance(each, ast.FunctionDef)]
    found = around[-1] if around else None
    if isinstance(found, ast.Lambda) and named:
        from_outside = _names(found.body) - _names_set(found) - _given(found)
        return named[-1] if from_outside & (_given(named[-1]) | _names_set(named[-1])) else found
    return found


def _names(part: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(part) if isinstance(each, ast.Name)}


def _names_set(part: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(part) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _given(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    return {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}


def _name_of(tree: ast.AST, value: ast.expr, taken: set[str]) -> str:
    """A name for the argument: that of the variable which gets it, or of the function that makes it."""
    for part in ast.walk(tree):
        match part:
            case ast.Assign([ast.Name(name)], given) if given is value and name not in taken:
                return name
    names = [part.attr for part in ast.walk(value) if isinstance(part, ast.Attribute)]
    names += [part.id for part in ast.walk(value) if isinstance(part, ast.Name)]
    name = next(iter(names), "value")
    return f"{name}_before" if name in taken or hasattr(builtins, name) else name


def _signature(function: ast.FunctionDef | ast.Lambda, more: str) -> str:
    given = function.args
    place = len(given.args) - len(given.defaults)
    args = [*given.args[:place], ast.arg(more), *given.args[place:]]
    made = ast.arguments(
        given.posonlyargs, args, given.vararg, given.kwonlyargs, given.kw_defaults, given.kwarg, given.defaults
    )
    text = ast.unparse(made)
    return f"lambda {text}: …" if isinstance(function, ast.Lambda) else f"def {function.name}({text})"
