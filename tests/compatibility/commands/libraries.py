"""Packages: their own suites and examples."""

from tests.compatibility.repository import SEEDED, Run

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
    "fmassa/optimize-net": {"runs": [Run("tests.lua", lines=SEEDED)]},
    "soumith/net2net.torch": {"runs": [Run("test.lua", lines=SEEDED)]},
    "torch/argcheck": {"runs": [Run("test/test.lua", printed=".*")]},
    "koraykv/unsup": {"runs": [Run("test_fista.lua", "test", lines=SEEDED)]},
    "qassemoquab/stnbhwd": {"runs": [Run("-l stn test.lua")]},
    "clementfarabet/lua---csv": {"runs": [Run("test.lua")]},
    "torch/nngraph": {"runs": Run.each("test_{}.lua", "nest JustElement JustTable", "test")},
    "torch/optim": {
        "runs": Run.each("test_{}.lua", "sgd adagrad cg lbfgs", "test", _NO_TIMES),
    },
    "twitter/torch-autograd": {"runs": [Run("test/test.lua", lines=SEEDED, printed=_FAILED)]},
    "stevedonovan/Penlight": {
        "runs": Run.each("test-{}.lua", "class data date func list map seq stringx tablex template text", "tests"),
    },
    "Kaixhin/nninit": {
        "runs": [
            Run(
                "-e \"require 'nn' local init = require 'nninit' torch.manualSeed(1) for _, name in "
                "ipairs{ 'uniform', 'xavier', 'kaiming', 'orthogonal' } do "
                "local m = nn.Linear(5, 5):init('weight', init[name], name == 'uniform' and 0 or {}, 1) "
                "print(name, m.weight:abs():sum()) end\"",
            )
        ],
    },
    "deepmind/torch-cephes": {"runs": [Run("test_all.lua", "cephes/luasrc/tests", lines=SEEDED, printed=_FAILED)]},
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
            Run("tests/class/test_with_torch.lua", "classic", lines=SEEDED, printed=_FAILED),
        ],
    },
    "deepmind/torch-totem": {"runs": [Run("tests/test_totem.lua", lines=SEEDED, printed=_FAILED)]},
    "bshillingford/autobw.torch": {
        "runs": [Run("tests.lua", lines=SEEDED, printed=_FAILED), Run("examples/rnn_example.lua", lines=20, printed=".*")],
    },
    "jagt/pprint.lua": {"runs": [Run("runner.lua", "tests", printed="(\\d+): ")]},
    "nicholas-leonard/torchx": {"runs": [Run("-e \"require 'torchx' torch.manualSeed(1) torchx.test()\"", printed=_FAILED)]},
    "Element-Research/dataload": {
        "runs": [
            Run("-e \"dl = require 'dataload' torch.manualSeed(1) "
                "dl.test{ 'TensorLoader', 'SequenceLoader', 'MultiSequence', 'splitString' }\"", printed=_FAILED)
        ],
    },
    "facebookresearch/torch-rnnlib": {"runs": [Run("test_sequence.lua", "test", lines=SEEDED, printed=_FAILED)]},
    "clementfarabet/lua---nnx": {"runs": [Run("-e \"require 'nnx' torch.manualSeed(1) nnx.test_all()\"", printed=_FAILED)]},
    "nicholas-leonard/dp": {"runs": [Run("-e \"require 'dp' torch.manualSeed(1) dp.test()\"")]},
    "szagoruyko/imagine-nn": {"runs": [Run("test/test_lrn.lua", cuda=True, lines=SEEDED)]},
    "torch/gnuplot": {"runs": [Run("-e \"dofile '../test.lua'\"", "doc", printed=_FAILED)]},
    "soumith/matio-ffi.torch": {"runs": [Run("test.lua", "test", lines=SEEDED)]},
    "htwaijry/npy4th": {
        "runs": [
            Run.code(
                "local npy4th = require 'npy4th' local t = torch.range(1, 6):view(2, 3) npy4th.savenpy('a.npy', t) "
                "print(npy4th.loadnpy('a.npy'), npy4th.loadnpy('a.npy'):equal(t))"
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
        "runs": [Run("-e \"local mnist = require 'mnist' print(type(mnist.traindataset))\"")],
    },
}  # fmt: skip
