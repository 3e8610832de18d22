"""Conversion of the classes whose Torch7 fields are declared in lua_compat.torch_modules."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from lua_compat.conversion.fields import Fields
from lua_compat.torch_modules.base import Torch7Module, declared_fields, is_parameter


def declared(kind: type[Torch7Module]) -> Callable[[Fields], nn.Module]:
    """Reads every declared field by its name and annotation."""

    def convert(fields: Fields) -> nn.Module:
        values: dict[str, Any] = {}
        for name, annotation in declared_fields(kind).items():
            if annotation is nn.Parameter:
                values[name] = fields.parameter(name)
            elif is_parameter(annotation):
                values[name] = fields.optional_parameter(name)
            elif annotation is Tensor:
                values[name] = fields.tensor(name)
            elif annotation is nn.Module:
                values[name] = fields.child(name)
            elif fields.get(name) is not None:
                values[name] = fields.plain(name)
        return kind(**values)

    return convert


def declared_table(*kinds: type[Torch7Module]) -> dict[str, Callable[[Fields], nn.Module]]:
    """{'nn.Narrow': ..., 'nn.Select': ...} of the classes Narrow, Select."""
    return {kind.typename or f"nn.{kind.__name__}": declared(kind) for kind in kinds}
