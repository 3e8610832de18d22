"""Our Lua files as bytecode: kept for the next process, and believed only while nothing has changed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lua_compat.runtime.compiled_files import CompiledFiles


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a file that stands for LuaJIT's library, with a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = tmp_path / "library"
    made.write_text("library")
    return made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = tmp_path / "source.lua"
    made.write_text("return 1")
    return made


def kept(library: Path, source: Path) -> CompiledFiles:
    files = CompiledFiles(str(library))
    assert files.get(str(source)) is None
    files.keep(str(source), "code\xff")
    return files


def next_process(library: Path) -> CompiledFiles:
    return CompiledFiles(str(library))


def test_what_one_process_compiles_the_next_one_finds(library: Path, source: Path) -> None:
    files = kept(library, source)
    assert files.get(str(source)) == b"code\xff"
    assert next_process(library).get(str(source)) is None
    files.write()
    assert next_process(library).get(str(source)) == b"code\xff"


def test_what_several_compile_comes_together(library: Path, source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.lua"
    other.write_text("return 2")
    both = kept(library, source), kept(library, other)
    for files in both:
        files.write()
    assert next_process(library).get(str(source)) == next_process(library).get(str(other)) == b"code\xff"


@pytest.mark.parametrize("changed", ["source", "library"])
def test_what_has_changed_is_compiled_again(library: Path, source: Path, changed: str) -> None:
    kept(library, source).write()
    path = {"source": source, "library": library}[changed]
    path.write_text("return 234")
    assert next_process(library).get(str(source)) is None
    path.unlink()
    assert next_process(library).get(str(source)) is None


def test_templates_of_a_file_are_told_apart_by_their_texts(library: Path, source: Path) -> None:
    files, path = kept(library, source), str(source)
    for text in ("a\xff", "b"):
        assert files.get(path, text) is None
        files.keep(path, f"code of {text}", text)
    files.write()
    for found in (files, next_process(library)):
        assert found.get(path) == b"code\xff"
        assert found.get(path, "a\xff") == b"code of a\xff"
        assert found.get(path, "b") == b"code of b"
        assert found.get(path, "c") is None
    source.write_text("return 234")
    assert next_process(library).get(path, "b") is None


def test_texts_with_equal_checksums_are_not_confused(
    library: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zlib.crc32", lambda content: 0)
    files, path = CompiledFiles(str(library)), str(source)
    files.keep(path, "code", "text")
    assert files.get(path, "text") == b"code"
    assert files.get(path, "other text") is None


def test_another_library_has_its_own(library: Path, source: Path, tmp_path: Path) -> None:
    kept(library, source).write()
    another = tmp_path / "another"
    another.write_text("library")
    os.utime(another, ns=(library.stat().st_mtime_ns,) * 2)
    assert next_process(another).get(str(source)) is None


def test_a_damaged_cache_is_not_read(library: Path, source: Path, tmp_path: Path) -> None:
    kept(library, source).write()
    (cache,) = (tmp_path / "cache").rglob("lua-files*")
    whole = cache.read_bytes()
    for place in (0, 4, len(whole) // 2, len(whole) - 1):
        cache.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert next_process(library).get(str(source)) is None
    for length in (0, 3, 4, len(whole) - 1):
        cache.write_bytes(whole[:length])
        assert next_process(library).get(str(source)) is None
    cache.write_bytes(whole)
    assert next_process(library).get(str(source)) == b"code\xff"


@pytest.mark.skipif(sys.platform != "linux", reason="the system's folder that takes no files")
def test_a_folder_that_takes_no_files(library: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    kept(library, source).write()
    assert next_process(library).get(str(source)) is None


def test_errors_name_the_same_lines_from_bytecode(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text("require 'nn'; print(pcall(torch.add, 1, {})); nn.Linear(2, 3):forward(torch.ones(4))")
    given = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "lua_compat", str(script)]
    first, second = (subprocess.run(command, env=given, capture_output=True, text=True) for _ in range(2))
    assert list((tmp_path / "cache").rglob("lua-files*"))
    assert first.returncode == second.returncode == 1
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr)
    assert "lua/nn/" in first.stderr
