"""The scripts that benchmarks/lua_scripts.py times: longer runs than those of the other files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.compatibility import data
from tests.compatibility.commands.vision import gan
from tests.compatibility.repository import SEEDED, Run

_SEEDS = "torch.manualSeed(1) math.randomseed(1)"


@dataclass(frozen=True)
class Timed:
    """``before``: commands that make what it reads, not measured; ``data``: see ``Repository``.

    ``idle``: the same program with nothing to do, which is what starting it costs; None: what most scripts
    load.
    """

    label: str
    repository: str
    run: Run
    data: Callable[[Path, int], None] | None = None
    before: Sequence[Run] = ()
    idle: Run | None = None


def _char_rnn(size: int, words: int) -> Timed:
    options = f"-data_dir data/tiny -gpuid -1 -rnn_size {size} -max_epochs 1 -eval_val_every 100000"
    made = data.text("data/tiny/input.txt", words)
    return Timed(f"char-rnn, {size} units", "karpathy/char-rnn", Run(f"train.lua {options}"), made)


def _code(*parts: str) -> Run:
    return Run.code(" ".join(parts))


# Both sides go through the tests in one order, each from the same seeds: what they draw, they draw alike.
_TESTS_IN_TURN = """
    local suites, new, begin = {}, torch.TestSuite, math.randomseed
    torch.TestSuite = function(...) suites[#suites + 1] = new(...) return suites[#suites] end
    os.time = function() return 1 end
    local function in_turn(test)
        local names = {}
        for name in pairs(suites[#suites].__tests) do names[#names + 1] = name end
        table.sort(names)
        for _, name in ipairs(names) do torch.manualSeed(1) begin(1) test("^" .. name .. "$", 1) end
    end
"""
_NN_TESTS = (_TESTS_IN_TURN, "require 'nn' dofile('test.lua')")
_RNN_TESTS = (_TESTS_IN_TURN, "require 'rnn'")
_MLP = (_SEEDS, "require 'autograd' local train = dofile('mlp.lua')")
# One step of each net's three phases on four pictures
_IMAGENET_NETS = """
    require 'cudnn' require 'cunn' opt = { nGPU = 1, backend = 'nn' } nClasses = 10
    function makeDataParallel(net) return net end
    local function train(steps)
        for _, name in ipairs{ 'alexnet', 'ninbn', 'squeezenet' } do
            torch.manualSeed(1)
            dofile('models/' .. name .. '.lua')
            local net, x = createModel(1):cuda(), torch.randn(4, 3, 224, 224):cuda()
            for _ = 1, steps do
                local y = net:forward(x)
                net:zeroGradParameters()
                net:backward(x, y:clone():fill(0.1))
            end
        end
    end
"""
_SENTENCES = data.all_of(data.text("a.txt", 6000), data.text("b.txt", 6000), data.text("c.txt", 100))
_PTB = data.all_of(*(data.text(f"data/ptb/{part}.txt", 2500) for part in ("train", "valid", "test")))
_PTB_OF_MEMNN = data.all_of(
    *(data.text(f"MemN2N-lang-model/data/ptb.{part}.txt", 20000) for part in ("train", "valid", "test"))
)
_TWO_STYLES = data.all_of(*(data.pictures(f"images/train{side}", 30, 143, 143, "jpg") for side in "AB"))
_LEDUC = (
    "local arguments = require 'Settings.arguments' arguments.cfr_iters = 200 arguments.cfr_skip_iters = 100 "
    "arguments.train_data_count = 20 arguments.valid_data_count = 10 "
    "arguments.data_path = './' dofile('DataGeneration/main_data_generation.lua')"
)

TIMED = (
    _char_rnn(64, 24000),
    _char_rnn(128, 16000),
    _char_rnn(512, 4000),
    Timed(
        "torch-rnn", "jcjohnson/torch-rnn",
        Run("train.lua -input_h5 data/x.h5 -input_json data/x.json -gpu -1 -rnn_size 64 -num_layers 2 -max_epochs 1 "
            "-seq_length 10 -batch_size 10 -wordvec_size 32 -checkpoint_every 100000"),
        data.torch_rnn("data/x.h5", "data/x.json", 60000),
    ),
    Timed(
        "OpenNMT's demo", "OpenNMT/OpenNMT",
        Run("train.lua -data d-train.t7 -save_model m -rnn_size 50 -layers 2 -word_vec_size 50 -end_epoch 1 -max_batch_size 16",
            lines=SEEDED),
        _SENTENCES,
        (Run("preprocess.lua -train_src a.txt -train_tgt b.txt -valid_src c.txt -valid_tgt c.txt -save_data d"),),
    ),
    Timed(
        "lstm-char-cnn", "yoonkim/lstm-char-cnn",
        Run("main.lua -rnn_size 50 -highway_layers 1 -char_vec_size 15 -feature_maps {25,25,25} -kernels {1,2,3} -num_layers 1 "
            "-seq_length 10 -batch_size 10 -max_epochs 1 -max_word_l 12"),
        _PTB,
    ),
    Timed("DeepStack-Leduc", "lifrordi/DeepStack-Leduc", Run.code(f"{_SEEDS} {_LEDUC}", "Source")),
    Timed(
        "CycleGAN", "junyanz/CycleGAN",
        Run("train.lua", environment=gan(niter_decay=0, print_freq=1, which_model_netG="resnet_6blocks", ngf=8, ndf=8,
                                         fineSize=64, loadSize=72, lambda_A=10, lambda_B=10, identity=0), lines=SEEDED),
        _TWO_STYLES,
    ),
    Timed(
        "pix2pix", "phillipi/pix2pix", Run("train.lua", environment=gan(print_freq=1, ngf=8, ndf=8), lines=SEEDED),
        data.pictures("images/train", 30, 512, 256, "jpg"),
    ),
    Timed(
        "imagenet-multiGPU, nets", "soumith/imagenet-multiGPU.torch", Run.code(f"{_IMAGENET_NETS} train(2)", cuda=True),
        idle=Run.code(f"{_IMAGENET_NETS} train(0)", cuda=True),
    ),
    Timed(
        "dcgan", "soumith/dcgan.torch",
        Run("main.lua", environment=gan(dataset="folder", batchSize=16, ngf=16, ndf=16, niter=2), lines=SEEDED),
        data.pictures("images/a", 128, 96, 96, "jpg"),
    ),
    Timed(
        "fb.resnet.torch, CIFAR", "facebookarchive/fb.resnet.torch",
        Run("main.lua -dataset cifar10 -nGPU 1 -batchSize 16 -nEpochs 1 -nThreads 1 -manualSeed 1 -depth 20 -backend cunn", cuda=True),
        data.cifar_of_resnets(320, 64),
    ),
    Timed(
        "cifar.torch, nin", "szagoruyko/cifar.torch",
        Run("train.lua --type float --model nin -b 16 --max_epoch 1", lines=SEEDED), data.provider("provider.t7", "Provider", 64, 125),
    ),
    Timed("demos, linear-regression", "torch/demos", Run("example-linear-regression.lua", "linear-regression", lines=300)),
    Timed("demos, logistic-regression", "torch/demos", Run("example-logistic-regression.lua", "logistic-regression", lines=60)),
    Timed(
        "practical6", "oxford-cs-ml-2015/practical6",
        Run("train.lua -vocabfile vocab.t7 -datafile train.t7 -rnn_size 64 -batch_size 16 -seq_length 16 -max_epochs 1"),
        data.all_of(data.vocabulary("vocab.t7", 20), data.tensor("train.t7", 100000, kind="uint8", largest=20)),
    ),
    Timed(
        "MemN2N", "facebook/MemNN",
        Run("main.lua --edim 32 --lindim 16 --nhop 2 --batchsize 16 --epochs 1 --memsize 20", "MemN2N-lang-model", cuda=True, lines=SEEDED),
        _PTB_OF_MEMNN,
    ),
    Timed(
        "nn.test()", "torch/nn", _code(*_NN_TESTS, "in_turn(function(...) nn.test({ (...) }, 1) end)"), idle=_code(*_NN_TESTS)
    ),
    Timed(
        "rnn.test()", "Element-Research/rnn", _code(*_RNN_TESTS, "in_turn(function(...) pcall(rnn.test, (...)) end)"),
        idle=_code(*_RNN_TESTS),
    ),
    Timed(
        "torch-autograd, MLP", "twitter/torch-autograd",
        _code(*_MLP, "train(20000)"),
        data.written(
            "mlp.lua",
            """
            local autograd = require 'autograd'
            local sizes, weights, biases = { 1024, 50, 50, 10 }, {}, {}
            for k = 1, 3 do weights[k], biases[k] = torch.randn(sizes[k], sizes[k + 1]), torch.zeros(sizes[k + 1]) end
            local function loss(given, x, y)
                local h = x
                for k = 1, 3 do
                    h = h * given.weights[k] + given.biases[k]
                    if k < 3 then h = torch.tanh(h) end
                end
                return autograd.loss.logMultinomialLoss(autograd.util.logSoftMax(h), y)
            end
            local x, y = torch.randn(1, 1024), torch.zeros(1, 10)
            y[1][3] = 1
            local gradients = autograd(loss)
            return function(count) for _ = 1, count do gradients({ weights = weights, biases = biases }, x, y) end end
            """,
        ),
        idle=_code(*_MLP),
    ),
)  # fmt: skip
