"""Guards: tokens, TLS, connections, signatures, trust, budgets, and what stays out of `import tracepack`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
import warnings

import httpx
import pytest
import torch

import tracepack
from tests.serving.commands import served
from tests.serving.servers import cell, serving
from tracepack.serving import app

uvicorn = pytest.importorskip("uvicorn", reason="the extra serve is not installed")
from tracepack.serving.http.connections import limited_protocol  # noqa: E402 - after the skip
from tracepack.serving.process.launch import LaunchOptions  # noqa: E402 - after the skip

BODY = {"x": [[1, 2, 3, 4]], "h": [[1, 2, 3]]}


def test_a_token() -> None:
    with serving({"cell": cell()}, token="sécret") as address:
        url = f"http://{address}"
        assert httpx.get(f"{url}/v2/health/ready").status_code == 200
        for sent in ({}, {"Authorization": "Bearer no"}, {"Authorization": "sécret".encode()}):
            answer = httpx.post(f"{url}/v1/cell", json=BODY, headers=sent)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert answer.json() == {"error": "no valid token; expected the header Authorization: Bearer …"}
        assert httpx.get(f"{url}/metrics").status_code == 401
        for scheme in ("Bearer", "bearer"):
            answer = httpx.post(f"{url}/v1/cell", json=BODY, headers={"Authorization": f"{scheme} sécret".encode()})
            assert answer.status_code == 200


@pytest.mark.parametrize("content", [b"secret\n", b"\xef\xbb\xbfsecret\r\n"])
def test_the_file_of_a_token(tmp_path, content) -> None:
    """Editors of Windows write a mark before the text, which no client would send."""
    (tmp_path / "token").write_bytes(content)
    assert LaunchOptions((), token_file=str(tmp_path / "token")).config().token == "secret"


def test_an_application_that_is_mounted() -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    pipeline = cell()
    outer = Starlette(routes=[Mount("/models", app({"cell": pipeline}, token="t"))])
    client = httpx.Client(transport=Asgi(outer), base_url="http://server", headers={"Authorization": "Bearer t"})
    expected = pipeline.run({"x": torch.tensor([[1.0, 2, 3, 4]]), "h": torch.tensor([[1.0, 2, 3]])})
    assert client.post("/models/v1/cell", json=BODY).json()["state"] == expected["state"].tolist()
    client.headers.pop("Authorization")
    assert client.get("/models/v2/health/live").json() == {"live": True}
    assert client.get("/models/v2/models/cell").status_code == 401


def test_middleware_of_the_user_sees_requests_for_inference() -> None:
    from starlette.middleware.cors import CORSMiddleware

    application = app({"cell": cell()})
    application.add_middleware(CORSMiddleware, allow_origins=["https://a.example"])
    client = httpx.Client(
        transport=Asgi(application), base_url="http://server", headers={"Origin": "https://a.example"}
    )
    for path in ("/v2/models/cell/infer", "/v1/cell"):
        assert client.post(path, json={}).headers["access-control-allow-origin"] == "https://a.example"


class Asgi(httpx.BaseTransport):
    """Calls an application without a socket."""

    def __init__(self, application) -> None:
        self.application = application

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def call() -> httpx.Response:
            given = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self.application)) as client:
                answer = await client.send(given)
                return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

        return asyncio.run(call())


class Spelled(torch.nn.Module):
    """A model that ATen cannot express, so that its file needs trust."""

    def forward(self, x: torch.Tensor, words: list[str]) -> torch.Tensor:
        return (x + float(len("-".join(words)))).contiguous()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A signed file, one of TorchScript, keys, a certificate, a token."""
    crypto = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    folder = tmp_path_factory.mktemp("files")
    cell().save(folder / "cell.tpk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is deprecated, and that the op stays TorchScript
        op = tracepack.script(torch.jit.script(Spelled()))
        tracepack.trace(lambda x: op(x, ["a", "b"]), torch.rand(2, 4)).save(folder / "opaque.tpk")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    for name in ("mine", "other"):
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(crypto.Encoding.PEM, crypto.PrivateFormat.PKCS8, crypto.NoEncryption())
        (folder / f"{name}.key").write_bytes(private)
        public = key.public_key().public_bytes(crypto.Encoding.PEM, crypto.PublicFormat.SubjectPublicKeyInfo)
        (folder / f"{name}.pem").write_bytes(public)
    sign = [sys.executable, "-m", "tracepack", "sign", folder / "cell.tpk", "--key", folder / "mine.key"]
    subprocess.run(sign, check=True, capture_output=True)
    certificate(folder)
    (folder / "token").write_text("abc\n")
    return folder


def certificate(folder) -> None:
    """A certificate for this machine alone, and its key."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    made = x509.CertificateBuilder(name, name, key.public_key(), 7, now - day, now + day).add_extension(here, False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
    (folder / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "cert.key").write_bytes(pem)


def test_tls_a_token_and_a_signature_together(files) -> None:
    grpc_client = pytest.importorskip("tritonclient.grpc")
    arguments = ["--tls-cert", files / "cert.pem", "--tls-key", files / "cert.key", "--token-file", files / "token"]
    with served(files, files / "cell.tpk", *arguments, "--signed-by", files / "mine.pem") as running:
        assert running.url.startswith("https://127.0.0.1:")
        import ssl

        trusted, sent = ssl.create_default_context(cafile=files / "cert.pem"), {"Authorization": "Bearer abc"}
        answer = httpx.post(f"{running.url}/v1/cell", json=BODY, headers=sent, verify=trusted)
        assert answer.json().keys() == {"state", "scores"}
        assert httpx.post(f"{running.url}/v1/cell", json=BODY, verify=trusted).status_code == 401
        made = grpc_client.InferenceServerClient(running.rpc, ssl=True, root_certificates=str(files / "cert.pem"))
        assert made.is_model_ready("cell", headers={"authorization": "Bearer abc"})
        with pytest.raises(grpc_client.InferenceServerException, match="no valid token"):
            made.is_model_ready("cell")
        made.close()


def test_a_file_that_nobody_known_signed(files) -> None:
    assert app({"cell": files / "cell.tpk"}, signed_by=[files / "mine.pem"]).routes
    with pytest.raises(tracepack.TrustError):
        app({"cell": files / "cell.tpk"}, signed_by=[files / "other.pem"])


def test_trust_is_by_the_name_of_a_model(files) -> None:
    with pytest.raises(tracepack.TrustError):
        app({"opaque": files / "opaque.tpk"})
    with pytest.raises(tracepack.TrustError):
        app({"opaque": files / "opaque.tpk", "cell": files / "cell.tpk"}, trust=["cell"])
    with serving({"opaque": files / "opaque.tpk"}, trust=["opaque"]) as address:
        assert httpx.post(f"http://{address}/v1/opaque", json={"x": [[1, 2, 3, 4]]}).status_code == 200


def test_a_budget_ends_a_run(tmp_path) -> None:
    def count(x, runs):
        return tracepack.while_loop(lambda i, v: i < runs, lambda i, v: (i + 1, v + 1), 0, x)[1]

    tracepack.trace(count, torch.ones(2), 3).save(tmp_path / "loop.tpk")
    with serving({"loop": tmp_path / "loop.tpk"}, budget={"seconds": 1.0}) as address:
        answer = httpx.post(f"http://{address}/v1/loop", json={"x": [1, 2], "runs": 1 << 40}, timeout=60)
        assert answer.status_code == 504
        assert "the run takes longer than its budget; expected 1.0 seconds at most" in answer.json()["error"]
        assert httpx.post(f"http://{address}/v1/loop", json={"x": [1, 2], "runs": 3}).json() == [4, 5]


def test_the_rows_of_a_request_share_its_time() -> None:
    def count(x, runs):
        return tracepack.while_loop(lambda i, v: i < runs, lambda i, v: (i + 1, v + 1), 0, x)[1]

    with serving({"loop": tracepack.trace(count, torch.ones(2), 3)}, timeout=0.5) as address:
        rows = [{"x": [1, 2], "runs": 1_000}] * 1_000
        answer = httpx.post(f"http://{address}/v1/loop", json=rows, timeout=60)
        assert (answer.status_code, answer.json()) == (
            504, {"error": "the request took too long; expected at most 0.5 s"},
        )  # fmt: skip


def said(host: str, port: int | str, sent: bytes, shut: bool = False) -> str:
    """What a server says to a client that sends no more, until it ends the connection."""
    with socket.create_connection((host, int(port)), timeout=60) as made:
        made.sendall(sent)
        if shut:
            made.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):  # where the server reads no further
            return b"".join(iter(lambda: made.recv(4096), b"")).decode()
    return ""


HEAD = b"POST /v1/cell HTTP/1.1\r\nhost: a\r\n"


def test_a_request_that_does_not_arrive_is_ended(tmp_path) -> None:
    """A client that says nothing, one that stops in its headers, and one that stops in its body."""
    cell().save(tmp_path / "cell.tpk")
    with served(tmp_path, tmp_path / "cell.tpk", "--timeout", 1) as running:
        host, port = running.url.removeprefix("http://").split(":")
        for sent in (b"", HEAD, HEAD + b"content-length: 20\r\n\r\n{"):
            answer = said(host, port, sent)
            assert answer.startswith("HTTP/1.1 408 Request Timeout\r\n")
            assert answer.endswith('{"error":"the request did not arrive; expected it within 1 s"}')


def test_limits_of_connections(tmp_path) -> None:
    cell().save(tmp_path / "cell.tpk")
    with served(tmp_path, tmp_path / "cell.tpk", "--max-connections", 2) as running:
        host, port = running.url.removeprefix("http://").split(":")
        tails = [b"", *(b"a" * size + b"\r\ncontent-length: 2\r\n\r\n{}" for size in (0, 1 << 16))]
        for tail in tails:  # a head that does not end, and whole ones, which may come with one read
            large = said(host, port, HEAD + b"x: " + b"a" * (1 << 16) + tail)
            assert large.startswith("HTTP/1.1 431 ") or not large
            assert large.count("HTTP/1.1") <= 1
        assert said(host, port, b"no HTTP\r\n\r\n").endswith('{"error":"Invalid HTTP request received."}')
        with httpx.Client() as first, httpx.Client() as second:
            assert first.get(f"{running.url}/v2/health/live").status_code == 200
            assert second.get(f"{running.url}/v2/health/live").status_code == 200
            with socket.create_connection((host, int(port)), timeout=60) as third:
                text = b"".join(iter(lambda: third.recv(4096), b"")).decode()
            assert text.startswith("HTTP/1.1 429 Too Many Requests\r\n")
            assert text.endswith('{"error":"too many connections; expected 2 at most"}')
        shut_clients_get_their_answers(host, port)
        assert "Traceback" not in running.log.read_text(encoding="utf-8")


def test_a_request_that_asks_for_another_protocol_is_answered_in_this_one(tmp_path) -> None:
    """As Java's client and `curl --http2` ask with each first request: with the body lost, it was another's request."""
    cell().save(tmp_path / "cell.tpk")
    body = json.dumps(BODY).encode()
    asking = b"connection: Upgrade, HTTP2-Settings%s\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
    whole, last = (
        HEAD + asking % more + b"content-length: %d\r\n\r\n%s" % (len(body), body) for more in (b"", b", close")
    )
    chunked = HEAD + asking % b"" + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    with served(tmp_path, tmp_path / "cell.tpk") as running:
        host, port = running.url.removeprefix("http://").split(":")
        for sent, answers in ((whole, 1), (last, 1), (chunked + whole * 2 + last, 4), (whole + whole[:-1], 1)):
            text = said(host, port, sent, shut=True)
            assert (text.count("HTTP/1.1 200 OK"), text.count("HTTP/1.1")) == (answers, answers), sent
        assert said(host, port, b"CONNECT /v2 HTTP/1.1\r\nhost: a\r\n\r\n").startswith("HTTP/1.1 400 ")


def test_a_head_behind_large_requests_is_not_taken_for_their_size(tmp_path) -> None:
    cell().save(tmp_path / "cell.tpk")
    body = json.dumps(BODY).encode().rjust(200_000)
    whole = HEAD + b"content-length: %d\r\n\r\n%s" % (len(body), body)
    with served(tmp_path, tmp_path / "cell.tpk") as running:
        host, port = running.url.removeprefix("http://").split(":")
        text = said(host, port, whole * 2 + whole[:30], shut=True)
        assert (text.count("HTTP/1.1 200 OK"), text.count("HTTP/1.1")) == (2, 2)


def shut_clients_get_their_answers(host: str, port: str) -> None:
    """Clients that shut their half of the connection down; a request that is not whole then is none."""
    body = json.dumps(BODY).encode()
    whole = HEAD + b"content-length: %d\r\n\r\n%s" % (len(body), body)
    cases = [(b"", 0), (whole, 1), (whole * 3, 3), (whole[:-1], 0), (whole * 2 + whole[:-1], 2), (whole[:30], 0)]
    for sent, answers in cases * 10:
        text = said(host, port, sent, shut=True)
        assert (text.count("HTTP/1.1 200 OK"), text.count("HTTP/1.1")) == (answers, answers), sent


def test_an_answer_to_a_connection_that_has_ended_is_dropped(caplog) -> None:
    """uvicorn tells the last of several requests that the connection has ended, and uvloop raises for the others."""
    uvloop = pytest.importorskip("uvloop", reason="only its transports raise it")

    async def answer(scope, receive, send) -> None:
        (connection,) = server.server_state.connections
        connection.transport.abort()
        while connection in server.server_state.connections:
            await asyncio.sleep(0)
        server.should_exit = True
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
        await send({"type": "http.response.body", "body": b"a"})

    config = uvicorn.Config(answer, log_config=None, lifespan="off", ws="none", http=limited_protocol(9, 60.0))
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=lambda: uvloop.new_event_loop().run_until_complete(server.serve([listening])))
        serving.start()
        assert said(*listening.getsockname(), b"GET / HTTP/1.1\r\nhost: a\r\n\r\n" * 2) == ""
        serving.join()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_importing_tracepack_imports_nothing_of_it() -> None:
    code = (
        "import sys, tracepack, tracepack.cli, tracepack.serving, torch\n"
        "tracepack.load, tracepack.trace\n"
        "heavy = {'starlette', 'uvicorn', 'grpc', 'google.protobuf', 'prometheus_client'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("call", ["app({})", "serve(['a.tpk'])"])
def test_a_missing_extra_says_what_to_install(call) -> None:
    code = (
        "import sys, importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'starlette' else real(name, *a)\n"
        "import tracepack.serving as s\n"
        f"try:\n    s.{call}\nexcept s.SignatureError.__mro__[1] as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = "serving needs starlette, which is not installed. pip install 'tracepack[serve]'"
    assert done.stdout == f"MissingExtraError {expected}\n"
