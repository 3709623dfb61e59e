"""Bad requests: each is answered with a 4xx that names the input, and nothing of the process leaves it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import numpy as np
import pytest
import torch

import tracepack
from tests.security.forge import apply, archive_of, tensor
from tests.serving.servers import cell, serving
from tracepack.ops.graph.graph import Facts, Graph
from tracepack.serving import app

HEADER = "Inference-Header-Content-Length"
GOOD = {"inputs": [
    {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]},
    {"name": "h", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]},
]}  # fmt: skip


def changed(**fields) -> dict:
    """A good request with other fields of its first input."""
    return {"inputs": [{**GOOD["inputs"][0], **fields}, GOOD["inputs"][1]]}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    models = {
        "cell": cell(),
        "pick": tracepack.trace(lambda table, i: table[i], torch.rand(4), torch.tensor([1, 2])),
        "word": tracepack.trace(lambda text: text.upper(), "a"),
    }
    with serving(models, max_body=4096) as address:
        yield f"http://{address}"


CASES = [
    (b"{", "the body is no JSON"),
    (b"\xff\xfe", "the body is no JSON"),
    ([], "the body is malformed; got []; expected an object"),
    ({}, "the request has no inputs"),
    ({"inputs": 3}, "'inputs' is malformed; got 3; expected a list of objects"),
    ({"inputs": [{"datatype": "FP32"}]}, "the name of an input is malformed; got None"),
    (changed(datatype="FP33"), "input 'x': unknown datatype; got 'FP33'; expected one of BOOL, UINT8"),
    (changed(datatype=None), "input 'x': unknown datatype; got None"),
    (changed(datatype=["FP32"]), "input 'x': unknown datatype; got ['FP32']"),
    (changed(shape="abc"), "input 'x': no shape; got 'abc'; expected a list of at most 64 sizes"),
    (changed(shape=""), "input 'x': no shape; got ''"),
    (changed(shape=[1] * 65), "input 'x': no shape; got [1, 1"),
    (changed(shape=[-1, 4]), "input 'x': no shape; got [-1, 4]"),
    (changed(shape=[True, 4]), "input 'x': no shape; got [True, 4]"),
    (changed(shape=[1 << 61, 4]), "input 'x': another number of elements; got 4; expected 9223372036854775808"),
    (changed(shape=[2, 4]), "input 'x': another number of elements; got 4; expected 8 for shape [2, 4]"),
    (changed(data=[[1, 2], [3]]), "input 'x': lists of different lengths"),
    (changed(data=[1, 2, 3, "4"]), "input 'x': not of the datatype FP32; got 1"),
    (changed(data=[1, 2, 3, True]), None),  # numpy takes True among numbers for 1
    (changed(data=[True] * 4), "input 'x': not of the datatype FP32; got True"),
    (changed(data={"a": 1}), "input 'x': another number of elements; got 1"),
    (changed(datatype="INT8", data=[1, 2, 3, 300]), "input 'x': not of the datatype INT8"),
    (changed(datatype="UINT8", data=[1, 2, 3, -1]), "input 'x': not of the datatype UINT8"),
    (changed(datatype="INT32", data=[1, 2, 3, 4.5]), "input 'x': not of the datatype INT32"),
    (changed(data=[1, 2, 3, 1e39]), "input 'x': not of the datatype FP32; got 1e+39; expected at most 3.40282e+38"),
    (changed(datatype="FP16", data=[1, 2, 3, -7e4]), "input 'x': not of the datatype FP16; got 70000.0"),
    (changed(datatype="INT32"), "input 'x': wrong dtype; got int32; expected float32"),
    (changed(datatype="BYTES", data=["a"] * 4), "input 'x': another datatype; got BYTES; expected FP32"),
    (changed(shape=[4]), "input 'x': wrong rank; got shape (4,)"),
    (changed(name="y"), "input 'y': unknown input; expected x, h"),
    (changed(name="h"), "input 'h': an input is given twice"),
    ({"inputs": GOOD["inputs"][:1]}, "input 'h': missing input; expected FP32 [-1, 3]"),
    ({**GOOD, "outputs": [{"name": "z"}]}, "output 'z': unknown output; expected state, scores"),
    ({**GOOD, "parameters": 3}, "'parameters' is malformed"),
    ({**GOOD, "id": [1]}, "'id' is malformed"),
    ({**GOOD, "id": True}, "'id' is malformed"),
    ({**GOOD, "id": "\ud83d"}, "the body is no JSON; got 'utf-8' codec can't encode character"),
    (b'{"id": "\xed\xa0\xbd"}', "the body is no JSON; got 'utf-8' codec can't decode byte"),
    ({**GOOD, "outputs": [{"name": "state", "parameters": {"classification": 1}}]}, "there is no classification"),
    (
        changed(parameters={"shared_memory_region": "r"}),
        "input 'x': tensors in shared memory are not taken; got the parameter 'shared_memory_region'",
    ),
    (changed(data=None, parameters={"binary_data_size": 16}), "input 'x': binary_data_size is wrong; got 16"),
    (changed(data=None, parameters={"binary_data_size": -1}), "input 'x': binary_data_size is wrong; got -1"),
]


@pytest.mark.parametrize(("body", "text"), CASES)
def test_a_bad_request_is_named(url, body, text) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = httpx.post(f"{url}/v2/models/cell/infer", content=content)
    if text is None:
        assert answer.status_code == 200
        return
    assert answer.status_code == 400
    assert answer.json().keys() == {"error"}
    assert text in answer.json()["error"]


def binary(size: int, tail: bytes, header: str | None = None, **fields) -> httpx.Request:
    row = {"name": "text", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": size}, **fields}
    head = json.dumps({"inputs": [row]}).encode()
    return {"content": head + tail, "headers": {HEADER: str(len(head)) if header is None else header}}


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (binary(6, b"\x02\x00\x00\x00hi"), None),
        (binary(6, b"\x02\x00\x00\x00hix"), "bytes follow that belong to no input; got 1"),
        (binary(6, b"\x03\x00\x00\x00hi"), "input 'text': BYTES end within an element"),
        (binary(3, b"\x03\x00\x00"), "input 'text': BYTES end within an element"),
        (binary(6, b"\x02\x00\x00\x00\xff\xff"), "input 'text': no UTF-8 text"),
        (binary(8, b"\x00\x00\x00\x00" * 2), "input 'text': another number of elements; got 2"),
        (binary(6, b"", datatype="FP32"), "input 'text': binary_data_size is wrong; got 6"),
        (binary(2, b"hi", datatype="FP32"), "input 'text': another number of bytes; got 2; expected 4 for FP32 [1]"),
        (binary(6, b"\x02\x00\x00\x00hi", header="99999"), f"{HEADER} is larger than the body"),
        (binary(6, b"\x02\x00\x00\x00hi", header="-5"), f"{HEADER} is no number"),
    ],
)  # fmt: skip
def test_bad_bytes_are_named(url, request_, text) -> None:
    answer = httpx.post(f"{url}/v2/models/word/infer", **request_)
    if text is None:
        assert answer.json()["outputs"][0]["data"] == ["HI"]
    else:
        assert answer.status_code == 400
        assert text in answer.json()["error"]


def test_texts_in_deep_lists(url) -> None:
    data = "[" * 900 + '"\\ud83d\\ude00"' + "]" * 900
    body = f'{{"inputs": [{{"name": "text", "datatype": "BYTES", "shape": [1], "data": {data}}}]}}'
    answer = httpx.post(f"{url}/v2/models/word/infer", content=body)
    assert answer.json()["outputs"][0]["data"] == ["\U0001f600"]


def test_a_page_of_another_site_changes_no_model(url) -> None:
    for headers in ({"origin": "http://other.example"}, {"origin": "null"}, {"sec-fetch-site": "same-site"}):
        answer = httpx.post(f"{url}/v2/repository/models/word/unload", headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"].startswith("a page of another site asks for a change; got")
    mine = {"origin": url, "sec-fetch-site": "same-origin"}
    assert httpx.post(f"{url}/v2/repository/models/word/load", headers=mine).status_code == 200


def test_an_operator_that_fails_on_the_data_is_no_5xx(url) -> None:
    rows = [
        {"name": "table", "datatype": "FP32", "shape": [2], "data": [1, 2]},
        {"name": "i", "datatype": "INT64", "shape": [1], "data": [9]},
    ]
    answer = httpx.post(f"{url}/v2/models/pick/infer", json={"inputs": rows})
    assert answer.status_code == 422
    assert "out of range" in answer.json()["error"] or "out of bounds" in answer.json()["error"]


def test_a_body_that_is_too_large(url) -> None:
    answer = httpx.post(f"{url}/v2/models/cell/infer", content=b" " * 4097)
    assert (answer.status_code, answer.json()) == (413, {"error": "the body is too large; expected at most 4096 bytes"})
    chunks = httpx.post(f"{url}/v2/models/cell/infer", content=iter([b" " * 4000, b" " * 100]))
    assert chunks.status_code == 413


def test_a_body_that_unpacks_to_more_than_the_limit(url) -> None:
    import gzip

    bomb = gzip.compress(b" " * 1_000_000)
    assert len(bomb) < 4096
    answer = httpx.post(f"{url}/v2/models/cell/infer", content=bomb, headers={"content-encoding": "gzip"})
    assert answer.status_code == 413
    torn = gzip.compress(json.dumps(GOOD).encode())[:-9]
    answer = httpx.post(f"{url}/v2/models/cell/infer", content=torn, headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.json()["error"]) == (400, "the body is no whole gzip")
    twice = gzip.compress(json.dumps(GOOD).encode()) + b"more"
    answer = httpx.post(f"{url}/v2/models/cell/infer", content=twice, headers={"content-encoding": "gzip"})
    assert (answer.status_code, answer.json()["error"]) == (400, "bytes follow the gzip; got 4")
    answer = httpx.post(f"{url}/v2/models/cell/infer", content=b"x", headers={"content-encoding": "br"})
    assert answer.status_code == 400


def test_routes_that_are_none(url) -> None:
    assert httpx.get(f"{url}/none").json() == {"error": "GET /none: Not Found"}
    assert httpx.get(f"{url}/v2/models/cell/infer").status_code == 405
    assert httpx.post(f"{url}/v2/models/cell/versions/2/infer", json=GOOD).json() == {
        "error": "model 'cell', version '2': unknown model; expected one of cell, pick, word"
    }


def test_an_error_that_is_none_of_ours_goes_to_the_log_only(caplog) -> None:
    pipeline = cell()

    def broken(feed):
        raise ValueError("/etc/secret")

    with serving({"cell": pipeline}) as address:
        pipeline._runner.run = broken
        answer = httpx.post(f"http://{address}/v2/models/cell/infer", json=GOOD)
    assert (answer.status_code, answer.json()) == (500, {"error": "internal error; the log of the server has it"})
    assert "/etc/secret" in caplog.text


def test_the_server_goes_on_after_all_that(url) -> None:
    answer = httpx.post(f"{url}/v2/models/cell/infer", json=GOOD).json()
    expected = cell_alone()
    assert np.array(answer["outputs"][0]["data"], "f4").shape == (3,)
    assert expected.keys() == {"state", "scores"}


def cell_alone():
    return cell().run({"x": torch.ones(1, 4), "h": torch.ones(1, 3)})


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"max_batches": 3}, "max_batches: unknown setting; expected one of max_body"),
        ({"max_batch": 0}, "max_batch: no setting of its range; got 0; expected a whole number of at least 1"),
        ({"timeout": "1"}, "timeout: no setting of its range; got '1'"),
    ],
)
def test_a_wrong_setting(settings, text) -> None:
    with pytest.raises(tracepack.SignatureError, match="setting") as caught:
        app({}, **settings)
    assert text in str(caught.value)


WIDE, LONG, LONE = "an output is too large to be sent", "an integer is too long to be sent", "a text that no encoding"


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("torch.Tensor.expand", ["x0", 1 << 40, -1], f"{WIDE}; got 8796093022208 bytes, shape [1099511627776, 2]"),
        ("py.pow", [10, 5000], LONG), ("py.chr", [0xD800], LONE),
    ],
)  # fmt: skip
@pytest.mark.parametrize("within", [False, True])
def test_what_a_file_computes_and_nothing_can_send_is_refused(name, args, said, within, tmp_path) -> None:
    x = tensor("N")
    node = apply(name, *(x if arg == "x0" else arg for arg in args))
    output = [{"a": node.output}, 1] if within else node.output
    path = tmp_path / "m.tpk"
    path.write_bytes(archive_of(Graph((x,), (node,), output), Facts({"N": (0, 0)}, ())))
    binary = {"inputs": [{"name": "x0", "datatype": "FP32", "shape": [2], "data": [1, 2]}]}
    with serving({"m": str(path)}) as address:
        for place, body in (("v2/models/m/infer", binary), ("v1/m", {"x0": [1, 2]})):
            answer = httpx.post(f"http://{address}/{place}", json=body)
            assert (answer.status_code, answer.json()["error"][: len(said)]) == (422, said)


def test_a_dtype_that_the_protocol_lacks_is_an_error_of_the_start() -> None:
    pipeline = tracepack.trace(lambda x: x.abs(), torch.ones(2, dtype=torch.complex64))
    with pytest.raises(tracepack.TracepackError) as caught:
        app({"c": pipeline})
    assert str(caught.value) == "model 'c', input 'x': the protocol has no such datatype; got complex64"
