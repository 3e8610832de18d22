"""Functions of our packages in .t7 files: written by their names, so that Torch7 and th find their own."""

from pathlib import Path

from lua_compat import t7
from tests.helpers.commands import run_lua

WRITE = """
require 'optim' require 'image' require 'nn' require 'xlua' require 'sys'
local names = { 'image.lena', 'sys.split', 'xlua.formatTime', 'torch.save' }
for name in pairs(optim) do
   if type(optim[name]) == 'function' then names[#names + 1] = 'optim.' .. name end
end
local functions = {}
for _, name in ipairs(names) do functions[name] = _G[name:match('^%w+')][name:match('%w+$')] end
functions.linear = nn.Linear.updateOutput
functions.of_script = function(x, config)
   return optim.sgd(function(y) return y:sum(), y:clone():fill(1) end, x, config)
end
torch.save(FILE, functions)
torch.save(FILE .. 'again', torch.load(FILE))
"""

READ = """
local written = torch.load(FILE)
assert(not optim)
local x = torch.ones(3)
written['optim.adam'](function(y) return y:sum(), y:clone() end, x, { learningRate = 0.1 })
assert(math.abs(x[1] - 0.9) < 1e-6 and optim)
local function square(y) return y:clone():pow(2):sum(), y * 2 end
local state = { lineSearch = written['optim.lswolfe'], maxIter = 5 }
assert(written['optim.lbfgs'](square, torch.ones(2), state):norm() < 1e-9)
assert(written['sys.split']('a b', ' ')[2] == 'b')
assert(written.linear(nn.Linear(2, 3), torch.ones(2)):size(1) == 3)
assert(written.of_script(torch.ones(2), { learningRate = 0.5 })[1] == 0.5)
"""


def test_functions_of_packages_are_written_and_work_where_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "functions.t7"
    run_lua(tmp_path, f"FILE = {str(path)!r}\n{WRITE}")
    for file in (path, Path(f"{path}again")):
        run_lua(tmp_path, f"FILE = {str(file)!r} require 'nn'\n{READ}")


def test_what_is_written_of_a_package_is_a_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "functions.t7"
    run_lua(tmp_path, f"FILE = {str(path)!r}\n{WRITE}")
    functions = t7.load(path)
    for name in ("optim.adam", "image.lena", "linear"):
        function = functions[name]
        assert len(function.upvalues) == 0
        assert str(tmp_path).encode() not in function.bytecode
        assert b"lua_compat" not in function.bytecode


def test_functions_that_are_c_in_torch7_are_refused(tmp_path: Path) -> None:
    code = """
        for _, name in ipairs{ 'pcall', 'print', 'tostring', 'require', 'type', 'loadstring' } do
           local ok, problem = pcall(torch.serialize, { x = _G[name] })
           assert(not ok and problem == 'Unwritable object <function> at <?>.x', problem)
        end
        local add = torch.add
        local ok, problem = pcall(torch.serialize, function(x) return add(x, 1) end)
        assert(not ok and problem == 'Unwritable object <function> at <?>.add', problem)
    """
    run_lua(tmp_path, code)
