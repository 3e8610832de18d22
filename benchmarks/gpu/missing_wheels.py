"""Prints which of a folder's wheels hold packages that this Python lacks, one path a line.

    python benchmarks/gpu/missing_wheels.py FOLDER

Whatever version a machine has is left alone: its PyTorch was built with it. No folder, no wheels.
"""

import sys
from importlib import metadata
from pathlib import Path


def missing(folder: Path) -> list[Path]:
    """Returns the wheels in ``folder`` for this Python whose packages are not installed, by name."""
    wheels = sorted(folder.glob("*.whl"))
    return [wheel for wheel in wheels if _is_for_this_python(wheel) and not _is_installed(wheel)]


def _is_for_this_python(wheel: Path) -> bool:
    python, abi = wheel.stem.split("-")[2:4]
    return python.startswith("py") or abi == "abi3" or python == "cp{}{}".format(*sys.version_info)


def _is_installed(wheel: Path) -> bool:
    try:
        metadata.distribution(wheel.name.split("-")[0])
    except metadata.PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    for wheel in missing(Path(sys.argv[1])):
        print(wheel)
