"""The classes of torch.legacy.nn."""

from typing import Any

from lua_compat.legacy.classes import FACTS
from lua_compat.legacy.maps import maps
from lua_compat.legacy.modules import CLASSES, Container, Criterion, CriterionList, Module
from lua_compat.legacy.overrides import AlongDimension, AnyLayout

_CONTAINERS = frozenset({"Sequential", "Concat", "DepthConcat", "ConcatTable", "Parallel", "ParallelTable"})
_LISTS = frozenset({"MultiCriterion", "ParallelCriterion"})
_SOFT_MAXIMA = frozenset({"SoftMax", "SoftMin", "LogSoftMax"})


def _base_of(name: str) -> type:
    if name in _CONTAINERS:
        return Container
    if name in _LISTS:
        return CriterionList
    if name in _SOFT_MAXIMA:
        return AlongDimension
    if name == "View":
        return AnyLayout
    return Criterion if name.endswith("Criterion") or name == "L1Cost" else Module


def _no_bias(self: Any) -> Any:
    self.bias = self.gradBias = None
    return self


def _method(name: str, method: str) -> Any:
    if method == "noBias":
        return _no_bias

    def call(self: Any, *arguments: Any) -> Any:
        self._call(method, *FACTS[name].arguments_of(method, arguments))
        return self

    call.__name__ = method
    return call


def _made(name: str) -> Any:
    fields: dict[str, Any] = {"_lua_class": name, "__module__": __name__, "__doc__": f"nn.{name}."}
    if name.endswith("ConvolutionMap"):
        fields["maps"] = maps
    fields |= {method: _method(name, method) for method in FACTS[name].methods}
    return type(name, (_base_of(name),), fields)


for _name in FACTS:
    globals().setdefault(_name, _made(_name))
    CLASSES[f"nn.{_name}"] = globals()[_name]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.legacy.nn has no {name}")


__all__ = [*FACTS]
