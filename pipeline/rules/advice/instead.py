"""What to write in place of code that takes plain values, by what the line of the function calls or does."""

from __future__ import annotations

import ast
import re

from ....ops.graph.graph import SourceLine
from .before_calls import before_call
from .branch_forms import form_of, holds, written_with_cond
from .loop_forms import loop_form, of_return
from .match_forms import written_with_finditer

_THERE = "Return the array, and do it there, of what the call gives; or return a text of its bytes, "
_THERE += "base64.b64encode(array.tobytes()).decode()."
_INSTEAD = {
    **dict.fromkeys(("np.save", "numpy.save", "pickle.dump", "fromarray(", ".tofile("), _THERE),
    "BytesIO(": 'Use the bytes themselves: data = array.tobytes(), and b"".join(parts) for several.',
    "default_rng(": "Use generator = torch.Generator().manual_seed(seed), and torch.randn(n, generator=generator).",
    "RandomState(": "Use generator = torch.Generator().manual_seed(seed), and torch.randn(n, generator=generator).",
    "Fraction(": "Write numerator / denominator, which is recorded, or the line ratio = float(Fraction(n, 3)).",
    "to_datetime(": "Use datetime.fromisoformat(text), or datetime.strptime(text, format), of each text.",
    "os.path.basename(": "Use text.rpartition('/')[2].",
    "os.path.join(": "Use '/'.join(parts).",
    "os.path.splitext(": "Use '.' + name.rpartition('.')[2] if '.' in name.lstrip('.') else '', of name = "
    "text.rpartition('/')[2].",
    "validate_python(": "Make a dict of it, and a model of that dict outside of the function.",
    "apply_along_axis(": "Write np.array([function(row) for row in table]), or table.T for the columns.",
    "math.dist(": "Use math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b))).",
    "fsum(": "Use sum(values).",
    "isclose(": "Write abs(a - b) <= 1e-9 * max(abs(a), abs(b)).",
    "np.lcm": "Use math.lcm(a, b).",
    "np.gcd": "Use math.gcd(a, b).",
    "special.factorial(": "Use math.factorial(n).",
    "special.comb(": "Use math.comb(n, k).",
    "special.perm(": "Use math.perm(n, k).",
    '".format(': "Write an f-string: f'{text:>{n + 2}}'.",
    "'.format(": "Write an f-string: f'{text:>{n + 2}}'.",
    ".hex()": "Do it before, and pass what it gives as an argument.",
}
_MODEL = "Make the model before the function, and an op of it: op = tracepack.script(model)."
_PACKAGES = {
    "sklearn": "Make an op of the fitted estimator before the function: op = tracepack.script(estimator, example=X). "
    "Of a LabelEncoder write encoder.classes_[ids], and tracepack.lookup(PLACES, labels), where PLACES = {label: i for "
    "i, label in enumerate(encoder.classes_.tolist())} stands before the function.",
    "transformers": _MODEL,
    "torchvision": _MODEL,
    "scipy": "Use a function of torch.linalg, torch.fft, torch.special or numpy for it, or do it before.",
    "torch": _MODEL,
}
_UNIT = "torch.nn.functional.normalize({})"
_OF_ROWS = {
    "cosine_similarity(": f"{_UNIT.format('x')} @ {_UNIT.format('y')}.T",
    "cosine_distances(": f"1 - {_UNIT.format('x')} @ {_UNIT.format('y')}.T",
    "euclidean_distances(": "torch.cdist(x, y)",
    "linear_kernel(": "x @ y.T",
}
"""Functions of sklearn on the rows of two tables, x and y, which are tensors here."""
_OF_ESTIMATOR = re.compile(r"\.(predict|transform|inverse_transform|decision_function|score|kneighbors|fit)\w*\(")
_ITERATING = {
    "combinations": "[(a, b) for i, a in enumerate(xs) for b in xs[i + 1 :]]",
    "permutations": "[(a, b) for i, a in enumerate(xs) for j, b in enumerate(xs) if i != j]",
    "product": "[(a, b) for a in xs for b in ys]",
    "zip_longest": "zip(xs + [fill] * (len(ys) - len(xs)), ys + [fill] * (len(xs) - len(ys)))",
    "bisect": "sum([x <= value for x in xs])",
    "bisect_right": "sum([x <= value for x in xs])",
    "bisect_left": "sum([x < value for x in xs])",
    "deque": "[xs[max(0, i - 2) : i + 1] for i in range(len(xs))], the last three at each place,",
    "takewhile": "xs[: next((i for i, x in enumerate(xs) if not wanted(x)), len(xs))]",
    "dropwhile": "xs[next((i for i, x in enumerate(xs) if not wanted(x)), len(xs)) :]",
    "filterfalse": "[x for x in xs if not wanted(x)]",
    "starmap": "[function(*each) for each in items]",
    "compress": "[x for x, keep in zip(xs, mask) if keep]",
    "repeat": "[(x, value) for x in xs]",
    "cycle": "[(table[i % len(table)], x) for i, x in enumerate(xs)]",
}
"""What does the work of functions of itertools and collections, for lists of any length."""
_MAKING = {
    "struct.pack(": "np.array(xs, dtype=np.float32).tobytes()",
    "hypot(*": "math.sqrt(sum([x * x for x in xs]))",
    "tuple(": "[x for x in xs], a list,",
    "zip(*": "[[row[i] for row in rows] for i in range(len(rows[0]))]",
    "gcd(*": "functools.reduce(math.gcd, xs, 0)",
    "lcm(*": "functools.reduce(math.lcm, xs, 1)",
    "chain(*": "itertools.chain.from_iterable(xs)",
    "union(*": "{x for xs in lists for x in xs}",
    "format(*": "f'{xs[0]} {xs[1]}', a part of the text for each,",
}
"""The same for what makes tuples."""
_CALLS = re.compile(rf"\b({'|'.join(_ITERATING)})\(")
_LAST = re.compile(r"list\(deque\((\w+), maxlen=(\d+)\)\)")
ANY_LENGTH = "A list comprehension, or tracepack.map(fn, items), keeps it free"


def of_any_length(line: SourceLine | None) -> str:
    """What keeps the length of a list free that a line goes through."""
    code = line.code if line is not None else ""
    if found := _LAST.search(code):
        return f"Instead of {found[0]} {found[1]}[-{found[2]}:] keeps it free"
    if found := _CALLS.search(code):
        return f"Instead of {found[1]} {_ITERATING[found[1]]} keeps it free"
    made = next((each for each in _MAKING if re.search(rf"\b{re.escape(each)}", code)), "")
    if made:
        return f"Instead of {made}…) {_MAKING[made]} keeps it free"
    return form_of_generator(line) or loop_form(line) or form_of(line, _with_list) or ANY_LENGTH


def form_of_generator(line: SourceLine | None) -> str:
    """What keeps the number of items free that a generator yields on a line; empty on a line of another function."""
    return form_of(line, _as_helper)


def _as_helper(tree: ast.AST, line: SourceLine) -> str:
    functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
    inner = {id(part) for each in functions for other in functions if other in each.body for part in ast.walk(other)}
    around = [each for each in functions if holds(each, line.line)][-1:]
    own = [part for each in around for part in ast.walk(each) if id(part) not in inner or id(each) in inner]
    yields = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own)
    return f"A helper that returns the list of what {around[0].name} yields keeps it free" if yields else ""


def _with_list(tree: ast.AST, line: SourceLine) -> str:
    """What takes a list in place of its items: ``f(xs)`` for ``f(*xs)``, and ``[*xs]`` for ``(*xs,)``."""
    for each in ast.walk(tree):
        match each:
            case ast.Call(function, [ast.Starred(items)], []) if each.lineno == line.line:
                name, given = ast.unparse(function), ast.unparse(items)
                form = f"{name}({given}) in place of {name}(*{given})"
                return f"A function that takes the list itself, {form}, keeps it free"
            case ast.Tuple([ast.Starred(items)], ast.Load()) if each.lineno == line.line:
                given = ast.unparse(items)
                return f"Instead of (*{given},) [*{given}], a list, keeps it free"
    return ""


_ROUNDS = "Use tracepack.while_loop(cond_fn, body_fn, *carried), as docs/guide.md does for boxes."
_TEXTS = (
    "tracepack.cond(condition, lambda: a, lambda: b) keeps both ways, of a list by len(items) > 0; a table, "
    "{...}[text], chooses among constants, and max(items, default=0) needs no branch; runs of items that belong "
    "together, such as BIO tags, are the matches of re.finditer over a text with one letter for each (docs/guide.md, "
    "Runs of tags); items = items + [item] * int(bool(text)) adds an item or not."
)


def instead(line: SourceLine | None) -> str:
    """A form that is recorded, for what a line calls; empty where there is nothing to say."""
    code = line.code if line is not None else ""
    found = next((form for call, form in _INSTEAD.items() if call in code), "") or before_call(line)
    return f"{found.rstrip('.')}." if found else ""


BOTH_WAYS = (
    "tracepack.cond(condition, lambda: a, lambda: b) keeps both ways, and so does "
    "items = items + [item] * int(bool(condition))"
)


def both_ways(line: SourceLine | None) -> str:
    """What keeps both ways of a branch: the line itself in another form, where there is one."""
    if rows := form_of(line, _of_rows):
        return f"{rows} keeps both ways"
    if line is not None and line.code.lstrip().startswith("case "):
        return "The cases written with if and elif go both ways"
    form = written_with_cond(line) or written_with_finditer(line)
    return f"{form} keeps both ways" if form else BOTH_WAYS


def _of_rows(tree: ast.AST, line: SourceLine) -> str:
    """The rows of a table of pandas, as dicts, for a line in a loop over `iterrows`, which gives tables."""
    for each in ast.walk(tree):
        loops = [each] if isinstance(each, ast.For) else getattr(each, "generators", [])
        if not loops or not isinstance(each, ast.expr | ast.stmt) or not _spans(each, line.line):
            continue
        for loop in loops:
            match loop.target, loop.iter:
                case ast.Tuple([_, row]), ast.Call(ast.Attribute(table, "iterrows")):
                    return f"for {ast.unparse(row)} in {ast.unparse(table)}.to_dict('records')"
    return ""


def _spans(part: ast.expr | ast.stmt, number: int) -> bool:
    return part.lineno <= number <= (part.end_lineno or part.lineno)


def in_package(package: str, line: SourceLine | None = None) -> str:
    """What to do about code of a package that cannot be recorded, which a line of the function calls."""
    general = f"Use functions of torch or numpy in place of {package}, or do it before, and pass what it gives."
    if package == "sklearn" and line is not None:
        if form := next((form for call, form in _OF_ROWS.items() if call in line.code), ""):
            return f"Write {form}, of tensors x and y."
        if not _OF_ESTIMATOR.search(line.code):
            return general
    return _PACKAGES.get(package, general)


def with_match(line: SourceLine | None) -> str:
    """What goes both ways, by a match and without one: the lines themselves in another form, where there is one."""
    form = written_with_finditer(line)
    any_form = "next((m[1] for m in re.finditer(pattern, text)), default) keeps both ways, and so does re.sub"
    return f"{form} keeps both ways" if form else any_form


def for_branch(line: SourceLine | None, about_text: bool) -> str:
    """What to write in place of a branch by what data decides; empty where torch.where or tracepack.cond does.

    Args:
        line: of the branch.
        about_text: whether a text decides it.
    """
    if line is not None and line.code.lstrip().startswith("while "):
        return _ROUNDS
    if form := of_return(line):
        return form
    if form := written_with_cond(line):
        return f"Write {form}: it keeps both ways."
    return _TEXTS if about_text else ""
