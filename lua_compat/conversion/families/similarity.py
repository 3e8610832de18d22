"""Comparisons of vectors with stored ones, or with each other."""

from typing import Any

from lua_compat import t7
from lua_compat.conversion.declared import declared_exports, declared_table, pair_gradient
from lua_compat.conversion.reading import Conversion
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules import similarity

CONVERSIONS: dict[str, Conversion] = {
    **declared_table(
        similarity.Bilinear,
        similarity.Cosine,
        similarity.Euclidean,
        similarity.WeightedEuclidean,
        similarity.DotProduct,
        similarity.CosineDistance,
        similarity.PairwiseDistance,
    ),
}


def _bilinear_export(w: ModuleWriter, m: Any) -> t7.TorchObject:
    pair = t7.LuaTable.from_list([w.empty(), w.empty()])
    return w.object("nn.Bilinear", weight=m.weight, bias=m.bias, gradInput=pair)


EXPORTS: dict[type, Export] = {
    **declared_exports(
        {
            similarity.Cosine: None,
            similarity.Euclidean: None,
            similarity.WeightedEuclidean: None,
            similarity.DotProduct: pair_gradient,
            similarity.CosineDistance: pair_gradient,
            similarity.PairwiseDistance: None,
        }
    ),
    similarity.Bilinear: _bilinear_export,
}
