"""Libraries in C that do not check what they read, called in a process of their own (lua_compat/beside).

A module's FUNCTIONS are those that can be called; nothing here is called in the script's process.
"""
