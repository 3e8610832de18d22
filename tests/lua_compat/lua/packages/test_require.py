"""What a failing ``require`` says: one line that helps."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lua_compat import run
from lua_compat.runtime.errors import LuaError
from tests.helpers.commands import run_lua, run_th


def test_a_missing_package_is_explained_in_one_line(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local function problem_of(name)
           local ok, problem = pcall(require, name)
           assert(not ok and not problem:find('\\n'), problem)
           return problem
        end
        local function says(name, ...)
           local problem = problem_of(name)
           for _, words in ipairs{ ... } do assert(problem:find(words, 1, true), problem) end
        end
        package.path = package.path .. ';/no/such/place/?.lua'
        says('torchx.x', "module 'torchx.x' not found", "LuaRocks' torchx", '/no/such/place')
        says('torchx', 'th --rocks ' .. arg[0] .. ' prints the command')
        says('nninit', "LuaRocks' nninit")
        says('underscore', "LuaRocks' underscore.lua")
        says('logging', "Debian's lua-logging")
        says('lapp', "require 'pl.lapp'")
        says('nosuchpackage', "module 'nosuchpackage' not found: th looks in", '/no/such/place')
        says('libnn', 'C code', 'nn is one that th finds')
        says('libnosuchpackage', 'C code', 'not among what th finds')
        for name in ('qtlua qttorch qtwidget'):gmatch('%S+') do says(name, 'windows', "require 'display'") end
        says('camera', 'image.load')
        says('cltorch', 'OpenCL', 'CPU')
        says('clnn', 'OpenCL', 'CPU')
        says('warp_ctc', 'C code', 'CTCCriterion')

        -- loaders that a script adds are asked as well, and what they say is passed on
        table.insert(package.loaders, function(name) return name == 'made.up' and function() return 'mine' end
           or '\\n\\tmine has none' end)
        assert(require 'made.up' == 'mine')
        local _, problem = pcall(require, 'nosuchpackage')
        assert(problem:find('mine has none', 1, true) and problem:find('th looks in', 1, true))
        """,
    )


def test_the_line_names_its_place(tmp_path: Path) -> None:
    script = tmp_path / "main.lua"
    script.write_text("local x = 1\nrequire 'nosuchpackage'\n")
    with pytest.raises(LuaError, match=r"^\S*main.lua:2: module 'nosuchpackage' not found: th looks in"):
        run(script)


def test_a_folder_named_torch_beside_the_script_is_not_torch(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "init.lua").write_text("require 'torch'\nerror('not this one')\n")
    result = run_th("-e", "require 'torch' print(torch.ones(2):sum())", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "2\n"), result.stderr


def test_the_files_of_torch7s_packages_can_be_required(tmp_path: Path) -> None:
    """With the values that they give in Torch7."""
    run_lua(
        tmp_path,
        """
        assert(require 'nn.Linear' == true and nn.Linear(2, 3))
        assert(require 'nn.CrossEntropyCriterion' == nn.CrossEntropyCriterion)
        assert(require 'sys.fpath' == sys.fpath)
        local names = [[
           xlua.Profiler xlua.OptionParser optim.Logger optim.ConfusionMatrix optim.adam torch.Tester
           torch.TestSuite torch.CmdLine torch.File torch.Tensor torch.FFInterface graph.Node graph.Edge
           nngraph.nest nngraph.JustTable nngraph.ModuleFromCriterion tds.cdefs nnx.Balance csvigo.File
           hdf5.file hdf5.datasetOptions dok.inline ]]
        for name in names:gmatch('%S+') do
           assert(require(name) == true, name)
        end
        local tds = require 'tds'
        assert(require 'tds.hash' == tds.Hash and require 'tds.vec' == tds.Vec and require 'tds.env' == tds)
        assert(require 'nngraph.simple_print' == nngraph.simple_print)
        assert(require('nngraph.utils').istable{} and not require('nngraph.utils').istable(1))
        assert(not pcall(require, 'nn.NoSuchLayer') and not pcall(require, 'optim.no_such_file'))
        """,
    )


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("symbol", "library"),
    [("THCudaTensor_free", "THC"), ("THCharTensor_free", "TH"), ("luaT_pushudata", "luaT")],
)
def test_a_library_compiled_for_torch7_is_refused_in_one_line(
    tmp_path: Path, symbol: str, library: str
) -> None:
    (tmp_path / "thing.c").write_text(
        f"void {symbol}(void); int luaopen_thing(void *L) {{ {symbol}(); return 0; }}"
    )
    command = ["cc", "-shared", "-fPIC", "-o", "thing.so", "thing.c", "-undefined", "dynamic_lookup"]
    if sys.platform != "darwin":
        command[-2:] = ["-Wl,-z,now"]
    subprocess.run(command, cwd=tmp_path, check=True)
    run_lua(
        tmp_path,
        f"""
        package.cpath = '{tmp_path}/?.so'
        local ok, problem = pcall(require, 'thing')
        assert(not ok and problem:find("'thing' is not available: {tmp_path}/thing.so", 1, true), problem)
        assert(problem:find("compiled for Torch7's {library},", 1, true) and not problem:find('\\n'), problem)
        """,
    )


def test_torch7s_own_libraries_are_refused_in_one_line(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local ffi = require 'ffi'
        for _, name in ipairs{ 'THC', 'libTHC.so', '/usr/lib/libTHCUNN.so.0', 'libcutorch' } do
           local ok, problem = pcall(ffi.load, name)
           assert(not ok and problem:find("library '" .. name .. "' is not available", 1, true), problem)
           assert(problem:find('docs/from-torch7.md', 1, true) and not problem:find('\\n'), problem)
        end
        local ok, problem = pcall(ffi.load, 'nosuchlibrary')
        assert(not ok and problem:find('nosuchlibrary', 1, true) and not problem:find('Torch7'), problem)
        ffi.cdef 'double cos(double);'
        assert(ffi.C.cos(0) == 1)
        """,
    )


def test_the_command_that_runs_th_is_before_the_script_in_arg(tmp_path: Path) -> None:
    (tmp_path / "other.lua").write_text("print(6 * 7)\n")
    run_lua(
        tmp_path,
        """
        assert(arg[0]:find 'script.lua$' and arg[1] == 'one' and arg[2] == nil)
        local pipe = io.popen(('%s %s'):format(arg[-1], paths.concat(paths.dirname(arg[0]), 'other.lua')))
        local printed = pipe:read '*a'
        pipe:close()
        assert(printed == '42\\n', printed)
        """,
        "one",
    )
