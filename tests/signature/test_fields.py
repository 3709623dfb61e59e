"""The signature for programs: `inputs`, `outputs` and the JSON schema."""

from __future__ import annotations

import io
import json
from collections import namedtuple
from typing import Any

import jsonschema
import pytest
import torch

import tracepack

Pair = namedtuple("Pair", "left right")
TABLE = torch.arange(4)


def found(fields: list[Any]) -> list[tuple[Any, ...]]:
    return [(f.name, f.path, f.kind, f.dtype, f.shape, f.default, f.required) for f in fields]


@pytest.fixture
def mod() -> tracepack.Pipeline:
    def process(batch, names, k, scale=1.0, *, pair, mode="a"):
        ids = batch["ids"]
        best = ids.topk(k).values
        return {"best": (best, [ids.double() * scale, len(names)]), "pair": Pair(pair.left, None), "mode": mode}

    op = tracepack.trace(
        process, {"ids": torch.arange(12).view(3, 4), "skip": None}, ["x", "y"], 2, 2.0,
        pair=Pair(torch.ones(3, 2), True),
    )  # fmt: skip
    file = io.BytesIO()
    op.save(file)
    return tracepack.load(file.getvalue())


def test_inputs(mod: tracepack.Pipeline) -> None:
    assert found(mod.inputs) == [
        ("batch['ids']", ("batch", "ids"), "tensor", "int64", ("N", "M"), None, True),
        ("batch['skip']", ("batch", "skip"), "fixed", None, None, None, True),
        ("names", ("names",), "strings", None, None, None, True),
        ("k", ("k",), "int", None, None, None, True),
        ("scale", ("scale",), "float", None, None, 1.0, False),
        ("pair.left", ("pair", "left"), "tensor", "float32", ("K", "L"), None, True),
        ("pair.right", ("pair", "right"), "bool", None, None, None, True),
        ("mode", ("mode",), "fixed", None, None, "a", False),
    ]


def test_outputs_have_no_number_for_a_size_that_varies(mod: tracepack.Pipeline) -> None:
    assert found(mod.outputs) == [
        ("out['best'][0]", ("best", 0), "tensor", "int64", ("N", None), None, True),
        ("out['best'][1][0]", ("best", 1, 0), "tensor", "float64", ("N", "M"), None, True),
        ("out['best'][1][1]", ("best", 1, 1), "int", None, None, None, True),
        ("out['pair']['left']", ("pair", "left"), "tensor", "float32", ("K", "L"), None, True),
        ("out['pair']['right']", ("pair", "right"), "fixed", None, None, None, True),
        ("out['mode']", ("mode",), "fixed", None, None, "a", True),
    ]


def test_the_schema_takes_what_the_pipeline_takes(mod: tracepack.Pipeline) -> None:
    schema = mod.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    given = {"batch": {"ids": [[1, 2], [3, 4]], "skip": None}, "names": ["a", "b"], "k": 1}
    given["pair"] = {"left": [[0.5]], "right": True}
    jsonschema.validate({"inputs": given}, schema)
    for bad in (
        {**given, "k": 1.5}, {**given, "mode": "b"}, {**given, "more": 1},
        {**given, "batch": {"ids": [[0.5]], "skip": None}},
        {**given, "batch": {"ids": [1, 2], "skip": None}}, {key: given[key] for key in ("batch", "names", "k")},
    ):  # fmt: skip
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"inputs": bad}, schema)
    assert schema["properties"]["inputs"]["properties"]["scale"] == {"type": "number", "default": 1.0}


def test_the_schema_takes_what_the_pipeline_gives() -> None:
    op = tracepack.script(torch.nn.Linear(4, 2))
    mod = tracepack.trace(lambda x: (op(x), x.shape[0], x > 0, x.to(torch.complex64)), torch.rand(3, 4))
    schema = mod.json_schema()
    a, n, b, c = mod(torch.rand(5, 4))
    pairs = [[[z.real, z.imag] for z in row] for row in c.tolist()]
    jsonschema.validate({"outputs": [a.tolist(), n, b.tolist(), pairs]}, schema)
    with pytest.raises(jsonschema.ValidationError):  # two columns, not four
        jsonschema.validate({"outputs": [b.tolist(), n, b.tolist(), pairs]}, schema)
    outputs = schema["properties"]["outputs"]["prefixItems"]
    assert outputs[0]["x-shape"] == ["N", 2]
    assert outputs[0]["items"] == {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}


def test_an_empty_list_has_a_valid_schema() -> None:
    mod = tracepack.trace(lambda x, names=(): {"boxes": [], "n": len(x)}, torch.rand(3))
    schema = json.loads(json.dumps(mod.json_schema()))["properties"]
    empty = {"type": "array", "minItems": 0, "maxItems": 0}  # `prefixItems` may not be empty
    assert empty.items() <= schema["inputs"]["properties"]["names"].items()
    assert schema["outputs"]["properties"]["boxes"] == empty


def test_a_tensor_that_the_function_holds_is_an_output_with_its_type() -> None:
    file = io.BytesIO()
    mod = tracepack.trace(lambda x: {"x": x, "table": TABLE}, torch.rand(3))
    mod.save(file)
    for each in (mod, tracepack.load(file.getvalue())):
        assert each.signature == "(x: f32[N]) -> {'x': f32[N], 'table': i64[4]}"
        assert [(field.kind, field.dtype, field.shape) for field in each.outputs][1] == ("tensor", "int64", (4,))
        schema = json.loads(json.dumps(each.json_schema()))
        assert schema["properties"]["outputs"]["properties"]["table"]["x-shape"] == [4]


def test_a_size_of_a_result_is_no_number_where_no_run_of_other_sizes_shows_it() -> None:
    def process(x):
        level, levels = 0.0, []
        for value in x.tolist():  # in more rounds than a run on other data may take
            level = 0.9 * level + 0.1 * value
            levels.append(level)
        return x.unfold(0, 104, 2), levels

    mod = tracepack.trace(process, torch.rand(120))  # 121 rows, too, give nine windows
    assert mod.outputs[0].shape == (None, 104)
    assert mod(torch.rand(131))[0].shape == (14, 104)


def _percent(text):
    return "%d%%" % len(text)  # noqa: UP031  # the form that is tested


def _lowered(text):
    return str.lower(text)


def _padded(text):
    width = len(text) + 2
    return f"{text:>{width}}"


@pytest.mark.parametrize("process", [_percent, _lowered, _padded])
def test_a_text_that_a_block_gives_is_one(process: Any) -> None:
    mod = tracepack.trace(process, "Ab")
    assert [(field.kind, field.type) for field in mod.outputs] == [("str", None)]
    assert mod.json_schema()["properties"]["outputs"] == {"type": "string"}
    assert mod("Abc") == process("Abc")


def test_arrays_have_the_dtype_and_the_sizes_of_the_tensor_that_they_are() -> None:
    mod = tracepack.trace(lambda x: (x.numpy() * 2, -x.numpy(), x.numpy().sum(0)), torch.rand(3, 4))
    sized = ("array", "float32", ("N", "M"))
    assert [(field.kind, field.dtype, field.shape) for field in mod.outputs] == [
        sized,
        sized,
        ("array", "float32", ("M",)),
    ]
    schema = mod.json_schema()["properties"]["outputs"]
    first = schema["prefixItems"][0]
    assert (first["x-dtype"], first["x-shape"]) == ("float32", ["N", "M"])
    assert (schema["prefixItems"][2]["x-dtype"], schema["prefixItems"][2]["x-shape"]) == ("float32", ["M"])
    jsonschema.validate([part.tolist() for part in mod(torch.rand(2, 5))], schema)
