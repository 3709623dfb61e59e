"""Where compiled code is kept, also where the usual place cannot be written."""

from __future__ import annotations

import warnings

import pytest

from tracepack.ops.kernels.cache import cache_folder


def test_the_variable_chooses_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "kept"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder() == tmp_path / "kept"


def test_a_folder_that_cannot_be_written_gives_way_to_one_of_the_process(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.delenv("TRACEPACK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.warns(
        UserWarning, match=r"kept for this process only: .* cannot be written \(Not a directory\). Set TRACE"
    ):
        found = cache_folder()
    (found / "library").write_text("kept")
    assert cache_folder() == found
