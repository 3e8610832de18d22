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
    "facebook/fbcunn": {  # what is Lua: its C code is CUDA's
        "runs": [
            Run.code(
                "torch.setdefaulttensortype('torch.FloatTensor') require 'cunn' torch.manualSeed(1) "
                "dofile 'fbcunn/AbstractParallel.lua' dofile 'fbcunn/ModelParallel.lua' "
                "function nn.AbstractParallel:gpuSend(to, from) to:copy(from) end local net = nn.ModelParallel(2) "
                "net:add(nn.Linear(3, 2):cuda(), 1):add(nn.Linear(3, 4):cuda(), 1):cuda() local x = torch.randn(5, 3):cuda() "
                "local y = net:forward(x) print(y:sum(), y:size(2)) print(net:backward(x, y):norm())", cuda=True,
            )
        ],
    },
    "facebookresearch/fairseq-lua": {
        "data": data.text("a.txt", 300),
        "runs": [
            Run("scripts/makedict.lua -text a.txt -out a.th7", printed=".*"),
            Run.code(
                "require 'nngraph' require 'rnnlib' require 'cudnn' require 'fairseq.modules' require 'fairseq.text' "
                "local tester = torch.Tester() for _, name in ipairs{ 'appendbias', 'zipalong', 'dictionary' } do "
                "tester:add(dofile('test/test_' .. name .. '.lua')(tester)) end tester:run()", cuda=True,
                printed=r"(\d+) asserts in (\d+) tests with .*",
            ),
            Run.code(
                "require 'nngraph' require 'rnnlib' require 'cudnn' require 'fairseq.modules' torch.manualSeed(1) "
                "for _, net in ipairs{ nn.BeamableMM(), nn.SeqMultiply(), nn.GradMultiply(nn.Linear(4, 3), 0.5) } do "
                "local x = torch.type(net) == 'nn.BeamableMM' and { torch.randn(2, 1, 4), torch.randn(2, 4, 3) } "
                "or torch.type(net) == 'nn.SeqMultiply' and { torch.randn(2, 5, 4), torch.randn(2, 5) } or torch.randn(2, 4) "
                "local ok, y = pcall(net.forward, net, x) if ok then print(y:sum(), y:norm()) end end", cuda=True,
            ),
        ],
    },
    "facebook/iTorch": {  # without its window: a socket that keeps what is sent
        "runs": [
            Run.code(
                "local sent, made = {}, 0 package.preload.uuid = function() return { new = function() return 'id' end } end "
                "package.preload.lzmq = function() return { assert = assert } end package.preload.crypto = function() "
                "local function nothing() return '' end return { hmac = { new = function() return { update = nothing, "
                "final = nothing } end } } end require 'image' local itorch = require 'itorch' "
                "itorch._msg = { uuid = {}, header = {} } itorch._iopub = { send_all = function(_, message) "
                "sent[#sent + 1] = message return true end } torch.manualSeed(1) itorch.image(torch.rand(3, 9, 12)) "
                "itorch.html '<p><b>Hi</b></p>' local x, y = torch.randn(40), torch.randn(40) local Plot = itorch.Plot "
                "local plot = Plot():circle(x, y, 'red', 'hi'):line(x, y, 'blue', 'bye'):title('t'):legend(true):draw() "
                "plot:segment(x, y, x + 10, y + 10, 'red', 'demo'):quad(x, y, x + 1, y + 1, 'red', ''):redraw() "
                "Plot():histogram(torch.randn(100)):draw() "
                "Plot():quiver(torch.randn(5, 5), torch.randn(5, 5), 'red', '', 10):draw() "
                "local json, base64 = require 'cjson', require 'base64' for i, message in ipairs(sent) do "
                "local data = json.decode(message[#message]).data local html, number = data['text/html'] or '', '-?%d+%.%d+' "
                "print(i, #message, #html:gsub(number, '')) local sum = 0 for found in html:gmatch(number) do "
                "sum = sum + tonumber(found) end print(sum) if data['image/png'] then "
                "local file = io.open('sent.png', 'wb') file:write(base64.decode(data['image/png'])) file:close() "
                "print(image.load('sent.png'):sum()) end end "
                "print(#require('itorch.completer').keywords)",
            )
        ],
    },
    "lifrordi/DeepStack-Leduc": {
        "runs": [
            Run("Tree/Tests/test_tree_values.lua", "Source", printed="Exploitability.*"),
            Run("ACPC/Tests/test_parser.lua", "Source"),
            Run.code(
                "torch.manualSeed(1) local settings = require 'Settings.arguments' "
                "settings.cfr_iters, settings.cfr_skip_iters = 10, 5 dofile 'Tree/Tests/test_tree_cfr.lua' "
                "require 'Lookahead.lookahead' require 'Lookahead.resolving' require 'Training.data_stream' "
                "local cards, text = require 'Game.card_tools', require 'Game.card_to_string_conversion' "
                "local node = { board = text:string_to_board('Ks'), street = 2, bets = settings.Tensor{ 100, 100 }, "
                "current_player = require('Settings.constants').players.P1 } local resolving = Resolving() "
                "local ranges = { cards:get_random_range(node.board, 2), cards:get_random_range(node.board, 4) } "
                "local result = resolving:resolve_first_node(node, ranges[1], ranges[2]) "
                "print(result.strategy:sum(), result.strategy:norm(), result.achieved_cfvs:norm())", "Source",
            ),
            Run.code(
                "torch.manualSeed(1) local settings = require 'Settings.arguments' settings.epoch_count = 1 "
                "require 'nn' local builder = require 'Nn.net_builder' require 'Training.data_stream' "
                "local net, stream = builder:build_net(), DataStream() local x, y, mask = stream:get_train_batch(1) "
                "local out = net:forward(x) print(out:sum(), out:norm()) require 'Nn.masked_huber_loss' "
                "local loss = MaskedHuberLoss() print(loss:forward(out, y, mask), loss:backward(out, y, mask):norm())",
                "Source",
            ),
        ],
    },
    "szagoruyko/iterm.torch": {
        "runs": [
            Run.code(
                "local iterm, write, sent = require 'iterm', io.write, {} torch.manualSeed(1) "
                "function io.write(text) sent[#sent + 1] = text end iterm.image(torch.rand(3, 9, 12)) io.write = write "
                "require 'image' local longest = '' for _, text in ipairs(sent) do "
                "if #text > #longest then longest = text end end local file = io.open('sent.png', 'wb') "
                "file:write(require('base64').decode(longest)) file:close() print(#sent, image.load('sent.png'):sum())",
            ),
            Run.code(
                "package.path = package.path:gsub('%./', '/nowhere/') dofile 'examples/gnuplot.lua'", printed=None,
            ),
        ],
    },
    "szym/display": {
        "runs": [
            Run.code(
                "socket = require 'socket' socket.select = function() end local http = require 'socket.http' "
                "torch.manualSeed(1) math.randomseed(1) function math.random() return torch.uniform() end "
                "http.request = function(what) local body = what.source() "
                "print(body:match '\"type\":\"(%a+)\"', body:match 'plot' and #body:gsub('pane_%d+', '') or 0) end "
                "dofile 'example.lua'",
            )
        ],
    },
    "torch/rnn": {
        "data": data.installed("rnn", "deprecated", "test"),
        "runs": [
            Run.code(
                "package.path = './?.lua;./?/init.lua;' .. package.path require 'rnn' "
                "torch.manualSeed(1) rnn.test()",
                printed=r"in (\d+) tests|(\d+) failures?|(\d+) errors?",
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
