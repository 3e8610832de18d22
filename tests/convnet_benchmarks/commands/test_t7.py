"""``convnet-benchmarks t7``, as a person types it."""

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lua_compat import t7
from lua_compat.t7.inspection import rows
from lua_compat.t7.paths import lookup, step
from tests.helpers.commands import Finished, run_python
from tests.helpers.places import GOLDEN, ROOT

FILES = GOLDEN / "t7"


def run(*arguments: object, stdin: bytes = b"") -> Finished:
    return run_python("-m", "convnet_benchmarks", "t7", *arguments, stdin=stdin)


def failure(*arguments: object, stdin: bytes = b"") -> str:
    done = run(*arguments, stdin=stdin)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done
    return done.stderr


def test_the_tree_of_a_model() -> None:
    done = run(FILES / "net.bin.t7")
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].endswith("net.bin.t7: binary, little-endian, 8-byte longs, 99639 bytes")
    assert lines[1] == "root: table  4 entries"
    for expected in [
        "  net: nn.Sequential  version 1",
        "      [1]: nn.SpatialConvolutionMM  version 1",
        "        weight: torch.DoubleTensor  4x27  -0.190141 .. 0.188054, mean -0.00257989",
        "        gradInput: torch.DoubleTensor  again: root.net.gradInput",
        "        train: boolean  false",
    ]:
        assert expected in lines


def test_a_view_names_the_hidden_part_of_its_storage(tmp_path: Path) -> None:
    """Not the tensors that share a storage all of which they show, as those of a flattened net do."""
    storage = t7.Storage("torch.DoubleStorage", np.arange(1e5))
    view = t7.Tensor("torch.DoubleTensor", storage, (1000,), (1,))
    t7.save(tmp_path / "view.t7", {"view": view})
    whole = t7.Tensor("torch.DoubleTensor", storage, (99_000,), (1,), 1001)
    t7.save(tmp_path / "whole.t7", {"view": view, "rest": whole})
    expected = "(a view of 100000 elements, 0.792 MB of which no tensor shows)"
    assert run(tmp_path / "view.t7").stdout.rstrip().endswith(expected)
    assert "no tensor shows" not in run(tmp_path / "whole.t7").stdout
    (row,) = [row for row in rows(t7.load(tmp_path / "view.t7")) if row.label == "view"]
    assert row.facts["hidden_bytes"] == 792_000


def test_a_function_that_th_cannot_load_says_why() -> None:
    for bytecode, problem in [
        (b"\x1bLJ\x02\x08", None),
        (b"\x1bLJ\x02\x00", "of a LuaJIT without LJ_GC64: th cannot load it"),
        (b"\x1bLJ\x01\x00", "of another version of LuaJIT: th cannot load it"),
        (b"\x1bLuaQ", "not of LuaJIT: th cannot load it"),
    ]:
        (row, *_) = rows(t7.LuaFunction(bytecode))
        assert row.facts.get("unloadable") == problem
        assert row.summary == f"{len(bytecode)} bytes of bytecode, never run" + (
            f"; {problem}" if problem else ""
        )


def test_the_format_facts() -> None:
    for name, facts in [
        ("net.ascii", "ascii"),
        ("net.long4", "4-byte longs"),
        ("cycle.bin", "no longs in it"),
    ]:
        assert facts in run(FILES / f"{name}.t7", "--lines", 1).stdout.splitlines()[0]


def test_json_has_a_row_for_each_object() -> None:
    done = run(FILES / "views.bin.t7", "--json", "/dev/stdout")
    report = json.loads(done.stdout)
    assert report["format"] == {"encoding": "binary", "byte_order": "little", "long_size": 8}
    assert report["bytes"] == 863 and report["complete"] is True
    by_path = {row["path"]: row for row in report["rows"]}
    base = by_path["root.base"]
    assert (
        base["size"] == [2, 3, 4] and base["stride"] == [12, 4, 1] and (base["min"], base["max"]) == (1, 24)
    )
    assert by_path["root.select"]["storage_offset"] == 13
    cycle = json.loads(run(FILES / "cycle.bin.t7", "--json", "/dev/stdout").stdout)
    assert cycle["rows"][-1] == {"path": "root.self", "type": "table", "again": "root"}


def test_extracting(tmp_path: Path) -> None:
    weight = t7.load(FILES / "net.bin.t7")["net"]["modules"][1]["weight"].numpy()
    for path in ("net.modules.1.weight", "net.modules[1].weight", 'root["net"].modules[1]["weight"]'):
        out = tmp_path / "w.npy"
        done = run(FILES / "net.bin.t7", "--get", path, "--to", out)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        np.testing.assert_array_equal(np.load(out), weight)
    assert run(FILES / "net.bin.t7", "--get", "net", "--to", tmp_path / "net.npz").returncode == 0
    with np.load(tmp_path / "net.npz") as archive:
        np.testing.assert_array_equal(archive["modules[1].weight"], weight)
        assert "modules[1].gradInput" not in archive.files  # it is the net's own
    assert run(FILES / "net.bin.t7", "--get", "net.modules.7", "--to", tmp_path / "m.t7").returncode == 0
    assert t7.load(tmp_path / "m.t7").typename == "nn.Linear"
    assert run(FILES / "scalars.bin.t7", "--get", "2", "--to", tmp_path / "n.npy").returncode == 0
    assert np.load(tmp_path / "n.npy") == -2.5


def test_a_part_as_a_tree() -> None:
    lines = run(FILES / "net.bin.t7", "--get", "net.modules.3").stdout.splitlines()
    assert lines[1] == "root: nn.ReLU  version 1" and "  inplace: boolean  true" in lines


def test_pipes() -> None:
    data = (FILES / "net.ascii.t7").read_bytes()
    assert "nn.Sequential" in run("-", stdin=data).stdout
    command = (
        f"cat {FILES / 'net.bin.t7'} | {sys.executable} -m convnet_benchmarks t7 - --entries 0 | head -n 2"
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, cwd=ROOT)
    assert done.returncode == 0 and done.stderr == b"" and done.stdout.count(b"\n") == 2


def test_errors_are_one_line(tmp_path: Path) -> None:
    net = FILES / "net.bin.t7"
    cut = tmp_path / "cut.t7"
    cut.write_bytes(net.read_bytes()[:50_000])
    assert "cut.t7: a storage of" in failure(cut) and "at byte" in failure(cut)
    assert "No such file" in failure(tmp_path / "absent.t7")
    assert "Is a directory" in failure(tmp_path)
    assert "standard input: the file ends before its first object" in failure("-", stdin=b"")
    assert "root.net (nn.Sequential) has no 'moduels'; did you mean 'modules'?" in failure(
        net, "--get", "net.moduels"
    )
    assert "root.net.modules (table) has no '9'; it has [1], [2]" in failure(net, "--get", "net.modules.9")
    assert "has nothing in it, no 'x'" in failure(net, "--get", "net.train.x")
    assert "is not a path like" in failure(net, "--get", "net[")
    assert "must end in .npy, .npz, .t7" in failure(net, "--to", "x.txt")
    assert "a .npy file holds" in failure(net, "--get", "net", "--to", tmp_path / "x.npy")
    assert "there is no tensor in it" in failure(net, "--get", "net.train", "--to", tmp_path / "x.npz")
    assert "No such file or directory" in failure(net, "--get", "input", "--to", tmp_path / "no" / "x.npy")
    assert "--entries: 'many' is not a whole number" in failure(net, "--entries", "many")
    assert "required: FILE" in failure()


def test_a_part_does_not_replace_its_file(tmp_path: Path) -> None:
    net, report = tmp_path / "net.t7", tmp_path / "report.json"
    net.write_bytes((FILES / "net.bin.t7").read_bytes())
    message = "option --to: '{}' is also the file of {}; give another name"
    assert message.format(net, "FILE") in failure(net, "--get", "input", "--to", net)
    assert net.read_bytes() == (FILES / "net.bin.t7").read_bytes()
    part = tmp_path / "part.t7"
    assert run(net, "--get", "input", "--to", part, "--json", report).stdout == ""
    assert json.loads(report.read_text())["rows"][0]["type"] == "torch.DoubleTensor"
    assert t7.load(part).typename == "torch.DoubleTensor"


def test_the_wrong_long_size_and_opaque(tmp_path: Path) -> None:
    assert "at byte" in failure(FILES / "net.bin.t7", "--long-size", 4)
    odd = tmp_path / "odd.t7"
    t7.save(odd, t7.LuaTable({"a": 1, "odd": t7.TorchObject("my.Class", 1, b"\x07\0\0\0")}))
    assert "class 'my.Class' has a serializer of its own" in failure(odd)
    assert "  odd: my.Class  version 1, 4 bytes" in run(odd, "--opaque").stdout.splitlines()


def test_output_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "big.t7"
    big = t7.LuaTable.from_list(range(100_000))
    words = t7.LuaTable((f"k{i}", i) for i in range(100_000))
    t7.save(path, {"big": big, "words": words, "text": "x" * 100_000})
    done = run(path)
    assert len(done.stdout) < 5000
    assert "  big: table  {0, 1, 2, 3, 4, 5, 6, 7, ... 99992 more}" in done.stdout.splitlines()
    assert "    ... 99950 more entries" in done.stdout.splitlines()
    assert "more than 10 rows" in run(path, "--lines", 10).stdout.splitlines()[-1]
    report = json.loads(run(path, "--json", "/dev/stdout", "--lines", 10).stdout)
    assert report["complete"] is False and len(report["rows"]) == 10


def test_help_imports_nothing_heavy() -> None:
    assert "--get PATH" in run("--help").stdout
    imported = run_python("-X", "importtime", "-m", "convnet_benchmarks", "t7", "--help").stderr
    assert "numpy" not in imported and "torch" not in imported


def test_summaries_do_not_walk_repeated_elements() -> None:
    storage = t7.Storage("torch.DoubleStorage", np.array([3.0, np.nan]))
    expanded = t7.Tensor("torch.DoubleTensor", storage, (10**9, 2), (0, 1))
    overlapping = t7.Tensor("torch.DoubleTensor", t7.Storage("torch.DoubleStorage", np.zeros(2**16)),
                            (2**15, 2**15), (1, 1))  # fmt: skip
    by_label = {row.label: row for row in rows(t7.LuaTable({"e": expanded, "o": overlapping, "s": storage}))}
    assert by_label["e"].summary == "1000000000x2  3 .. 3, mean 3, 1 NaN"
    assert by_label["o"].summary == "32768x32768  overlapping itself"
    assert by_label["s"].facts["values"] == [3.0, "nan"]


def test_deep_trees_need_no_recursion() -> None:
    value = t7.LuaTable()
    for _ in range(20_000):
        value = t7.LuaTable({"d": value})
    out = io.BytesIO()
    t7.save(out, value)
    done = run("-", stdin=out.getvalue())
    assert done.returncode == 0 and "more than 5000 rows" in done.stdout


@pytest.mark.parametrize("key", ["name", "a b", 3, -2.5, True, False, "true", "3", "_x1"])
def test_a_step_leads_back_to_its_key(key: object) -> None:
    table = t7.LuaTable({key: "here", 17: "elsewhere"})
    assert lookup(table, "root" + step(key)) == "here"


@pytest.mark.parametrize("encoding", ["bin", "ascii"])
def test_bytes_after_the_object_are_reported(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "more.t7"
    file.write_bytes((FILES / f"net.{encoding}.t7").read_bytes() + b"xyz")
    done = run(file, "--entries", "1")
    assert done.returncode == 0
    assert f"{file}: 3 bytes follow the first object" in done.stderr
