"""Lua files that declare classes: kept with their text, so that a pickled module does not need them."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LuaFile:
    """A Lua file: its absolute path, from whose folders it may require others, and its text (latin-1)."""

    path: str
    text: str

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "LuaFile":
        """Reads the file. Raises OSError."""
        absolute = Path(path).resolve()
        return cls(str(absolute), absolute.read_bytes().decode("latin-1"))

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def folders(self) -> tuple[str, str]:
        """Returns the file's folder and the one above: a script of the project runs there as a rule."""
        folder = os.path.dirname(self.path)
        return folder, os.path.dirname(folder)
