"""The error of a Lua script, as Python sees it."""


class LuaError(Exception):
    """A Lua script raised an error; the text is Lua's message with its traceback."""
