"""Where compiled code is kept, also where the usual place cannot be written or is not the user's alone."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import tempfile
import warnings
from pathlib import Path

import pytest

from tracepack.ops.kernels import cache
from tracepack.ops.kernels.cache import CacheFolderError, cache_folder, folder, holds


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
    monkeypatch.setattr(cache, "_ROOT", -1)
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
    monkeypatch.setattr(cache, "_ROOT", -1)
    monkeypatch.setattr(cache.os, "getuid", lambda: os.stat(library).st_uid + 1)
    assert not holds(library)


def test_a_relative_folder_stays_where_it_was_when_the_process_moves(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACEPACK_CACHE", "kept-relative")
    assert cache_folder() == tmp_path / "kept-relative"
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert folder("comprehension") == tmp_path / "kept-relative" / "comprehension"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_folder_that_was_removed_is_made_again(tmp_path, monkeypatch):
    wanted = tmp_path / "deep" / "kept"
    monkeypatch.setenv("TRACEPACK_CACHE", str(wanted))
    for _ in range(2):
        kept = folder("comprehension")
        cache.write_json(kept / "file.json", [1])
        assert cache.read_json(kept / "file.json") == [1]
        assert stat.S_IMODE(wanted.stat().st_mode) == 0o700
        shutil.rmtree(tmp_path / "deep")


def test_a_folder_that_another_put_in_place_of_a_removed_one_is_not_used(tmp_path, monkeypatch):
    wanted = tmp_path / "kept"
    monkeypatch.setenv("TRACEPACK_CACHE", str(wanted))
    assert folder("slang").parent == wanted
    shutil.rmtree(wanted)
    wanted.mkdir()
    wanted.chmod(0o777)
    with pytest.warns(UserWarning, match=r"kept can be written by other users"):
        assert folder("slang").parent != wanted
    assert list(wanted.iterdir()) == []


@pytest.mark.parametrize("path", [None, "~/.cache/tracepack"], ids=["an error", "a relative path"])
def test_a_user_without_a_home_gets_a_folder_of_the_process(path, tmp_path, monkeypatch):
    """Platformdirs raises without HOME and an entry in the list of users; its older releases keep the tilde."""

    def without_home(*_, **__):
        if path is None:
            raise RuntimeError("could not determine the home directory")
        return Path(path)

    monkeypatch.delenv("TRACEPACK_CACHE", raising=False)
    monkeypatch.setattr(cache, "user_cache_path", without_home)
    monkeypatch.setattr(cache, "_found", {})
    monkeypatch.chdir(tmp_path)
    with pytest.warns(
        UserWarning, match=r"for this process only: the user has no home directory\. Set TRACEPACK_CACHE"
    ):
        found = folder("comprehension")
    assert folder("comprehension") == found
    assert list(tmp_path.iterdir()) == []


def test_no_folder_at_all_is_an_error_that_says_what_to_set(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no" / "temporary" / "folder"))
    with pytest.raises(
        CacheFolderError,
        match=r"kept: .*file cannot be written \(.*\), and there is no temporary folder\. Set TRACEPACK_",
    ):
        folder("slang")


def test_a_disk_that_takes_nothing_is_an_error_that_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRACEPACK_CACHE", str(tmp_path))
    kept = folder("comprehension")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        for write in (cache.write, cache.write_kept):
            with pytest.raises(
                CacheFolderError, match=r"cannot be kept in .*comprehension: File too large\. Set TRACEP"
            ):
                write(kept / "library", bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(kept.iterdir()) == []
