"""The declarations of nn's layers and criterions, as lua_compat/lua/nn/declarations.lua reads them."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_LUA_FOLDER = Path(__file__).parent / "lua"


class Field(NamedTuple):
    """A field of a class. ``role``: argument, field, optional, or own, an argument that is not stored.

    ``default``: None if there is none, or where it is another field's, ``like``. ``absent``: what a module
    without the field means, if that is not the default.
    """

    name: str
    kind: str
    role: str
    default: Any
    like: str | None
    absent: Any
    may_be_nil: bool


class Declaration(NamedTuple):
    """The declaration of a class. ``thnn``: what THNN's functions take, by the module's method.

    ``takes``: what the kernel takes after the tensors. ``torch_nn``: the name of a class of torch.nn.
    """

    name: str
    family: str
    base: str
    help: str
    usage: str
    fields: dict[str, Field]
    kind: str | None
    kernel: str | None
    takes: str | None
    thnn_name: str
    thnn: dict[str, str]
    torch_nn: str | None

    def default(self, name: str, value_of: Callable[[str], Any]) -> Any:
        """Returns what a new module has in a field that was not given; None where it has none.

        ``value_of`` gives the other fields.
        """
        field = self.fields.get(name)
        if field is None:
            return None
        return value_of(field.like) if field.like else field.default

    def absent(self, name: str, value_of: Callable[[str], Any]) -> Any:
        """Returns the value to assume for a module in a file that lacks the field; None if there is none."""
        field = self.fields.get(name)
        if field is None or field.role == "own":
            return None
        if field.absent is not None:
            return field.absent
        return False if field.kind in ("flag", "truth", "exact") else self.default(name, value_of)


def find_declaration(typename: str) -> Declaration | None:
    """Returns the declaration of a class such as nn.Narrow; most classes of cudnn have nn's fields."""
    package, _, name = typename.partition(".")
    return _all().get(typename, _all().get(name)) if package in ("nn", "cudnn") else None


def declarations() -> dict[str, Declaration]:
    """Returns the declarations of nn's classes, by their names without ``nn.``"""
    return {name: declared for name, declared in _all().items() if "." not in name}


@cache
def _all() -> dict[str, Declaration]:
    from lupa import luajit21

    lua = luajit21.LuaRuntime(register_eval=False, register_builtins=False)
    lua.globals().package.path = f"{_LUA_FOLDER}/?.lua"
    module = lua.require("nn.declarations")
    of_cudnn = [f"cudnn.{name}" for name in lua.require("cudnn.declarations")]
    names = [*module.names().values(), *of_cudnn]
    return {name: _declaration(module.of(name), module.usage(module.of(name))) for name in names}


def _declaration(table: Any, usage: str) -> Declaration:
    fields = {
        field.name: Field(
            field.name,
            field.kind,
            field.role,
            field.default,
            field.like,
            field.absent,
            bool(field.may_be_nil),
        )
        for field in table.all.values()
    }
    return Declaration(
        table.name,
        table.family or "cudnn",
        table.base,
        table.help,
        usage,
        fields,
        table.kind,
        table.kernel,
        table.takes,
        table.thnn_name or table.name,
        dict(table.thnn.items()) if table.thnn else {},
        table.torch_nn,
    )
