"""Layers that packages and well-known repositories declared in Lua files of their own."""
