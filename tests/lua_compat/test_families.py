"""A class of nn is found in files of one name: in lua/nn, conversion/families, torch_modules, kernels/nn."""

import inspect
import re
from pathlib import Path

import pytest

from lua_compat import torch_modules
from lua_compat.conversion.registry import CONVERSIONS
from lua_compat.declarations import declarations
from lua_compat.kernels import all_kernels
from lua_compat.packages import modules_of
from lua_compat.runtime.state import LUA_FOLDER, Runtime
from lua_compat.torch_modules import base

# The file of lua/nn that declares each class: the outermost one at work when torch.class is called.
DECLARING_FILES = """
local real = torch.class
function torch.class(name, ...)
   local file, level = nil, 2
   while debug.getinfo(level, 'S') do
      local found = debug.getinfo(level, 'S').source:match('lua/nn/([%w_]+)/?[%w_]*%.lua$')
      if found and found ~= 'init' and found ~= 'shared' then file = found end
      level = level + 1
   end
   print(name .. ' ' .. file)
   return real(name, ...)
end
require 'nn'
"""

# Families of other packages of Lua's: nngraph's modules, cudnn's recurrent layers, what repositories declared
# themselves.
# THNN's functions by name call kernels of every family.
BY_NAME = "layers_by_arguments"
ELSEWHERE = {
    "graph": "graph/init.lua",
    "recurrent": "cudnn/recurrent.lua",
    "repositories": "th/api/modules.lua",
}


@pytest.fixture
def family_in_lua(capfd: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The family of each class, by its name with nn."""
    capfd.readouterr()
    assert Runtime().run_string(DECLARING_FILES) == 0
    return dict(line.split() for line in capfd.readouterr().out.splitlines())


def family_of(module: str, package: str) -> str:
    """The name below ``package`` in a dotted name of a module: a file's, or a folder's."""
    assert module.startswith(f"{package}."), module
    return module[len(package) + 1 :].split(".")[0]


def test_every_conversion_is_in_the_family_that_declares_its_class(family_in_lua: dict[str, str]) -> None:
    wrong = {
        typename: (family, family_in_lua[typename])
        for module in modules_of("lua_compat.conversion.families")
        for family in [family_of(module.__name__, "lua_compat.conversion.families")]
        for typename in module.CONVERSIONS
        if family_in_lua.get(typename, family) != family
    }
    assert wrong == {}
    assert len(CONVERSIONS.keys() & family_in_lua.keys()) > 110


def test_every_torch_module_is_in_the_family_that_declares_its_class(
    family_in_lua: dict[str, str],
) -> None:
    found, wrong = 0, {}
    for module in modules_of(torch_modules.__name__):
        family = family_of(module.__name__, torch_modules.__name__)
        for name, value in vars(module).items():
            declared = family_in_lua.get(f"nn.{name}")
            if not inspect.isclass(value) or value.__module__ != module.__name__ or declared is None:
                continue
            found += 1
            if declared != family:
                wrong[name] = (family, declared)
    assert wrong == {}
    assert found > 70


def test_an_export_is_beside_the_module_that_it_writes() -> None:
    for module in modules_of("lua_compat.conversion.families"):
        family = family_of(module.__name__, "lua_compat.conversion.families")
        for kind in module.EXPORTS:
            if kind.__module__.startswith(torch_modules.__name__):
                assert family_of(kind.__module__, torch_modules.__name__) == family, kind


def kernels_used(file: Path) -> set[str]:
    """The kernels that a file of lua/nn names: ``kernel.name``, or 'name' where a layer is made of it."""
    text = file.read_text(encoding="utf-8")
    quoted = {name for name in re.findall(r"'(\w+)'", text) if "_" in name}
    return {*re.findall(r"\bkernel\.(\w+)", text), *re.findall(r"\bf = '(\w+)'", text), *quoted}


def test_every_kernel_is_in_the_family_that_calls_it() -> None:
    users = {file.parent.name: kernels_used(file) for file in (Path(LUA_FOLDER) / "nn").glob("*/init.lua")}
    users |= {file.stem: kernels_used(file) for file in (Path(LUA_FOLDER) / "nn").glob("*.lua")}
    for declared in declarations().values():
        users[declared.family] |= {declared.kernel} if declared.kernel else set()
    package = "lua_compat.kernels.nn"
    checked = set()
    for module in modules_of(package):
        family = family_of(module.__name__, package)
        if family in ELSEWHERE:
            continue
        for name in getattr(module, "__all__", ()):
            base = re.sub(r"_(gradients?|grad_input|grad_parameters)$", "", name)
            calling = {stem for stem, used in users.items() if used & {name, base}}
            assert calling - {BY_NAME} in ({family}, set()), f"{name} of {family} is called by {calling}"
            assert calling, f"{name} of {family} is called by no layer"
            checked.add(name)
    assert len(checked) > 80 and checked <= all_kernels().keys()


@pytest.mark.parametrize(
    "package", ["lua_compat.conversion.families", "lua_compat.torch_modules", "lua_compat.kernels.nn"]
)
def test_no_family_has_a_name_that_lua_does_not_know(package: str) -> None:
    for module in modules_of(package):
        if module is base or (package == "lua_compat.kernels.nn" and not hasattr(module, "__all__")):
            continue  # what families have in common
        family = family_of(module.__name__, package)
        place = ELSEWHERE.get(family, f"nn/{family}/init.lua")
        assert (Path(LUA_FOLDER) / place).is_file(), f"{package}: {family}"


def test_what_luajit_computes_lies_in_the_family_of_its_kernel() -> None:
    package = "lua_compat.kernels.nn"
    families = {
        name: family_of(module.__name__, package)
        for module in modules_of(package)
        for name in getattr(module, "__all__", ())
    }
    checked = set()
    for file in (Path(LUA_FOLDER) / "nn").glob("*/luajit/*.lua"):
        for name in re.findall(r"\bluajit\.(\w+)", file.read_text(encoding="utf-8")):
            if name in families:
                assert families[name] == file.parent.parent.name, f"{name} in {file}"
                checked.add(name)
    assert len(checked) > 60


LOADED = """
require 'nn'
local function loaded(family) -- how many of its files are, and how many there are
   local n, all = 0, 0
   for _, name in ipairs(arg) do
      if name:find('^nn%.' .. family .. '%.luajit%.') then
         n, all = n + (package.loaded[name] and 1 or 0), all + 1
      end
   end
   return n, all
end
assert(loaded 'pooling' == 0)
nn.SpatialMaxPooling(2, 2):forward(torch.rand(1, 4, 4))
local n, all = loaded 'pooling'
assert(n == all and n > 4 and loaded 'similarity' == 0)
for _, declaration in ipairs(require('nn.declarations').with_kernels()) do
   for name in pairs(require('nn.shared.declared').signatures(declaration)) do
      local _ = require('torch.core.signatures')[name]
   end
end
for _, name in ipairs(arg) do assert(package.loaded[name], name) end
"""


def test_what_luajit_computes_is_loaded_with_the_first_kernel_of_its_family() -> None:
    files = (Path(LUA_FOLDER) / "nn").glob("*/luajit/*.lua")
    names = [".".join(file.relative_to(LUA_FOLDER).with_suffix("").parts) for file in files]
    assert Runtime("script", names).run_string(LOADED) == 0


def test_what_luajit_computes_does_not_end_in_the_call_of_a_builtin() -> None:
    builtin = (
        r"(ffi\.\w+|math\.\w+|bit\.\w+|cast|floor|ceil|max|min|abs|sqrt|exp|log|tonumber|band|bor|tobit)"
    )
    for file in (Path(LUA_FOLDER) / "nn" / "shared" / "luajit").glob("*.lua"):
        found = re.findall(rf"\breturn {builtin}\([^\n]*\)(?: end)?$", file.read_text("utf-8"), re.MULTILINE)
        assert found == [], f"{file.name}: LuaJIT compiles no function of its own whose last call is {found}"
