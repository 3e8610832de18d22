"""Functions in .t7 files are code: from which files a script may make them."""

import os

from lua_compat.kernels.strings import from_lua, to_lua


class TrustedFiles:
    """The files of one script: those in its folder or the one in which it is started, and those that it
    writes.

    Their subfolders count, too, except those of the root and of the user's home, which contain everything.
    ``all_files``: every file is trusted, as in Torch7.
    """

    def __init__(self, script: str, all_files: bool = False) -> None:
        self._all = all_files
        self._folders = {
            os.path.realpath(place) for place in (os.path.dirname(os.path.abspath(script)), os.getcwd())
        }
        self._wide = {os.path.realpath(os.path.expanduser("~")), os.path.realpath("/")}
        self._written: set[str] = set()

    def note_written(self, path: str) -> None:
        """Notes a file that the script opens for writing."""
        self._written.add(os.path.realpath(from_lua(path)))

    def why_not(self, path: str | None) -> str | None:
        """Returns why no functions are made from a file, None if they are; no path: it is no file."""
        if self._all:
            return None
        if path is None:
            return f"data from a pipe contains a function, which is code; {_ACCEPTED}"
        named = from_lua(path)
        real = os.path.realpath(named)
        if real in self._written or any(self._covers(folder, real) for folder in self._folders):
            return None
        where = _place_of_function(named)
        return to_lua(f"{named}: {where} is a function, which is code; {_ACCEPTED}")

    def _covers(self, folder: str, real: str) -> bool:
        if folder in self._wide:
            return os.path.dirname(real) == folder
        return real.startswith(os.path.join(folder, ""))


_ACCEPTED = (
    "th makes functions only from files in the script's folder or the working folder, and from those that the"
    " script wrote; --trust-functions has it take any"
)


def _place_of_function(path: str) -> str:
    """Returns the place of the first function in a file, such as root.net.hook."""
    from lua_compat import t7
    from lua_compat.t7.inspection import places

    try:
        root = t7.load(path)
    except (OSError, t7.T7FormatError):
        return "in it"
    return next((place.path for place in places(root) if isinstance(place.part, t7.LuaFunction)), "in it")
