"""The declarations of nn's layers and criterions, as lua_compat/lua/nn/declarations.lua reads them."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_LUA_FOLDER = Path(__file__).parent / "lua"


class Field(NamedTuple):
    """A field of a class. ``role``: argument, field or optional.

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


@cache
def declarations() -> dict[str, Declaration]:
    """Returns what is declared of each class, by its name without ``nn.``"""
    from lupa import luajit21

    lua = luajit21.LuaRuntime(register_eval=False, register_builtins=False)
    lua.globals().package.path = f"{_LUA_FOLDER}/?.lua"
    module = lua.require("nn.declarations")
    names = list(module.names().values())
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
        table.family,
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
