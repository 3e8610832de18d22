# ruff: noqa: E501 (Lua, as it is run)
"""The architectures: how each is built by its repository's own files, in Lua of ours, on a small input.

What ImageNet needs is built with an eighth of its width (``narrow``). Dropout is left out of the comparison: its
numbers are random.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """One net. ``build``: Lua that returns it and its input, see probe.lua, run in the folder ``inside`` of the
    repository. ``lua``: the files that declare classes of the repository's own, in it."""

    repository: str
    name: str
    build: str
    lua: tuple[str, ...] = ()
    inside: str = "."
    no_gradients: str = ""  # why Torch7's gradients are not compared

    @property
    def folder(self) -> str:
        return self.repository.replace("/", "+")

    @property
    def title(self) -> str:
        return f"{self.repository} {self.name}"


_IMAGES = "values(2, 3, {0}, {0})"


def _family(
    repository: str, builds: dict[str, str], lua: tuple[str, ...] = (), inside: str = "."
) -> list[Architecture]:
    return [Architecture(repository, name, build, lua, inside) for name, build in builds.items()]


def _resnet(file: str, input: int, wide: bool = False, **options: object) -> str:
    fields = ", ".join(f"{name} = {value!r}" for name, value in options.items())
    fields = fields.replace("True", "true").replace("False", "false")
    narrow = "narrow(8)" if not wide else ""
    return (
        f"{narrow} return dofile('{file}'){{ {fields}, cudnn = 'x', tensorType = 'torch.DoubleTensor' }}, "
        + (_IMAGES.format(input))
    )


_FB = "models/resnet.lua"
_RESNETS = {
    **{f"ResNet-{d}": _resnet(_FB, 224, depth=d, dataset="imagenet") for d in (18, 34, 50, 101)},
    "ResNet-20 (CIFAR-10, shortcut A)": _resnet(_FB, 32, True, depth=20, dataset="cifar10", shortcutType="A"),
    "ResNet-56 (CIFAR-10)": _resnet(_FB, 32, True, depth=56, dataset="cifar10"),
    "pre-activation ResNet-200": _resnet("models/preresnet.lua", 224, depth=200, dataset="imagenet"),
    "pre-activation ResNet-20 (CIFAR-10)": _resnet(
        "models/preresnet.lua", 32, True, depth=20, dataset="cifar10"
    ),
}

_MULTI_GPU = """
narrow(8)
nClasses = 10
function makeDataParallel(net) return net end
opt = {{ }}
dofile('models/{0}.lua')
return createModel(1), values(2, 3, {1}, {1})
"""

_WINNERS = """
narrow(8)
{0}
local net = build({{ nn.SpatialConvolution, nn.SpatialMaxPooling, nn.ReLU, 'BDHW', 'nn' }})
return net, values(2, 3, {1}, {1})
"""

_GAN = "opt = { nz = 6, ngf = 4, ndf = 4 } "
_PIX2PIX = "require 'nngraph' dofile('models.lua') return "
_CYCLE = "require 'nngraph' require 'util.InstanceNormalization' dofile('models/architectures.lua') " + (
    "set_normalization('{0}') return "
)
_STYLE = """
return require('fast_neural_style.models').build_model{{ arch = '{0}', padding_type = 'reflect-start',
   use_instance_norm = {1}, tanh_constant = 150, tv_strength = 1e-6 }}, values(1, 3, 32, 32)
"""
_TEXTURE = """
package.loaded.loadcaffe = {{}}
cutorch = nil
params = {{ mode = '{1}', tv_weight = 0.1 }}
backend = nn
pad = nn.SpatialReflectionPadding
dofile('InstanceNormalization.lua')
dofile('src/utils.lua')
normalization = nn.InstanceNormalization
return dofile('models/{0}.lua'), values(1, 3, 64, 64)
"""
_AUTOENCODER = """
package.path = './models/?.lua;' .. package.path
local model = require '{0}'
local images = values(4, 28, 28):abs()
model:createAutoencoder(images)
return model.autoencoder, images
"""
_CHAR_RNN = """
require 'nngraph'
require 'util.OneHot'
local zeros = {{ indices(7, 3) }}
for k = 1, {2} do zeros[k + 1] = values(3, 5) end
return require('model.{0}').{1}(7, 5, 2, 0), zeros
"""
_OPENFACE = "require 'dpnn' opt = {{ embSize = 16 }} narrow({2}) dofile('{0}.def.lua') return createModel(), values(2, 3, {1}, {1})"
_WAIFU = """
package.path = './lib/?.lua;' .. package.path
return require('srcnn').{0}('cunn', 3), values(1, 3, {1}, {1}):abs()
"""
_DEMO = """
opt = {{ type = 'double', model = '{1}' }}
params = opt
sys = require 'sys'
sys.COLORS = setmetatable({{}}, {{ __index = function() return '' end }})
"""

_RNN = "require 'rnn' batchSize = 2 rho = 3 hiddenSize = 5 nIndex = 6 nClass = 4 return part_of('examples/{0}.lua', '-- build', '{1}', 'rnn'), "
_STEPS = "{ indices(6, 2), indices(5, 2), indices(4, 2) }"
_COUPLED = """
require 'rnn'
opt = {{ vocabSize = 7, hiddenSize = 5, seqLen = 4, useSeqLSTM = false, numLayers = 2 }}
return part_of('examples/encoder-decoder-coupling.lua', '-- Encoder', 'local criterion', '{0}'),
   torch.Tensor{{ {{ 0, 3 }}, {{ 1, 2 }}, {{ 5, 7 }} }}
"""
_SEQ2SEQ = """
require 'nngraph'
require 's2sa.models'
data = { num_source_features = 0, total_source_features_size = 0, source_size = 7, target_size = 7 }
opt = { num_layers = 2, rnn_size = 5, word_vec_size = 4, dropout = 0, input_feed = 1, res_net = 0, attn = 1, multi_attn = 0 }
"""

ARCHITECTURES: list[Architecture] = [
    *_family("facebookarchive/fb.resnet.torch", _RESNETS),
    *_family(
        "facebookresearch/ResNeXt",
        {
            "ResNeXt-50, form B": _resnet(
                "models/resnext.lua", 224, True, depth=50, dataset="imagenet", baseWidth=2, cardinality=4,
                bottleneckType="resnext_B",
            ),
            "ResNet-29 bottleneck (CIFAR-10)": _resnet(
                "models/resnext.lua", 32, True, depth=29, dataset="cifar10", baseWidth=4, cardinality=2,
                bottleneckType="resnext_B",
            ),
        },
    ),
    *_family(
        "liuzhuang13/DenseNet",
        {
            "DenseNet-40": _resnet(
                "models/densenet.lua", 32, True, depth=40, dataset="cifar10", growthRate=4, dropRate=0,
                reduction=1, bottleneck=False, optMemory=0,
            ),
            "DenseNet-BC-40 (dropout)": _resnet(
                "models/densenet.lua", 32, True, depth=40, dataset="cifar10", growthRate=6, dropRate=0.2,
                reduction=0.5, bottleneck=True, optMemory=0,
            ),
            "DenseNet-121": _resnet(
                "models/densenet.lua", 224, True, depth=121, dataset="imagenet", growthRate=4, dropRate=0,
                reduction=0.5, bottleneck=True, optMemory=0,
            ),
            "DenseNet-BC-40 (memory efficient)": _resnet(
                "models/densenet.lua", 32, True, depth=40, dataset="cifar10", growthRate=4, dropRate=0,
                reduction=0.5, bottleneck=True, optMemory=3,
            ),
        },
        lua=("models/DenseConnectLayer.lua",),
    ),
    *_family(
        "szagoruyko/wide-residual-networks",
        {
            "WRN-16-2": "return dofile('models/wide-resnet.lua'){ depth = 16, widen_factor = 2, num_classes = 10,"
            " dropout = 0, imageSize = 32, shortcutType = 'B' }, values(2, 3, 32, 32)",
            "pre-activation ResNet-29": "return dofile('models/resnet-pre-act.lua'){ depth = 29,"
            " num_classes = 10, imageSize = 32 }, values(2, 3, 32, 32)",
            "NIN": "opt = { imageSize = 32 } narrow(8) return"
            " dofile('models/nin.lua'){ num_classes = 10 }, values(2, 3, 32, 32)",
            "VGG": "opt = { imageSize = 32 } narrow(8) return"
            " dofile('models/vgg.lua'){ num_classes = 10 }, values(2, 3, 32, 32)",
        },
    ),
    Architecture(
        "KaimingHe/resnet-1k-layers", "pre-activation ResNet-29",
        "return dofile('resnet-pre-act.lua'){ depth = 29, dataset = 'cifar10' }, values(2, 3, 32, 32)",
    ),
    *_family(
        "soumith/imagenet-multiGPU.torch",
        {
            name: _MULTI_GPU.format(name, 224)
            for name in ("alexnet", "alexnetowt", "alexnetowtbn", "googlenet", "googlenetbn", "ninbn", "vgg", "vggbn")
        }
        | {
            "overfeat": _MULTI_GPU.format("overfeat", 221),
            # Its bypasses add in place to what a convolution's gradient needs.
            "squeezenet": _MULTI_GPU.format("squeezenet", 224).replace("createModel(1)", "out_of_place(createModel(1))"),
        },
    ),
    *_family(
        "soumith/convnet-benchmarks",
        {
            "alexnet": _WINNERS.format("dofile('alexnet.lua') local build = alexnet", 224),
            "googlenet": _WINNERS.format("local build = dofile('googlenet.lua')", 224),
            "overfeat": _WINNERS.format("local build = dofile('overfeat.lua')", 231),
            "vgg_a": _WINNERS.format("dofile('vgg_a.lua') local build = vgg_a", 224),
        },
        inside="torch7/imagenet_winners",
    ),
    *_family(
        "DeepMark/deepmark",
        {
            "ResNet-50": "narrow(8) return dofile('resnet.lua')(2), values(2, 3, 224, 224)",
            "VGG-D": "narrow(8) return dofile('vgg_d.lua')(2), values(2, 3, 224, 224)",
            "AlexNet": "narrow(8) return dofile('alexnet.lua')(2), values(2, 3, 224, 224)",
            "C3D": "narrow(8) return dofile('c3d.lua')(2), values(2, 3, 16, 112, 112)",
        },
        inside="torch/image+video",
    ),
    *_family(
        "szagoruyko/cifar.torch",
        {
            "NIN": "narrow(8) return dofile('models/nin.lua'), values(2, 3, 32, 32)",
            "VGG": "narrow(8) return dofile('models/vgg_bn_drop.lua'), values(2, 3, 32, 32)",
        },
    ),
    *_family(
        "soumith/dcgan.torch",
        {
            "generator": _GAN + "return part_of('main.lua', 'local function weights_init', 'local criterion', 'netG'),"
            " values(2, 6, 1, 1)",
            "discriminator": _GAN
            + "return part_of('main.lua', 'local function weights_init', 'local criterion', 'netD'),"
            " values(2, 3, 64, 64)",
        },
    ),
    *_family(
        "phillipi/pix2pix",
        {
            "encoder-decoder": _PIX2PIX + "defineG_encoder_decoder(3, 3, 2), values(1, 3, 256, 256)",
            "U-Net": _PIX2PIX + "defineG_unet(3, 3, 2), values(1, 3, 256, 256)",
            "U-Net 128": _PIX2PIX + "defineG_unet_128(3, 3, 2), values(1, 3, 128, 128)",
            "discriminator": _PIX2PIX + "defineD_basic(3, 3, 4), values(1, 6, 64, 64)",
            "pixel discriminator": _PIX2PIX + "defineD_pixelGAN(3, 3, 4), values(1, 6, 32, 32)",
            "discriminator of 4 layers": _PIX2PIX + "defineD_n_layers(3, 3, 4, 4), values(1, 6, 96, 96)",
        },
    ),
    *_family(
        "junyanz/CycleGAN",
        {
            "6 blocks": _CYCLE.format("instance") + "defineG_resnet_6blocks(3, 3, 4), values(1, 3, 32, 32)",
            "9 blocks": _CYCLE.format("batch") + "defineG_resnet_9blocks(3, 3, 4), values(2, 3, 32, 32)",
            "U-Net 128": _CYCLE.format("instance") + "defineG_unet128(3, 3, 2), values(1, 3, 128, 128)",
            "U-Net 256": _CYCLE.format("batch") + "defineG_unet256(3, 3, 2), values(2, 3, 256, 256)",
            "image discriminator": _CYCLE.format("batch") + "defineD_imageGAN(3, 4, true), values(2, 3, 256, 256)",
            "discriminator": _CYCLE.format("instance") + "defineD_basic(3, 4, true), values(1, 3, 64, 64)",
        },
        lua=("util/InstanceNormalization.lua",),
    ),
    *_family(
        "jcjohnson/fast-neural-style",
        {
            "residual blocks": _STYLE.format("c9s1-4,d8,d8,R8,R8,u4,U2,c3s1-4,c9s1-3", 0).replace("32, 32", "64, 64"),
            "instance normalization": _STYLE.format("c9s1-4,d8,C8,R8,u8,c9s1-3", 1),
        },
    ),
    *_family(
        "DmitryUlyanov/texture_nets",
        {
            "johnson": _TEXTURE.format("johnson", "style"),
            "johnson, texture": _TEXTURE.format("johnson", "texture"),
            "pyramid": _TEXTURE.format("pyramid", "texture"),
            "skip_unpool": _TEXTURE.format("skip_unpool", "style"),
        },
        lua=("InstanceNormalization.lua",),
    ),
    *_family(
        "Kaixhin/Autoencoders",
        {
            name: _AUTOENCODER.format(name)
            for name in ("AE", "SparseAE", "DeepAE", "DenoisingAE", "ConvAE", "UpconvAE", "CAE", "VAE", "CatVAE", "AAE", "WTA-AE")
        },
        lua=("modules/BatchTopK.lua",),
    ),
    *_family(
        "karpathy/char-rnn",
        {
            "LSTM": _CHAR_RNN.format("LSTM", "lstm", 4), "GRU": _CHAR_RNN.format("GRU", "gru", 2),
            "RNN": _CHAR_RNN.format("RNN", "rnn", 2),
        },
    ),
    *_family(
        "cmusatyalab/openface",
        {
            "nn4": _OPENFACE.format("nn4", 96, 1), "nn4.small1": _OPENFACE.format("nn4.small1", 96, 1),
            "nn4.small2": _OPENFACE.format("nn4.small2", 96, 1), "nn2": _OPENFACE.format("nn2", 224, 4),
            "vgg-face": _OPENFACE.format("vgg-face", 224, 8),
            "vgg-face.small1": _OPENFACE.format("vgg-face.small1", 96, 8),
        },
        inside="models/openface",
    ),
    *_family(
        "nagadomi/waifu2x",
        {
            name: _WAIFU.format(name, size)
            for name, size in {
                "vgg_7": 24, "upconv_7": 24, "upconv_7l": 20, "resnet_14l": 40, "upresnet_s": 40, "fcn_v1": 120,
            }.items()
        },
    ),
    *_family(
        "princeton-vl/pose-hg-train",
        {
            f"{n} hourglass{'es' * (n > 1)}": "require 'nngraph' nnlib = nn ref = { nOutChannels = 4 }"
            f" opt = {{ nModules = 1, nFeats = 16, nStack = {n} }} dofile('models/hg.lua') "
            "return createModel(), values(1, 3, 128, 128)"
            for n in (1, 2)
        },
        inside="src",
    ),
    *_family(
        "allenai/XNOR-Net",
        {
            "AlexNet": "narrow(8) opt = { dropout = 0 } nClasses = 10 dofile('models/alexnet.lua') return createModel(), values(2, 3, 227, 227)",
            "binary AlexNet": "narrow(8) nClasses = 10 for line in io.lines('newLayers/BinActiveZ.lua') do end"
            " dofile('newLayers/BinActiveZ.lua') dofile('models/alexnetxnor.lua')"
            " return createModel(), values(2, 3, 227, 227)",
        },
        lua=("newLayers/BinActiveZ.lua",),
    ),
    Architecture(
        "e-lab/ENet-training", "encoder",
        "classes = { 1, 2, 3, 4, 5 } return part_of('encoder.lua', 'local model', 'local gpu_list', 'model'),"
        " values(1, 3, 64, 64)",
        inside="train/models",
    ),
    *_family(
        "y0ast/VAE-Torch",
        {
            "encoder": "return require('VAE').get_encoder(12, 8, 3), values(4, 12)",
            "decoder": "return require('VAE').get_decoder(12, 8, 3, true), values(4, 3)",
        },
    ),
    Architecture(
        "torch/demos", "person detector",
        _DEMO.format("", "convnet") + "return dofile('person-detector/model.lua').model, values(2, 3, 46, 46)",
    ),
    Architecture(
        "torch/demos", "face detector",
        _DEMO.format("", "convnet") + "return dofile('train-face-detector/model.lua').model, values(2, 1, 32, 32)",
    ),
    *_family(
        "torch/demos",
        {
            f"digit classifier, {name}": "require 'nn' opt = { model = '" + name + "', network = '' } return"
            " part_of('train-a-digit-classifier/train-on-mnist.lua', 'classes = {', '-- retrieve parameters',"
            " 'model'), values(2, 1, 32, 32)"
            for name in ("convnet", "mlp", "linear")
        },
    ),
    *_family(
        "torch/tutorials",
        {
            f"house numbers, {name}{' of 2011' * (kind == 'double' and name == 'convnet')}": f"opt = {{ model = '{name}', type = '{kind}', visualize = false }}"
            " dofile('2_supervised/2_model.lua') return model, values(2, 3, 32, 32)"
            for name, kind in (("convnet", "double"), ("convnet", "cuda"), ("mlp", "double"))
        },
    ),
    *_family(
        "Atcold/torch-Video-Tutorials",
        {
            "LeNet-5": "return dofile('LeNet5.lua'), values(2, 1, 32, 32)",
            "AlexNet": "narrow(8) return dofile('AlexNet.lua'), values(2, 3, 224, 224)",
            "GoogLeNet": "return dofile('GoogLeNet.lua'), values(1, 3, 224, 224)",
        },
        inside="res/3.2",
    ),
    *_family(
        "Element-Research/rnn",
        {
            "recurrent network, step by step": _RNN.format("simple-recurrent-network", "-- build criterion") + "indices(6, 3)",
            "Sequencer": _RNN.format("simple-sequencer-network", "-- build criterion") + _STEPS,
            "Recurrence": _RNN.format("simple-recurrence-network", "-- build criterion").replace("-- build'", "local rm'") + _STEPS,
            "BiSequencerLM": _RNN.format("simple-bisequencer-network", "-- build criterion") + _STEPS,
            "sequence to one": _RNN.format("sequence-to-one", "-- build criterion") + "indices(6, 3, 4)",
            "time series": "require 'rnn' opt = { multiSize = 4, hiddenSize = 5, rho = 3 } return part_of("
            "'examples/recurrent-time-series.lua', 'r = nn.Recurrent(', 'criterion', 'nn.Sequencer(rnn)'),"
            " { values(2, 4), values(2, 4), values(2, 4) }",
            "encoder": _COUPLED.format("enc"),
            "decoder": _COUPLED.format("dec"),
        },
    ),
    Architecture(
        "Element-Research/rnn", "LSTM in a Recurrence",
        _RNN.format("nested-recurrence-lstm", "-- build criterion").replace("-- build'", "local rm'") + _STEPS,
        no_gradients="rnn's differ from those of finite differences by 1.4 % of the largest",
    ),
    *_family(
        "jcjohnson/torch-rnn",
        {
            f"language model, {kind}": "package.loaded.cjson = {} require 'LanguageModel' local net = nn.LanguageModel{"
            f" idx_to_token = {{ 'a', 'b', 'c' }}, model_type = '{kind}', wordvec_size = 4, rnn_size = 5,"
            " num_layers = 2, dropout = 0, batchnorm = 1 }"
            " for _, layer in ipairs(net.rnns) do layer.remember_states = false end return net, indices(3, 2, 4)"
            for kind in ("lstm", "rnn")
        },
        lua=("LanguageModel.lua",),
    ),
    *_family(
        "harvardnlp/seq2seq-attn",
        {
            "encoder": _SEQ2SEQ + "return make_lstm(data, opt, 'enc', 0), { indices(7, 3), values(3, 5), values(3, 5),"
            " values(3, 5), values(3, 5) }",
            "decoder": _SEQ2SEQ + "return make_lstm(data, opt, 'dec', 0), { indices(7, 3), values(3, 4, 5), values(3, 5),"
            " values(3, 5), values(3, 5), values(3, 5), values(3, 5) }",
            "attention": _SEQ2SEQ + "return make_decoder_attn(data, opt), { values(3, 5), values(3, 4, 5) }",
        },
    ),
    Architecture(
        "yoonkim/lstm-char-cnn", "LSTM of characters",
        "require 'nngraph' opt = { cudnn = 0 } TDNN = require 'model.TDNN' HighwayMLP = require 'model.HighwayMLP'"
        " return require('model.LSTMTDNN').lstmtdnn(6, 2, 0, 9, 4, 8, 3, { 3, 4 }, { 1, 2 }, 5, 0, 1, 0, 1, 0),"
        " { indices(8, 2, 5), values(2, 6), values(2, 6), values(2, 6), values(2, 6) }",
    ),
    Architecture(
        "karpathy/neuraltalk2", "LSTM",
        "return require('misc.LSTM').lstm(4, 6, 5, 2, 0),"
        " { values(3, 4), values(3, 5), values(3, 5), values(3, 5), values(3, 5) }",
    ),
    Architecture(
        "oxford-cs-ml-2015/practical6", "LSTM",
        "require 'nngraph' return require('LSTM').lstm{ rnn_size = 5 }, { values(3, 5), values(3, 5), values(3, 5) }",
    ),
    *_family(
        "pathak22/context-encoder",
        {
            name: "util = {} function weights_init() end opt = { nc = 3, nz = 5, nBottleneck = 6, nef = 2, ngf = 2, ndf = 2, fineSize = 128,"
            " noiseGen = false, conditionAdv = false } nc = 3 nz = 5 ndf = 2 ngf = 2 nef = 2 nBottleneck = 6"
            " SpatialBatchNormalization = nn.SpatialBatchNormalization return part_of('train_random.lua',"
            f" 'local SpatialConvolution', '-- Loss Metrics', '{net}'), {input}"
            for name, net, input in (("generator", "netG", "values(2, 3, 128, 128)"), ("discriminator", "netD", "values(2, 3, 128, 128)"))
        },
    ),
    *_family(
        "larspars/word-rnn",
        {
            "GRU": "require 'nngraph' return require('model.GRU').gru(4, 5, 2, 0, nn.LookupTable(7, 200)),"
            " { indices(7, 3), values(3, 5), values(3, 5) }",
            "LSTM": "require 'nngraph' require 'util.OneHot' return require('model.LSTM').lstm(7, 5, 2, 0, 0, nil, 0),"
            " { indices(7, 3), values(3, 5), values(3, 5), values(3, 5), values(3, 5) }",
        },
    ),
]  # fmt: skip
