"""Conversion in both directions for the classes whose Torch7 fields are declared in
lua_compat.torch_modules."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from lua_compat import t7
from lua_compat.conversion.reading import Conversion, Fields
from lua_compat.conversion.writing import Export, ModuleWriter
from lua_compat.torch_modules.base import Torch7Module, declared_fields, is_parameter, torch7_name

Extra = Callable[[ModuleWriter, Any], dict[str, Any]]


def declared(kind: type[Torch7Module]) -> Conversion:
    """Returns a conversion that reads every declared field by its name and annotation."""

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
            elif (value := fields.plain(name)) is not None or (value := fields.absent(name)) is not None:
                values[name] = value
        return kind(**values)

    return convert


def declared_table(*kinds: type[Torch7Module]) -> dict[str, Conversion]:
    """Returns {'nn.Narrow': ..., 'nn.Select': ...} for the classes Narrow, Select."""
    return {torch7_name(kind): declared(kind) for kind in kinds}


def declared_export(kind: type[Torch7Module], extra: Extra | None = None) -> Export:
    """Returns an export that writes every declared field, and the fields that ``extra`` gives because
    Torch7's methods need them."""

    def export(writer: ModuleWriter, module: Any) -> t7.TorchObject:
        fields = {
            name: writer.child(getattr(module, name), f".{name}")
            if annotation is nn.Module
            else getattr(module, name)
            for name, annotation in declared_fields(kind).items()
        }
        return writer.object(torch7_name(kind), **fields, **(extra(writer, module) if extra else {}))

    return export


def declared_exports(kinds: dict[type[Torch7Module], Extra | None]) -> dict[type, Export]:
    return {kind: declared_export(kind, extra) for kind, extra in kinds.items()}


def pair_gradient(w: ModuleWriter, m: Any) -> dict[str, Any]:
    """Returns the extra field of a layer of two inputs."""
    return {"gradInput": t7.LuaTable.from_list([w.empty(), w.empty()])}
