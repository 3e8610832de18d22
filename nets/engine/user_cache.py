"""The user's cache folder: nothing in it is needed, all of it may be deleted at any time."""

import os
from pathlib import Path


def user_cache() -> Path:
    """``$XDG_CACHE_HOME/convnet-benchmarks``, by default below ``~/.cache``. It may not exist yet."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(folder) / "convnet-benchmarks"
