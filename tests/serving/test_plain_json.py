"""``POST /v1/{model}`` for people who know no protocol, and its description."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import jsonschema
import pytest
import torch

import tracepack
from tests.serving.servers import cell, serving

CELL = cell()
LABELS = ["cat", "dog"]


def classify(logits):
    probs, ids = logits.softmax(-1).max(-1)
    return [{"label": LABELS[i], "score": round(p, 3)} for i, p in zip(ids.tolist(), probs.tolist(), strict=True)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    models = {
        "cell": CELL,
        "classify": tracepack.trace(classify, torch.rand(3, 2)),
        "mean": tracepack.trace(lambda x: x / x.sum(), torch.rand(3)),
        "limits": tracepack.trace(lambda x: x.log(), torch.rand(3)),
        "quoted": tracepack.trace(lambda text, texts: [f"<{text}>", *[f"<{t}>" for t in texts]], "a", ["b", "c"]),
    }
    with serving(models) as address:
        yield f"http://{address}"


def test_an_object_of_inputs(url) -> None:
    feed = {"x": [[1, 2, 3, 4], [0.5, 0, 0, 0]], "h": [[0, 0, 0], [1, 1, 1]]}
    answer = httpx.post(f"{url}/v1/cell", json=feed).json()
    expected = CELL.run({name: torch.tensor(rows, dtype=torch.float32) for name, rows in feed.items()})
    assert {name: torch.tensor(rows).tolist() for name, rows in answer.items()} == {
        name: value.tolist() for name, value in expected.items()
    }


def test_a_list_of_rows(url) -> None:
    rows = [{"x": [1, 2, 3, 4], "h": [0, 0, 0]}, {"x": [0.5, 0, 0, 0], "h": [1, 1, 1]}]
    answer = httpx.post(f"{url}/v1/cell", json=rows).json()
    expected = CELL.run({name: torch.tensor([row[name] for row in rows], dtype=torch.float32) for name in ("x", "h")})
    assert [row["state"] for row in answer] == expected["state"].tolist()
    assert [row["scores"] for row in answer] == expected["scores"].tolist()


def test_a_list_for_a_pipeline_without_rows_is_a_run_each(url) -> None:
    answer = httpx.post(f"{url}/v1/mean", json=[{"x": [1, 3]}, {"x": [2, 2, 4]}]).json()
    assert answer == [[0.25, 0.75], [0.25, 0.25, 0.5]]


def test_records(url) -> None:
    answer = httpx.post(f"{url}/v1/classify", json={"logits": [[9, 0], [0, 9]]}).json()
    assert answer == [{"label": "cat", "score": 1.0}, {"label": "dog", "score": 1.0}]


def test_texts_are_taken_as_they_are(url) -> None:
    body = {"text": "a\nb\n", "texts": ["\n", "c\r\n", ""]}
    answer = httpx.post(f"{url}/v1/quoted", json=body).json()
    assert answer == [f"<{text}>" for text in (body["text"], *body["texts"])]


def test_numbers_that_are_not_finite_are_valid_json(url) -> None:
    answer = httpx.post(f"{url}/v1/limits", json={"x": [0, -1, 1]})
    assert answer.text == "[-1e999,null,0.0]"


@pytest.mark.parametrize(
    ("model", "body", "text"),
    [
        ("cell", {"x": [[1, 2, 3, 4]]}, "input 'h': missing input; expected f32[N,3]"),
        ("cell", {"x": [[1, 2]], "h": [[1, 2, 3]]}, "input 'x': dimension 1 has a wrong size; got 2 in shape (1, 2)"),
        ("cell", {"x": "a", "h": 1}, "input 'x'"),
        ("cell", {"y": 1}, "input 'y': unknown input; expected x: f32[N,4], h: f32[N,3]"),
        ("cell", [{"x": 1}, {"h": 1}], "row 1: a row has other inputs than the first one; got h; expected x"),
        ("cell", [], "neither an object of inputs nor a list of them; got []; expected x, h"),
        ("cell", 3, "neither an object of inputs nor a list of them; got 3"),
        ("quoted", {"text": "a", "texts": "bc"}, "input 'texts': not a list of strings; got str"),
        ("none", {}, "model 'none': unknown model; expected one of cell, classify, mean, limits, quoted"),
    ],
)
def test_what_does_not_fit_is_named(url, model, body, text) -> None:
    answer = httpx.post(f"{url}/v1/{model}", json=body)
    assert answer.status_code == (404 if model == "none" else 400)
    assert answer.json().keys() == {"error"}
    assert text in answer.json()["error"]


def test_the_description_holds_the_signature_of_each_model(url) -> None:
    found = httpx.get(f"{url}/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    assert {f"/v1/{name}" for name in ("cell", "classify", "mean")} <= found["paths"].keys()
    schema = found["paths"]["/v1/cell"]["post"]["requestBody"]["content"]["application/json"]["schema"]["oneOf"][0]
    jsonschema.validate({"x": [[1, 2, 3, 4]], "h": [[1, 2, 3]]}, schema)
    with pytest.raises(jsonschema.ValidationError, match="'h' is a required property"):
        jsonschema.validate({"x": [[1, 2, 3, 4]]}, schema)


def test_the_description_says_what_every_route_answers_and_takes(url) -> None:
    found = httpx.get(f"{url}/openapi.json").json()["paths"]
    for path in ("/", "/metrics", "/v2"):
        answer = httpx.get(f"{url}{path}")
        assert [answer.headers["content-type"].split(";")[0]] == list(found[path]["get"]["responses"]["200"]["content"])
    schema = found["/v1/cell"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([], schema)


def test_every_route_is_described(url) -> None:
    from tracepack.serving import app

    described = httpx.get(f"{url}/openapi.json").json()["paths"].keys()
    routes = {route.path for route in app({}).routes} - {"/openapi.json", "/v1/{model}"}
    routes = {path for path in routes if not path.startswith("/page/")}  # the parts of the page at "/"
    assert routes <= described
