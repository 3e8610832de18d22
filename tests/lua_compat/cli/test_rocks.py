"""``th --rocks``: the packages that a script lacks."""

import subprocess
from pathlib import Path

from tests.helpers.commands import run_th

FILES = {
    "main.lua": """
        require 'nn' require('optim.sgd') require 'argcheck.env'
        local rnn = require "rnn"
        -- require 'in_a_comment'
        --[==[ require 'in_a_long_comment' ]==]
        local text = "require 'in_a_string'" .. [[ require 'in_a_long_string' ]]
        local found = pcall(require, 'nobodyknows')
        local model = require('models.' .. arg[1])
        require 'lib.helper'
        require './lib/other'
        object.require 'no'
        local f = { require = require }
        error('run')
    """,
    "lib/helper.lua": "require 'classic'\nrequire 'qtwidget' require 'main'",
    "lib/other.lua": "return require 'rnn.LSTM'",
}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_the_missing_packages_of_all_files_and_their_command(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    result = run_th("--rocks", str(tmp_path / "main.lua"), environment={"HOME": str(tmp_path)})
    assert (result.returncode, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert lines[0].endswith("main.lua: 3 files, 6 packages found, 4 missing")
    assert lines[1] == "  classic, required in lib/helper.lua:1"
    assert lines[2] == "  nobodyknows, required in main.lua:7 by pcall: it can do without: not known to th"
    assert lines[3].startswith("  qtwidget, required in lib/helper.lua:2: it opens windows")
    assert lines[4] == "  rnn, required in main.lua:3"
    assert lines[5].endswith("their names are computed: main.lua:8")
    assert "deepmind/classic classic" in lines[-1]
    for needed in ("Element-Research/dpnn dpnn", "nicholas-leonard/torchx torchx"):
        assert lines[-1].index(needed) < lines[-1].index("/rnn")


def test_the_command_puts_packages_where_th_finds_them(tmp_path: Path) -> None:
    write(tmp_path / "github" / "classic", {"classic/init.lua": "return 'classic'"})
    write(tmp_path, {"main.lua": "print(require 'classic')"})
    command = run_th("--rocks", "main.lua", cwd=tmp_path, environment={"HOME": str(tmp_path)})
    # as often as one likes: what is there is written again
    git = tmp_path / "bin" / "git"  # a git that has what GitHub has
    write(tmp_path, {"bin/git": f'#!/bin/sh\ncp -r {tmp_path}/github/classic "$6"\n'})
    git.chmod(0o755)
    environment = {"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    for _ in range(2):
        subprocess.run(["sh", "-ec", command.stdout.splitlines()[-1]], env=environment, check=True)
    assert not (tmp_path / ".luarocks" / "share" / "lua" / "5.1" / "classic" / "classic").exists()
    again = run_th("--rocks", "main.lua", cwd=tmp_path, environment={"HOME": str(tmp_path)})
    assert (again.returncode, again.stdout) == (0, "main.lua: 2 files, 1 packages found, 0 missing\n")
    assert run_th("main.lua", cwd=tmp_path, environment={"HOME": str(tmp_path)}).stdout == "classic\n"


def test_files_that_are_run_and_included(tmp_path: Path) -> None:
    """Of installed packages' files, those that hold tests are not looked into."""
    files = {
        "main.lua": "require('paths').dofile('part.lua') dofile 'part/last.lua' require 'mine'",
        "part.lua": "require 'dpnn'",
        "part/last.lua": "loadfile('no such file') require 'torchx'",
        ".luarocks/share/lua/5.1/mine/init.lua": "torch.include('mine', 'Layer.lua') require 'mine.test'",
        ".luarocks/share/lua/5.1/mine/Layer.lua": "require 'classic'",
        ".luarocks/share/lua/5.1/mine/test.lua": "require 'rnn'",
    }
    write(tmp_path / "home", {name: text for name, text in files.items() if name.startswith(".")})
    write(tmp_path / "work", {name: text for name, text in files.items() if not name.startswith(".")})
    home = tmp_path / "home"
    result = run_th("--rocks", "main.lua", cwd=tmp_path / "work", environment={"HOME": str(home)})
    lines = result.stdout.splitlines()
    assert lines[0] == "main.lua: 5 files, 2 packages found, 3 missing"
    assert lines[1] == f"  classic, required in {home}/.luarocks/share/lua/5.1/mine/Layer.lua:1"
    assert lines[2:4] == ["  dpnn, required in part.lua:1", "  torchx, required in part/last.lua:1"]
    assert "cp -r dpnn/. dpnn/test/test.lua ~/.luarocks/share/lua/5.1/dpnn" in lines[-1]


def test_it_reads_one_script(tmp_path: Path) -> None:
    result = run_th("--rocks")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("th: --rocks reads one script")
