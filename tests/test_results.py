"""Result files are there whole or not at all."""

import json
import os

import pytest

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.results import SCHEMA, OutputFile, as_csv, as_json


def test_a_written_file_replaces_the_old_one(tmp_path):
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


def test_a_run_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("old")
    with pytest.raises(KeyError), OutputFile("--json", str(path)):
        raise KeyError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", ["/nowhere/r.json", "/", "/dev/null/r.json", ""])
def test_an_unwritable_place_is_named_at_once(path):
    with pytest.raises(UserError, match="option --json: cannot write"):
        OutputFile("--json", path)


def test_a_full_device_is_named():
    output = OutputFile("--json", "/dev/full")
    with pytest.raises(UserError, match="No space left on device"):
        output.write("x" * 100_000)


def test_json_has_the_schema_and_refuses_what_json_cannot_say():
    assert json.loads(as_json({"a": 1})) == {"schema": SCHEMA, "a": 1}
    with pytest.raises(ValueError):
        as_json({"a": float("nan")})


def test_csv():
    assert as_csv(("a", "b"), [(1, "x,y")]) == 'a,b\n1,"x,y"\n'
