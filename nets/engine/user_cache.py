"""The user's cache folder: nothing in it is needed, all of it may be deleted at any time."""

import os
import tempfile
from pathlib import Path


def user_cache() -> Path:
    """Returns ``$XDG_CACHE_HOME/convnet-benchmarks``, by default below ``~/.cache``. It may not exist yet."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(folder) / "convnet-benchmarks"


def replace_whole(path: Path, content: bytes) -> None:
    """Writes ``path``, which others find as it was or whole; makes its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
