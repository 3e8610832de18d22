"""Errors of Lua scripts and states, as Python sees them."""


class LuaError(Exception):
    """A Lua script raised an error; the text is Lua's message with its traceback."""


class CannotFixOrder(Exception):
    """This system or this LuaJIT offers no way to the same order (hash_seed.py)."""
