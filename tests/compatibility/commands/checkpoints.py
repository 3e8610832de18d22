"""What writes a checkpoint of a repository, and what continues from it.

By its own scripts in char-rnn; otherwise three steps of optim.sgd with momentum on its net, saved with the
optimiser's state, and three more.
"""

from tests.compatibility.repository import Checkpoint, Run

_STEPS = """
require 'nn' require 'optim' local function steps(net, input, state) torch.manualSeed(2)
local weights, gradients = net:getParameters() for k = 1, 3 do local _, losses = optim.sgd(function() gradients:zero()
local y = net:forward(input) net:backward(input, y / y:nElement()) return y:norm(), gradients end, weights, state)
print(losses[1], weights:norm()) end end
"""
_SAVE = "local state = { learningRate = 0.01, momentum = 0.9 } steps(net, input, state) " + (
    "torch.save('checkpoint.t7', { net = net, input = input, state = state }) "
)
_LOAD = "local saved = torch.load('checkpoint.t7') steps(saved.net, saved.input, saved.state)"


def _net(build: str, classes: str = "") -> Checkpoint:
    """``build``: Lua that returns a net and its input; ``classes``: what declares the classes of its own."""
    made = f"{_STEPS} torch.manualSeed(1) local function make() {build} end local net, input = make() {_SAVE}"
    return Checkpoint(Run.code(f"{classes} {made}"), Run.code(f"{classes} {_STEPS} {_LOAD}"))


_CHAR_RNN = "train.lua -data_dir data/tiny -gpuid -1 -rnn_size 16 -seq_length 10 -batch_size 5 -max_epochs 1"

CHECKPOINTS: dict[str, Checkpoint] = {
    "karpathy/char-rnn": Checkpoint(
        Run(_CHAR_RNN), Run(f"{_CHAR_RNN} -init_from cv/*.t7", printed=r"train_loss = *([-\d.]+)")
    ),
    "phillipi/pix2pix": _net(
        "dofile('models.lua') return defineG_unet_128(3, 3, 2), torch.randn(1, 3, 128, 128)", "require 'nngraph'"
    ),
    "junyanz/CycleGAN": _net(
        "dofile('models/architectures.lua') set_normalization('instance') "
        "return defineG_resnet_6blocks(3, 3, 4), torch.randn(1, 3, 32, 32)",
        "require 'nngraph' require 'util.InstanceNormalization'",
    ),
    "jcjohnson/fast-neural-style": _net(
        "return require('fast_neural_style.models').build_model{ arch = 'c9s1-4,d8,R8,u4,c9s1-3', padding_type = "
        "'reflect-start', use_instance_norm = 1, tanh_constant = 150, tv_strength = 1e-6 }, torch.randn(1, 3, 32, 32)",
        "require 'fast_neural_style.models'",
    ),
    "eladhoffer/convNet.torch": _net("return dofile('models/MNIST.lua'), torch.randn(2, 1, 28, 28)", "require 'dpnn'"),
    "Element-Research/rnn": _net(
        "return nn.Sequential():add(nn.SplitTable(1)):add(nn.Sequencer(nn.FastLSTM(4, 5))):add(nn.JoinTable(1)), "
        "torch.randn(3, 2, 4)", "require 'rnn'",
    ),
    "harvardnlp/seq2seq-attn": _net(
        "local opt = { num_layers = 2, rnn_size = 5, word_vec_size = 4, dropout = 0.3, input_feed = 1, res_net = 0, "
        "attn = 1, multi_attn = 0 } return make_decoder_attn({}, opt), { torch.randn(3, 5), torch.randn(3, 4, 5) }",
        "require 'nn' require 'nngraph' require 's2sa.models'",
    ),
    "y0ast/VAE-Torch": _net(
        "return require('VAE').get_decoder(12, 8, 3, false), torch.randn(4, 3)", "require 'nngraph'"
    ),
    "jcjohnson/torch-rnn": _net(
        "return nn.LanguageModel{ idx_to_token = { 'a', 'b', 'c' }, model_type = 'lstm', wordvec_size = 4, rnn_size = 5, "
        "num_layers = 2, dropout = 0.2, batchnorm = 1 }, torch.Tensor{ { 1, 2, 3, 1 }, { 3, 3, 2, 1 } }",
        "require 'LanguageModel'",
    ),
    "Kaixhin/Autoencoders": _net(
        "local model, images = require 'DeepAE', torch.rand(4, 28, 28) model:createAutoencoder(images) "
        "return model.autoencoder, images", "package.path = './models/?.lua;' .. package.path",
    ),
    "cmusatyalab/openface": _net(
        "opt = { embSize = 16, imgDim = 96 } dofile('models/openface/nn4.small2.def.lua') "
        "return createModel(), torch.randn(2, 3, 96, 96)", "require 'dpnn'",
    ),
}  # fmt: skip
