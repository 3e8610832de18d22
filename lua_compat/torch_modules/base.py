"""The base of Torch7's layers: fields that are both its constructor's arguments and its attributes."""

import inspect
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from lua_compat.declarations import find_declaration

Size = tuple[int, ...]  # a torch.LongStorage of sizes


class Torch7Module(nn.Module):
    """A layer whose Torch7 fields are annotations; the defaults of Torch7's class are its declaration's.

    Fields annotated ``nn.Parameter`` or ``nn.Parameter | None`` are registered as parameters, tensors as
    buffers, ``nn.Module`` as children. Raises TypeError for an unknown field, or a missing one without a
    default.
    """

    typename: ClassVar[str] = ""  # of the Torch7 class; '' for 'nn.' and the name of the Python class

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        known = declared_fields(type(self))
        unknown = fields.keys() - known.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        for name, kind in known.items():
            if name in fields:
                self._set_field(name, kind, fields[name])
            elif is_parameter(kind):
                self.register_parameter(name, None)
            elif not hasattr(type(self), name):
                value = self._default(name)
                if value is None:
                    raise TypeError(f"{type(self).__name__} needs the field {name}")
                setattr(self, name, value)

    def _default(self, name: str) -> Any:
        declaration = find_declaration(torch7_name(type(self)))
        return declaration and declaration.default(name, partial(getattr, self))

    def _set_field(self, name: str, kind: Any, value: Any) -> None:
        if is_parameter(kind):
            self.register_parameter(name, value)
        elif kind is Tensor or isinstance(value, Tensor):
            self.register_buffer(name, value)
        else:
            setattr(self, name, value)

    def extra_repr(self) -> str:
        shown = {name: getattr(self, name) for name, kind in declared_fields(type(self)).items()
                 if not is_parameter(kind) and kind not in (Tensor, nn.Module)}  # fmt: skip
        return ", ".join(f"{name}={value}" for name, value in shown.items())


class InPlace(nn.Module):
    """A mixin for modules that may overwrite their input, which they do not while autograd records.

    An earlier operation may need its output for its gradient, as tanh does: Torch7's own gradient is then
    computed from the overwritten values, and PyTorch refuses. ``inplace`` is false while gradients are
    recorded, so that ``forward`` remains the base class's, and code that recognises that class recognises
    this one, too. ``shared``: others read the same input (a copy), and must see it overwritten.
    """

    _inplace = False
    shared = False

    @property
    def inplace(self) -> bool:
        return self._inplace and (self.shared or not torch.is_grad_enabled())

    @inplace.setter
    def inplace(self, wanted: bool) -> None:
        self._inplace = bool(wanted)

    def extra_repr(self) -> str:
        with torch.no_grad():
            return super().extra_repr()


def torch7_name(kind: type[Torch7Module]) -> str:
    return kind.typename or f"nn.{kind.__name__}"


def declared_fields(cls: type) -> dict[str, Any]:
    """Returns the fields of a Torch7Module class with their annotations, the base classes' first."""
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Torch7Module) and base is not Torch7Module:
            annotations = inspect.get_annotations(base)
            fields.update({name: kind for name, kind in annotations.items() if name != "typename"})
    return fields


def is_parameter(kind: Any) -> bool:
    return kind is nn.Parameter or kind == nn.Parameter | None


def axis(dimension: int, input: Tensor, sample_dims: int | None = None) -> int:
    """Returns the 0-based dimension that Torch7's 1-based ``dimension`` names in ``input``.

    Negative counts from the last one. With ``sample_dims`` (nInputDims) an input of one dimension more is a
    batch, and ``dimension`` counts within a sample.
    """
    if dimension < 0:
        return input.dim() + dimension
    return dimension if sample_dims is not None and input.dim() == sample_dims + 1 else dimension - 1
