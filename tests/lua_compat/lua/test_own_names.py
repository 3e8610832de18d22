"""th's own code keeps the names of Lua that a script replaces or takes away."""

from pathlib import Path

import pytest

from lua_compat.runtime.errors import LuaError
from lua_compat.runtime.state import Runtime
from tests.helpers.commands import run_th

PREPARE = """
require 'nn'
local save, load, size, model = torch.save, torch.load, torch.ones(2, 3), nn.Linear(2, 2)
local path, remove, require, write, tostring = os.tmpname(), os.remove, require, io.stdout.write, tostring
local stdout, typename = io.stdout, torch.typename
function use(package_name)
   local text = tostring(model) .. tostring(size)
   save(path, { model, text })
   local read = load(path)
   require(package_name)
   model:forward(read[1].weight)
   remove(path)
   write(stdout, read[2] == text and typename(read[1]) or 'another', '\\n')
end
"""
NAMES = """
local names = {}
for name, value in pairs(_G) do
   local kind = type(value)
   if kind == 'function' then names[#names + 1] = name end
   if kind == 'table' and package.loaded[name] == value and not value._VERSION and name ~= '_G'
      and name ~= 'torch' and name ~= 'nn' then
      names[#names + 1] = name
      for inner, f in pairs(value) do
         if type(f) == 'function' then names[#names + 1] = name .. '.' .. inner end
      end
   end
end
print(table.concat(names, ' '))
"""


def all_names(capfd: pytest.CaptureFixture[str]) -> list[str]:
    Runtime().run_string(NAMES)
    return capfd.readouterr().out.split()


def test_each_name_of_lua_may_be_taken_away(capfd: pytest.CaptureFixture[str]) -> None:
    names = all_names(capfd)
    libraries = ("io.", "os.", "string.", "table.", "math.", "debug.", "coroutine.", "bit.")
    taken = [name for name in names if name.startswith(libraries) or "." not in name]
    assert len(taken) > 150 and {"io", "os", "string", "print", "io.open", "error", "pcall"} <= set(taken)
    runtime = Runtime()
    assert runtime.run_string(PREPARE) == 0
    packages = ("optim", "image", "nngraph", "xlua", "hdf5", "trepl")
    for place, name in enumerate(taken):
        # a script's string.format = {} is the strings' method, too, as in Lua
        for value in ("nil",) if name.startswith("string.") else ("nil", "{}"):
            with pytest.raises(LuaError, match="index global 'undefined'"):
                runtime.run_string(
                    f"kept, _G.{name} = _G.{name}, {value} use '{packages[place % len(packages)]}' "
                    "undefined.field = 1"
                )
            assert capfd.readouterr().out == "nn.Linear\n", (name, value)
            assert runtime.run_string(f"_G.{name} = kept") == 0


def test_a_script_may_take_everything_away() -> None:
    result = run_th("-e", "io = {} os = nil debug = {} package = nil io = nil")
    assert (result.returncode, result.stderr) == (0, "")
    result = run_th("-e", "local G, next = _G, next for name in next, G do G[name] = nil end undefined()")
    assert result.returncode == 1
    assert result.stderr.startswith("th: (command line):1: attempt to call global 'undefined'")
    assert "Python" not in result.stderr and ".py" not in result.stderr


def test_what_is_printed_goes_where_the_script_sends_it() -> None:
    result = run_th(
        "-e",
        "function print(text) io.stdout:write('<', text, '>') end "
        "torch.CmdLine():string('', { a = 1 }, { a = true })",
    )
    assert result.stdout == "<-- ignore option a>", result.stderr


def test_a_script_of_the_originals_that_is_not_there() -> None:
    result = run_th("nowhere/benchmark.lua")
    assert (result.returncode, result.stdout) == (2, "")
    assert "or use benchmark.py, which takes the same options" in result.stderr


def test_exit_leaves_the_prompt_unless_it_is_a_variable(capfd: pytest.CaptureFixture[str]) -> None:
    runtime = Runtime()
    runtime.open_prompt(colored=False)
    assert runtime.evaluate(" exit ") == 0
    assert Runtime().run_string("os.exit = nil") == 0
    for line in ("exit = 5", "exit"):
        assert runtime.evaluate(line) is None
    assert capfd.readouterr().out == "5\n"


def test_a_picture_takes_the_place_of_another_when_it_is_whole(tmp_path: Path) -> None:
    runtime = Runtime()
    for name, save in {
        "a.png": "image.save",
        "a.ppm": "image.save",
        "a.mat": "require('matio').save",
    }.items():
        path = tmp_path / name
        path.write_text("before")
        with path.open() as before:
            assert runtime.run_string(f"require 'image' {save}({str(path)!r}, torch.ones(3, 2, 2))") == 0
            assert before.read() == "before" and path.stat().st_size > 6
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.mat", "a.png", "a.ppm"]
