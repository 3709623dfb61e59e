"""The form that a trace shows for a branch works as it is written: it is put in its place, traced, and asked."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings

import pytest
import torch

import tracepack
from tests.campaigns.check import difference

X, Y = torch.tensor([1.0, 2.0]), torch.tensor([-3.0, 1.0, 1.0])
FUNCTIONS = {
    "a flag": ("return x * 2 if flag else x", {"x": X, "flag": True}, [{"x": Y, "flag": False}]),
    "a flag that is left": (
        """
        if not flag:
            x = x * 2
        return x + 1
        """,
        {"x": X, "flag": True},
        [{"x": Y, "flag": False}, {"x": Y, "flag": True}],
    ),
    "an item of a text": ("return text[0] if text else '-'", {"text": "abc"}, [{"text": ""}, {"text": "z"}]),
    "the example goes the other way": ("return '-' if text == '' else text[0]", {"text": ""}, [{"text": "ab"}]),
    "a mode": (
        """
        if mode == "max" and len(xs) > 1:
            found = max(xs)
        elif mode == "min":
            found = min(xs)
        else:
            found = sum(xs) / len(xs)
        return found
        """,
        {"xs": [1.0, 2.0], "mode": "max"},
        [{"xs": [3.0], "mode": "max"}, {"xs": [4.0, 3.0, 1.0], "mode": "min"}, {"xs": [4.0, 3.0], "mode": "x"}],
    ),
    "conditions that may fail": (
        "return t[2:] if len(t) > 2 and t[1] == 'b' else t",
        {"t": "xyz"},
        [{"t": "abc"}, {"t": ""}, {"t": "b"}],
    ),
    "a text as a condition": (
        "return text.center(9) if text and not flag else '-'",
        {"text": "ab", "flag": False},
        [{"text": "", "flag": False}, {"text": "abc", "flag": True}, {"text": "abc", "flag": False}],
    ),
    "either": (
        "return t.center(5) if not (t.startswith('a') or t.endswith('b')) else t",
        {"t": "xx"},
        [{"t": "ax"}, {"t": "xb"}, {"t": "yy"}],
    ),
    "a first result": (
        """
        if not xs:
            return 0.0
        return sum(xs) / len(xs)
        """,
        {"xs": [1.0, 2.0]},
        [{"xs": []}, {"xs": [1.0, 2.0, 6.0]}],
    ),
    "several results": (
        """
        if text.startswith("Mr "):
            return text[3:], "mr"
        elif text.startswith("Dr "):
            return text[3:], "dr"
        return text, "none"
        """,
        {"text": "Mr X"},
        [{"text": "Dr Y"}, {"text": "Z"}],
    ),
    "several names": (
        """
        name = "none"
        parts = text.split()
        if len(parts) > 1:
            first, rest = parts[0], " ".join(parts[1:])
            name = "two"
        else:
            first, rest = text, ""
        return first, rest, name
        """,
        {"text": "a b"},
        [{"text": "abc"}, {"text": "a b c"}],
    ),
    "a sum": (
        """
        total = n + 1
        if n > 3:
            total += 10 // n
        return total
        """,
        {"n": 5},
        [{"n": 1}, {"n": 4}],
    ),
    "an item of a list": (
        """
        found = ["a"]
        if text.isdigit():
            found.append(text.center(5))
        return found
        """,
        {"text": "12"},
        [{"text": "x"}, {"text": "3"}],
    ),
    "a constant of a list": (
        """
        found = ["a"]
        if text.isdigit():
            found.append("b")
        return found
        """,
        {"text": "12"},
        [{"text": "x"}, {"text": "3"}],
    ),
    "lists of other lengths": (
        "return [part.strip() for part in text.split(',')] if text else []",
        {"text": "a, b"},
        [{"text": ""}, {"text": "c"}],
    ),
    "a choice in a choice": (
        "return t[0] if t.isdigit() else t[-1] if t.isalpha() else '-'",
        {"t": "12"},
        [{"t": "ab"}, {"t": "a1"}],
    ),
    "a value": ("return text and text.center(5)", {"text": "ab"}, [{"text": ""}]),
    "another value": ("return text or other.center(5)", {"text": "ab", "other": "c"}, [{"text": "", "other": "d"}]),
    "a tensor": (
        """
        if x.sum() > 0 and len(x) > 1:
            return x * 2
        elif x.sum() < 0:
            return -x
        return x
        """,
        {"x": X},
        [{"x": Y}, {"x": torch.ones(1)}, {"x": torch.zeros(3)}],
    ),
    "a number of a tensor": (
        """
        y = x + 1
        if y.mean().item() > 0.5:
            y = y.sort().values
        return y
        """,
        {"x": X},
        [{"x": Y}],
    ),
    "lines that hang on each other": (
        """
        y, k = x + 1, 0
        if x.sum() > 0:
            z = x * 2
            y = y + z
            k = 1
        return y, k
        """,
        {"x": X},
        [{"x": Y}],
    ),
    "lines after it": (
        """
        if "." not in text:
            return "", text
        place = text.index(".")
        text = text.upper()
        return text[:place], text[place + 1 :]
        """,
        {"text": "a.b"},
        [{"text": "a"}, {"text": "q.r.s"}],
    ),
}


SHOWN = (
    "a flag", "a flag that is left", "lists of other lengths", "a tensor", "a number of a tensor",
    "lines that hang on each other", "the example goes the other way",
)  # fmt: skip
"""Those of which a trace shows a form; it records others as they are."""


class Written(ast.NodeTransformer):
    """Puts a form in the place of the first branch of a function."""

    def __init__(self, form):
        form, *parameters = re.split(r", where def (?:rest|side)\(", form)
        self.parameters = parameters[0].partition(")")[0] if parameters else None
        self.form = ast.parse(f"def f():\n    {form}").body[0].body[0]

    def visit_FunctionDef(self, node):
        lines = []
        for place, line in enumerate(node.body):
            if isinstance(line, ast.If):
                after = node.body[place + 1 :]
                if self.parameters is not None and not isinstance(self.form, ast.Return):
                    side = ast.parse(f"def side({self.parameters}):\n    pass").body[0]
                    side.body = [*line.body, ast.Return(self.form.targets[0])]
                    lines.append(ast.parse(ast.unparse(side)).body[0])
                elif self.parameters is not None:
                    rest = ast.parse(f"def rest({self.parameters}):\n    pass").body[0]
                    rest.body, after = after, []
                    lines.append(rest)
                return_too = isinstance(self.form, ast.Return)
                node.body = [*lines, self.form, *([] if return_too else after)]
                return node
            lines.append(line)
        return self.generic_visit(node)

    def visit_IfExp(self, node):
        return self.form.value

    visit_BoolOp = visit_IfExp


def made(source, path):
    """A function of a file, which Python can show."""
    path.write_text(source)
    scope = {"tracepack": tracepack}
    exec(compile(source, str(path), "exec"), scope)
    return scope["process"]


def left_as_it_is(source):
    """The source with a name in it that knows the variables of its function, which is not written anew then."""
    first, rest = source.split("\n", 1)
    return f"{first}\n    dir\n{rest}"


SAID = re.compile(r"(?:(?:taken on it|compared)\. |Write )(.+?)(?: keeps both ways|: it keeps both ways)")


def said(process, example):
    """The form that a trace shows, in a warning or in its refusal; empty where it records the function as it is."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            tracepack.trace(process, **example)
            texts = [str(each.message) for each in found]
        except tracepack.RecordError as error:
            texts = [str(error)]
    return next((form[1] for form in map(SAID.search, texts) if form), "")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("no_blocks")
def test_a_form_that_is_shown_keeps_both_ways_as_it_is_written(name, tmp_path) -> None:
    body, example, others = FUNCTIONS[name]
    source = f"def process({', '.join(example)}):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    process = made(source, tmp_path / f"{abs(hash(body))}.py")
    form = said(made(left_as_it_is(source), tmp_path / f"{abs(hash(body))}_left.py"), example)
    assert form or name not in SHOWN
    written = ast.unparse(ast.fix_missing_locations(Written(form).visit(ast.parse(source)))) if form else source
    example = others[0] if name == "the example goes the other way" else example
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = tracepack.trace(made(written, tmp_path / "written.py"), **example)
    for given in (example, *others):
        wanted, found = process(**given), mod.run(given)
        assert difference(wanted, found) == ""


@pytest.mark.parametrize(
    "body",
    [
        "return None if text == '' else text.center(5)",
        "return [text.center(5)] if (n := len(text)) > 2 else []",
    ],
)
@pytest.mark.usefixtures("no_blocks")
def test_of_a_branch_that_no_form_keeps_the_general_one_is_shown(body, tmp_path) -> None:
    source = left_as_it_is(f"def process(text):\n{textwrap.indent(body, '    ')}\n")
    process = made(source, tmp_path / f"{abs(hash(body))}.py")
    with pytest.warns(UserWarning, match=r"tracepack.cond\(condition, lambda: a, lambda: b\) keeps both ways"):
        tracepack.trace(process, "abc")
