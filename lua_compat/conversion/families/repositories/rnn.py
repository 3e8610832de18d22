"""Recurrent layers of rnn (Element-Research's, and the later one under torch) and torch-rnn."""

from torch import nn

from convnet_benchmarks.nets.modules.torch7 import View
from lua_compat import t7
from lua_compat.conversion.declared import declared_table
from lua_compat.conversion.families.linear import convert_linear
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export
from lua_compat.torch_modules import decorators
from lua_compat.torch_modules.repositories import rnn


def _remember(f: Fields) -> str:
    if f.get("remember_states") is not None:  # torch-rnn's
        return "both" if f.boolean("remember_states") else "neither"
    remember = f.get("_remember") or "neither"
    if remember not in ("neither", "train", "eval", "both"):
        f.fail(f"field _remember must be neither, train, eval or both, not {remember!r}")
    return str(remember)


def _given_states(f: Fields, *names: str) -> None:
    for name in names:
        if isinstance(f.get(name), t7.Tensor) and f.get(name).numel():
            f.fail(f"a first state in the file ({name}) has no counterpart")


def _step_module(f: Fields) -> nn.Module:
    """Converts the module that computes one step; later versions hold it as their only module."""
    return f.child("recurrentModule") if f.get("recurrentModule") is not None else f.children()[0]


def _cell(states: int) -> Conversion:
    def convert(f: Fields) -> nn.Module:
        _given_states(f, "userPrevOutput", "userPrevCell")
        output = f.integer("outputSize", f.get("outputsize"))
        cell = f.integer("hiddensize", output)
        return rnn.Cell(module=_step_module(f), sizes=(output, cell)[:states], lua_class=f.typename)

    return convert


def _recurrence(f: Fields) -> nn.Module:
    size = f.plain("outputSize")
    return rnn.Recurrence(module=_step_module(f), outputSize=size, nInputDim=f.integer("nInputDim"))


def _recurrent(f: Fields) -> nn.Module:
    return rnn.Recurrent(initial=f.child("initialModule"), module=f.child("recurrentModule"))


def _sequencer(f: Fields) -> nn.Module:
    return rnn.Sequencer(module=f.children()[0], remember=_remember(f))


def _repeater(f: Fields) -> nn.Module:
    return rnn.Repeater(module=f.children()[0], rho=f.integer("rho", f.get("seqlen")))


def _both_ways(f: Fields) -> nn.Module:
    ahead, back, merge = f.children()
    return rnn.BiSequencerLM(ahead=ahead, back=back, merge=merge)


def _masked(kind: type[rnn.MaskZero]) -> Conversion:
    def convert(f: Fields) -> nn.Module:
        if f.get("nInputDim") is None:
            f.fail("a mask that is given from outside (setZeroMask) has no counterpart")
        return kind(module=f.only_child(), nInputDim=f.integer("nInputDim"))

    return convert


def _lookup_table(f: Fields) -> nn.Module:
    weight = f.parameter("weight")
    module = rnn.LookupTableMaskZero(weight.shape[0], weight.shape[1], device="meta")
    module.weight = weight
    return module


def _sequence(kind: type[rnn._Sequence]) -> Conversion:
    def convert(f: Fields) -> nn.Module:
        _given_states(f, "userPrevOutput", "userPrevCell")
        of_torch_rnn = f.get("hidden_dim") is not None
        masked = f.boolean("maskzero")
        if masked and f.boolean("v2"):
            f.fail("a mask that is given from outside (setZeroMask) has no counterpart")
        more = {"weightO": f.optional_parameter("weightO")} if kind is rnn.SeqLSTM else {}
        return kind(
            weight=f.parameter("weight"), bias=f.parameter("bias"), remember=_remember(f), maskzero=masked,
            batchfirst=of_torch_rnn or f.boolean("batchfirst"), forgets_with_mode=not of_torch_rnn, **more,
        )  # fmt: skip

    return convert


def _lstm(f: Fields) -> nn.Module:
    """torch-rnn's layer of whole sequences has the name of rnn's layer of steps."""
    return (_sequence(rnn.SeqLSTM) if f.get("hidden_dim") is not None else _cell(2))(f)


def _language_model(f: Fields) -> nn.Module:
    """Converts torch-rnn's net, which sets its views to the batch's size before each pass: the module between
    two of them takes all steps as one batch."""
    net = f.child("net")
    if not isinstance(net, nn.Sequential):
        f.fail("field net must be an nn.Sequential")
    found: list[nn.Module] = []
    layers = iter(net)
    for layer in layers:
        if isinstance(layer, View):
            layer = decorators.Bottle(module=next(layers), nInputDim=2, nOutputDim=2)
            next(layers)
        found.append(layer)
    return nn.Sequential(*found)


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        rnn.ReverseTable,
        rnn.SeqReverseSequence,
        rnn.SAdd,
        rnn.ExpandAs,
        rnn.StepLSTM,
        rnn.StepGRU,
    ),
    "nn.ReverseSequence": lambda f: rnn.SeqReverseSequence(dim=f.integer("dim", 1)),
    "nn.CopyGrad": lambda f: nn.Identity(),
    "nn.LSTM": _lstm,
    "nn.FastLSTM": _cell(2),
    "nn.RecLSTM": _cell(2),
    "nn.GRU": _cell(1),
    "nn.RecGRU": _cell(1),
    "nn.MuFuRu": _cell(1),
    "nn.Recurrence": _recurrence,
    "nn.Recurrent": _recurrent,
    "nn.Recursor": _step_module,
    "nn.Sequencer": _sequencer,
    "nn.Repeater": _repeater,
    "nn.BiSequencer": lambda f: f.children()[0],
    "nn.SeqBRNN": lambda f: f.children()[0],
    "nn.LanguageModel": _language_model,
    "nn.ReverseUnreverse": lambda f: f.only_child(),
    "nn.BiSequencerLM": _both_ways,
    "nn.MaskZero": _masked(rnn.MaskZero),
    "nn.TrimZero": _masked(rnn.TrimZero),
    "nn.LookupTableMaskZero": _lookup_table,
    "nn.LinearNoBias": convert_linear,
    "nn.SeqLSTM": _sequence(rnn.SeqLSTM),
    "nn.SeqLSTMP": _sequence(rnn.SeqLSTM),
    "nn.SeqGRU": _sequence(rnn.SeqGRU),
    "nn.VanillaRNN": _sequence(rnn.SequenceRNN),
}

EXPORTS: dict[type, Export] = {}  # in rnn_exports.py
