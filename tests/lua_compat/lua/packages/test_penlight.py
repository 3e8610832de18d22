"""Penlight (``pl``): what its functions return and which errors they raise, as version 1.5.4 does."""

from pathlib import Path

from lua_compat.runtime.state import LUA_FOLDER
from tests.helpers.commands import run_lua, run_th
from tests.helpers.places import GOLDEN

_PACKAGES = GOLDEN / "packages"


def test_calls_return_and_raise_what_penlight_does() -> None:
    probe, calls = _PACKAGES / "probe_penlight.lua", _PACKAGES / "penlight_calls.txt"
    result = run_th(probe, calls, fresh=True, environment={"TZ": "UTC"})
    assert result.stdout == (_PACKAGES / "penlight.txt").read_text()


def test_modules_are_globals_that_load_when_they_are_first_read(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        for name in pairs(package.loaded) do assert(name == 'pl.names' or not name:find('^pl%.'), name) end
        assert(rawget(_G, 'stringx') == nil)
        assert(stringx.strip('  a ') == 'a' and rawget(_G, 'stringx') == require 'pl.stringx')
        assert(nothing_of_this_name == nil)
        require 'pl'
        assert(tostring(List{1, 2}) == '{1,2}' and pretty.write({ 1 }, '') == '{1}')
        """,
    )


def test_every_module_loads(tmp_path: Path) -> None:
    folder = Path(LUA_FOLDER) / "rocks" / "pl"
    others = ("strict", "names")
    names = sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name not in others)
    assert len(names) == 37
    run_lua(tmp_path, "\n".join(f"assert(require 'pl.{name}')" for name in names))


def test_files_and_folders(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        f"""
        local dir, file, path = require 'pl.dir', require 'pl.file', require 'pl.path'
        local root = '{tmp_path}/tree'
        assert(dir.makepath(root .. '/a/b') and path.isdir(root .. '/a/b'))
        assert(file.write(root .. '/a/one.txt', 'one') and file.read(root .. '/a/one.txt') == 'one')
        assert(file.copy(root .. '/a/one.txt', root .. '/a/b/two.lua'))
        assert(path.getsize(root .. '/a/b/two.lua') == 3)
        local ok, problem = file.copy(root .. '/none', root .. '/x')
        assert(ok == false and problem:find('none'), problem)
        assert(dir.copyfile(root .. '/a/one.txt', root .. '/a/b/two.lua', false) == false)
        assert(path.basename(dir.getfiles(root .. '/a')[1]) == 'one.txt')
        assert(#dir.getdirectories(root) == 1 and #dir.getallfiles(root) == 2)
        assert(#dir.getallfiles(root, '*.lua') == 1)
        local walked = {{}}
        for folder, folders, files in dir.walk(root) do
           walked[#walked + 1] = path.relpath(folder, root) .. ':' .. #folders .. ':' .. #files
        end
        assert(table.concat(walked, ' ') == ':1:0 a:1:1 a/b:0:1', table.concat(walked, ' '))
        local last
        for folder in dir.walk(root, true) do last = folder end
        assert(last == root)
        -- what a link leads to is left alone
        require('lfs').link(root .. '/a', root .. '/../tree/link', true)
        assert(dir.clonetree(root .. '/a', '{tmp_path}/copy', dir.copyfile))
        assert(path.isfile('{tmp_path}/copy/tree/a/b/two.lua'))
        require('lfs').link('{tmp_path}/copy', root .. '/other', true)
        assert(dir.rmtree(root) and not path.exists(root) and path.isfile('{tmp_path}/copy/tree/a/one.txt'))
        """,
    )


def test_the_users_own_penlight_comes_first(tmp_path: Path) -> None:
    (tmp_path / "pl").mkdir()
    (tmp_path / "pl" / "List.lua").write_text("return 'their own'")
    code = "print(require 'pl.List', require('pl.tablex').size{ 1 })"
    result = run_th("-e", code, fresh=True, environment={"LUA_PATH": f"{tmp_path}/?.lua;;"})
    assert result.stdout == "their own\t1\n"


def test_a_program_without_a_script_has_no_name(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local app = require 'pl.app'
        assert(app.script_name() == arg[0])
        arg[0] = nil
        local name, problem = app.script_name()
        assert(name == nil and problem == 'No script name found')
        """,
    )


def test_the_sandbox_has_what_needs_no_files(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text(
        """
        require 'pl'
        print(List{ 1, 2 }:map('_+1'), path.join('a', 'b'), lapp('-n (default 3)\\n', {}).n)
        print(pcall(path.isdir, '/tmp'))
        print(pcall(utils.readfile, '/etc/passwd'))
        print(pcall(utils.execute, 'true'))
        print(pcall(file.delete, '/none'))
        """
    )
    result = run_th("--sandbox", str(script))
    lines = result.stdout.splitlines()
    assert lines[0] == "{2,3}\ta/b\t3"
    for line, refused in zip(lines[1:], ["module lfs", "io.open", "os.execute", "os.remove"], strict=True):
        assert line.startswith("false\t") and f"{refused} is not available in the sandbox" in line
