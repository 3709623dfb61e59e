"""The README's code runs and prints what the README says; its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def test_the_first_result(tmp_path: Path) -> None:
    (code,), (printed,) = blocks("python"), blocks("text")
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code], cwd=tmp_path, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


def test_the_first_result_is_ten_lines() -> None:
    lines = [line for line in blocks("python")[0].splitlines() if line.strip() and "import" not in line]
    assert len(lines) <= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")) + re.findall(
        r'src="([^"]+)"', page.read_text(encoding="utf-8")
    ):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_the_pages_name_no_machine_and_no_host() -> None:
    for page in PAGES:
        assert not re.search(
            r"/(root|home|work|opt)/|https?://(?!(keepachangelog|semver|github))", page.read_text(encoding="utf-8")
        ), page.name


def test_every_error_is_on_its_page() -> None:
    import tracepack

    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    missing = [
        name
        for name in tracepack.__all__
        if name.endswith("Error") and f"`{name}`" not in page and name != "TracepackError"
    ]
    assert missing == []
