"""Lua's strings are bytes; they cross to Python and back as text with one character per byte (latin-1)."""


def from_lua(text: str) -> str:
    """Returns the text that Lua's bytes stand for: a path or a name in UTF-8."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def to_lua(text: str) -> str:
    """Returns the UTF-8 bytes of a text, as Lua is to get them."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
