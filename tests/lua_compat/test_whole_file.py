"""Files that appear whole or not at all: a kill leaves the old one; what cannot be replaced is written to."""

import os
import signal
import stat
import time
from pathlib import Path

import pytest

from lua_compat.whole_file import Unfinished, replaceable, replaceable_unseen, replaced_when_whole
from tests.helpers.commands import run_lua, started_python


@pytest.fixture(params=[True, False], ids=["nameless", "named"])
def nameless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Also on a system whose files have names from the start."""
    if not request.param:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return bool(request.param)


def write(unfinished: Unfinished, text: str) -> None:
    Path(unfinished.path).write_text(text)


def test_a_file_takes_the_place_of_another_with_its_permissions(tmp_path: Path, nameless: bool) -> None:
    target = tmp_path / "model"
    target.write_text("old")
    target.chmod(0o640)
    for keeps, text in ((False, "old"), (True, "new")):
        unfinished = Unfinished(str(target))
        write(unfinished, "new")
        assert target.read_text() == "old"
        if keeps:
            unfinished.keep()
        unfinished.discard()
        assert target.read_text() == text and os.listdir(tmp_path) == ["model"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_new_files(tmp_path: Path, nameless: bool) -> None:
    unfinished = Unfinished(str(tmp_path / "new"))
    write(unfinished, "text")
    unfinished.keep()
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_links_are_followed_and_what_is_no_file_is_written_to_itself(tmp_path: Path) -> None:
    target, link, hard, pipe = (tmp_path / name for name in ("target", "link", "hard", "pipe"))
    link.symlink_to("target")
    assert replaceable(link) == replaceable_unseen(target) == str(target)  # not there yet
    target.write_text("old")
    with replaced_when_whole(link) as path:
        path.write_text("new")
    assert link.is_symlink() and target.read_text() == "new"
    assert replaceable_unseen(link) == str(target)
    with target.open() as file:
        assert replaceable(f"/dev/fd/{file.fileno()}") is None
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/null"), Path("/dev/stdout")):
        assert replaceable(path) is None and replaceable_unseen(path) is None
    hard.hardlink_to(target)
    assert replaceable_unseen(hard) is None and replaceable_unseen(tmp_path / "no" / "folder") is None


def test_what_the_user_may_not_write_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    for refused in (target, tmp_path):
        monkeypatch.setattr(os, "access", lambda path, _mode, refused=refused: Path(path) != refused)
        assert replaceable_unseen(target) is None
    monkeypatch.undo()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert replaceable_unseen(target) is None


SAVES = """
require 'torch'
local x = torch.range(1, 300000)
torch.save(arg[1], x)
print('saved')
io.stdout:flush()
while true do torch.save(arg[1], x) end
"""


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files have names from the start here")
def test_a_kill_leaves_the_last_model_whole(tmp_path: Path) -> None:
    script = tmp_path / "saves.lua"
    script.write_text(SAVES)
    folder = tmp_path / "models"
    folder.mkdir()
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        with started_python("-m", "lua_compat", script, folder / "model.t7") as program:
            assert program.stdout.readline() == "saved\n"
            time.sleep(0.02)
            program.send_signal(number)
            program.finish()
        assert os.listdir(folder) == ["model.t7"]
        run_lua(tmp_path, "assert(torch.load(arg[1]):sum() == 300000 * 300001 / 2)", str(folder / "model.t7"))


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local path = arg[1] .. '/model.t7'
        torch.save(path, 'good')
        local ok, problem = pcall(torch.save, path, { coroutine.create(print) })
        assert(not ok and problem:find('Unwritable object <thread>', 1, true))
        assert(torch.load(path) == 'good')
        ok, problem = pcall(torch.save, '/dev/full', 'x')
        assert(not ok and problem:find('write error', 1, true), problem)
        local written = require('paths').dir(arg[1])
        assert(#written == 4, table.concat(written, ' ')) -- '.', '..', the model and the script
        """,
        str(tmp_path),
    )
