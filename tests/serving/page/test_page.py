"""The page at ``/`` in a real browser: models, forms of every kind of input, and what comes of a request."""

from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

from tests.serving.page.browser import opened
from tests.serving.page.conftest import EVIL
from tests.serving.servers import serving


def chosen(page: Any, name: str) -> Any:
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("heading", name=name, exact=True).wait_for()
    return page


def answer(page: Any) -> Any:
    """What the server answers to the form as it is filled in."""
    page.get_by_role("button", name="Run").click()
    page.locator("#output").wait_for()
    return json.loads(page.locator("#output").text_content())


def refusal(page: Any) -> str:
    page.get_by_role("button", name="Run").click()
    page.locator("#said.error").wait_for()
    return page.locator("#said").text_content()


def png(path: Path, pixels: torch.Tensor) -> Path:
    """A file of an RGB image, as the format's specification writes it."""
    height, width, _ = pixels.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    lines = b"".join(b"\0" + bytes(row.flatten().tolist()) for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b""))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


@pytest.fixture(scope="module")
def page(chromium, address) -> Any:
    with opened(chromium, f"http://{address}/") as (found, seen):
        yield found
        assert seen.hosts == {address, ""}  # "" is a blob of the page's own
        assert seen.dialogs == []
        assert [line for line in seen.console if "status of 4" not in line] == []


def test_a_model_is_shown_with_signature_and_graph(page, models) -> None:
    chosen(page, "cell")
    assert page.locator("#signature").text_content() == models["cell"].signature
    image = page.get_by_role("img", name="Graph of cell; as text below")
    image.wait_for()
    page.wait_for_function("() => document.querySelector('#graph img').naturalWidth > 100")
    assert "GRUCell" in page.locator("#graph-text").text_content()


def test_numbers(page, models) -> None:
    chosen(page, "cell")
    rows = {"x": [[1.0, 2.0, 3.0, 4.0], [0.5, 0.0, 0.0, 0.0]], "h": [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]}
    for name, value in rows.items():
        page.get_by_label(name, exact=True).fill(json.dumps(value))
    found, expected = answer(page), models["cell"].run({name: torch.tensor(value) for name, value in rows.items()})
    assert {name: torch.tensor(value).tolist() for name, value in found.items()} == {
        name: value.tolist() for name, value in expected.items()
    }
    assert re.fullmatch(r"200 in \d+\.\d ms", page.locator("#said").text_content())


def test_the_form_begins_with_a_request_that_runs(page, models) -> None:
    chosen(page, "cell")
    expected = models["cell"].run({"x": torch.zeros(1, 4), "h": torch.zeros(1, 3)})
    assert answer(page) == {name: value.tolist() for name, value in expected.items()}


def test_large_integers_keep_their_digits(page) -> None:
    chosen(page, "next").get_by_label("n", exact=True).fill("9007199254740993")
    assert answer(page) == 9007199254740994


def test_lines_of_text(page) -> None:
    chosen(page, "upper").get_by_label("texts", exact=True).fill('ä "b"\n<i>c</i>')
    assert answer(page) == ['Ä "B"', "<I>C</I>"]


def test_an_image_in_height_width_and_channels(page, tmp_path) -> None:
    pixels = torch.arange(24, dtype=torch.uint8).reshape(2, 4, 3) * 10
    chosen(page, "flip").get_by_label("Or an image for image").set_input_files(png(tmp_path / "a.png", pixels))
    assert answer(page) == pixels.flip(0).tolist()


def test_an_image_of_one_channel_is_its_luma(page, tmp_path) -> None:
    pixels = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], dtype=torch.uint8)
    chosen(page, "flip").get_by_label("Or an image for image").set_input_files(png(tmp_path / "a.png", pixels))
    page.get_by_label("Layout").select_option("channels, height, width; 1 channels")
    assert answer(page) == [[[76, 150, 29]]]


@pytest.mark.parametrize(
    ("scale", "scaled"),
    [
        ("0 to 255", lambda x: x),
        ("0 to 1", lambda x: x / 255),
        ("-1 to 1", lambda x: x / 127.5 - 1),
        (
            "mean and deviation of ImageNet",
            lambda x: (x / 255 - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor([0.229, 0.224, 0.225]),
        ),
    ],
)
def test_an_image_in_channels_first_with_a_scale(page, models, tmp_path, scale, scaled) -> None:
    pixels = torch.arange(36, dtype=torch.uint8).reshape(3, 4, 3) * 7
    chosen(page, "convolution").get_by_label("Or an image for image").set_input_files(png(tmp_path / "a.png", pixels))
    page.get_by_label("Values").select_option(scale)
    expected = models["convolution"].run({"image": scaled(pixels.float()).permute(2, 0, 1)[None].contiguous()})
    torch.testing.assert_close(torch.tensor(answer(page)), expected, rtol=1e-5, atol=1e-4)


def test_an_image_is_drawn_at_the_size_that_is_typed(page, tmp_path) -> None:
    pixels = torch.full((6, 9, 3), 77, dtype=torch.uint8)
    chosen(page, "flip").get_by_label("Or an image for image").set_input_files(png(tmp_path / "a.png", pixels))
    page.get_by_label("Width").fill("3")
    page.get_by_label("Height").fill("2")
    assert answer(page) == torch.full((2, 3, 3), 77).tolist()


def test_a_file_that_is_no_image(page, tmp_path) -> None:
    (tmp_path / "a.png").write_bytes(b"nothing")
    chosen(page, "flip").get_by_label("Or an image for image").set_input_files(tmp_path / "a.png")
    assert refusal(page) == "input 'image': the browser reads no image in a.png"


def test_errors_of_the_server_are_shown_as_they_are(page, address) -> None:
    chosen(page, "cell").get_by_label("x", exact=True).fill("[[1, 2]]")
    direct = httpx.post(f"http://{address}/v1/cell", json={"x": [[1, 2]], "h": [[0, 0, 0]]})
    assert refusal(page) == direct.json()["error"]
    assert "input 'x': dimension 1 has a wrong size; got 2 in shape (1, 2)" in direct.json()["error"]
    chosen(page, "inverse").get_by_label("x", exact=True).fill("[[0, 0], [0, 0]]")
    assert "singular" in refusal(page)


def test_what_is_typed_wrong_is_named_and_gets_the_focus(page) -> None:
    chosen(page, "cell").get_by_label("h", exact=True).fill("[1,")
    assert refusal(page).startswith("input 'h': what is typed is no JSON")
    assert page.evaluate("document.activeElement.labels[0].textContent") == "h"
    assert page.get_by_label("h", exact=True).get_attribute("aria-invalid") == "true"


def test_the_keyboard_is_enough(page) -> None:
    page.get_by_role("button", name="next", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_label("n", exact=True).focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("41")
    page.keyboard.press("Enter")
    page.locator("#output").wait_for()
    assert page.locator("#output").text_content() == "42"


def test_every_field_has_a_label(page, models) -> None:
    for name in models:
        chosen(page, name)
        bare = "[...document.querySelectorAll('input, select, textarea')].filter((each) => !each.labels.length).length"
        assert page.evaluate(bare) == 0, name


def test_names_and_outputs_are_text(page) -> None:
    chosen(page, EVIL).get_by_label("x", exact=True).fill("[1, 2]")
    assert answer(page) == [2.0, 3.0]
    assert (
        EVIL in page.locator("#counts").text_content(timeout=20_000)
        or page.get_by_role("cell", name=EVIL).wait_for() is None
    )
    chosen(page, "greet").get_by_label("name", exact=True).fill("<b>Ada</b>")
    assert answer(page)["greeting"] == "<img src=x onerror=alert('output')> <b>Ada</b>"
    assert page.locator("img:not(#graph img), b").count() == 0


def test_latency_and_throughput_are_live(chromium, address) -> None:
    with opened(chromium, f"http://{address}/#next/1") as (page, _):
        answer(page)
        page.get_by_role("cell", name="next", exact=True).wait_for()  # from here on the page has counts to compare with
        for _ in range(3):
            answer(page)
        cells = page.wait_for_function("""() => [...document.querySelectorAll("#counts tr")]
            .map((row) => [...row.cells].map((cell) => cell.textContent))
            .find((cells) => cells[0] === "next" && Number(cells[5]) > 0 && cells[6].endsWith(" ms"))""").json_value()
        name, version, answered, failed, pending, rate, latency = cells
        assert (name, version, failed, pending) == ("next", "1", "0", "0")
        assert int(answered) >= 1
        assert re.fullmatch(r"\d+\.\d", rate)
        assert re.fullmatch(r"\d+\.\d ms", latency)
        success = r'^tracepack_request_success_total\{model="next",version="1"\} (\d+)'
        (total,) = re.findall(success, httpx.get(f"http://{address}/metrics").text, re.MULTILINE)
        row = page.locator("#counts tr", has=page.get_by_role("cell", name="next", exact=True))
        row.locator("td").nth(2).filter(has_text=re.compile(f"^{total}$")).wait_for()
        assert page.locator("#own-count").text_content() == "4"
        assert all(page.locator(f"#own-{name}").text_content().endswith(" ms") for name in ("last", "median", "high"))


def test_the_token_is_asked_for_and_kept_in_memory(chromium, models) -> None:
    with serving({"next": models["next"]}, token="open sesame") as address:  # noqa: SIM117
        with opened(chromium, f"http://{address}/") as (page, seen):
            page.get_by_label("Token of this server").fill("wrong")
            page.keyboard.press("Enter")
            page.get_by_role("alert").filter(has_text="no valid token").wait_for()
            page.get_by_label("Token of this server").fill("open sesame")
            page.keyboard.press("Enter")
            page.get_by_label("n", exact=True).fill("1")
            assert answer(page) == 2
            page.wait_for_function("() => document.querySelector('#graph img')?.naturalWidth > 50")
            assert page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
            assert "sesame" not in page.content() + page.url
            page.reload()
            page.get_by_label("Token of this server").wait_for()
            assert seen.hosts == {address, ""}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_setting_of_the_system(chromium, address, scheme) -> None:
    with opened(chromium, f"http://{address}/", color_scheme=scheme) as (page, _):
        colours = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        back, text = (sum(map(int, re.findall(r"\d+", colour))) for colour in colours)
        assert (back < text) == (scheme == "dark")
        assert abs(back - text) > 500
