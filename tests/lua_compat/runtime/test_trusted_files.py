"""Functions in .t7 files are code: th makes them from a script's own files, and from others where told to."""

import shutil
from pathlib import Path

import pytest

from lua_compat.runtime.trusted_files import TrustedFiles
from tests.helpers.commands import run_th
from tests.helpers.places import GOLDEN

SAVE = "torch.save(arg[1], { net = { layers = { 1, { hook = function() return 7 end } } } })"
LOAD = "print(torch.load(arg[1]).net.layers[2].hook())"
PIPE = "print(torch.PipeFile('cat ' .. arg[1]):binary():readObject().net.layers[2].hook())"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script's folder, started in another one; the file elsewhere is neither's."""
    for name in ("scripts", "started", "elsewhere"):
        (tmp_path / name).mkdir()
    save = tmp_path / "started" / "save.lua"
    save.write_text(SAVE)
    assert run_th(save, tmp_path / "elsewhere" / "net.t7").returncode == 0
    return tmp_path / "scripts" / "script.lua"


def test_functions_from_elsewhere_are_refused_by_place(script: Path, tmp_path: Path) -> None:
    script.write_text(LOAD)
    started, net = tmp_path / "started", tmp_path / "elsewhere" / "net.t7"
    done = run_th(script, net, cwd=started)
    assert (done.returncode, done.stdout) == (1, "")
    first = done.stderr.splitlines()[0]
    assert first.startswith(f"th: {net}: root.net.layers[2].hook is a function, which is code; ")
    assert "--trust-functions" in first
    done = run_th("--trust-functions", script, net, cwd=started)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
    script.write_text(PIPE)
    done = run_th(script, net, cwd=started)
    assert done.returncode == 1 and "a pipe contains a function" in done.stderr
    (started / "link.t7").symlink_to(net)
    script.write_text(LOAD)
    assert run_th(script, "link.t7", cwd=started).returncode == 1


def test_a_scripts_own_files_are_read(script: Path, tmp_path: Path) -> None:
    net = tmp_path / "elsewhere" / "net.t7"
    (tmp_path / "scripts" / "models").mkdir()
    for own in (tmp_path / "scripts" / "models" / "net.t7", tmp_path / "started" / "net.t7"):
        shutil.copy(net, own)
        script.write_text(LOAD)
        assert run_th(script, own, cwd=tmp_path / "started").stdout == "7\n"
    script.write_text(
        f"{SAVE} {LOAD} local text = torch.serialize(function() return 8 end)"
        " print(torch.deserialize(text)())"
    )
    done = run_th(script, tmp_path / "elsewhere" / "new.t7", cwd=tmp_path / "started")
    assert (done.stdout, done.stderr) == ("7\n8\n", "")


def test_what_lies_below_the_home_folder_is_not_all_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "downloads").mkdir()
    for place in ("net.t7", "downloads/net.t7"):
        shutil.copy(GOLDEN / "t7" / "closure.bin.t7", tmp_path / place)
    trusted = TrustedFiles("script.lua")
    assert trusted.why_not("net.t7") is None
    assert trusted.why_not("downloads/net.t7") is not None
    trusted.note_written("downloads/net.t7")
    assert trusted.why_not("downloads/net.t7") is None
    assert TrustedFiles("script.lua", all_files=True).why_not(None) is None


def test_a_file_that_is_damaged_is_refused_all_the_same(tmp_path: Path) -> None:
    cut = tmp_path / "cut.t7"
    cut.write_bytes((GOLDEN / "t7" / "closure.bin.t7").read_bytes()[:-3])
    assert f"{cut}: in it is a function" in str(TrustedFiles("th").why_not(str(cut)))
