"""Lua's strings are bytes; they are passed to Python and back as str with one character per byte
(latin-1)."""


def from_lua(text: str) -> str:
    """Decodes Lua's bytes, a path or a name in UTF-8."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def to_lua(text: str) -> str:
    """Encodes a text in UTF-8 for Lua."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
