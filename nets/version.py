"""The version of this project, and the line that --version prints."""

import platform
from importlib import metadata

VERSION = "0.1.0"


def version_line(program: str) -> str:
    """Returns what ``program --version`` prints: this project's version, PyTorch's and Python's."""
    name = "" if program.startswith("convnet-benchmarks") else f"{program}, of "
    others = f"PyTorch {metadata.version('torch')}, Python {platform.python_version()}"
    return f"{name}convnet-benchmarks {VERSION}, {others}"
