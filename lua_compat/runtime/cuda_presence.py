"""Whether there may be a CUDA GPU, asked before PyTorch is loaded, which alone knows."""

import os
import re
import sys
from importlib.util import find_spec

# What the drivers of NVIDIA's and AMD's GPUs, Windows' subsystem for Linux and Tegra make.
_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/nvhost-ctrl", "/dev/nvmap")
_BUILT_FOR_GPUS = re.compile(r"^(cuda|hip)\b[^=\n]*= *['\"]", re.MULTILINE)


def may_have_cuda() -> bool:
    """Returns False where PyTorch was built without CUDA, or where nothing in /dev is a GPU's."""
    if sys.platform.startswith("linux") and not any(map(os.path.exists, _DEVICES)):
        return False
    return _built_for_gpus()


def _built_for_gpus() -> bool:
    found = find_spec("torch")
    for folder in found.submodule_search_locations or [] if found else []:
        try:
            with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
                return _BUILT_FOR_GPUS.search(file.read()) is not None
        except OSError:
            break
    return True
