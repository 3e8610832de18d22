"""torch.nn Modules that Lua computes: nn modules of Torch7 that live in a Lua state, with or without Lua
files of their own."""

from lua_compat.lua_modules.module import LuaModule
from lua_compat.lua_modules.source import LuaFile
from lua_compat.lua_modules.state import LuaState
from lua_compat.runtime.errors import LuaError

__all__ = ["LuaError", "LuaFile", "LuaModule", "LuaState"]
