"""Torch7's packages beside torch and nn: xlua, optim, graph, nngraph, and modules in plain Lua."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lua_compat import run, t7
from lua_compat.runtime.errors import LuaError
from tests.helpers.commands import run_lua, run_th
from tests.helpers.lua_golden import differences
from tests.helpers.places import GOLDEN, ROOT

PACKAGES = GOLDEN / "packages"


def test_sizes_of_elements_without_an_object(tmp_path: Path) -> None:
    """As torchnet asks for them."""
    code = """
        assert(torch.LongStorage.elementSize() == 8 and torch.FloatStorage.elementSize() == 4)
        assert(torch.ByteStorage.elementSize() == 1 and torch.ShortTensor.elementSize() == 2)
        assert(torch.DoubleTensor(3):elementSize() == 8)
        local bytes = torch.serializeToStorage{ 5 }
        assert(torch.deserializeFromStorage(torch.CharTensor(bytes))[1] == 5)
        assert(torch.deserializeFromStorage(bytes)[1] == 5)
    """
    run_lua(tmp_path, code)


def test_a_memory_file_grows_beside_what_is_written_to_it(tmp_path: Path) -> None:
    """The file's memory moves while it grows; what is written may lie anywhere, right behind it, too."""
    code = """
        torch.manualSeed(1)
        for k = 1, 300 do
            local t = torch.FloatTensor(torch.random(1, 20000)):uniform()
            assert(torch.deserialize(torch.serialize(t)):equal(t))
        end
    """
    run_lua(tmp_path, code)


def test_threads_count_with_an_atomic_counter(tmp_path: Path) -> None:
    code = """
        local tds, threads = require 'tds', require 'threads'
        threads.serialization 'threads.sharedserialize'
        local counter = tds.AtomicCounter()
        counter:set(3)
        assert(counter:inc() == 3 and counter:get() == 4 and tostring(counter) == 'tds.AtomicCounter=4')
        local pool = threads.Threads(2, function() require 'tds' end)
        for _ = 1, 2 do pool:addjob(function() for _ = 1, 500 do counter:inc() end end) end
        pool:synchronize()
        assert(counter:get() == 1004)
        pool:terminate()
        local copy = torch.deserialize(torch.serialize(counter))
        assert(copy:inc() == 1004 and counter:get() == 1004 and torch.type(copy) == 'tds.AtomicCounter')
        assert(not pcall(function() return counter.nothing end))
    """
    run_lua(tmp_path, code)


@pytest.mark.parametrize("package", ["optim", "nngraph"])
def test_recorded_results(package: str, tmp_path: Path) -> None:
    """What optim's and nngraph's functions do, field by field, as Torch7 did it."""
    out = tmp_path / "out.t7"
    assert run(PACKAGES / f"probe_{package}.lua", [str(out)]) == 0
    expected, got = t7.load(PACKAGES / f"{package}.t7").array(), t7.load(out).array()
    assert len(expected) == len(got)
    tolerance = 1e-9 if package == "optim" else 1e-6  # nngraph's results in float32 among them
    for number, (a, b) in enumerate(zip(expected, got, strict=True)):
        assert not list(differences(a, b, tolerance)), f"{a['name']}, case {number}"


def test_a_gmodule_saved_by_torch7(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nngraph'
        local net, record = torch.load(arg[1]), torch.load(arg[2])[3]
        assert(torch.type(net) == 'nn.gModule' and record.name == 'residual')
        assert((net:forward(record.input) - record.output):abs():max() < 1e-12)
        local copy = torch.deserialize(torch.serialize(net))
        assert((copy:forward(record.input) - record.output):abs():max() < 1e-12)
        """,
        str(PACKAGES / "gmodule_residual.t7"),
        str(PACKAGES / "nngraph.t7"),
    )


def test_cmaes_finds_a_minimum_without_gradients(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'optim'
        torch.manualSeed(1)
        local function f(x) return ((x[1] - 1) ^ 2 + 10 * (x[2] + 2) ^ 2 + 3 * x[3] ^ 2) end
        local x, values, evaluations = optim.cmaes(f, torch.zeros(3), { sigma = 0.5, maxEval = 2000 })
        assert((x - torch.Tensor{ 1, -2, 0 }):abs():max() < 1e-5, tostring(x))
        assert(values[#values] < 1e-10 and values[1] == 41 and evaluations <= 2000)
        """,
    )


def test_training_with_a_state_that_is_saved(tmp_path: Path) -> None:
    """A run that is interrupted, its state saved and loaded, continues as if it had not been."""
    run_lua(
        tmp_path,
        """
        require 'optim'
        local function f(x) return x:dot(x), x * 2 end
        for _, name in ipairs{ 'sgd', 'adam', 'rmsprop', 'adagrad', 'adadelta', 'rprop', 'lbfgs' } do
           local config = { learningRate = 0.01, momentum = name == 'sgd' and 0.9 or nil, maxIter = 2 }
           local x, state = torch.linspace(-1, 1, 5), {}
           for _ = 1, 3 do optim[name](f, x, config, state) end
           local later, saved = x:clone(), torch.deserialize(torch.serialize(state))
           for _ = 1, 3 do
              optim[name](f, x, config, state)
              optim[name](f, later, config, saved)
           end
           assert((x - later):abs():max() == 0, name)
        end
        """,
    )


def test_logger(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "train.log"
    run_lua(
        tmp_path,
        """
        require 'optim'
        local logger = optim.Logger(arg[1])
        logger:setNames{ 'loss', 'note' }
        logger:add{ 0.25, 'first' }
        logger:add{ 1e-10, 'second' }
        assert(not pcall(logger.add, logger, { {}, 'x' }))
        logger:style{ loss = '-', note = '+' }
        logger:plot('loss')
        """,
        str(log),
    )
    lines = log.read_text().splitlines()
    assert lines[:3] == ["loss\tnote\t", " 2.5000e-01\tfirst\t", " 1.0000e-10\tsecond\t"]
    assert log.with_name("train.log.eps").read_bytes().startswith(b"%!PS")


def test_the_names_of_a_logger_are_those_last_set(tmp_path: Path) -> None:
    code = """
        local logger = require('optim').Logger(arg[1])
        logger:add{ loss = 1 }
        logger:setNames{ 'b' }
        assert(#logger.names == 1 and logger.names.loss == nil)
    """
    run_lua(tmp_path, code, str(tmp_path / "log"))


def test_a_class_outside_a_confusion_matrix_is_an_error(tmp_path: Path) -> None:
    """Negative places do not count from the matrix's end."""
    code = """
        local matrix = require('optim').ConfusionMatrix(3)
        for _, class in ipairs{ -1, 0, 10 } do
           local ok, message = pcall(matrix.batchAdd, matrix, torch.Tensor{ class }, torch.Tensor{ 1 })
           assert(not ok and message:find("bad argument #1 to 'indexAdd' (out of range", 1, true), message)
        end
        assert(matrix.mat:sum() == 0)
    """
    run_lua(tmp_path, code)


def test_a_logger_that_cannot_draw_says_how_to_get_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lua_compat.kernels.packages.extras.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    script = tmp_path / "plots.lua"
    script.write_text(f"""
        local logger = require('optim').Logger('{tmp_path}/train.log')
        logger:setNames{{ 'loss' }} logger:style{{ '-' }} logger:add{{ 1 }}
        logger:plot() logger:plot()
    """)
    assert run(script) == 0
    (said,) = capfd.readouterr().out.splitlines()
    assert said.startswith("<Logger> warning: cannot plot: gnuplot needs matplotlib: pip install ")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("require 'optim' optim.ConfusionMatrix(2):render()", "needs a Qt window"),
        ("require 'optim' optim.nag(nil, nil, { momentum = 0 })", "Momentum must be positive"),
        ("require 'optim' optim.cmaes(nil, torch.zeros(2), {})", "sigma, the initial step size, is required"),
        ("require 'nngraph' nn.Tanh()(nn.Tanh())", "inputs[1] is an nn.Module, specifically a nn.Tanh"),
        ("require 'nngraph' nn.Tanh()({})", "cannot pass an empty table of inputs"),
        ("require 'nngraph' nngraph.display()", "th has no window"),
        ("require 'graph' graph.dot(graph.Graph(), 'title')", "give a file name"),
        (
            "require 'nngraph' local x = nn.Identity()() nn.Tanh()(x) nn.gModule({x}, {nn.ReLU()(x)})",
            "does not connect to gmodule output",
        ),
        ("xlua.Profiler():displayAll{}", "needs a Qt window"),
    ],
)
def test_what_cannot_be_done_is_said(code: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LuaError, match=r"script\.lua:1") as error:
        run_lua(tmp_path, code)
    assert said in str(error.value)


def test_a_graph_of_another_type_shares_what_it_shared(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'nngraph'
        local x = nn.Identity()()
        local net = nn.gModule({ x }, { nn.Linear(2, 3)(nn.Tanh()(nn.Linear(3, 2)(x))) })
        local flat = net:getParameters()
        net:float()
        local parameters = net:parameters()
        for _, t in ipairs(parameters) do
            assert(torch.pointer(t:storage()) == torch.pointer(parameters[1]:storage()))
            assert(t:storage():size() == flat:nElement())
        end
        """,
    )


def test_drawings_without_graphviz(tmp_path: Path) -> None:
    """The text of the graph is written all the same; setDebug marks the node that failed."""
    script = tmp_path / "draw.lua"
    script.write_text(
        "require 'nngraph'\n"
        "local x = nn.Identity()():annotate{ name = 'input' }\n"
        "local net = nn.gModule({ x }, { nn.Linear(3, 2)(nn.Tanh()(x)) })\n"
        "graph.dot(net.fg, 'a title', 'net')\n"
        "net.name = 'failed'\n"
        "nngraph.setDebug(true)\n"
        "assert(not pcall(net.forward, net, torch.ones(2, 7)))\n"
    )
    done = run_th(script, cwd=tmp_path, environment={"PATH": "/nonexistent"})
    assert done.returncode == 0, done.stderr
    assert "graphviz is not installed" in done.stderr and "saving failed.svg" in done.stderr
    text = (tmp_path / "net.dot").read_text()
    assert text.startswith("digraph G {") and "a title" in text and "input (" in text and "->" in text
    linear = next(line for line in (tmp_path / "failed.dot").read_text().split("\n") if "nn.Linear" in line)
    assert f"{linear.split('[')[0]}[style=filled, fillcolor=red]" in (tmp_path / "failed.dot").read_text()
    assert not (tmp_path / "net.svg").exists()


def test_graphs(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        require 'graph'
        local g, nodes = graph.Graph(), {}
        for i = 1, 6 do nodes[i] = graph.Node(i) end
        for _, e in ipairs{ { 1, 2 }, { 1, 3 }, { 2, 4 }, { 3, 4 }, { 5, 4 }, { 4, 6 } } do
           g:add(graph.Edge(nodes[e[1]], nodes[e[2]]))
        end
        local function data(list)
           local values = {}
           for i, node in ipairs(list) do values[i] = node.data end
           return table.concat(values, ' ')
        end
        assert(data(g:roots()) == '1 5' and data(g:leaves()) == '6' and not g:hasCycle())
        local place = {}
        for i, node in ipairs((g:topsort())) do place[node] = i end
        for _, edge in ipairs(g.edges) do assert(place[edge.from] < place[edge.to]) end
        assert(data(g:reverse():roots()) == '6' and #g:clone().edges == 6)
        local order = {}
        nodes[1]:bfs(function(node) order[#order + 1] = node end)
        assert(data(order) == '1 2 3 4 6')
        g:add(graph.Edge(nodes[6], nodes[2]))
        assert(g:hasCycle() and not pcall(g.topsort, g))
        """,
    )


def test_xlua(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        assert(xlua.table2string(string.split('a,b,,c,', ',')) == '{"a","b","","c"}')
        assert(xlua.table2string(string.split(',a', ',')) == '{"a"}')
        assert(string.tosymbol('math.pi') == math.pi and not pcall(string.tosymbol, 'no.thing'))
        local kept, removed = table.splice({ 1, 2, 3, 4 }, 2, 2)
        assert(#kept == 2 and kept[2] == 4 and removed[1] == 2)
        assert(table.concat(table.prune{ 3, 1, 3, 2, 1 }) == '312')
        assert(xlua.formatTime(3725.5) == '1h2m' and xlua.formatTime(0.35) == '350ms')

        local function f(...)
           return select(2, xlua.unpack({ ... }, 'f', 'an example',
              { arg = 'a', type = 'number', help = 'first', req = true },
              { arg = 'b', type = 'number', help = 'second', default = 5 },
              { arg = 'c', type = 'number', help = 'third', defaulta = 'b' }))
        end
        local a, b, c = f{ a = 1, c = 3 }
        assert(a == 1 and b == 5 and c == 3)
        a, b, c = f(1, 2)
        assert(a == 1 and b == 2 and c == 2)
        assert(not pcall(f, { b = 1 }) and not pcall(f))

        arg = { '--rate=0.5', '-v', 'file' }
        local parser = xlua.OptionParser('%prog [options]')
        parser:option{ '-r', '--rate', action = 'store', dest = 'rate', default = 1, help = 'the rate' }
        parser:option{ '-v', action = 'store_true', dest = 'verbose', help = 'say more' }
        parser:option{ '-q', action = 'store_true', dest = 'quiet', help = 'say less' }
        local options, rest = parser:parse()
        assert(options.rate == '0.5' and options.verbose and not options.quiet and rest[1] == 'file')
        assert(parser:tostring(true, {}) == '-r=0.5,-v=true')

        local ok = false
        xlua.trycatch(function() error('x') end, function(problem) ok = problem:find('x') ~= nil end)
        assert(ok and xlua.require('no.such.package') == false)
        assert(xlua.installed('nn') and not xlua.installed('no.such.package'))
        """,
    )


def test_progress_bar(tmp_path: Path) -> None:
    script = tmp_path / "progress.lua"
    script.write_text("for i = 1, 4 do xlua.progress(i, 4) end")
    printed = run_th(script, environment={"COLUMNS": "80"}).stdout
    assert " 4/4 " in printed and "Tot: " in printed and "ETA: " in printed
    assert "[" + "=" * 45 + ">]" in printed


def test_a_full_progress_bar_is_drawn_once(tmp_path: Path) -> None:
    """Scripts often say after their loop that all is done; counts are written like any number."""
    script = tmp_path / "progress.lua"
    script.write_text(
        "xlua.progress(2345678, 2345678) xlua.progress(2345678, 2345678) io.write('#')\n"
        "xlua.progress(1, 2) xlua.progress(3, 2) xlua.progress(2, 2) xlua.progress(2, 2)"
    )
    first, second = run_th(script, environment={"COLUMNS": "80"}).stdout.split("#")
    assert (first.count("["), first.count(" 2345678/2345678 ")) == (1, 1)
    assert second.count("[") == 3  # more than all does not end a bar


def test_modules_in_plain_lua_are_found(tmp_path: Path) -> None:
    """In LUA_PATH, and where LuaRocks puts them for a user; ours come first."""
    rocks = tmp_path / "home" / ".luarocks" / "share" / "lua" / "5.1"
    other = tmp_path / "other"
    (rocks / "counter").mkdir(parents=True)
    other.mkdir()
    (rocks / "counter" / "init.lua").write_text("return { name = 'from luarocks' }")
    (rocks / "nn.lua").write_text("error('not ours')")
    (other / "words.lua").write_text("return { name = 'from LUA_PATH' }")
    code = "print(require('counter').name, require('words').name, require('nn').Linear ~= nil)"
    done = run_th("-e", code, environment={"HOME": str(tmp_path / "home"), "LUA_PATH": f"{other}/?.lua"})
    assert done.stdout.split("\t") == ["from luarocks", "from LUA_PATH", "true\n"], done.stderr


def test_cjson(tmp_path: Path) -> None:
    value = {"list": [1, 2.5, -3e-7, True, False, None], "text": 'é "quoted" \\ / \n\u0001 😀', "empty": {}}
    out = tmp_path / "out.json"
    run_lua(
        tmp_path,
        """
        local cjson = require 'cjson'
        local value = cjson.decode(arg[1])
        assert(value.list[6] == cjson.null and value.list[2] == 2.5 and value.list[5] == false)
        local file = io.open(arg[2], 'w')
        file:write(cjson.encode(value))
        file:close()
        assert(cjson.encode{ [1] = 1, [3] = 3 } == '[1,null,3]' and cjson.encode{ 1e15 } == '[1e+15]')
        for _, bad in ipairs{ '', '[1,', '[1 2]', '{"a" 1}', '{1:2}', '"open', 'nul', '[1]x', '["\\\\x"]',
            '"\\\\ud800"' } do
           local ok, problem = pcall(cjson.decode, bad)
           assert(not ok and problem:find('^Expected .* at character %d+$'), bad .. ': ' .. tostring(problem))
        end
        assert(not pcall(cjson.encode, { [1] = 1, [100] = 2 }) and not pcall(cjson.encode, 0 / 0))
        assert(not pcall(cjson.encode, print) and not pcall(cjson.decode, ('['):rep(1001)))
        local nothing, problem = require('cjson.safe').decode('[')
        assert(nothing == nil and problem:find('Expected'))
        """,
        json.dumps(value).encode().decode("latin-1"),
        str(out),
    )
    assert json.loads(out.read_bytes().decode("utf-8")) == value


def test_lfs(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("12345")
    run_lua(
        tmp_path,
        """
        local lfs = require 'lfs'
        assert(_G.lfs == lfs)
        assert(lfs.attributes(arg[1], 'mode') == 'directory')
        local attributes = lfs.attributes(arg[1] .. '/file')
        assert(attributes.mode == 'file' and attributes.size == 5 and attributes.modification > 1e9)
        assert(lfs.attributes(arg[1] .. '/none') == nil)
        local names = {}
        for name in lfs.dir(arg[1]) do names[#names + 1] = name end
        assert(table.concat(names, ' ') == '. .. file')
        assert(lfs.mkdir(arg[1] .. '/new'))
        assert(not lfs.mkdir(arg[1] .. '/new') and not lfs.mkdir(arg[1] .. '/a/b'))
        assert(lfs.touch(arg[1] .. '/file', 1000, 2000))
        assert(lfs.attributes(arg[1] .. '/file', 'modification') == 2000)
        assert(lfs.link('file', arg[1] .. '/link', true) and not lfs.link('file', arg[1] .. '/link', true))
        assert(lfs.attributes(arg[1] .. '/link', 'mode') == 'file')
        assert(lfs.symlinkattributes(arg[1] .. '/link', 'mode') == 'link')
        assert(lfs.symlinkattributes(arg[1] .. '/link', 'target') == 'file')
        assert(lfs.symlinkattributes(arg[1] .. '/file').target == nil)
        assert(select(2, lfs.symlinkattributes(arg[1] .. '/none', 'target')):find('No such file'))
        assert(paths.concat('/a', '/', 'b') == '/b' and paths.concat('/a/', 'b/') == '/a/b')
        assert(lfs.attributes(arg[1] .. '/file', 'blksize') > 0)
        assert(lfs.attributes(arg[1] .. '/file', 'uid') >= 0)
        local inode = lfs.attributes(arg[1] .. '/link', 'ino')
        assert(inode == lfs.attributes(arg[1] .. '/file', 'ino'))
        assert(lfs.attributes(arg[1] .. '/file', 'change') % 1 == 0)
        assert(lfs.rmdir(arg[1] .. '/new'))
        for wanted, call in pairs{
           ['^Unable to change working directory to .*/new.%c'] = function()
              return lfs.chdir(arg[1] .. '/new')
           end,
           ['^No such file or directory$'] = function() return lfs.rmdir(arg[1] .. '/new') end,
           ['^.*/new: No such file or directory$'] = function() return paths.rmdir(arg[1] .. '/new') end,
           ['^.*/file: File exists$'] = function() return paths.mkdir(arg[1] .. '/file') end,
        } do
           local ok, problem = call()
           assert(ok == nil and problem:find(wanted), problem)
        end
        local next_name, folder = lfs.dir(arg[1])
        folder:close()
        for wanted, call in pairs{
           ["bad argument #1 to 'next' (closed directory)"] = next_name,
           ["cannot open " .. arg[1] .. "/file: Not a directory"] = function() lfs.dir(arg[1] .. '/file') end,
           ["bad argument #1 to 'mkdir' (string expected, got table)"] = function() paths.mkdir{} end,
           ["bad argument #2 to 'touch' (number expected, got string)"] = function() lfs.touch('x', 'y') end,
           ["bad argument #2 to 'setmode' (invalid option 'x')"] = function() lfs.setmode(io.stdout, 'x') end,
           ["invalid attribute name '5'"] = function() lfs.attributes(arg[1], 5) end,
        } do
           local ok, problem = pcall(call)
           assert(not ok and problem:find(wanted, 1, true), problem)
        end
        """,
        str(tmp_path / "folder"),
    )


def test_hdf5(tmp_path: Path) -> None:
    """Written by Lua, read by h5py and the other way round."""
    import h5py
    import numpy as np

    written, given = tmp_path / "written.h5", tmp_path / "given.h5"
    with h5py.File(given, "w") as file:
        file["group/naïve"] = np.arange(24, dtype=">i2").reshape(2, 3, 4)
        file["wide"] = np.array([0, 2**32 - 1], np.uint32)
        file["text"] = "no numbers"
    run_lua(
        tmp_path,
        """
        require 'hdf5'
        local file = hdf5.open(arg[1], 'w')
        local x = torch.range(1, 12):view(3, 4)
        file:write('/deep/down/x', x:t())
        file:write('table', { floats = torch.FloatTensor{ 0.5 }, [7] = torch.LongTensor{ 2 ^ 53 }, inner = {},
            chars = torch.CharTensor{ -1 } })
        local options = hdf5.DataSetOptions():setChunked(2, 8):setDeflate(4)
        file:write('grows', torch.ones(2, 4), options)
        file:append('grows', torch.zeros(1, 4))
        assert(not pcall(file.write, file, 'table', { floats = torch.zeros(1) }))
        assert(not pcall(file.write, file, 'words', { 'a string' }))
        file:close()
        assert(not pcall(file.read, file, 'table'))

        file = hdf5.open(arg[1]) -- 'a'
        file:write('later', torch.ByteTensor{ 255 })
        local all = file:all()
        assert((all.deep.down.x - x:t()):abs():max() == 0 and all.table['7'][1] == 2 ^ 53)
        assert(torch.type(all.table.chars) == 'torch.CharTensor' and next(all.table.inner) == nil)
        assert(torch.type(file:read('table')) == 'hdf5.HDF5Group')
        file:close()

        file = hdf5.open(arg[2], 'r')
        local data = file:read('/group'):read('naïve')
        assert(torch.type(data) == 'hdf5.HDF5DataSet' and table.concat(data:dataspaceSize(), 'x') == '2x3x4')
        assert(torch.type(data:getTensorFactory()()) == 'torch.ShortTensor')
        local part = data:partial({ 1, 2 }, 2, { 3, 4 })
        assert(torch.type(part) == 'torch.ShortTensor' and part:sum() == 6 + 7 + 18 + 19 and part:dim() == 3)
        assert(file:read('wide'):all()[2] == 2 ^ 32 - 1)
        for problem, f in pairs{
           ["has no 'none'"] = function() file:read('none') end,
           ['Torch7 has tensors of numbers only'] = function() file:read('text'):all() end,
           ['1 to 3 accepted'] = function() data:partial(1, { 2, 4 }, 1) end,
           ['Expected 3 but 1'] = function() data:partial(1) end,
           ['for reading only'] = function() file:write('x', torch.zeros(1)) end,
           ['mode must be one of'] = function() hdf5.open(arg[2], 'q') end,
        } do
           local ok, said = pcall(f)
           assert(not ok and said:find(problem, 1, true), problem .. ' but: ' .. tostring(said))
        end
        """,
        str(written),
        str(given),
    )
    with h5py.File(written) as file:
        np.testing.assert_array_equal(file["deep/down/x"][...], np.arange(1.0, 13).reshape(3, 4).T)
        assert file["grows"].shape == (3, 4) and file["grows"].chunks == (2, 4)
        assert file["grows"].compression_opts == 4 and file["grows"][...].sum() == 8
        assert file["table/chars"].dtype == np.int8 and file["later"][0] == 255


def test_hdf5_reads_no_tree_without_end(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "loop.h5", "w") as file:
        file["inner/x"] = [1.0]
        file["inner/again"] = file["inner"]
        file["other/x"] = [2.0]
        file["twice"] = file["other"]
    run_lua(
        tmp_path,
        """
        require 'hdf5'
        local file = hdf5.open(arg[1], 'r')
        for problem, f in pairs{
           ['loop.h5:/inner contains itself'] = function() file:read('inner'):all() end,
           ['loop.h5:/other is the same group as'] = function() file:all() end,
           ['No such file or directory: absent.h5'] = function() hdf5.open('absent.h5', 'r') end,
        } do
           local ok, said = pcall(f)
           assert(not ok and said:find(problem, 1, true), problem .. ' but: ' .. tostring(said))
        end
        """,
        str(tmp_path / "loop.h5"),
    )


def test_a_line_search_sees_the_gradients_that_torch7_s_sees(tmp_path: Path) -> None:
    """A function that gives one tensor again and again, as with getParameters: figures of real Torch7."""
    run_lua(
        tmp_path,
        """
        require 'optim'
        local g = torch.Tensor(2)
        local function f(z)
           g[1], g[2] = (4 * z[1] ^ 3 + z[2]) / 50, (2 * z[2] + z[1]) / 50
           return (z[1] ^ 4 + z[2] ^ 2 + z[1] * z[2]) / 50, g
        end
        local x, d = torch.Tensor{3, -2}, torch.Tensor{-3, 1}
        local f0, g0 = f(x)
        local value, gradient, at, t, evaluations = optim.lswolfe(f, x, 2, d, f0, g0, g0 * d)
        assert(math.abs(value - 0.19601789568322) < 1e-13 and math.abs(t - 1.5755432216611) < 1e-12)
        assert((gradient - torch.Tensor{-0.4203, -0.0515}):abs():max() < 5e-5)
        assert((at - torch.Tensor{-1.7266, -0.4245}):abs():max() < 5e-5 and evaluations == 2)
        """,
    )


TDS = """
local tds = require 'tds'
local v = tds.Vec(4, 5, torch.range(1, 2), nil, 'hello', { 1, { x = 'y' } })
local h = tds.Hash{ a = 1, [3] = 'three' }
"""


@pytest.mark.parametrize(
    "check",
    [
        "assert(#v == 6 and v[4] == nil and v[5] == 'hello' and v[7] == nil)",
        "assert(torch.type(v[6]) == 'tds.Vec' and torch.type(v[6][2]) == 'tds.Hash' and v[6][2].x == 'y')",
        "v[9] = 1 assert(#v == 9 and v[8] == nil) v:resize(2) assert(#v == 2 and v[5] == nil)",
        "v:insert(1, 'a') v:insert('z') assert(#v == 8 and v[1] == 'a' and v[2] == 4 and v[8] == 'z')",
        "v:insert(9, 'far') assert(#v == 9 and v[9] == 'far')",
        "v:remove(1) v:remove() v:remove(99) assert(#v == 4 and v[1] == 5 and v[4] == 'hello')",
        "local n = 0 for i, x in ipairs(v) do n = n + 1 assert(i == n and x == v[i]) end assert(n == 6)",
        "local n = 0 for i in pairs(v) do n = n + i end assert(n == 21)",
        "local w = tds.Vec(3, 1, 2) w:sort(function(a, b) return a > b end) assert(w:concat(',') == '3,2,1')",
        "assert(tds.Vec(1, true):concatstorage('-', 1, 2):string() == '1-true')",
        "assert(#h == 2 and h.a == 1 and h.none == nil) h.a = nil h.none = nil assert(#h == 1)",
        "h[true] = v local n = 0 for k, x in pairs(h) do assert(h[k] == x) n = n + 1 end assert(n == 3)",
        "h.a = false h.a = false assert(#h == 2 and h.a == false)",
        "for i, x in ipairs{ 7 } do assert(i == 1 and x == 7) end",
        "for k, x in pairs{ z = 1 } do assert(k == 'z' and x == 1) end",
        "local _, e = pcall(function() h.a = {} end) assert(e:find('unsupported key.value type <table>'))",
        "local _, e = pcall(function() h[nil] = 1 end) assert(e:find('hash index is nil'))",
        "local _, e = pcall(function() v[0] = 1 end) assert(e:find('positive number expected as key'))",
        "local _, e = pcall(function() return v.size end) assert(e:find('invalid key .number. or method'))",
        "local _, e = pcall(tds.Hash, 1) assert(e:find('lua table or nothing expected'))",
        "local w = tds.Vec(1, 2) for _, n in ipairs{ 0 / 0, -1, 2 ^ 53, math.huge } do "
        "assert(not pcall(w.resize, w, n) and not pcall(function() w[n] = 1 end) and #w == 2) end "
        "w:resize(1.5) assert(#w == 1)",
        "local _, e = pcall(tds.Vec, { a = 1 }) assert(e:find('lua table with number keys expected'))",
        "assert(tostring(tds.Vec(1, nil, 'x')) == 'tds.Vec[3]{\\n    1 : 1\\n    2 : nil\\n    3 : x\\n}')",
        "assert(tostring(tds.Hash{ ab = tds.Vec(2) }) == "
        "'tds.Hash[1]{\\nab : tds.Vec[1]{\\n         1 : 2\\n     }\\n}')",
        "local w = tds.Vec() for i = 1, 25 do w:insert(i) end local s = tostring(w) "
        "assert(s:find('   20 : 20\\n%.%.%.\\n}$') and not s:find('21'))",
    ],
)
def test_tds(tmp_path: Path, check: str) -> None:
    run_lua(tmp_path, TDS + check)


@pytest.mark.parametrize("mode", ["binary", "ascii"])
def test_tds_in_files(tmp_path: Path, mode: str) -> None:
    """Of the layout that Torch7's has: its length, and objects."""
    run_lua(
        tmp_path,
        TDS
        + """
        h.vec, h.same = v, v
        torch.save(arg[1], h, arg[2])
        local again = torch.load(arg[1], arg[2])
        local w = again.vec
        assert(torch.type(again) == 'tds.Hash' and #again == 4 and again[3] == 'three' and w == again.same)
        assert(#w == 6 and w[4] == nil and w[3]:sum() == 3 and w[6][2].x == 'y')
        """,
        str(tmp_path / "h.t7"),
        mode,
    )


def test_colours_are_for_terminals(tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text("local c = require 'trepl.colorize' print(c.red 'a' .. c._blue(1) .. c.underline 'b')")
    assert run_th(script).stdout == "a1b\n"
    reader, terminal = os.openpty()
    command = [sys.executable, "-m", "lua_compat", str(script)]
    subprocess.run(command, stdout=terminal, check=True, cwd=ROOT, timeout=100)
    assert os.read(reader, 1000) == b"\x1b[0;31ma\x1b[0m\x1b[44m1\x1b[0m\x1b[4mb\x1b[0m\r\n"
    os.close(reader)
    os.close(terminal)


def test_cjson_reads_hexadecimal_numbers_and_names_what_it_finds(tmp_path: Path) -> None:
    """As lua-cjson does."""
    run_lua(
        tmp_path,
        """
        local cjson = require 'cjson'
        assert(cjson.decode('[-0x1F]')[1] == -31)
        for text, found in pairs{
           ['{}}'] = 'the end but found T_OBJ_END at character 3', ['[,]'] = 'value but found T_COMMA',
           ['["a" true]'] = 'end but found T_BOOLEAN', ['{1:2}'] = 'string but found T_NUMBER',
           ['['] = 'found T_END', ['"x'] = 'Expected value but found unexpected end of string at character 3',
           [ [[{"\\x":1}]] ] = 'Expected object key string but found invalid escape code at character 3',
           [ [["\\ud800"]] ] = 'found invalid unicode escape code',
           ['[-]'] = 'found invalid number at character 2',
        } do
           local ok, message = pcall(cjson.decode, text)
           assert(not ok and message:find(found, 1, true), message)
        end
        local tab = string.char(9)
        assert(cjson.decode('["a' .. tab .. 'b"]')[1] == 'a' .. tab .. 'b' and cjson.decode('+1') == 1)
        """,
    )


def test_settings_of_cjson_are_checked(tmp_path: Path) -> None:
    """Texts as lua-cjson's 2.1.0."""
    run_lua(
        tmp_path,
        """
        local cjson = require('cjson').new()
        assert(cjson.encode_invalid_numbers('null') == 'null' and cjson.encode{ 0 / 0 } == '[null]')
        assert(cjson.encode_invalid_numbers('off') == false and cjson.decode_invalid_numbers('on') == true)
        assert(select('#', cjson.encode_sparse_array('on', '3', 0)) == 3)
        assert(cjson.encode_sparse_array() == true)
        assert(cjson.encode_number_precision(3) == 3 and cjson.encode{ 1 / 3 } == '[0.333]')
        assert(cjson.decode_max_depth(1) == 1)
        local function refuses(wanted, f, ...)
           local ok, problem = pcall(f, ...)
           assert(not ok and problem:find(wanted, 1, true), problem)
        end
        refuses('Found too many nested data structures (2) at character 2', cjson.decode, '[[1]]')
        refuses("#1 to 'decode_max_depth' (expected integer between 1 and 2147483647)",
           cjson.decode_max_depth, 0)
        refuses("#1 to 'encode_number_precision' (expected integer between 1 and 14)",
           cjson.encode_number_precision, 15)
        refuses("#2 to 'encode_sparse_array' (number expected, got table)",
           cjson.encode_sparse_array, true, {})
        refuses("#1 to 'encode_keep_buffer' (invalid option 'maybe')", cjson.encode_keep_buffer, 'maybe')
        refuses('Cannot serialise boolean: table key must be a number', cjson.encode, { [true] = 1 })
        """,
    )


def test_values_are_as_many_and_times_as_fine_as_in_torch7(tmp_path: Path) -> None:
    code = """
        local arguments = { { arg = 'a', type = 'number' }, { arg = 'b', type = 'string', default = 'z' } }
        assert(select('#', xlua.unpack({ 1 }, 'f', 'd', unpack(arguments))) == 65)
        local _, a, b = xlua.unpack({ 1 }, 'f', 'd', unpack(arguments))
        assert(a == 1 and b == 'z')
        local timer, fine = torch.Timer(), false
        for _ = 1, 200 do
            for i = 1, 1e5 do math.sin(i) end
            local hundredths = timer:time().user * 100
            fine = fine or math.abs(hundredths - math.floor(hundredths + 0.5)) > 1e-4
        end
        assert(fine)
    """
    run_lua(tmp_path, code)


def test_a_block_of_a_dataset_has_whole_bounds(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    code = f"""
        require 'hdf5'
        local f = hdf5.open({str(tmp_path / "x.h5")!r}, 'w')
        f:write('v', torch.range(1, 10))
        f:close()
        local v = hdf5.open({str(tmp_path / "x.h5")!r}, 'r'):read('v')
        for _, range in ipairs{{ {{ 1.5, 2 }}, {{ 2 }}, 0 / 0, {{ 9.5, 10 }}, 'x', {{}} }} do
            local ok, problem = pcall(v.partial, v, range)
            assert(not ok and problem:find('range 1: a whole number, or two in a table', 1, true), problem)
        end
        assert(v:partial{{ 2, 4 }}:sum() == 9 and v:partial(3):sum() == 3)
    """
    run_lua(tmp_path, code)
