"""Writes recurrent layers of rnn and torch-rnn with the fields that their methods need, without a state."""

from typing import Any

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports
from lua_compat.conversion.families.linear import lookup_table_fields
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules.repositories import rnn

_LONGEST = 9999  # steps, as rnn's own default
_OF_STEPS = (rnn.Cell, rnn.Recurrence, rnn.Recurrent)


def _of_steps(w: ModuleWriter, typename: str, child: Any, **fields: Any) -> t7.TorchObject:
    """Returns one of rnn's AbstractRecurrents around the module that computes a step."""
    common = {
        "recurrentModule": child, "modules": [child], "sharedClones": [child], "rho": _LONGEST, "step": 1,
        "outputs": [], "gradInputs": [], "_gradOutputs": [], "gradOutputs": [],
    }  # fmt: skip
    return w.object(typename, **{**common, **fields})


def _cell(w: ModuleWriter, m: rnn.Cell) -> t7.TorchObject:
    w.require("Rec" not in m.lua_class, f"{m.lua_class} of the later rnn is not written")
    child = w.child(m.module, ".recurrentModule")
    fields: dict[str, Any] = {"outputSize": m.sizes[0], "zeroTensor": w.empty(), "p": 0, "mono": False}
    return _of_steps(w, m.lua_class, child, cells=[], gradCells=[], **fields)


def _recurrence(w: ModuleWriter, m: rnn.Recurrence) -> t7.TorchObject:
    child = w.child(m.module, ".recurrentModule")
    fields = {"outputSize": m.outputSize, "nInputDim": m.nInputDim, "typeTensor": w.empty()}
    return _of_steps(w, "nn.Recurrence", child, module=child, **fields)


def _recurrent(w: ModuleWriter, m: rnn.Recurrent) -> t7.TorchObject:
    initial, child = w.child(m.initial, ".initialModule"), w.child(m.module, ".recurrentModule")
    clones = t7.LuaTable({2: child})
    return _of_steps(
        w, "nn.Recurrent", child, initialModule=initial, modules=[initial, child], sharedClones=clones
    )


def _step_by_step(w: ModuleWriter, module: Any) -> t7.TorchObject:
    """Returns a module as a Sequencer holds it: a module that is not recurrent is wrapped in a Recursor."""
    child = w.child(module, ".modules[1]")
    return child if isinstance(module, _OF_STEPS) else _of_steps(w, "nn.Recursor", child, module=child)


def _sequencer(w: ModuleWriter, m: rnn.Sequencer) -> t7.TorchObject:
    child = _step_by_step(w, m.module)
    buffers: dict[str, Any] = {"output": [], "tableoutput": [], "tablegradInput": [], "_output": []}
    return w.object("nn.Sequencer", module=child, modules=[child], _remember=m.remember, **buffers)


def _repeater(w: ModuleWriter, m: rnn.Repeater) -> t7.TorchObject:
    child = _step_by_step(w, m.module)
    return w.object("nn.Repeater", module=child, modules=[child], rho=m.rho, output=[])


def _both_ways(w: ModuleWriter, m: rnn.BiSequencerLM) -> t7.TorchObject:
    names = {"_fwd": m.ahead, "_bwd": m.back, "_merge": m.merge}
    parts = {name: w.child(part, f".{name}") for name, part in names.items()}
    return w.object("nn.BiSequencerLM", modules=list(parts.values()), output=[], gradInput=[], **parts)


def _masked(w: ModuleWriter, m: rnn.MaskZero) -> t7.TorchObject:
    child = w.child(m.module, ".modules[1]")
    more = {"temp": w.empty(), "gradTemp": w.empty()} if isinstance(m, rnn.TrimZero) else {}
    return w.object(f"nn.{type(m).__name__}", module=child, modules=[child], nInputDim=m.nInputDim, **more)


def _lookup_table(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.LookupTableMaskZero", **lookup_table_fields(w, m))


def _buffers(w: ModuleWriter, *names: str) -> dict[str, Any]:
    return {name: w.empty() for name in names}


def _sequence(w: ModuleWriter, m: Any) -> t7.TorchObject:
    """Writes a layer of whole sequences under its name in rnn, or in torch-rnn."""
    gates = {rnn.SeqLSTM: 4, rnn.SeqGRU: 3, rnn.SequenceRNN: 1}[type(m)]
    cells = m.bias.numel() // gates
    projection = getattr(m, "weightO", None)
    outputs = cells if projection is None else projection.shape[1]
    inputs = m.weight.shape[0] - outputs
    names = ["buffer1", "buffer2", "buffer3", "grad_a_buffer", "gates", "cell", "h0", "c0"]
    fields = _buffers(w, *names, "grad_h0", "grad_c0", "grad_x")
    fields |= {"weight": m.weight, "bias": m.bias}
    if not m.forgets_with_mode:
        name = {rnn.SeqLSTM: "nn.LSTM", rnn.SequenceRNN: "nn.VanillaRNN"}.get(type(m), "")
        w.require(bool(name) and m.batchfirst, "torch-rnn has no such layer")
        memory = m.remember == "both"
        return w.object(name, input_dim=inputs, hidden_dim=cells, remember_states=memory, **fields)
    w.require(gates > 1, "rnn has no such layer")
    fields |= {"batchfirst": m.batchfirst, "maskzero": m.maskzero, "_remember": m.remember}
    if gates == 3:
        return w.object("nn.SeqGRU", inputSize=inputs, outputSize=outputs, **fields)
    sizes = {"inputsize": inputs, "hiddensize": cells, "outputsize": outputs}
    if projection is None:
        return w.object("nn.SeqLSTM", **sizes, **fields)
    return w.object("nn.SeqLSTMP", weightO=projection, **sizes, **fields)


def _dropout(w: ModuleWriter, m: rnn.LazyDropout) -> t7.TorchObject:
    return w.object(
        "nn.Dropout", p=m.p, v2=m.v2, lazy=True, mono=m.mono, flag=True, inplace=False, noise=w.empty()
    )


CONVERSIONS: dict[str, Conversion] = {}  # in rnn.py
EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            rnn.SAdd: None,
            rnn.SeqReverseSequence: None,
            rnn.ReverseTable: lambda w, m: {"output": [], "gradInput": []},
            rnn.ExpandAs: lambda w, m: {
                "output": [], "gradInput": [], "sum1": w.empty(), "sum2": w.empty(),
            },
        }
    ),
    rnn.Cell: _cell,
    rnn.Recurrence: _recurrence,
    rnn.Recurrent: _recurrent,
    rnn.Sequencer: _sequencer,
    rnn.Repeater: _repeater,
    rnn.BiSequencerLM: _both_ways,
    rnn.MaskZero: _masked,
    rnn.TrimZero: _masked,
    rnn.LookupTableMaskZero: _lookup_table,
    rnn.SeqLSTM: _sequence,
    rnn.SeqGRU: _sequence,
    rnn.SequenceRNN: _sequence,
    rnn.LazyDropout: _dropout,
}  # fmt: skip
