"""Blocks on ways that no example took: they answer as Python does, raise as it does, or refuse."""

from __future__ import annotations

import copy
import io
import sys
import warnings
from typing import Any

import pytest
import torch

import tracepack
from tests.campaigns.check import difference
from tests.everyday.blocks.rare import of_attributes as attrs
from tests.everyday.blocks.rare import of_classes as classes
from tests.everyday.blocks.rare import of_leaving as leaving
from tests.everyday.blocks.rare import of_named_errors as named
from tests.everyday.blocks.rare import of_operators as operators
from tests.everyday.blocks.rare import of_real_classes as real
from tests.everyday.blocks.rare import of_sharing as sharing
from tests.everyday.blocks.rare import of_values as values
from tracepack.ops.graph.errors import GuardError, TracepackError
from tracepack.pipeline.patches.source.shared_parts import shared_names

X = torch.tensor([1.0, -2.0])
TEMPLATES = [
    "{}-{}", "{}{0}", "{0}{}", "{!x}", "{5}", "{", "}", "{name}{}", "{zz}", "{} {} {}", "{0!r:>5}", "{!r", "{0:q}",
    "{:d}{{}}", "{a b}", "{0!}", "{0!rr}", "{-1}", "{ }", "{00}", "{01}", "{name!s:^7}", "{:}", "a}b", "{0:}}", "{²}",
]  # fmt: skip
RARE: dict[str, tuple[Any, list[Any], list[list[Any]]]] = {
    **{
        f.__name__: (f, [[1, 2, 3]], [[[200]], [[]], [[500, 0, 1]], [[0, 7, 300]], [[4, 4, 4, 4, 4]], [[2 * 10**6]]])
        for f in (
            operators.bumped, operators.till, operators.in_turn, operators.in_turn_named, operators.parts_of_lists,
            operators.added_to_none, operators.of_unlike, operators.of_unlike_two, operators.labelled,
            named.of_a_function, named.of_a_class, named.of_a_method, named.of_a_dataclass, named.of_a_record,
            classes.with_a_flag, classes.hits, classes.statics, classes.set_area, classes.set_area_uncaught,
            classes.copied_members, classes.identical, classes.limited, classes.repeated, classes.near,
            classes.tokens, classes.copied, classes.set_members,
            named.of_an_inner_function, named.of_a_lambda, named.of_objects, named.caught_whole,
            values.is_decimal, values.decimal_of_digits, values.formatted_lists, values.nice_member,
            values.highest_member,
            values.needed, real.descriptors, real.gauges, real.read_only, real.in_a_finally, real.in_a_generator,
            real.depths, real.registered, real.class_variables, real.texts_of_records, real.bad_templates,
            real.sorted_set, attrs.in_an_inner_function, attrs.numeric, attrs.versions, attrs.counting_properties,
            attrs.attributes_of_functions, attrs.filled_with_numbers, attrs.builtins_of_classes, attrs.bytes_in_texts,
        )
    },
    "reckoned": (operators.reckoned, [["1", "2", "+"]], [[["2", "3", "4", "*", "+"]], [[]], [["2", "+"]]]),
    "tagged": (classes.tagged, [["a", "b"]], [[["<default>", "c"]], [[]], [["abc"]]]),
    "mixed items": (
        real.mixed_items, [torch.tensor([1.0, 2.0])],
        [[torch.tensor([0.2, 0.1, 0.3, 0.1])], [torch.full((9,), 0.1)], [torch.zeros(0)]],
    ),
    "first items": (
        attrs.first_items, [torch.ones(2, 3)], [[torch.zeros(0, 3)], [torch.tensor([[1.0], [-7.0], [2.0]])]],
    ),
    "same numbers": (
        attrs.same_numbers, [torch.tensor([1.0, 2.0])], [[torch.tensor([float("nan"), 1.0, 1.0])], [torch.zeros(0)]],
    ),
    "filled": (operators.filled, [[1, 2], "{}-{}"], [[[500, 0], each] for each in TEMPLATES]),
    **{
        f.__name__: (f, [[1, 2], X], [[[500], X], [[0, 1], X], [[], X], [[0, 5000, 0], X], [[5000], torch.ones(1)]])
        for f in (
            sharing.rows_twice, sharing.rows_times, sharing.table_twice, sharing.first_row, sharing.columns,
            sharing.outer_kept, sharing.under_two_names, sharing.held_by_a_tuple, sharing.not_shared,
            leaving.clamped, leaving.counted, leaving.mean_of, leaving.gathered, leaving.tallied,
            leaving.under_another_name, leaving.failing, leaving.of_a_flag, leaving.pure,
            leaving.written_first, leaving.raised_first, leaving.changed_by_a_helper, leaving.filled_by_a_function,
        )
    },
}  # fmt: skip


def outcome(call: Any, given: list[Any]) -> Any:
    """What a call gives or raises, and what its arguments are then."""
    given = copy.deepcopy(given)
    try:
        found = call(*given)
    except TracepackError:
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    return found, given


def wrong(name: str) -> list[str]:
    """What a pipeline silently answers otherwise than its function."""
    process, example, others = RARE[name]
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error", tracepack.RecordWarning if hasattr(tracepack, "RecordWarning") else Warning)
        try:
            made = tracepack.trace(process, *copy.deepcopy(example))
        except (TracepackError, Warning) as error:
            return [f"REFUSED {error}"]
    made.save(file)
    found = []
    for given in (example, *others):
        mod = tracepack.load(file.getvalue())
        try:
            got = outcome(mod, given)
        except GuardError as error:
            found.append(f"GUARD {given}: {error}")
            continue
        except TracepackError as error:
            found.append(f"ERROR {given}: {error}")
            continue
        wanted = outcome(process, given)
        if difference(wanted, got) != "":
            found.append(f"WRONG {given}: {got!r} instead of {wanted!r}")
    return found


@pytest.mark.parametrize("name", RARE)
def test_no_way_answers_silently_otherwise(name: str) -> None:
    assert not [each for each in wrong(name) if each.startswith("WRONG")]


@pytest.mark.filterwarnings("ignore:.*an error here ends the run")
def test_the_state_of_an_op_stays_where_the_function_leaves_before_it() -> None:
    process = leaving.with_state(tracepack.script(leaving.Cum()))
    with pytest.warns(Warning, match="is fixed to 2"):
        made = tracepack.trace(process, [1, 2], X)
    made.reset()
    with pytest.raises(TracepackError, match="ZeroDivisionError"):
        made.run({"xs": [0, 1], "x": X})
    assert made.state()["Cum.s"] == 0


@pytest.mark.parametrize(("folder", "found"), [("/opt/site-packages", set()), ("/home/me", {"mine"})])
def test_what_a_package_holds_that_calls_the_function_is_not_looked_at(folder, found) -> None:
    names: dict[str, Any] = {}
    code = "def run(call):\n    rows = [1]\n    return call(lambda: rows)"
    exec(compile(code, f"{folder}/runner.py", "exec"), names)

    def shared(give: Any) -> set[str]:
        mine = give()
        del give
        return shared_names({"mine": mine}, sys._getframe(), ())

    assert names["run"](shared) == found
