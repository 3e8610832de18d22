"""Scripts that use the package threads, run in this process and as th."""

import threading
from pathlib import Path

from tests.helpers import commands
from tests.helpers.commands import Program, started_th

HEAD = "local threads = require 'threads'\nlocal SHARED = 'threads.sharedserialize'\n"


def run_lua(tmp_path: Path, code: str, *args: str) -> None:
    """Runs Lua that asserts what it expects; no thread is left."""
    before = set(threading.enumerate())  # of which those of other tests may end meanwhile
    commands.run_lua(tmp_path, HEAD + code, *args)
    assert set(threading.enumerate()) <= before


def start(tmp_path: Path, code: str) -> Program:
    script = tmp_path / "script.lua"
    script.write_text(HEAD + code)
    return started_th(script, cwd=tmp_path)


def th(tmp_path: Path, code: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with start(tmp_path, code) as program:
        done = program.finish()
    return done.returncode, done.stdout, done.stderr
