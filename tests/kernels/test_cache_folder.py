"""Where compiled code is kept, also where the usual place cannot be written or is not the user's alone."""

from __future__ import annotations

import os
import stat
import warnings

import pytest

from tracepack.ops.kernels import cache
from tracepack.ops.kernels.cache import cache_folder, folder, holds


def test_the_variable_chooses_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "kept"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder() == tmp_path / "kept"


def test_the_folder_is_the_users_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("TRACEPACK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = os.umask(0)
    try:
        kernels = folder("slang", "kernels")
        made = [kernels, kernels.parent, cache_folder()]
    finally:
        os.umask(before)
    assert made[2] == tmp_path / "tracepack"
    assert [stat.S_IMODE(each.stat().st_mode) for each in made] == [0o700] * 3


def test_a_folder_that_cannot_be_written_gives_way_to_one_of_the_process(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.delenv("TRACEPACK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.warns(
        UserWarning, match=r"kept for this process only: .* cannot be written \(Not a directory\)\. Set TRACE"
    ):
        found = cache_folder()
    (found / "library").write_text("kept")
    assert cache_folder() == found


def test_a_folder_that_others_may_write_is_not_used(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("TRACEPACK_CACHE", str(shared))
    with pytest.warns(UserWarning, match=r"shared can be written by other users \(chmod go-w .*shared\)\. Set TRACE"):
        found = cache_folder()
    assert found != shared
    assert list(shared.iterdir()) == []


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o700)
    monkeypatch.setenv("TRACEPACK_CACHE", str(foreign))
    monkeypatch.setattr(cache.os, "getuid", lambda: os.stat(foreign).st_uid + 1)
    with pytest.warns(UserWarning, match=r"foreign belongs to another user\. Set TRACEPACK_CACHE to a folder of yours"):
        assert cache_folder() != foreign


def test_a_library_that_others_may_write_is_compiled_anew(tmp_path, monkeypatch):
    library = tmp_path / "kernel.so"
    assert not holds(library)
    cache.write_kept(library, b"code")
    library.chmod(0o755)
    assert holds(library)
    library.chmod(0o775)
    assert not holds(library)
    library.chmod(0o700)
    monkeypatch.setattr(cache.os, "getuid", lambda: os.stat(library).st_uid + 1)
    assert not holds(library)
