"""No script runs but the page's own: the policies, held against a browser, and what needs a token."""

from __future__ import annotations

import httpx
import pytest

from tests.serving.page.browser import opened
from tests.serving.page.conftest import EVIL
from tests.serving.servers import serving
from tracepack.serving.page.page_routes import OPEN_FILES

# What a graph could look like if a name in it were not escaped.
HOSTILE = """<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><script>document.title = "run"</script>
<rect width="90" height="90" onload="document.title = 'run'"/></svg>"""


@pytest.mark.parametrize("path", OPEN_FILES)
def test_every_file_has_the_strict_policy(address, path) -> None:
    answer = httpx.get(f"http://{address}{path}")
    policy = answer.headers["content-security-policy"]
    assert answer.status_code == 200
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_the_page_names_no_other_host(address) -> None:
    for path in OPEN_FILES:
        assert "//" not in "".join(
            line.partition("// ")[0] for line in httpx.get(f"http://{address}{path}").text.splitlines()
        )


def test_a_graph_has_a_policy_without_scripts_and_escapes_names(address, models) -> None:
    answer = httpx.get(f"http://{address}/page/data/graph/greet/1")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "sandbox;" in answer.headers["content-security-policy"]
    assert "script-src" not in answer.headers["content-security-policy"]
    assert "<img" not in answer.text


def test_an_unknown_model_has_no_graph(address) -> None:
    answer = httpx.get(f"http://{address}/page/data/graph/none/1")
    assert answer.status_code == 404
    assert "model 'none', version '1': unknown model" in answer.json()["error"]


@pytest.mark.parametrize("path", ["/page/data/models", "/page/data/counts", "/page/data/graph/next/1"])
def test_data_needs_the_token_and_files_do_not(models, path) -> None:
    with serving({"next": models["next"]}, token="open sesame") as address:
        assert httpx.get(f"http://{address}{path}").status_code == 401
        headers = {"Authorization": "Bearer open sesame"}
        assert httpx.get(f"http://{address}{path}", headers=headers).status_code == 200
        assert {httpx.get(f"http://{address}{name}").status_code for name in OPEN_FILES} == {200}


def test_a_script_that_got_into_the_page_does_not_run(chromium, address) -> None:
    with opened(chromium, f"http://{address}/") as (page, seen):
        page.get_by_role("button", name="cell", exact=True).wait_for()
        page.evaluate(
            """(evil) => {
            document.querySelector("main").innerHTML = `${evil}<button id="b" onclick="alert(1)">b</button>`;
            const script = document.createElement("script");
            script.textContent = "alert(2)";
            document.body.append(script);
        }""",
            EVIL,
        )
        page.locator("#b").click()
        page.wait_for_timeout(200)
        assert seen.dialogs == []
        assert sum("Content Security Policy" in line for line in seen.console) >= 3


def test_a_hostile_graph_runs_no_script_in_the_page_nor_by_itself(chromium, address) -> None:
    with opened(chromium, "about:blank") as (page, seen):
        served = {}

        def instead(route) -> None:
            answer = route.fetch()
            served.update(answer.headers)
            route.fulfill(response=answer, body=HOSTILE)

        page.route("**/page/data/graph/**", instead)
        page.goto(f"http://{address}/#cell/1")
        page.wait_for_function("() => document.querySelector('#graph img')?.naturalWidth === 90")
        assert page.title() == "tracepack"
        page.goto(f"http://{address}/page/data/graph/cell/1")
        page.locator("rect").wait_for()
        assert page.title() != "run"
        assert any("script" in line for line in seen.console)


def test_a_model_that_is_not_loaded_says_so(chromium, models, tmp_path) -> None:
    models["next"].save(tmp_path / "next.tpk")
    with serving({"next": tmp_path / "next.tpk", "cell": models["cell"]}) as address:
        httpx.post(f"http://{address}/v2/repository/models/next/unload")
        with opened(chromium, f"http://{address}/#next/1") as (page, _):
            page.get_by_text("UNAVAILABLE: unloaded").wait_for()
            assert page.get_by_role("button", name="Run").count() == 0
