"""Pictures."""

from tests.compatibility import data, inception
from tests.compatibility.repository import SEEDED, Run

_BINARY_MNIST = data.all_of(
    *(data.tensor(f"binarizedMNIST/{part}.t7", 200, 784) for part in ("train", "valid", "test"))
)
_RESNET = "main.lua -dataset cifar10 -nGPU 1 -batchSize 16 -nEpochs 1 -nThreads 1 -manualSeed 1"
_TOP = r"Err +([\d.]+)|Test:.*top1 +([\d.]+)"
_FAILED = r"(\d+) failures?|(\d+) errors?"
_ERROR = r"Err_?\w*: ([-\d.]+)"


def gan(**more: object) -> tuple[tuple[str, str], ...]:
    """Returns the variables of DCGAN's descendants: on a CPU, narrow, for one epoch."""
    options = {"gpu": 0, "ngf": 2, "ndf": 2, "niter": 1, "nThreads": 1, "cudnn": 0, "name": "x", "display": 0}
    return tuple((name, str(value)) for name, value in {**options, "DATA_ROOT": "images", **more}.items())


RUNS: dict[str, dict[str, object]] = {
    "y0ast/VAE-Torch": {
        "data": _BINARY_MNIST,
        "runs": [Run("main.lua", lines=6, printed=r"Lowerbound:\s*(\S+)")],
    },
    "Kaixhin/Autoencoders": {
        "data": data.mnist_of_lecun("data"),
        "runs": [
            *(Run(f"main.lua -cpu -model {name} -epochs 1", lines=SEEDED) for name in ("AE", "DeepAE", "VAE")),
            Run.code(
                "require 'nn' require 'optim' package.path = './models/?.lua;' .. package.path torch.manualSeed(1) "
                "local images = torch.rand(4, 28, 28) for _, name in ipairs{ 'AE', 'DeepAE', 'ConvAE' } do local model = require(name) "
                "model:createAutoencoder(images) local net = model.autoencoder local weights, gradients = net:getParameters() "
                "local criterion = nn.BCECriterion() for k = 1, 3 do local _, losses = optim.adam(function() gradients:zero() "
                "local y = net:forward(images) local loss = criterion:forward(y, images) "
                "net:backward(images, criterion:backward(y, images)) return loss, gradients end, weights, {}) "
                "print(name, losses[1], weights:norm()) end end",
            ),
        ],
    },
    "soumith/dcgan.torch": {
        "data": data.pictures("images/a", 8, 96, 96, "jpg"),
        "runs": [Run("main.lua", environment=gan(dataset="folder", batchSize=4), lines=SEEDED, printed=_ERROR)],
    },
    "phillipi/pix2pix": {
        "data": data.pictures("images/train", 2, 512, 256, "jpg"),
        "runs": [Run("train.lua", environment=gan(print_freq=1), lines=SEEDED, printed=_ERROR)],
    },
    "junyanz/CycleGAN": {
        "data": data.all_of(
            data.pictures("images/trainA", 2, 143, 143, "jpg"), data.pictures("images/trainB", 2, 143, 143, "jpg")
        ),
        "runs": [
            Run(
                "train.lua", environment=gan(niter_decay=0, print_freq=1, which_model_netG="unet128"),
                lines=SEEDED, printed=r"Epoch: \[1\]\[ *0 .*\[A\] (.*)",
            )
        ],
    },
    "pathak22/context-encoder": {
        "data": data.pictures("pictures/a", 1, 160, 160, "jpg"),
        "runs": [
            Run(
                "train.lua", environment=gan(DATA_ROOT="pictures", nef=2, nBottleneck=8, batchSize=2, fineSize=128, loadSize=140),
                lines=SEEDED, printed=_ERROR,
            )
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
                "-num_iterations 4 -gpu -1 -image_size 48 -seed 1 -print_iter 1 -save_iter 0",
                printed="(?:Content|Style|Total).*loss: (.*)",
            )
        ],
    },
    "ramprs/grad-cam": {
        "data": data.vgg(
            "models/VGG_ILSVRC_16_layers_deploy.prototxt", "models/VGG_ILSVRC_16_layers.caffemodel", 16, full=True
        ),
        "runs": [Run("classification.lua -gpuid -1 -label 243", lines=SEEDED),
            Run.code("require 'image' local names = {} for file in require('paths').iterfiles('output') do names[#names + 1] = file end "
                     "table.sort(names) for _, name in ipairs(names) do print('mean', image.load('output/' .. name):mean()) end",
                     printed="^mean.*"),
        ],
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
            Run.code(
                "require 'nn' local net = torch.load('models/x.t7') net = net.net or net torch.manualSeed(1) net:float() "
                "local y = net:forward(torch.rand(1, 3, 32, 32):float()) print(y:sum(), y:std(), #net.modules)", cuda=True,
            ),
        ],
    },
    "facebookarchive/fb.resnet.torch": {
        "data": data.cifar_of_resnets(),
        "runs": [Run(f"{_RESNET} -depth 8 -backend cunn", cuda=True, printed=_TOP)],
    },
    "liuzhuang13/DenseNet": {
        "data": data.cifar_of_resnets(),
        "runs": [Run(f"{_RESNET} -netType densenet -depth 10 -growthRate 4 -backend cunn", cuda=True, printed=_TOP),
        ],
    },
    "facebookresearch/ResNeXt": {
        "data": data.cifar_of_resnets(32, 16),
        "runs": [Run(f"{_RESNET} -depth 11 -baseWidth 4 -cardinality 2 -bottleneckType resnext_B", cuda=True, printed=_TOP)],
    },
    "szagoruyko/cifar.torch": {
        "data": data.provider("provider.t7", "Provider", 64, 125),
        "runs": [Run("train.lua --type float --model nin -b 16 --max_epoch 1", lines=SEEDED, printed="ccuracy: *(.*?)%")],
    },
    "torch/demos": {
        "runs": [
            Run("example-linear-regression.lua", "linear-regression", lines=3, printed="loss = (.*)"),
            Run("example-logistic-regression.lua", "logistic-regression", lines=60, printed="loss = (.*)"),
        ],
    },
    "torch/tutorials": {
        "runs": [
            Run("getstarted.lua", "1_getstarted", lines=SEEDED),
            Run("A_slicing.lua", "2_supervised", lines=SEEDED, printed=".*", stdin="!\n"),
        ],
    },
    "Atcold/torch-Video-Tutorials": {
        "runs": [
            Run("-l nn AlexNet.lua", "res/3.2"),
            Run.code(
                "require 'nn' torch.manualSeed(1) local net = dofile 'LeNet5.lua' net:evaluate() local x = torch.randn(2, 1, 32, 32) "
                "local y = net:forward(x) print(y:sum(), y:std(), net:backward(x, y):norm())", "res/3.2",
            ),
        ],
    },
    "jcjohnson/densecap": {
        "runs": [
            Run.code(
                "require 'densecap.modules.ApplyBoxTransform' require 'densecap.modules.BoxIoU' torch.manualSeed(1) "
                "local boxes, moves = torch.rand(2, 5, 4):add(1), torch.randn(2, 5, 4):mul(0.1) local net = nn.ApplyBoxTransform() "
                "local y = net:forward{ boxes, moves } print(y:sum(), net:backward({ boxes, moves }, y)[2]:norm()) "
                "print(nn.BoxIoU():forward{ boxes, torch.rand(2, 3, 4):add(1) }:sum())",
            )
        ],
    },
    "jcjohnson/fast-neural-style": {"runs": [Run("test/layer_utils_test.lua", lines=SEEDED, printed=_FAILED)]},
    "kaishengtai/neuralart": {
        "data": data.all_of(data.pictures("in", 2, 64, 48), data.by_lua(
                """
                require 'nn'
                require 'paths'
                torch.manualSeed(1)
                dofile 'models/util.lua'
                dofile 'models/vgg19.lua'
                local kept = torch.load
                local weights = setmetatable({}, { __index = function(self, place)
                   self[place] = { 0, 0 }
                   return self[place]
                end })
                -- the net itself says which of its modules have weights
                local list = nn.Module.listModules
                function nn.Module:listModules()
                   local modules = list(self)
                   for place, module in ipairs(modules) do
                      if module.weight then weights[place] = { module.weight:float(), module.bias:float() } end
                   end
                   return modules
                end
                torch.load = function() return weights end
                create_vgg('', 'cunn')
                torch.save('models/vgg_normalized.th', weights)
                """
            )),
        "runs": [
            Run(
                "main.lua --model vgg --cpu --style in/1.png --content in/2.png --num_iters 3 --size 48 "
                "--display_interval 0", lines=SEEDED, because="it prints no numbers",
            )
        ],
    },
    "DmitryUlyanov/texture_nets": {
        "data": data.all_of(
            data.pictures("in/train/a", 3, 80, 80), data.pictures("in/val/a", 2, 80, 80),
            data.vgg("vgg.prototxt", "vgg.caffemodel"),
        ),
        "runs": [
            Run(
                "train.lua -data in -style_image in/val/a/1.png -image_size 64 -style_size 64 -num_iterations 3 "
                "-save_every 2 -model johnson -proto_file vgg.prototxt -model_file vgg.caffemodel -gpu 1 "
                "-nThreads 1 -manualSeed 1", cuda=True, lines=SEEDED, printed="#it:.*loss:(.*)",
            )
        ],
    },
    "chuanli11/CNNMRF": {
        "data": data.all_of(
            data.pictures("data/content", 1, 96, 72, "jpg"), data.pictures("data/style", 1, 96, 72, "jpg"),
            data.vgg("data/models/VGG_ILSVRC_19_layers_deploy.prototxt",
                     "data/models/VGG_ILSVRC_19_layers.caffemodel"),
        ),
        "runs": [
            Run(
                "cnnmrf.lua -content_name 1 -style_name 1 -max_size 64 -num_res 1 -num_iter 2 -gpu 0 -backend cudnn "
                "-print_iter 1 -save_iter 0", lines=SEEDED, cuda=True, because="it prints layers and times alone",
            )
        ],
    },
    "xunhuang1995/AdaIN-style": {
        "data": data.all_of(
            data.pictures("in", 2, 64, 64),
            data.by_lua(
                """
                require 'nn'
                torch.manualSeed(1)
                local net = nn.Sequential():add(nn.SpatialConvolution(3, 3, 1, 1))
                for layer = 1, 10 do
                   net:add(nn.SpatialReflectionPadding(1, 1, 1, 1))
                   net:add(nn.SpatialConvolution(layer == 1 and 3 or 8, 8, 3, 3)):add(nn.ReLU())
                end
                for _ = 32, 53 do net:add(nn.Identity()) end
                paths.mkdir 'models'
                torch.save('models/vgg_normalised.t7', net:float())
                torch.save('models/decoder.t7', nn.Sequential():add(nn.SpatialConvolution(8, 3, 3, 3)):float())
                """
            ),
        ),
        "runs": [
            Run("test.lua -content in/1.png -style in/2.png -gpu -1 -contentSize 64 -styleSize 64 -saveExt png",
                lines=SEEDED),
            Run.code("require 'image' for file in require('paths').iterfiles('output') do print(file) "
                     "print('mean', image.load('output/' .. file):mean()) end", printed="^mean.*"),
        ],
    },
    "soumith/inception.torch": {  # with its trained weights and its picture
        "runs": [Run("example.lua", cuda=True, printed=r"score = ([\d.]+):.*\((\d+)\)")],
    },
    "Moodstocks/inception-v3.torch": {
        "data": data.all_of(inception.dump("dump"), data.pictures("in", 1, 320, 300)),
        "runs": [
            Run("inceptionv3.lua -i dump -b nn -o net.t7"),
            Run("example.lua -m net.t7 -b nn -i in/1.png -s synsets.txt", printed=r"score = ([\d.]+):.*\((\d+)\)"),
        ],
    },
    "soumith/convnet-benchmarks": {
        "runs": [
            *(
                Run.code(
                    "local draw = { rand = torch.rand, randn = torch.randn } package.preload.ccn2 = function() end "
                    "local function few(name) torch[name] = function(size, ...) nDryRuns, steps = 1, 1 "
                    "if type(size) == 'number' then return draw[name](size == 128 and 2 or size, ...) end "
                    "size[1] = 1 return draw[name](size, ...) end end few 'rand' few 'randn' torch.manualSeed(1) "
                    "require 'cunn' local forward = nn.Module.forward function nn.Module:forward(x) local y = forward(self, x) "
                    "print('sum', y:sum(), y:std()) return y end require 'sys' local toc = sys.toc function sys.toc() "
                    "if output then print('sum', output:sum(), output:std()) end return toc() end "
                    f"dofile('../{folder}/{script}.lua')", f"torch7/{folder}", cuda=True, printed="^sum.*",
                )
                for folder, script in (
                    ("imagenet_winners", "benchmark"), ("layerwise_benchmarks", "benchmark"),
                    ("layerwise_benchmarks", "multigpu"),
                )
            ),
            Run.code(
                "require 'cudnn' torch.manualSeed(1) local lib = { cudnn.SpatialConvolution, cudnn.SpatialMaxPooling, "
                "cudnn.ReLU, 'BDHW', 'cudnn' } for _, name in ipairs{ 'alexnet', 'overfeat', 'vgg_a', 'googlenet' } do "
                "local net, title, size = require(name)(lib) size[1] = 1 net:cuda() "
                "local input = torch.randn(torch.LongStorage(size)):cuda() local output = net:updateOutput(input) "
                "net:zeroGradParameters() net:updateGradInput(input, output) "
                "net:accGradParameters(input, output) "
                "print(title, output:sum(), output:std(), select(2, net:parameters())[1]:norm()) collectgarbage() collectgarbage() end",
                "torch7/imagenet_winners", cuda=True,
            )
        ],
    },
    "DeepMark/deepmark": {
        "runs": [
            Run(
                "benchmark.lua --network alexnet --backend cunn --batchSize 1 --dryrun 1 --iterations 1",
                "torch/image+video", cuda=True, lines=SEEDED,
            ),
            Run.code(
                "require 'cunn' torch.manualSeed(1) for _, name in ipairs{ 'resnet', 'inceptionv3', 'vgg_d', 'c3d' } do "
                "local net, size = require(name)(1) size[1] = 1 net:cuda() net:evaluate() "
                "local output = net:forward(torch.randn(torch.LongStorage(size)):cuda()) "
                "print(name, output:sum(), output:std()) end", "torch/image+video", cuda=True,
            ),
            # what cuDNN computes, with fewer units
            Run.code(
                "require 'cudnn' require 'cunn' local rnn = cudnn.RNN cudnn.RNN = function(n, m, k) return rnn(n, m, k) end "
                "require 'BatchBRNNReLU' torch.manualSeed(1) local net = nn.Sequential() "
                "net:add(cudnn.BatchBRNNReLU(6, 5)):add(cudnn.BatchBRNNReLU(5, 5)) net:cuda() "
                "local x = torch.randn(4, 3, 6):cuda() local y = net:forward(x) print(y:size(1), y:size(3)) "
                "net:backward(x, y)", "torch/audio", cuda=True, printed=None,
            ),
            Run(
                "lstm.lua --vocabsize 20 --embedsize 8 --batchsize 3", "torch/text", cuda=True,
            ),
        ],
    },
    "szagoruyko/wide-residual-networks": {
        "data": data.provider("x.t7", None, 64, 64),
        "runs": [
            Run(
                "train.lua", lines=SEEDED,
                because="what its threads draw depends on which is ready first, on Torch7, too",
                environment=tuple({
                    "dataset": "./x.t7", "data_type": "torch.FloatTensor", "model": "wide-resnet", "depth": "10",
                    "widen_factor": "1", "max_epoch": "1", "batchSize": "16", "save": "logs",
                }.items()),
            )
        ],
    },
    "KaimingHe/resnet-1k-layers": {
        "runs": [
            Run.code(
                "require 'cudnn' require 'cunn' torch.manualSeed(1) local create = dofile('resnet-pre-act.lua') "
                "local net = create{ depth = 29, dataset = 'cifar10', cudnn = 'default' }:cuda() "
                "local x = torch.randn(2, 3, 32, 32):cuda() local y = net:forward(x) "
                "net:zeroGradParameters() net:backward(x, y) print(#net:listModules(), y:sum(), y:std(), select(2, net:parameters())[1]:norm())", cuda=True,
            )
        ],
    },
    "soumith/imagenet-multiGPU.torch": {
        "runs": [
            Run.code(
                "require 'cudnn' require 'cunn' opt = { nGPU = 1, backend = 'nn' } nClasses = 10 "
                "function makeDataParallel(net) return net end "
                "for _, name in ipairs{ 'alexnet', 'alexnetowtbn', 'ninbn', 'squeezenet' } do torch.manualSeed(1) "
                "dofile('models/' .. name .. '.lua') local net = createModel(1):cuda() net:evaluate() "
                "local y = net:forward(torch.randn(1, 3, 224, 224):cuda()) print(name, y:sum(), y:std()) end",
                cuda=True,
            )
        ],
    },
    "allenai/XNOR-Net": {
        "runs": [
            Run.code(
                "require 'cudnn' require 'cunn' torch.manualSeed(1) nClasses = 10 opt = { dropout = 0.1 } dofile('newLayers/BinActiveZ.lua') "
                "for _, name in ipairs{ 'alexnet', 'alexnetxnor' } do dofile('models/' .. name .. '.lua') "
                "local net = createModel():cuda() net:evaluate() "
                "local y = net:forward(torch.randn(2, 3, 224, 224):cuda()) print(name, y:sum(), y:std()) end",
                cuda=True,
            )
        ],
    },
    "princeton-vl/pose-hg-train": {
        "runs": [
            Run.code(
                "require 'nngraph' torch.manualSeed(1) nnlib = nn ref = { nOutChannels = 16 } "
                "opt = { nFeats = 16, nStack = 2, nModules = 1 } "
                "dofile('models/hg.lua') local net = createModel() local x = torch.randn(2, 3, 64, 64) "
                "local y = net:forward(x) print(#y, y[1]:sum(), y[2]:std(), net:backward(x, y):norm())", "src",
            )
        ],
    },
    "cmusatyalab/openface": {
        "runs": [
            Run.code(
                "require 'nn' require 'dpnn' torch.manualSeed(1) opt = { embSize = 16, imgDim = 96 } "
                "for _, name in ipairs{ 'nn4.small1', 'nn4.small2', 'nn4' } do "
                "dofile('models/openface/' .. name .. '.def.lua') local net = createModel():float() net:evaluate() "
                "local y = net:forward(torch.randn(2, 3, 96, 96):float()) print(name, y:sum(), y:std()) end",
            )
        ],
    },
    "e-lab/ENet-training": {
        "runs": [
            Run.code(
                "require 'cudnn' require 'cunn' torch.manualSeed(1) opt = { datahistClasses = torch.ones(5), "
                "dataClasses = { 'a', 'b', 'c', 'd', 'e' }, dataconClasses = { 'b', 'c', 'd', 'e' }, nGPU = 1, devid = 1, "
                "channels = 3, imHeight = 64, imWidth = 64, labelHeight = 8, labelWidth = 8 } "
                "local made = dofile('models/encoder.lua') local net = made.model:cuda() "
                "local y = net:forward(torch.randn(2, 3, 64, 64):cuda()) print('sum', y:sum(), y:std())", "train", cuda=True, printed='^sum.*',
            )
        ],
    },
    "facebookresearch/deepmask": {
        "runs": [
            Run.code(
                "require 'nn' require 'cunn' torch.manualSeed(1) dofile('SpatialSymmetricPadding.lua') "
                "local m = nn.SpatialSymmetricPadding(1, 2, 1, 2) local x = torch.randn(1, 2, 5, 5) local y = m:forward(x) "
                "print(y:sum(), m:backward(x, y):sum())", cuda=True,
            )
        ],
    },
}  # fmt: skip
