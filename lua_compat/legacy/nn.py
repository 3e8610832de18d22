"""The classes of torch.legacy.nn."""

from typing import Any

from lua_compat.legacy.classes import FACTS
from lua_compat.legacy.modules import CLASSES, Container, Criterion, CriterionList, Module

_CONTAINERS = frozenset({"Sequential", "Concat", "DepthConcat", "ConcatTable", "Parallel", "ParallelTable"})
_LISTS = frozenset({"MultiCriterion", "ParallelCriterion"})


def _base_of(name: str) -> type:
    if name in _CONTAINERS:
        return Container
    if name in _LISTS:
        return CriterionList
    return Criterion if name.endswith("Criterion") or name == "L1Cost" else Module


def _made(name: str) -> Any:
    return type(
        name, (_base_of(name),), {"_lua_class": name, "__module__": __name__, "__doc__": f"nn.{name}."}
    )


for _name in FACTS:
    globals().setdefault(_name, _made(_name))
    CLASSES[f"nn.{_name}"] = globals()[_name]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch.legacy.nn has no {name}")


__all__ = [*FACTS]
