"""Random small training programs in Torch7's Lua: a layer or a small net, a criterion, a few updates."""

import random
from collections.abc import Callable, Sequence

Size = tuple[int, ...]
Made = tuple[str, Size]  # a layer's constructor, and the size of its input
Layer = Callable[[random.Random], Made]

TYPES = ("Double", "Float")
_STEPS = 5

# Layers that take an input of any size and keep it.
_PLAIN = (
    "Tanh()",
    "Sigmoid()",
    "ReLU()",
    "ReLU(true)",
    "Abs()",
    "Exp()",
    "Square()",
    "SoftPlus()",
    "SoftSign()",
    "LogSigmoid()",
    "ELU()",
    "LeakyReLU(0.1)",
    "HardTanh()",
    "HardShrink()",
    "SoftShrink()",
    "TanhShrink()",
    "ReLU6()",
    "Threshold(0.1, 0)",
    "Clamp(-1, 1)",
    "Power(2)",
    "PReLU()",
    "RReLU()",
    "SoftMin()",
    "Dropout(0.3)",
    "Identity()",
    "AddConstant(1)",
    "MulConstant(2)",
    "Mul()",
    "SoftMax()",
    "LogSoftMax()",
    "WhiteNoise()",
    "GradientReversal()",
    "L1Penalty(0.1)",
    "Copy()",
    "Contiguous()",
)


def _matrix(rng: random.Random) -> Size:
    return rng.choice((1, 2, 3, 5, 8, 16, 32, 64)), rng.choice((1, 2, 4, 7, 10, 20, 50, 100))


def _images(rng: random.Random, planes: Sequence[int] = (1, 2, 3, 4, 8, 16)) -> Size:
    side = rng.choice((6, 8, 10, 16, 24, 32))
    return rng.choice((1, 2, 4, 8)), rng.choice(planes), side, side + rng.choice((0, 0, 2))


def _volumes(rng: random.Random) -> Size:
    side = rng.choice((5, 6, 8))
    return rng.choice((1, 2)), rng.choice((1, 2, 3)), side, side, side + 1


def _sequence(rng: random.Random) -> Size:
    return rng.choice((1, 3, 8)), rng.choice((6, 10, 20)), rng.choice((4, 10, 30))


def _plain(text: str) -> Layer:
    def make(rng: random.Random) -> Made:
        return text, rng.choice((_matrix, _matrix, _images, _sequence))(rng)

    return make


def _of_matrix(template: str) -> Layer:
    """{n}: the columns of the input; {m}: any small number."""

    def make(rng: random.Random) -> Made:
        rows, n = _matrix(rng)
        rows, n = max(rows, 2), max(n, 2)
        return template.format(n=n, m=rng.choice((1, 2, 5, 10, 40)), half=n // 2), (rows, n)

    return make


def _of_images(template: str, planes: Sequence[int] = (1, 2, 3, 4, 8, 16)) -> Layer:
    """{p}: the planes of the input; {o}: any number of planes; {k}: a window's size; {s}: a step."""

    def make(rng: random.Random) -> Made:
        size = _images(rng, planes)
        text = template.format(
            p=size[1],
            o=rng.choice((1, 2, 4, 8, 16)),
            k=rng.choice((1, 2, 3, 5)),
            s=rng.choice((1, 2)),
            h=size[2],
            w=size[3],
            q=rng.choice((2, 3)),
        )
        return text, size

    return make


def _of_volumes(template: str) -> Layer:
    def make(rng: random.Random) -> Made:
        size = _volumes(rng)
        return template.format(p=size[1], o=rng.choice((1, 2, 4)), k=rng.choice((1, 2, 3))), size

    return make


def _of_sequences(template: str) -> Layer:
    def make(rng: random.Random) -> Made:
        size = _sequence(rng)
        return template.format(n=size[2], m=rng.choice((2, 8, 20)), k=rng.choice((1, 2, 3))), size

    return make


LAYERS: tuple[Layer, ...] = (
    *map(_plain, _PLAIN),
    *map(
        _of_matrix,
        (
            "Linear({n}, {m})",
            "Linear({n}, {m}, false)",
            "Add({n})",
            "CMul({n})",
            "CAdd({n})",
            "Cosine({n}, {m})",
            "Euclidean({n}, {m})",
            "WeightedEuclidean({n}, {m})",
            "BatchNormalization({n})",
            "Normalize(2)",
            "BatchNormalization({n}, 1e-5, 0.1, false)",
            "PartialLinear({n}, {m})",
            "LinearWeightNorm({n}, {m})",
            "Maxout({n}, {m}, 2)",
            "Sum(2)",
            "Mean(2)",
            "Max(2)",
            "Min(2)",
            "Replicate(3, 2)",
            "Unsqueeze(2)",
            "Transpose({{1, 2}})",
            "Narrow(2, 1, {half})",
            "Select(2, {half})",
            "View(-1)",
            "Reshape({n}, 1)",
        ),
    ),
    *map(
        _of_images,
        (
            "SpatialConvolution({p}, {o}, {k}, {k}, {s}, {s})",
            "SpatialConvolution({p}, {o}, 3, 3, 1, 1, 1, 1)",
            "SpatialConvolution({p}, {o}, {k}, {k}, {s}, {s}, 1, 1)",
            "SpatialConvolution({p}, {o}, 5, 5, 1, 1, 2, 2)",
            "SpatialConvolutionMM({p}, {o}, {k}, {k})",
            "SpatialDilatedConvolution({p}, {o}, 2, 2, 1, 1, 0, 0, 2, 2)",
            "SpatialFullConvolution({p}, {o}, {k}, {k}, {s}, {s})",
            "SpatialConvolutionLocal({p}, 2, {w}, {h}, 3, 3)",
            "SpatialSubSampling({p}, 2, 2, 2, 2)",
            "SpatialConvolutionMap(nn.tables.full({p}, 2), 3, 3)",
            "SpatialMaxPooling(2, 2)",
            "SpatialMaxPooling(3, 3, {s}, {s})",
            "SpatialMaxPooling(3, 3, 2, 2, 1, 1):ceil()",
            "SpatialAveragePooling(2, 2, 2, 2)",
            "SpatialAveragePooling(3, 3, {s}, {s}, 1, 1)",
            "SpatialAdaptiveMaxPooling({q}, {q})",
            "SpatialAdaptiveAveragePooling({q}, {q})",
            "SpatialDilatedMaxPooling(2, 2, 1, 1, 0, 0, 2, 2)",
            "SpatialLPPooling({p}, 2, 2, 2, 2, 2)",
            "SpatialFractionalMaxPooling(2, 2, 3, 3)",
            "SpatialBatchNormalization({p})",
            "SpatialCrossMapLRN(3)",
            "SpatialDropout(0.2)",
            "SpatialZeroPadding(1, 1, 2, 2)",
            "SpatialReflectionPadding(1, 1, 2, 2)",
            "SpatialReplicationPadding(1, 1, 2, 2)",
            "SpatialUpSamplingNearest(2)",
            "SpatialUpSamplingBilinear(2)",
            "SpatialSubtractiveNormalization({p}, torch.ones(5))",
            "SpatialDivisiveNormalization({p}, torch.ones(5))",
            "SpatialContrastiveNormalization({p}, torch.ones(5))",
            "SpatialSoftMax()",
            "SpatialLogSoftMax()",
            "View(-1):setNumInputDims(3)",
            "CReLU({p})",
        ),
    ),
    _of_images("PixelShuffle(2)", (4, 8, 16)),
    *map(
        _of_volumes,
        (
            "VolumetricConvolution({p}, {o}, {k}, {k}, {k})",
            "VolumetricFullConvolution({p}, {o}, {k}, {k}, {k})",
            "VolumetricMaxPooling(2, 2, 2)",
            "VolumetricAveragePooling(2, 2, 2)",
            "VolumetricBatchNormalization({p})",
            "VolumetricDropout(0.2)",
            "VolumetricReplicationPadding(1, 1, 1, 1, 1, 1)",
        ),
    ),
    *map(
        _of_sequences,
        (
            "TemporalConvolution({n}, {m}, {k})",
            "TemporalConvolution({n}, {m}, {k}, 2)",
            "TemporalMaxPooling(2)",
            "TemporalRowConvolution({n}, {k})",
            "Bottle(nn.Linear({n}, {m}))",
            "TemporalDynamicKMaxPooling(3)",
            "GatedLinearUnit(3)",
        ),
    ),
)


def _single(rng: random.Random) -> tuple[str, Size]:
    text, size = rng.choice(LAYERS)(rng)
    return f"nn.{text}", size


def _perceptron(rng: random.Random) -> tuple[str, Size]:
    rows, n = max(2, rng.choice((1, 4, 16, 32, 128))), rng.choice((2, 10, 50, 100, 784))
    parts, width = [], n
    for _ in range(rng.choice((1, 2, 3))):
        wide = rng.choice((5, 10, 32, 64, 128))
        parts.append(f"nn.Linear({width}, {wide})")
        if rng.random() < 0.3:
            parts.append(f"nn.BatchNormalization({wide})")
        parts.append(rng.choice(("nn.Tanh()", "nn.ReLU()", "nn.Sigmoid()", "nn.ReLU(true)", "nn.ELU()")))
        if rng.random() < 0.2:
            parts.append("nn.Dropout(0.5)")
        width = wide
    parts.append(f"nn.Linear({width}, {rng.choice((2, 10))})")
    return _sequential(parts), (rows, n)


def _convnet(rng: random.Random) -> tuple[str, Size]:
    batch, planes, side = rng.choice((1, 2, 8, 16)), rng.choice((1, 3)), rng.choice((12, 16, 28, 32))
    parts, size, width = [], side, planes
    for _ in range(rng.choice((1, 2))):
        kernel, wide = rng.choice((3, 5)), rng.choice((4, 6, 8, 16, 32))
        parts.append(f"nn.SpatialConvolution({width}, {wide}, {kernel}, {kernel})")
        size, width = size - kernel + 1, wide
        if rng.random() < 0.3:
            parts.append(f"nn.SpatialBatchNormalization({wide})")
        parts.append(rng.choice(("nn.ReLU()", "nn.Tanh()", "nn.ReLU(true)")))
        if size >= 6:
            pool = rng.choice(("nn.SpatialMaxPooling(2, 2, 2, 2)", "nn.SpatialAveragePooling(2, 2, 2, 2)"))
            parts.append(pool)
            size //= 2
        if size < 6:
            break
    parts += ["nn.View(-1):setNumInputDims(3)", f"nn.Linear({width * size * size}, 10)"]
    return _sequential(parts), (batch, planes, side, side)


def _sequential(parts: Sequence[str]) -> str:
    return "nn.Sequential()" + "".join(f"\n   :add({part})" for part in parts)


# A criterion for a matrix of outputs, or for any: its constructor, what comes before it, and the target.
_CRITERIONS_OF_MATRICES = (
    ("nn.ClassNLLCriterion()", "nn.LogSoftMax()", "torch.Tensor(out:size(1)):random(out:size(2))"),
    ("nn.CrossEntropyCriterion()", None, "torch.Tensor(out:size(1)):random(out:size(2))"),
    ("nn.MultiMarginCriterion()", None, "torch.Tensor(out:size(1)):random(out:size(2))"),
    ("nn.BCECriterion()", "nn.Sigmoid()", "torch.rand(out:size()):ge(0.5):type(out:type())"),
    ("nn.MultiLabelSoftMarginCriterion()", None, "torch.rand(out:size()):ge(0.5):type(out:type())"),
)
_CRITERIONS = (
    ("nn.MSECriterion()", None, "torch.rand(out:size())"),
    ("nn.AbsCriterion()", None, "torch.rand(out:size())"),
    ("nn.SmoothL1Criterion()", None, "torch.rand(out:size())"),
    ("nn.SoftMarginCriterion()", None, "torch.rand(out:size()):mul(2):add(-1):sign()"),
    ("nn.DistKLDivCriterion()", None, "torch.rand(out:size())"),
)
_UPDATES = (
    "sgd",
    "sgd with momentum",
    "adam",
    "adagrad",
    "rmsprop",
    "adadelta",
    "adamax",
    "rprop",
    "nag",
    "asgd",
)
_OPTIONS = {
    "sgd": "learningRate = 0.01, weightDecay = 1e-4",
    "sgd with momentum": "learningRate = 0.01, momentum = 0.9",
}


def program(seed: int) -> str:
    """Returns the source of a program: the same for the same seed."""
    rng = random.Random(seed)
    kind = rng.choice((_single, _single, _single, _perceptron, _convnet))
    net, size = kind(rng)
    of_matrices = kind is not _single
    criterion, before, target = rng.choice(_CRITERIONS_OF_MATRICES if of_matrices else _CRITERIONS)
    kinds = rng.choice(TYPES)
    lines = [
        "require 'nn'",
        "require 'optim'",
        f"torch.setdefaulttensortype('torch.{kinds}Tensor')",
        f"torch.manualSeed({seed})",
        f"local net = {net}",
        *([f"net = nn.Sequential():add(net):add({before})"] if before else []),
        f"local criterion = {criterion}",
        f"local x = torch.rand({', '.join(map(str, size))})",
        "local out = net:forward(x)",
        f"local y = {target}",
        "local loss",
    ]
    if rng.random() < 0.4:
        lines += _plain_steps()
    else:
        update = rng.choice(_UPDATES)
        lines += _optim_steps(update.split()[0], _OPTIONS.get(update, ""))
    if rng.random() < 0.3:
        lines += ["net:evaluate()", "print(net:forward(x):sum())"]
    lines.append("print(loss, net.output:dim())")
    return "\n".join(lines) + "\n"


def _plain_steps() -> list[str]:
    return [
        f"for _ = 1, {_STEPS} do",
        "   loss = criterion:forward(net:forward(x), y)",
        "   net:zeroGradParameters()",
        "   net:backward(x, criterion:backward(net.output, y))",
        "   net:updateParameters(0.01)",
        "end",
    ]


def _optim_steps(update: str, options: str) -> list[str]:
    return [
        "local w, dw = net:getParameters()",
        "if w:dim() == 0 then w, dw = torch.zeros(1), torch.zeros(1) end",
        f"local state = {{ {options} }}",
        f"for _ = 1, {_STEPS} do",
        f"   optim.{update}(function()",
        "      dw:zero()",
        "      loss = criterion:forward(net:forward(x), y)",
        "      net:backward(x, criterion:backward(net.output, y))",
        "      return loss, dw",
        "   end, w, state)",
        "end",
    ]
