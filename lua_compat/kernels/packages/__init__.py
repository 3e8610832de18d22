"""The Python side of Lua packages that had C code, a server or a window behind them: one file for each.

They reach files or libraries outside PyTorch: untrusted scripts get only what a module names for them.
"""
