"""Markdown for the Lua packages sundown and dok, as Sundown printed it."""
