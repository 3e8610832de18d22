"""Reads the modules of a Torch7 model: one converter for a model, one Fields for each module in it."""

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch
from torch import nn

from lua_compat import t7
from lua_compat.conversion.errors import ConversionError
from lua_compat.declarations import find_declaration
from lua_compat.t7.paths import lookup, step

# torch.nn refuses sizes with various errors, and fields of another type fail where they are used.
_REFUSALS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
_DEEPEST = 100  # nested containers; real models are far below

Conversion = Callable[["Fields"], nn.Module]
FindConversion = Callable[[str], Conversion | None]


class Converter:
    """Converts the modules of one model: shared objects and shared memory in the file are shared in
    PyTorch."""

    def __init__(self, find_conversion: FindConversion) -> None:
        self._find_conversion = find_conversion
        self.places: list[tuple[str, t7.TorchObject, nn.Module]] = []
        self._modules: dict[int, nn.Module | None] = {}  # by id of the source; None while being converted
        self._memories: dict[int, torch.Tensor] = {}  # by id of the t7.Storage
        self._parameters: dict[tuple[Any, ...], nn.Parameter] = {}
        self._depth = 0
        self._unknown: dict[str, list[str]] = {}  # classes without a conversion, and where they are

    def model(self, source: Any, path: str) -> nn.Module:
        """Converts a whole model; all its classes without a conversion are named in one error."""
        try:
            module = self.module(source, path)
        except ConversionError:
            if not self._unknown:  # their placeholders may not fit
                raise
        if self._unknown:
            raise _unknown_classes(self._unknown)
        return module

    def module(self, source: Any, path: str) -> nn.Module:
        if not isinstance(source, t7.TorchObject):
            raise ConversionError(f"a module is expected, not {type(source).__name__}", path)
        known = self._modules.get(id(source), source)
        if isinstance(known, nn.Module):
            return known
        if known is None:
            raise ConversionError("the module contains itself", path)
        if self._depth >= _DEEPEST:
            raise ConversionError(f"more than {_DEEPEST} modules inside one another", path)
        self._modules[id(source)] = None
        self._depth += 1
        module = self._convert(source, path)
        self._depth -= 1
        # Not .train(): the children have a mode of their own.
        module.training = source.get("train") is not False
        self._modules[id(source)] = module
        self.places.append((path, source, module))
        return module

    def _convert(self, source: t7.TorchObject, path: str) -> nn.Module:
        conversion = self._find_conversion(source.typename)
        if conversion is None:
            self._unknown.setdefault(source.typename, []).append(path)
            return nn.Identity()
        if not isinstance(source.fields, t7.LuaTable):
            raise ConversionError(f"{source.typename}: its fields were not read", path)
        fields = Fields(self, source, path)
        try:
            return conversion(fields)
        except ConversionError:
            raise
        except _REFUSALS as error:
            fields.fail(str(error).splitlines()[0] if str(error) else type(error).__name__)

    def parameter(self, tensor: t7.Tensor, shape: tuple[int, ...] | None) -> nn.Parameter:
        """Returns the tensor as a parameter. Raises ValueError for another number of elements, and for
        integers."""
        view = self._view(tensor)
        if not view.is_floating_point():
            raise ValueError(f"a {tensor.typename} cannot be trained")
        view = view if shape is None else view.view(shape)
        key = (id(tensor.storage), view.storage_offset(), view.shape, view.stride())
        if key not in self._parameters:
            self._parameters[key] = nn.Parameter(view)
        return self._parameters[key]

    def tensor(self, tensor: t7.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.array(tensor.numpy()))

    def _view(self, tensor: t7.Tensor) -> torch.Tensor:
        """Returns the tensor over its storage's copy: views that overlap in the file overlap here."""
        if tensor.storage is None:
            return torch.empty(0)
        if id(tensor.storage) not in self._memories:
            self._memories[id(tensor.storage)] = torch.from_numpy(np.array(tensor.storage.array))
        memory = self._memories[id(tensor.storage)]
        return memory.as_strided(tensor.size, tensor.stride, tensor.storage_offset - 1)


class Fields:
    """Gives a conversion its module's fields. Every failure is a ConversionError with the module's path."""

    def __init__(self, converter: "Converter", source: t7.TorchObject, path: str) -> None:
        self._converter = converter
        self._source = source
        self.path = path
        self.typename = source.typename
        self.version = source.version
        self._declaration = find_declaration(source.typename)

    def fail(self, problem: str) -> NoReturn:
        raise ConversionError(f"{self.typename}: {problem}", self.path)

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the field as stored in the file; ``default`` if it is nil or absent."""
        return self._source.get(name, default)

    def absent(self, name: str) -> Any:
        """Returns the declared value for a module without this field; None if there is none."""
        return self._declaration and self._declaration.absent(name, self.number)

    def number(self, name: str, default: float | None = None) -> float:
        """Returns the number in the field; if there is none, ``default`` or the declared value."""
        value = self.get(name)
        if value is None:
            value = self.absent(name) if default is None else default
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fail(f"field {name} must be a number, not {_what(value)}")
        return float(value)

    def integer(self, name: str, default: int | None = None) -> int:
        value = self.number(name, default)
        if not value.is_integer():
            self.fail(f"field {name} must be a whole number, not {value}")
        return int(value)

    def integers(self, *names: str, default: int | None = None) -> Any:
        """Returns a tuple of ints; typed Any because torch.nn's hints want tuples of one length each."""
        return tuple(self.integer(name, default) for name in names)

    def boolean(self, name: str) -> bool:
        """Returns whether the field is true; if there is none, the declared value or False."""
        value = self.get(name)
        return bool(self.absent(name) if value is None else value)

    def plain(self, name: str) -> Any:
        """Returns numbers, strings and booleans unchanged, tables as lists, storages as tuples; None if
        absent."""
        return self._plain(name, self.get(name))

    def _plain(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, t7.Storage):
            return tuple(value.array.tolist())
        if isinstance(value, t7.LuaTable):
            return [self._plain(name, item) for item in value.array()]
        if isinstance(value, t7.Tensor):
            return self._converter.tensor(value)
        self.fail(f"field {name} is {_what(value)}, which is not understood")

    def parameter(self, name: str, shape: tuple[int, ...] | None = None) -> nn.Parameter:
        """Returns the tensor as a parameter, in ``shape`` if given; the same one for fields that share
        memory."""
        parameter = self.optional_parameter(name, shape)
        if parameter is None:
            self.fail(f"field {name} is {'missing' if self.get(name) is None else 'empty'}")
        return parameter

    def optional_parameter(self, name: str, shape: tuple[int, ...] | None = None) -> nn.Parameter | None:
        """Returns the same as ``parameter``, or None if the field is absent or empty."""
        value = self.get(name)
        if value is None or (isinstance(value, t7.Tensor) and not value.numel()):
            return None
        if not isinstance(value, t7.Tensor):
            self.fail(f"field {name} must be a tensor, not {_what(value)}")
        try:
            return self._converter.parameter(value, shape)
        except (RuntimeError, ValueError) as error:
            self.fail(f"field {name}: {error}")

    def tensor(self, name: str, required: bool = True) -> Any:
        """Returns a copy of the tensor, not a parameter."""
        value = self.get(name)
        if isinstance(value, t7.Tensor):
            return self._converter.tensor(value)
        if value is None and not required:
            return None
        self.fail(f"field {name} must be a tensor, not {_what(value)}")

    @property
    def source(self) -> t7.TorchObject:
        """Returns the Torch7 module itself."""
        return self._source

    def parameter_at(self, path: str) -> nn.Parameter | None:
        """Returns the tensor at a path in the module, such as modules.1.weight, as a parameter; None if
        there is none."""
        try:
            value = lookup(self._source, path)
        except KeyError:
            return None
        return self._converter.parameter(value, None) if isinstance(value, t7.Tensor) else None

    def inner(self, name: str) -> "Fields | None":
        """Returns the fields of the object in the field; None if there is none."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, t7.TorchObject):
            self.fail(f"field {name} must be a module, not {_what(value)}")
        return Fields(self._converter, value, f"{self.path}{step(name)}")

    def child(self, name: str) -> nn.Module:
        return self._converter.module(self.get(name), f"{self.path}{step(name)}")

    def children(self) -> list[nn.Module]:
        """Returns the modules of the field ``modules``, converted."""
        modules = self.get("modules")
        if not isinstance(modules, t7.LuaTable):
            self.fail(f"field modules must be a table, not {_what(modules)}")
        return [
            self._converter.module(module, f"{self.path}.modules[{place}]")
            for place, module in enumerate(modules.array(), 1)
        ]

    def only_child(self) -> nn.Module:
        children = self.children()
        if len(children) != 1:
            self.fail(f"holds {len(children)} modules; one is expected")
        return children[0]

    def module_field(self, table: str, place: int) -> t7.TorchObject:
        """Returns the module at ``place`` of the table in the field, not converted."""
        modules = self.get(table)
        module = modules.get(place) if isinstance(modules, t7.LuaTable) else None
        if not isinstance(module, t7.TorchObject):
            self.fail(f"field {table}[{place}] must be a module, not {_what(module)}")
        return module

    def convert(self, source: Any, place: str) -> nn.Module:
        """Converts another module that this one holds at ``place`` (a path step)."""
        return self._converter.module(source, f"{self.path}{place}")

    @property
    def dtype(self) -> torch.dtype:
        """Returns the number type of ``module:type()``; double if it is unknown."""
        return _DTYPES.get(str(self.get("_type")).replace("torch.Cuda", "torch."), torch.float64)


_DTYPES = {
    "torch.HalfTensor": torch.float16,
    "torch.FloatTensor": torch.float32,
    "torch.Tensor": torch.float32,  # torch.CudaTensor
    "torch.DoubleTensor": torch.float64,
}


_WHAT_HELPS = (
    "; give the Lua files that declare {them} (lua=[...], convert --lua FILE),"
    " or a conversion (conversions={{...}})"
)


def _unknown_classes(found: dict[str, list[str]]) -> ConversionError:
    ((first, places), *others) = found.items()
    problem = f"{first} has no counterpart in PyTorch here{_and_more(places[1:])}"
    problem += "".join(f"; nor has {name} at {at[0]}{_and_more(at[1:])}" for name, at in others)
    return ConversionError(problem + _WHAT_HELPS.format(them="them" if others else "it"), places[0])


def _and_more(places: list[str]) -> str:
    if not places:
        return ""
    return f" (also at {places[0]})" if len(places) == 1 else f" (also at {len(places)} other places)"


def _what(value: Any) -> str:
    if value is None:
        return "nil"
    if isinstance(value, t7.TorchObject | t7.Tensor | t7.Storage):
        return f"a {value.typename}"
    return {t7.LuaTable: "a table", t7.LuaFunction: "a function"}.get(type(value), repr(value))
