"""The classes of torch.legacy.nn: their arguments, and where their fields differ from Torch7's.

Dimensions and indices count from 0 in Python and from 1 in Lua.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

# "-": the number counts from 1 in Lua (a negative one stays as it is); "*": all arguments that follow.
_ARGUMENTS = """
Abs()
AbsCriterion(sizeAverage=True)
Add(inputSize, scalar=False)
AddConstant(constant_scalar, inplace=False)
BCECriterion(weights=None, sizeAverage=True)
BatchNormalization(nOutput, eps=1e-5, momentum=0.1, affine=True)
Bilinear(inputSize1, inputSize2, outputSize, bias=True)
CAddTable(inplace=False)
CDivTable()
CMul(*size)
CMulTable()
CSubTable()
Clamp(min_value, max_value)
ClassNLLCriterion(weights=None, sizeAverage=True, ignore_index=-100)
ClassSimplexCriterion(nClasses)
Concat(-dimension)
ConcatTable()
Container()
Contiguous()
Copy(intype=None, outtype=None, dontCast=False)
Cosine(inputSize, outputSize)
CosineDistance()
CosineEmbeddingCriterion(margin=0, sizeAverage=True)
Criterion()
CriterionTable(criterion)
CrossEntropyCriterion(weights=None)
DepthConcat(-dimension)
DistKLDivCriterion(sizeAverage=True)
DotProduct()
Dropout(p=0.5, inplace=False)
ELU(alpha=1, inplace=False)
Euclidean(inputSize, outputSize)
Exp()
FlattenTable()
GradientReversal(lambd=1)
HardShrink(lambd=0.5)
HardTanh(min_value=-1, max_value=1, inplace=False)
HingeEmbeddingCriterion(margin=1, sizeAverage=True)
Identity()
Index(-dimension)
JoinTable(-dimension)
L1Cost()
L1HingeEmbeddingCriterion(margin=1)
L1Penalty(l1weight, sizeAverage=False, provideOutput=True)
LeakyReLU(negval=0.01, inplace=False)
Linear(inputSize, outputSize, bias=True)
Log()
LogSigmoid()
LogSoftMax(dim=None)
LookupTable(nIndex, nOutput, -paddingValue=-1, maxNorm=None, normType=None)
MM(transA=False, transB=False)
MSECriterion(sizeAverage=True)
MV(trans=False)
MarginCriterion(margin=1, sizeAverage=True)
MarginRankingCriterion(margin=0, sizeAverage=True)
MaskedSelect()
Max(-dimension=0)
Mean(-dimension)
Min(-dimension=0)
MixtureTable(-dim=1)
Module()
Mul()
MulConstant(constant_scalar, inplace=False)
MultiCriterion()
MultiLabelMarginCriterion(sizeAverage=True)
MultiLabelSoftMarginCriterion(weights=None)
MultiMarginCriterion(p=1, weights=None, margin=1, sizeAverage=True)
Narrow(-dimension, -offset, length=1)
NarrowTable(-offset, length=1)
Normalize(p, eps=1e-10)
PReLU(nOutputPlane=0)
Padding(-dim, pad, value=0, -index=0, nInputDim=0)
PairwiseDistance(p)
Parallel(-inputDimension, -outputDimension)
ParallelCriterion(repeatTarget=False)
ParallelTable()
PartialLinear(inputsize, outputsize, bias=True)
PixelShuffle(upscale_factor)
Power(p)
RReLU(lower=0.125, upper=0.3333333333333333, inplace=False)
ReLU(inplace=False)
ReLU6(inplace=False)
Replicate(nf, -dim=0)
Reshape(*size)
Select(-dimension, -index)
SelectTable(-index)
Sequential()
Sigmoid()
SmoothL1Criterion(sizeAverage=True)
SoftMarginCriterion()
SoftMax(dim=None)
SoftMin(dim=None)
SoftPlus(beta=1, threshold=20)
SoftShrink(lambd=0.5)
SoftSign()
SpatialAdaptiveMaxPooling(w, h)
SpatialAveragePooling(kW, kH, dW=1, dH=1, padW=0, padH=0)
SpatialBatchNormalization(nOutput, eps=1e-5, momentum=0.1, affine=True)
SpatialClassNLLCriterion(weights=None, sizeAverage=True, ignore_index=-100)
SpatialContrastiveNormalization(nInputPlane=1, kernel=None, threshold=1e-4, thresval=1e-4)
SpatialConvolution(nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None)
SpatialConvolutionLocal(nInputPlane, nOutputPlane, iW, iH, kW, kH, dW=1, dH=1, padW=0, padH=None)
SpatialConvolutionMap(-conMatrix, kW, kH, dW=1, dH=1)
SpatialCrossMapLRN(size, alpha=1e-4, beta=0.75, k=1)
SpatialDilatedConvolution(nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None, dilationH=1, dilationW=None)
SpatialDivisiveNormalization(nInputPlane=1, kernel=None, threshold=1e-4, thresval=None)
SpatialDropout(p=0.5)
SpatialFractionalMaxPooling(poolSizeW, poolSizeH, arg1, arg2)
SpatialFullConvolution(nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None, adjW=0, adjH=0)
SpatialFullConvolutionMap(-conMatrix, kW, kH, dW=1, dH=1)
SpatialLPPooling(nInputPlane, pnorm, kW, kH, dW=None, dH=None)
SpatialMaxPooling(kW, kH, dW=None, dH=None, padW=0, padH=0)
SpatialMaxUnpooling(poolingModule)
SpatialReflectionPadding(pad_l, pad_r=None, pad_t=None, pad_b=None)
SpatialReplicationPadding(pad_l, pad_r=None, pad_t=None, pad_b=None)
SpatialSoftMax()
SpatialSubSampling(nInputPlane, kW, kH, dW=1, dH=1)
SpatialSubtractiveNormalization(nInputPlane=1, kernel=None)
SpatialUpSamplingNearest(scale)
SpatialZeroPadding(pad_l, pad_r=None, pad_t=None, pad_b=None)
SplitTable(-dimension)
Sqrt(b=0, eps=0)
Square()
Squeeze(-dim=None)
Sum(-dimension=0, sizeAverage=False)
Tanh()
TanhShrink()
TemporalConvolution(inputFrameSize, outputFrameSize, kW, dW=1)
TemporalMaxPooling(kW, dW=None)
TemporalSubSampling(inputFrameSize, kW, dW=1)
Threshold(threshold=0, value=0, inplace=False)
Transpose(*-permutations)
Unsqueeze(-dim)
View(*size)
VolumetricAveragePooling(kT, kW, kH, dT=None, dW=None, dH=None, padT=0, padW=0, padH=0, ceil_mode=False, count_include_pad=True)
VolumetricBatchNormalization(nOutput, eps=1e-5, momentum=0.1, affine=True)
VolumetricConvolution(nInputPlane, nOutputPlane, kT, kW, kH, dT=1, dW=1, dH=1, padT=0, padW=None, padH=None)
VolumetricDropout(p=0.5)
VolumetricFullConvolution(nInputPlane, nOutputPlane, kT, kW, kH, dT=1, dW=1, dH=1, padT=0, padW=0, padH=0, adjT=0, adjW=0, adjH=0)
VolumetricMaxPooling(kT, kW, kH, dT=None, dW=None, dH=None, padT=0, padW=0, padH=0)
VolumetricMaxUnpooling(poolingModule)
VolumetricReplicationPadding(pleft, pright=None, ptop=None, pbottom=None, pfront=None, pback=None)
WeightedEuclidean(inputSize, outputSize)
WeightedMSECriterion(weight, sizeAverage=True)
"""  # noqa: E501

# Fields that count from 1 in Lua.
_FROM_ONE = {
    "Concat": "dimension",
    "DepthConcat": "dimension",
    "Index": "dimension",
    "JoinTable": "dimension",
    "LookupTable": "paddingValue",
    "Max": "dimension",
    "Mean": "dimension",
    "Min": "dimension",
    "MixtureTable": "dim",
    "Narrow": "dimension index",
    "NarrowTable": "offset",
    "Padding": "dim index",
    "Parallel": "inputDimension outputDimension",
    "PartialLinear": "partition",
    "Replicate": "dim",
    "Select": "dimension index",
    "SelectTable": "index",
    "SpatialConvolutionMap": "connTable",
    "SpatialFullConvolutionMap": "connTable",
    "SplitTable": "dimension",
    "Squeeze": "dim",
    "Sum": "dimension",
    "Transpose": "permutations",
    "Unsqueeze": "pos",
}

# Python's names of Lua's fields.
_NAMES = {
    "ClassNLLCriterion": {"ignoreIndex": "ignore_index"},
    "GradientReversal": {"lambda": "lambd"},
    "HardShrink": {"lambda": "lambd"},
    "ReLU": {"val": "value"},
    "SoftShrink": {"lambda": "lambd"},
    "SpatialAdaptiveMaxPooling": {"H": "h", "W": "w"},
    "SpatialClassNLLCriterion": {"ignoreIndex": "ignore_index"},
    "Threshold": {"val": "value"},
    "Unsqueeze": {"pos": "dim"},
}

# Fields that exist in Python, as None, where Lua has none.
_NONE = {
    "BCECriterion": "buffer",
    "BatchNormalization": "weight bias gradWeight gradBias save_mean save_std",
    "CAddTable": "inplace",
    "ClassNLLCriterion": "weights",
    "Dropout": "inplace",
    "Linear": "bias gradWeight gradBias addBuffer",
    "LookupTable": "maxNorm normType _gradOutput _sorted _indices",
    "MixtureTable": "table",
    "MultiMarginCriterion": "weights",
    "ParallelCriterion": "repeatTarget",
    "SpatialBatchNormalization": "weight bias gradWeight gradBias save_mean save_std",
    "SpatialClassNLLCriterion": "weights",
    "SpatialConvolution": "bias gradWeight gradBias _gradOutput finput fgradInput _input",
    "SpatialCrossMapLRN": "scale",
    "SpatialFractionalMaxPooling": "outW outH ratioW ratioH",
    "VolumetricBatchNormalization": "weight bias gradWeight gradBias",
    "VolumetricMaxPooling": "ceil_mode",
    "WeightedEuclidean": "fastBackward",
}

# Fields that the class makes anew: their lists are other lists afterwards.
_MADE_ANEW = {"FlattenTable": "output input_map"}

# Arguments that Lua's constructor does not take, and that are fields of the object.
_FIELDS = {
    "LogSoftMax": "dim",
    "MarginCriterion": "sizeAverage",
    "MarginRankingCriterion": "sizeAverage",
    "SoftMax": "dim",
    "SoftMin": "dim",
    "SoftPlus": "threshold",
    "Sqrt": "eps",
    "VolumetricAveragePooling": "ceil_mode count_include_pad",
    "WeightedMSECriterion": "sizeAverage",
}

# Methods beside those of every module.
_METHODS = {
    "Dropout": "setp",
    "GradientReversal": "setLambda",
    "Linear": "noBias",
    "LookupTable": "accUpdateOnly setPadding setMaxNorm setNormType scaleGradByFreq",
    "PartialLinear": "setPartition resetPartition",
    "SpatialAveragePooling": "ceil floor setCountIncludePad setCountExcludePad",
    "SpatialConvolution": "noBias",
    "SpatialDropout": "setp",
    "SpatialFractionalMaxPooling": "fixPoolingRegions",
    "SpatialFullConvolution": "noBias",
    "SpatialMaxPooling": "ceil floor",
    "Threshold": "validateParameters",
    "View": "resetSize",
    "VolumetricDropout": "setp",
    "VolumetricMaxPooling": "ceil floor",
}
# Those whose argument counts from 0 in Python.
_METHODS_FROM_ONE = frozenset({"setPadding", "setPartition"})

_REQUIRED = object()


def _moved(value: Any, by: int) -> Any:
    """Returns an index, a tensor or lists of such, from 0 in place of from 1 (``by`` -1), or back (1)."""
    if isinstance(value, torch.Tensor):
        return value + by
    if isinstance(value, list | tuple):
        return [_moved(item, by) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        counts = value > 0 if by < 0 else value >= 0
        return value + by if counts else value
    return value


@dataclass(frozen=True)
class Argument:
    """A constructor's argument. ``from_one``: it counts from 1 in Lua; ``many``: it takes all that follow."""

    name: str
    default: Any
    from_one: bool
    many: bool


class ClassFacts:
    """How a class of torch.legacy.nn stands to Torch7's class of the same name."""

    def __init__(self, name: str, arguments: tuple[Argument, ...]) -> None:
        self.name = name
        self.arguments = arguments
        self.typename = f"nn.{name}"
        self._from_one = frozenset(_FROM_ONE.get(name, "").split())
        self._names = _NAMES.get(name, {})
        self._lua_names = {python: lua for lua, python in self._names.items()}
        self._none = tuple(_NONE.get(name, "").split())
        self.made_anew = frozenset(_MADE_ANEW.get(name, "").split())
        self.fields = tuple(_FIELDS.get(name, "").split())
        self.methods = tuple(_METHODS.get(name, "").split())

    def bound(self, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """Returns the arguments of a call as Lua takes them. Raises TypeError as Python does."""
        values = list(given)
        if self.arguments and self.arguments[-1].many:
            if named:
                raise TypeError(f"{self.name}() takes no keyword arguments")
            return [_moved(v, 1) for v in values] if self.arguments[-1].from_one else values
        if len(values) > len(self.arguments):
            raise TypeError(f"{self.name}() takes {len(self.arguments)} arguments, not {len(values)}")
        for argument in self.arguments[len(values) :]:
            value = named.pop(argument.name, argument.default)
            if value is _REQUIRED:
                raise TypeError(f"{self.name}() needs the argument {argument.name}")
            values.append(value)
        for name in named:
            raise TypeError(f"{self.name}() has no argument {name}, or it is given twice")
        return [_moved(v, 1) if a.from_one else v for v, a in zip(values, self.arguments, strict=True)]

    def apart(self, given: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments that Lua's constructor takes, and those that are fields alone."""
        if not self.fields:
            return given, {}
        named = {argument.name: value for argument, value in zip(self.arguments, given, strict=True)}
        fields = {name: named.pop(name) for name in self.fields}
        return list(named.values()), fields

    def arguments_of(self, method: str, given: tuple[Any, ...]) -> list[Any]:
        """Returns the arguments of one of ``methods`` as Lua takes them."""
        return [_moved(value, 1) for value in given] if method in _METHODS_FROM_ONE else list(given)

    def fields_of(self, lua: dict[str, Any]) -> dict[str, Any]:
        """Returns Lua's fields as Python has them."""
        fields = dict.fromkeys(self._none)
        for key, value in lua.items():
            fields[self._names.get(key, key)] = _moved(value, -1) if key in self._from_one else value
        return fields

    def field_for_lua(self, name: str, value: Any) -> tuple[str, Any]:
        """Returns a field of Python's as Lua has it."""
        key = self._lua_names.get(name, name)
        return key, _moved(value, 1) if key in self._from_one else value


# Lua's arguments, where they are not Python's.
LUA_ARGUMENTS: dict[str, Callable[..., list[Any]]] = {
    "ClassNLLCriterion": lambda weights, average, ignored: [weights, average, ignored + 1],
    "Copy": lambda given, made, keep: [_type_name(given), _type_name(made), False, keep],
    "Dropout": lambda p, inplace: [p, False, inplace],
    "Padding": lambda dim, pad, value, index, dims: [dim, pad, dims or None, value, index],
    "Replicate": lambda count, dim: [count, dim],
    "Reshape": lambda *size: [torch.Size(_sizes(size))],
    "SpatialDilatedConvolution": lambda *given: [
        *given[:8],
        given[8] if given[9] is None else given[9],
        given[8],
    ],
    "Sum": lambda dimension, average: [dimension, None, average],
    "SpatialClassNLLCriterion": lambda weights, average, ignored: [weights, average, ignored + 1],
    "View": lambda *size: [torch.Size(_sizes(size))],
    "CMul": lambda *size: [torch.Size(_sizes(size))],
    "L1HingeEmbeddingCriterion": lambda margin: [margin],
}


def _sizes(size: tuple[Any, ...]) -> list[int]:
    return [int(n) for n in (size[0] if len(size) == 1 and not isinstance(size[0], int) else size)]


def _type_name(kind: Any) -> str | None:
    return kind if kind is None or isinstance(kind, str) else f"torch.{kind.__name__}"


def _read(line: str) -> ClassFacts:
    name, _, text = line.rstrip(")").partition("(")
    arguments = []
    for part in filter(None, text.split(", ")):
        key, given, default = part.partition("=")
        bare = key.lstrip("*-")
        value = _VALUES[default] if default in _VALUES else float(default) if given else _REQUIRED
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        arguments.append(Argument(bare, value, "-" in key, "*" in key))
    return ClassFacts(name, tuple(arguments))


_VALUES = {"None": None, "True": True, "False": False}

FACTS = {facts.name: facts for facts in map(_read, _ARGUMENTS.split("\n")[1:-1])}
