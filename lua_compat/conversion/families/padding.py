"""Padding of images, volumes and slices."""

from typing import Any

from torch import nn

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import padding

_EDGES = ("pad_l", "pad_r", "pad_t", "pad_b")
_FACES = ("pleft", "pright", "ptop", "pbottom", "pfront", "pback")


CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        padding.Padding,
    ),
    "nn.SpatialZeroPadding": lambda f: nn.ZeroPad2d(f.integers(*_EDGES)),
    "nn.SpatialReflectionPadding": lambda f: nn.ReflectionPad2d(f.integers(*_EDGES)),
    "nn.SpatialReplicationPadding": lambda f: nn.ReplicationPad2d(f.integers(*_EDGES)),
    "nn.VolumetricReplicationPadding": lambda f: nn.ReplicationPad3d(f.integers(*_FACES)),
}


def _padding_export(typename: str, names: tuple[str, ...]) -> Export:
    def export(w: ModuleWriter, m: Any) -> t7.TorchObject:
        return w.object(typename, **dict(zip(names, m.padding, strict=True)))

    return export


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            padding.Padding: None,
        }
    ),
    nn.ZeroPad2d: _padding_export("nn.SpatialZeroPadding", _EDGES),
    nn.ReflectionPad2d: _padding_export("nn.SpatialReflectionPadding", _EDGES),
    nn.ReplicationPad2d: _padding_export("nn.SpatialReplicationPadding", _EDGES),
    nn.ReplicationPad3d: _padding_export("nn.VolumetricReplicationPadding", _FACES),
}
