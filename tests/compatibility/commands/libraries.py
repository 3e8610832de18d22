"""Packages: their own suites and examples."""

from tests.compatibility import data
from tests.compatibility.repository import SEEDED, Run

# Of a suite that counts nothing
_VERDICT = "it prints a verdict, no numbers"
_FAILED = r"(\d+) failures?|(\d+) errors?"
_NO_TIMES = r"^(?!.*(?:[Tt]ime|secs|ms\b)).*$"

RUNS: dict[str, dict[str, object]] = {
    "Element-Research/rnn": {
        "runs": [
            Run(f"examples/{name}.lua", lines=12, printed="(?:err|loss|Iteration).*")
            for name in ("simple-recurrent-network", "simple-sequencer-network", "encoder-decoder-coupling")
        ],
    },
    "Element-Research/dpnn": {"runs": [Run("-e \"require 'dpnn' torch.manualSeed(1) dpnn.test()\"", printed=_FAILED)]},
    "torchnet/torchnet": {"runs": [Run("test/test.lua", lines=SEEDED, printed=_FAILED)]},
    "fmassa/optimize-net": {
        "runs": [
            Run("tests.lua", lines=SEEDED),
            Run.code(
                "require 'nn' local optnet = require 'optnet' torch.manualSeed(1) local net = nn.Sequential():add(nn.Linear(8, 16)) "
                ":add(nn.ReLU()):add(nn.Linear(16, 16)):add(nn.Tanh()):add(nn.Linear(16, 4)) local x = torch.randn(5, 8) "
                "local before = net:forward(x):clone() print(optnet.countUsedMemory(net).total_size) "
                "optnet.optimizeMemory(net, x, { mode = 'inference' }) print(optnet.countUsedMemory(net).total_size) "
                "print((net:forward(x) - before):abs():max(), before:sum())",
            ),
        ],
    },
    "soumith/net2net.torch": {"runs": [Run("test.lua", lines=SEEDED, because=_VERDICT)]},
    "torch/argcheck": {"runs": [Run("test/test.lua", printed=".*")]},
    "koraykv/unsup": {
        "runs": [
            Run("test_fista.lua", "test", lines=SEEDED),
            Run.code(
                "require 'unsup' torch.manualSeed(1) local x = torch.randn(60, 4) local centers, counts = unsup.kmeans(x, 3, 5) "
                "print(centers:norm(), counts:sum()) local values = unsup.pca(x:clone()) print(values:sum(), values:norm()) "
                "print((unsup.zca_whiten(x:clone())):std())", "test",
            ),
        ],
    },
    "qassemoquab/stnbhwd": {
        "runs": [
            Run("-l stn test.lua"),
            Run.code(
                "require 'stn' torch.manualSeed(1) local x, grid = torch.randn(2, 5, 4, 3), torch.rand(2, 6, 5, 2):mul(2):add(-1) "
                "local m = nn.BilinearSamplerBHWD() local y = m:forward{ x, grid } print(y:sum(), y:norm()) "
                "local g = m:backward({ x, grid }, y) print(g[1]:norm(), g[2]:norm()) "
                "local made = nn.AffineGridGeneratorBHWD(4, 4):forward(torch.randn(2, 2, 3)) print(made:sum())",
            ),
        ],
    },
    "clementfarabet/lua---csv": {"runs": [Run("test.lua", because=_VERDICT)]},
    "torch/nngraph": {"runs": Run.each("test_{}.lua", "nest JustElement JustTable", "test", _FAILED)},
    "torch/optim": {
        "runs": Run.each("test_{}.lua", "sgd adagrad cg lbfgs", "test", _NO_TIMES),
    },
    "twitter/torch-autograd": {"runs": [Run("test/test.lua", lines=SEEDED, printed=_FAILED)]},
    "stevedonovan/Penlight": {
        "runs": Run.each("test-{}.lua", "class data date func list map seq stringx tablex template text", "tests")
        + [
            Run.code(
                "local tablex, seq, List = require 'pl.tablex', require 'pl.seq', require 'pl.List' "
                "print(tablex.reduce('+', tablex.range(1, 10)), seq.sum(seq.range(1, 5)), #tablex.zip({ 1, 2 }, { 3, 4 })) "
                "print(List{ 3, 1, 2 }:sort():concat ' ', require('pl.stringx').count('a b a', 'a'))", "tests",
            )
        ],
    },
    "Kaixhin/nninit": {
        "runs": [
            Run(
                "-e \"require 'nn' local init = require 'nninit' torch.manualSeed(1) for _, name in "
                "ipairs{ 'uniform', 'xavier', 'kaiming', 'orthogonal' } do "
                "local m = nn.Linear(5, 5):init('weight', init[name], name == 'uniform' and 0 or {}, 1) "
                "print(name, m.weight:abs():sum()) end\"", printed=".*",
            )
        ],
    },
    "deepmind/torch-cephes": {
        "runs": [
            Run.code(
                "local cephes = require 'cephes' local x = torch.linspace(0.1, 3, 7) for _, name in ipairs{ 'gamma', 'lgam', 'erf', "
                "'ndtr', 'psi', 'j0', 'y1', 'i0', 'k0', 'zetac', 'cbrt', 'sinh', 'asinh' } do print(name .. ':', cephes[name](x):sum()) end "
                "print(cephes.incbet(2, 3, 0.4), cephes.igam(2, 1.5), cephes.beta(2, 3.5))", "cephes/luasrc/tests",
            ),
        ],
    },
    "deepmind/torch-randomkit": {
        "runs": Run.each("{}.lua", "testValues testSeed testCalls testMultipleRequire", "luasrc/tests", _FAILED),
    },
    "eladhoffer/lmdb.torch": {"runs": [Run("test.lua", lines=SEEDED, printed="Difference.*")]},
    "soumith/torch-signal": {
        "runs": Run.each("{}.lua", "dct hilbert cceps rceps rcunwrap rcwrap unwrap wavelet", "tests", ".*"),
    },
    "deepmind/classic": {
        "runs": [
            Run("tests/module/test.lua", "classic", lines=SEEDED, printed=_FAILED),
        ],
    },
    "deepmind/torch-totem": {"runs": [Run("tests/test_totem.lua", lines=SEEDED, printed=_FAILED)]},
    "bshillingford/autobw.torch": {
        "runs": [Run("examples/rnn_example.lua", lines=20, printed=".*")],
    },
    "jagt/pprint.lua": {
        "runs": [
            Run.code(
                "local pprint = require 'pprint' print(#pprint.pformat({ 1, 2, { 3, x = 'four' } }, { sort_keys = true })) "
                "pprint({ 1, { 2, 3 }, 4.5 })",
            )
        ],
    },
    "nicholas-leonard/torchx": {"runs": [Run("-e \"require 'torchx' torch.manualSeed(1) torchx.test()\"", printed=_FAILED)]},
    "Element-Research/dataload": {
        "runs": [
            Run.code(
                "local dl = require 'dataload' torch.manualSeed(1) local loader = dl.TensorLoader(torch.range(1, 20), torch.randn(20, 3)) "
                "for k, x, y in loader:sampleiter(4, 12) do print(k, x:sum(), y:sum()) end "
                "local text = dl.SequenceLoader(torch.range(1, 40), 4) for k, x, y in text:subiter(3, 9) do print(k, x:sum(), y:sum()) end",
            ),
        ],
    },
    "facebookresearch/torch-rnnlib": {"runs": [Run("test_sequence.lua", "test", lines=SEEDED, printed=_FAILED)]},
    "clementfarabet/lua---nnx": {
        "runs": [
            Run.code(
                "require 'nnx' torch.manualSeed(1) local x = torch.randn(2, 6, 8) for _, m in ipairs{ nn.SpatialReSampling{ owidth = 5, "
                "oheight = 4 }, nn.SpatialUpSampling(2, 2) } do local y = m:forward(x) print(y:sum(), m:backward(x, y):norm()) end "
                "local minus = nn.Minus() print(minus:forward(torch.Tensor{ 1, -2 }):sum())", "doc" ),
        ],
    },
    "nicholas-leonard/dp": {
        # its test of ClassView fails on Torch7, too
        "runs": [Run("-e \"require 'dp' torch.manualSeed(1) pcall(dp.test)\"", printed=_FAILED, environment=[("TORCH_DATA_PATH", ".")])]
    },
    "szagoruyko/imagine-nn": {"runs": [Run("test/test_lrn.lua", cuda=True, lines=SEEDED)]},
    "torch/gnuplot": {"runs": [Run("-e \"dofile '../test.lua'\"", "doc", printed=_FAILED)]},
    "soumith/matio-ffi.torch": {"runs": [Run("test.lua", "test", lines=SEEDED, because=_VERDICT)]},
    "htwaijry/npy4th": {
        "runs": [
            Run.code(
                "local npy4th = require 'npy4th' local t = torch.range(1, 6):view(2, 3) npy4th.savenpy('a.npy', t) "
                "print(npy4th.loadnpy('a.npy'), npy4th.loadnpy('a.npy'):equal(t))",
                because="Torch7 needs its compiled part, which was not there",
            )
        ],
    },
    "torch/class": {
        "runs": [
            Run.code(
                "local class = require 'class' local A = class('A') function A:__init(n) self.n = n end "
                "function A:twice() return 2 * self.n end local B = class('B', 'A') "
                "function B:twice() return 1 + A.twice(self) end print(A(3):twice()) "
                "assert(class.type(B(1)) == 'B' and class.istype(B(1), 'A'))", "rocks",
            )
        ],
    },
    "kikito/middleclass": {
        "runs": [
            Run.code(
                "local class = require 'middleclass' local A = class('A') A.static.count = 2 "
                "function A:initialize(x) self.x = x end function A:__add(other) return self.x + other.x end "
                "local B = A:subclass('B') print(A(1) + B(2), B.count, B(1):isInstanceOf(A) and 1 or 0)",
            )
        ],
    },
    "Yonaba/Moses": {
        "runs": [
            Run.code(
                "local M = require 'moses' print(M.reduce({ 1, 2, 3 }, function(a, b) return a + b end)) "
                "print(unpack(M.map({ 1, 2, 3 }, function(x) return type(x) == 'number' and x * 2 or 0 end))) "
                "print(#M.flatten{ 1, { 2, { 3 } } }, M.size{ 4, 5 }, M.max{ 3, 9, 4 })",
            )
        ],
    },
    "mirven/underscore.lua": {
        "runs": [
            Run.code(
                "local _ = require 'underscore' print(unpack(_.map({ 1, 2, 3 }, function(i) return i * 2 end))) "
                "print(_.reduce({ 1, 2, 3 }, 0, function(memo, i) return memo + i end), _.max{ 3, 8, 1 })", "spec",
            )
        ],
    },
    "Atcold/torch-pretty-nn": {
        "runs": [
            Run.code("require 'pretty-nn' print(nn.Sequential():add(nn.Linear(3, 4)):add(nn.Tanh()))", "img"),
        ],
    },
    "keplerproject/luacov": {"runs": [Run.code("print(type(require('luacov.defaults')), 1)", "src/bin")]},
    "andresy/mnist": {
        "data": data.mnist_of_lecun("data"),
        "runs": [
            Run.code(
                "local mnist = require 'mnist' local train, test = mnist.traindataset(), mnist.testdataset() "
                "print(train.size, test.size, train.data:double():sum(), test.label:double():sum(), train[3].y)", ".",
            )
        ],
    },
}  # fmt: skip
