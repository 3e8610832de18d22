"""The cache folder is used only where nobody else could have written what is in it."""

import os
import stat
import sys
from pathlib import Path

import pytest

from convnet_benchmarks.nets import user_cache as module
from convnet_benchmarks.nets.user_cache import read_own, replace_whole, user_cache


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "temporary").mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "convnet-benchmarks"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_where_it_always_was(usual: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_cache() == usual
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(usual.parent))
    kept = "Library/Caches" if sys.platform == "darwin" else ".cache"
    assert user_cache() == usual.parent / kept / "convnet-benchmarks"


def test_what_is_made_is_the_users_alone(usual: Path) -> None:
    before = os.umask(0)
    try:
        replace_whole(user_cache() / "folder" / "file", b"content")
    finally:
        os.umask(before)
    made = usual / "folder" / "file"
    assert [mode(path) for path in (made, made.parent, usual, usual.parent)] == [0o600, 0o700, 0o700, 0o700]
    assert read_own(made, 7) == b"content"


@pytest.mark.parametrize("place", ["cache", "cache/convnet-benchmarks"])
def test_a_folder_that_others_write_to_is_not_used(usual: Path, tmp_path: Path, place: str) -> None:
    usual.mkdir(parents=True, mode=0o700)
    assert user_cache() == usual
    (tmp_path / place).chmod(0o777)
    private = user_cache()
    assert private.parent == tmp_path / "temporary" and mode(private) == 0o700
    assert user_cache() == private
    private.chmod(0o755)  # somebody has been there
    other = user_cache()
    assert other not in (private, usual) and mode(other) == 0o700 and user_cache() == other


def test_a_link_through_a_folder_that_others_write_to(usual: Path, tmp_path: Path) -> None:
    real, open_to_all = tmp_path / "real", tmp_path / "open"
    real.mkdir(mode=0o700)
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    usual.parent.symlink_to(real)
    assert user_cache() == usual
    usual.parent.unlink()
    (open_to_all / "real").mkdir(mode=0o700)
    usual.parent.symlink_to(open_to_all / "real")
    assert user_cache() != usual


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_not_used(usual: Path) -> None:
    usual.mkdir(parents=True, mode=0o700)
    (usual / "file").write_bytes(b"content")
    (usual / "file").chmod(0o600)
    assert read_own(usual / "file", 100) == b"content"
    os.chown(usual / "file", 1234, 0)
    assert read_own(usual / "file", 100) is None
    os.chown(usual, 1234, 0)
    assert user_cache() != usual


def test_a_group_of_others(monkeypatch: pytest.MonkeyPatch, usual: Path) -> None:
    usual.mkdir(parents=True)
    usual.chmod(0o770)
    monkeypatch.setattr(module, "_has_no_others", lambda group: True)
    assert user_cache() == usual
    monkeypatch.setattr(module, "_has_no_others", lambda group: False)
    assert user_cache() != usual


def test_files_that_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    path.chmod(0o644)
    assert read_own(path, 7) == b"content"
    assert read_own(path, 6) is None
    path.chmod(0o646)
    assert read_own(path, 7) is None
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert read_own(tmp_path / "pipe", 7) is None  # and is not waited for
    assert read_own(tmp_path, 7) is None
    assert read_own(tmp_path / "missing", 7) is None
