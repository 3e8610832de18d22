"""The Python side of Lua packages that were backed by C code, a server or a window: one file for each.

They reach files or libraries outside PyTorch. Untrusted scripts may call only what a module lists in
SANDBOXED.
"""
