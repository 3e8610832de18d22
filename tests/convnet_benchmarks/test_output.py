"""Result files are there whole or not at all."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.output import SCHEMA, OutputFile, as_csv, as_json, check_distinct
from tests.helpers.commands import run_python


def test_a_written_file_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")
    with OutputFile("--json", str(path)) as output:
        assert path.read_text() == "old"
        output.write("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_run_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("old")
    with pytest.raises(KeyError), OutputFile("--json", str(path)):
        raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", ["/nowhere/r.json", "/", "/dev/null/r.json", ""])
def test_an_unwritable_place_is_named_at_once(path: str) -> None:
    with pytest.raises(UserError, match="option --json: cannot write"):
        OutputFile("--json", path)


def test_a_full_device_is_named() -> None:
    output = OutputFile("--json", "/dev/full")
    with pytest.raises(UserError, match="No space left on device"):
        output.write("x" * 100_000)


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    path, link = tmp_path / "folder" / "r.json", tmp_path / "link.json"
    path.parent.mkdir()
    path.write_text("old")
    link.symlink_to(path)
    with OutputFile("--json", str(link)) as output:
        output.write("new")
    assert link.is_symlink() and path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(("name", "written"), [("stdout", "before new after"), ("stderr", "new ")])
def test_a_stream_that_goes_to_a_file_is_written_as_a_stream(tmp_path: Path, name: str, written: str) -> None:
    """By its device's name, which a temporary file must not take, or by the file's own."""
    program = """
import sys
from convnet_benchmarks.output import OutputFile
print("before", end=" ")
with OutputFile("--json", sys.argv[1]) as output:
    output.write("new ")
print("after", end="")
"""
    target = tmp_path / "target"
    for path in (f"/dev/{name}", str(target)):
        with target.open("w") as file:
            stdout = file if name == "stdout" else subprocess.DEVNULL
            stderr = file if name == "stderr" else None
            subprocess.run([sys.executable, "-c", program, path], check=True, stdout=stdout, stderr=stderr)
        assert os.path.islink(f"/dev/{name}")
        assert target.read_text() == written


def test_no_file_is_written_twice_or_over_what_is_read(tmp_path: Path) -> None:
    one, link, other = (str(tmp_path / name) for name in ("one", "link", "other"))
    os.symlink(one, link)
    check_distinct([("--json", one), ("--csv", other)], [("FILE", str(tmp_path / "third"))])
    check_distinct([("--json", "/dev/null"), ("--csv", "/dev/null")])
    with pytest.raises(UserError, match=f"^option --csv: '{link}' is also the file of option --json; give"):
        check_distinct([("--json", one), ("--csv", link)])
    with pytest.raises(UserError, match=f"^option --json: '{one}' is also the file of FILE; give another"):
        check_distinct([("--json", one)], [("FILE", link)])


def test_json_has_the_schema_and_refuses_what_json_cannot_say() -> None:
    written = json.loads(as_json({"a": 1}))
    assert datetime.fromisoformat(written.pop("time")).tzinfo is not None
    assert written == {"schema": SCHEMA, "a": 1}
    with pytest.raises(ValueError):
        as_json({"a": float("nan")})


def test_csv() -> None:
    assert as_csv(("a", "b"), [(1, "x,y")]) == 'a,b\n1,"x,y"\n'


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files have names from the start here")
def test_a_run_that_is_ended_leaves_nothing_behind(tmp_path: Path) -> None:
    program = "from convnet_benchmarks.output import OutputFile\nimport os, signal, sys\n"
    program += f"file = OutputFile('--json', {str(tmp_path / 'result.json')!r})\n"
    for number in ("SIGTERM", "SIGKILL"):
        run_python("-c", f"{program}os.kill(os.getpid(), signal.{number})")
        assert list(tmp_path.iterdir()) == []
