"""MD5 for the Lua package md5."""

import hashlib

__all__ = ["md5_of"]
SANDBOXED = __all__


def md5_of(text: str) -> str:
    """Returns the MD5 of Lua's bytes, in hexadecimal."""
    return hashlib.md5(text.encode("latin-1"), usedforsecurity=False).hexdigest()
