"""What Torch7 left behind, readable from Python: its files and its Lua."""
