"""A real browser for the tests: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = shutil.which("chromium")
WAITS = 20_000  # ms after which something that should have shown up has failed


@dataclass
class Seen:
    """What happened in a browser: the hosts that it asked, and what its console and its dialogs said."""

    hosts: set[str] = field(default_factory=set)
    console: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@contextmanager
def browser() -> Iterator[Any]:
    """A browser, or a skip that says what is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium; .ci/run installs Debian's")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def opened(browser: Any, url: str, **options: Any) -> Iterator[tuple[Any, Seen]]:
    """A page of a profile of its own, with what is seen in it."""
    context, seen = browser.new_context(**options), Seen()
    context.set_default_timeout(WAITS)
    page = context.new_page()
    page.on("request", lambda request: seen.hosts.add(urlsplit(request.url).netloc))
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("pageerror", lambda error: seen.console.append(str(error)))
    page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(url)
    try:
        yield page, seen
    finally:
        context.close()
