"""Nets and modules of repositories whose own scripts want what cannot be had here, on small input of ours."""

from tests.compatibility import data
from tests.compatibility.repository import Run

# What a net gives and learns: the sum and spread of its output, the norm of its parameters' gradient
_STEP = (
    "local function step(net, x) local y = net:forward(x) net:zeroGradParameters() net:backward(x, y) "
    "return y:sum(), y:std(), select(2, net:parameters())[1]:norm() end "
)

RUNS: dict[str, dict[str, object]] = {
    "nagadomi/waifu2x": {
        "runs": [
            Run.code(
                _STEP + "package.path = './lib/?.lua;' .. package.path local srcnn = require 'srcnn' "
                "for _, name in ipairs{ 'vgg_7', 'upconv_7' } do torch.manualSeed(1) "
                "local net = srcnn[name]('cunn', 3):float() print(name, step(net, torch.rand(1, 3, 24, 24):float())) end "
                "torch.manualSeed(1) local pairwise = require 'iproc' local x = torch.rand(3, 8, 8):float() "
                "print('crop', pairwise.crop(x, 1, 1, 6, 6):sum())", cuda=True,
            )
        ],
    },
    "harvardnlp/seq2seq-attn": {
        "runs": [
            Run.code(
                "require 'nn' require 'nngraph' require 's2sa.models' torch.manualSeed(1) local data = { "
                "num_source_features = 0, total_source_features_size = 0, source_size = 7, target_size = 7 } "
                "local opt = { num_layers = 2, rnn_size = 5, word_vec_size = 4, dropout = 0, input_feed = 1, res_net = 0, "
                "attn = 1, multi_attn = 0 } local net = make_lstm(data, opt, 'enc', 0) local x = { torch.Tensor{ 1, 3, 7 } } "
                "for k = 2, 5 do x[k] = torch.randn(3, 5) end local y = net:forward(x) net:zeroGradParameters() net:backward(x, y) "
                "print(y[1]:sum(), y[4]:norm(), select(2, net:parameters())[2]:norm()) local attention = make_decoder_attn(data, opt) "
                "local z = attention:forward{ torch.randn(3, 5), torch.randn(3, 4, 5) } print(z:sum(), z:norm())",
            )
        ],
    },
    "eladhoffer/convNet.torch": {
        "runs": [
            Run.code(
                "require 'nn' torch.manualSeed(1) local net = dofile('models/MNIST.lua') net:evaluate() "
                "local y = net:forward(torch.randn(2, 1, 28, 28)) print(y:sum(), y:std())",
            )
        ],
    },
    "macournoyer/neuralconvo": {
        "runs": [
            Run.code(
                "require 'nn' require 'rnn' neuralconvo = {} torch.manualSeed(1) dofile('seq2seq.lua') "
                "local talk = neuralconvo.Seq2Seq(9, 6) local words = torch.Tensor{ 2, 5, 3 } local y = talk.encoder:forward(words) "
                "print(y:sum(), y:norm()) talk:forwardConnect(words:size(1)) local spoken = talk.decoder:forward(torch.Tensor{ 1, 4 }) "
                "print(spoken[1]:sum(), spoken[2]:norm())",
            )
        ],
    },
    "facebookresearch/multipathnet": {
        "runs": [
            Run.code(
                "require 'nn' torch.manualSeed(1) dofile('modules/BBoxRegressionCriterion.lua') dofile('modules/BBoxNorm.lua') "
                "local norm = nn.BBoxNorm(torch.randn(1, 4), torch.rand(1, 4)) norm:evaluate() print(norm:forward(torch.randn(3, 8)):sum()) "
                "local criterion = nn.BBoxRegressionCriterion() local x = torch.randn(3, 12) "
                "local target = { torch.Tensor{ 1, 2, 3 }, torch.randn(3, 12) } "
                "print(criterion:forward(x, target), criterion:backward(x, target):norm())",
            )
        ],
    },
    "facebook/fbnn": {
        "runs": [
            Run.code(
                "require 'nn' fbnn = fbnn or {} torch.manualSeed(1) for _, name in ipairs{ 'L2Normalize', 'SoftPlusLSECriterion', "
                "'NestedDropout' } do pcall(dofile, 'fbnn/' .. name .. '.lua') end local x = torch.randn(3, 5) "
                "local norm = fbnn.L2Normalize() print(norm:forward(x):sum(), norm:backward(x, torch.randn(3, 5)):norm()) "
                "local criterion = nn.SoftPlusLSECriterion() print(criterion:forward(x), criterion:backward(x):norm())",
            )
        ],
    },
    "bgshih/crnn": {
        "runs": [
            Run.code(
                "require 'cunn' require 'nngraph' require 'paths' torch.manualSeed(1) dofile('utilities.lua') "
                "dofile('BiRnnJoin.lua') dofile('LstmLayer.lua') local net = nn.BiRnnJoin(4, 3, 5) net:type('torch.CudaTensor') "
                "net.train = true local x = { {}, {} } for t = 1, 5 do "
                "x[1][t], x[2][t] = torch.randn(2, 4):cuda(), torch.randn(2, 4):cuda() end "
                "local y = net:forward(x) print(y[1]:sum(), y[5]:norm()) print(net:updateGradInput(x, y)[1][3]:norm()) "
                "local lstm = nn.LstmLayer(4, 3, 5, 0, false) lstm:type('torch.CudaTensor') lstm.train = true "
                "local z = lstm:forward(x[1]) print(z[1]:sum(), z[5]:norm())", "src", cuda=True,
            )
        ],
    },
    "clementfarabet/graphicsmagick": {
        "runs": [
            Run.code(
                "local gm = require 'graphicsmagick' torch.manualSeed(1) local t = torch.rand(3, 9, 12):float() "
                "local image = gm.Image(t, 'RGB', 'DHW') print(image:size()) for _, filter in ipairs{ 'Box', 'Lanczos', 'Sinc' } do "
                "local small = image:clone():size(5, 4, filter):toTensor('float', 'RGB', 'DHW') print(small:sum(), small:std()) end "
                "print(image:clone():flop():toTensor('byte', 'RGB', 'DHW'):double():sum(), image:blur(2, 1):toTensor('float', 'I', 'DHW'):sum())",
                "test",
            ),
            Run("corrupt.lua", "test"),
        ],
    },
    "szagoruyko/loadcaffe": {
        "data": data.vgg("test/vgg.prototxt", "test/vgg.caffemodel", 16),
        "runs": [
            Run.code(
                "local loadcaffe = require 'loadcaffe' torch.manualSeed(1) "
                "local net = loadcaffe.load('vgg.prototxt', 'vgg.caffemodel', 'nn'):float() "
                "local y = net:forward(torch.rand(1, 3, 64, 64):float()) print('sum', y:sum(), y:std(), #net.modules)", "test",
                printed="^sum.*",
            )
        ],
    },
    "facebookarchive/NAMAS": {
        "runs": [
            Run.code(
                "local util = dofile('summary/util.lua') print(util.string_shortfloat(1 / 3), #util.string_split('a b c', ' '), util.isnan(0 / 0) and 1 or 0) "
                "torch.manualSeed(1) local words = {} for k = 1, 6 do words[k] = k end math.randomseed(1) "
                "util.shuffleTable(words) print(unpack(words))",
            )
        ],
    },
}  # fmt: skip
