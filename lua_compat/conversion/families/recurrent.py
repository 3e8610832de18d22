"""cudnn's recurrent layers."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export


class LSTM(nn.LSTM):
    """nn.LSTM that returns only the outputs."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        return super().forward(input, hx)[0]


class GRU(nn.GRU):
    """nn.GRU that returns only the outputs."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        return super().forward(input, hx)[0]


class RNN(nn.RNN):
    """nn.RNN that returns only the outputs."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        return super().forward(input, hx)[0]


_MODES: dict[str, tuple[Any, dict[str, str]]] = {
    "CUDNN_LSTM": (LSTM, {}),
    "CUDNN_GRU": (GRU, {}),
    "CUDNN_RNN_TANH": (RNN, {"nonlinearity": "tanh"}),
    "CUDNN_RNN_RELU": (RNN, {"nonlinearity": "relu"}),
}


def _stack(f: Fields) -> nn.Module:
    """Converts one vector of parameters: the matrices of each layer and direction, then all biases.

    cuDNN's gates are in PyTorch's order.
    """
    mode = f.get("mode")
    if mode not in _MODES:
        f.fail(f"field mode must be one of {', '.join(_MODES)}, not {mode!r}")
    if f.boolean("rememberStates"):
        f.fail("states kept from one sequence to the next (rememberStates) have no counterpart")
    for name in ("hiddenInput", "cellInput"):
        if isinstance(f.get(name), t7.Tensor) and f.get(name).numel():
            f.fail(f"a first state in the file ({name}) has no counterpart")
    kind, options = _MODES[mode]
    module: Any = kind(
        f.integer("inputSize"), f.integer("hiddenSize"), f.integer("numLayers", 1),
        batch_first=f.boolean("batchFirst"), dropout=f.number("dropout", 0),
        bidirectional=f.integer("numDirections", 1) == 2, device="meta", **options,
    )  # fmt: skip
    vector = f.parameter("weight").detach()
    names = [name for name, _ in module.named_parameters()]
    start = 0
    for name in [n for n in names if "weight" in n] + [n for n in names if "bias" in n]:
        shape = getattr(module, name).shape
        if start + shape.numel() > vector.numel():
            f.fail(f"field weight has {vector.numel()} elements, too few")
        setattr(module, name, nn.Parameter(vector[start : start + shape.numel()].view(shape)))
        start += shape.numel()
    if start != vector.numel():
        f.fail(f"field weight has {vector.numel()} elements; {start} are expected")
    return module


CONVERSIONS: dict[str, Conversion] = {
    f"cudnn.{name}": _stack for name in ("RNN", "LSTM", "GRU", "BLSTM", "BGRU", "RNNReLU", "RNNTanh")
}
EXPORTS: dict[type, Export] = {}
