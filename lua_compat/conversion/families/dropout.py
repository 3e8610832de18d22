"""Dropout and noise."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import dropout
from lua_compat.torch_modules.repositories.rnn import LazyDropout


def _dropout(f: Fields) -> nn.Module:
    if f.boolean("lazy"):  # rnn's
        return LazyDropout(p=f.number("p"), mono=f.boolean("mono"), v2=f.boolean("v2"))
    if f.boolean("v2") and not f.boolean("stochastic_inference"):
        kind = dropout.InPlaceDropout if f.boolean("inplace") else nn.Dropout
        return kind(f.number("p"), f.boolean("inplace"))
    return dropout.Dropout(
        p=f.number("p"),
        v2=f.boolean("v2"),
        inplace=f.boolean("inplace"),
        stochastic_inference=f.boolean("stochastic_inference"),
    )


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        dropout.SpatialDropout,
        dropout.VolumetricDropout,
        dropout.WhiteNoise,
    ),
    "nn.Dropout": _dropout,
}


def _dropout_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    return w.object("nn.Dropout", p=m.p, v2=True, inplace=m.inplace)


def _plane_dropout_export(typename: str) -> Export:
    """torch.nn scales kept planes when training, Torch7 all planes when evaluating: a factor compensates."""

    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        drop = w.object(typename, p=m.p)
        factor = w.object("nn.MulConstant", constant_scalar=1 / (1 - m.p))
        return w.object("nn.Sequential", modules=[drop, factor])

    return export


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            dropout.Dropout: None,
            dropout.SpatialDropout: None,
            dropout.VolumetricDropout: None,
            dropout.WhiteNoise: None,
        }
    ),
    nn.Dropout: _dropout_export,
    nn.Dropout2d: _plane_dropout_export("nn.SpatialDropout"),
    nn.Dropout3d: _plane_dropout_export("nn.VolumetricDropout"),
}
