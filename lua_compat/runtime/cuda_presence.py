"""Whether there may be a CUDA GPU, asked before PyTorch is loaded, which alone knows."""

import ctypes
import os
import re
import sys

from lua_compat.kernels.system import pytorch_folders

# What the drivers of NVIDIA's and AMD's GPUs, Windows' subsystem for Linux and Tegra make.
_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/nvhost-ctrl", "/dev/nvmap")
_BUILT_FOR_GPUS = re.compile(r"^(cuda|hip)\b[^=\n]*= *['\"]", re.MULTILINE)


def may_have_cuda() -> bool:
    """Returns False where PyTorch was built without CUDA, or where there is neither a GPU's device in /dev
    nor the driver's library, without which PyTorch finds none.
    """
    if not _built_for_gpus():
        return False
    return not sys.platform.startswith("linux") or any(map(os.path.exists, _DEVICES)) or _has_driver()


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def _built_for_gpus() -> bool:
    for folder in pytorch_folders():
        try:
            with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
                return _BUILT_FOR_GPUS.search(file.read()) is not None
        except OSError:
            break
    return True
