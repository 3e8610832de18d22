"""Libraries in C that do not check what they read, called in helper processes.

A module's FUNCTIONS are those that can be called; nothing here is called in the script's process.
"""
