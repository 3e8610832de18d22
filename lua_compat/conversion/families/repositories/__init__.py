"""Layers that packages and well-known repositories declare in their own Lua files."""
