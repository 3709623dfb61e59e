"""Installed packages that leave their looks at data out in exports: right, or refused with their line."""

from __future__ import annotations

import importlib.util

import pytest
import torch

import tracepack

LIBRARY = '''
import torch

def unmasked(x, mask):
    """Leaves a mask out that hides nothing, as attention of transformers does."""
    if not torch.compiler.is_compiling() and mask.all():
        return x * 2
    return torch.where(mask, x * 2, 0.0)

def unlike(x, mask):
    if not torch.compiler.is_compiling() and (x == 0).all():
        return x + 7
    return torch.where(mask, x * 2, 0.0)

def refusing(x, mask):
    if not torch.compiler.is_compiling() and x.isnan().any():
        raise ValueError("no number")
    return torch.where(mask, x * 2, 0.0)

def plain(x, mask):
    return x * 2 if torch.compiler.is_compiling() else torch.where(x > 100, x, x * 2)
'''
X, MASK = torch.rand(3, 2), torch.tensor([[True, False], [True, True], [True, True]])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("lib") / "site-packages" / "asking.py"
    path.parent.mkdir()
    path.write_text(LIBRARY)
    spec = importlib.util.spec_from_file_location("asking", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_library_that_only_saves_work_in_a_plain_run_is_lowered(library) -> None:
    op = tracepack.script(library.unmasked, example=(X, MASK))
    for mask in (MASK, ~MASK, MASK | True, MASK & False):
        assert torch.equal(op(X, mask), library.unmasked(X, mask))


def test_a_plain_way_that_can_be_exported_is_taken(library) -> None:
    op = tracepack.script(library.plain, example=(X, MASK))
    assert op(torch.full((3, 2), 200.0), MASK).tolist() == [[200.0, 200.0]] * 3


@pytest.mark.parametrize(
    ("name", "found"),
    [("unlike", "output 0 differs by up to"), ("refusing", "the model raises ValueError where the graph answers")],
)
def test_another_answer_on_other_data_is_refused_with_the_line_of_the_question(library, name, found) -> None:
    words = (
        rf"^op '{name}', asking.py:\d+ in {name}: if not torch.compiler.is_compiling\(\) and .*: a library goes "
        rf"another way in an export than in a plain run, with other results; got torch.compiler.is_compiling\(\), "
        rf"and {found}"
    )
    with pytest.raises(tracepack.LoweringError, match=words):
        tracepack.script(getattr(library, name), example=(X, MASK))
