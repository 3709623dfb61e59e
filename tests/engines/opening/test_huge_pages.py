"""The memory that an engine takes lies in huge pages, with the same contents; other memory is left as it is."""

from __future__ import annotations

import pytest

from tests.engines.opening import page_trials
from tracepack.ops.engines.memory import huge_pages

pytestmark = pytest.mark.skipif(
    not page_trials.collapses(), reason="this system has no huge pages that may be had later"
)


@pytest.mark.parametrize(
    "trial",
    [
        "new_memory_is_put_into_huge_pages_and_keeps_its_contents",
        "memory_of_before_and_memory_that_nothing_was_written_to_stay",
        "the_memory_of_an_engine_follows_soon_after_its_first_answer",
    ],
)
def test_in_a_process_of_its_own(trial: str) -> None:
    page_trials.require(trial)


@pytest.mark.parametrize("text", ["always madvise [never]", None])
def test_nothing_is_done_where_the_system_wants_no_huge_pages(tmp_path, text) -> None:
    (tmp_path / "hpage_pmd_size").write_text("2097152")
    if text is not None:
        (tmp_path / "enabled").write_text(text)
    page_trials.require("nothing_is_done_where_the_system_wants_no_huge_pages", tmp_path)


def test_names_of_mapped_files_are_any_bytes(tmp_path, monkeypatch) -> None:
    maps = tmp_path / "maps"
    maps.write_bytes(
        b"1000-3000 rw-p 00000000 00:00 0 \n"
        b"4000-5000 rw-p 00000000 08:01 77    /data/\xff\xfe\x0b\x1c\xc2\x85 b.so\n"
        b"6000-7000 r--p 00000000 00:00 0 \n"
        b"8000-9000 rw-p 00000000 00:00 0     [heap]\n"
        b"a000-b000 rw-p 00000000 00:00 0     [stack]\n"
    )
    monkeypatch.setattr(huge_pages, "_MAPS", maps)
    assert list(huge_pages._private()) == [(0x1000, 0x3000), (0x8000, 0x9000)]
    monkeypatch.setattr(huge_pages, "_MAPS", tmp_path / "missing")
    assert list(huge_pages._private()) == []


def test_the_memory_of_a_small_model_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(huge_pages, "_resident", lambda size: asked.append(size) or iter(()))
    monkeypatch.setattr(huge_pages, "_huge_size", lambda: 2 << 20)
    huge_pages.NewMemory((6 << 20) - 1)  # the processor keeps the addresses of so many small pages
    assert not asked
    huge_pages.NewMemory(6 << 20)
    assert asked == [2 << 20]
