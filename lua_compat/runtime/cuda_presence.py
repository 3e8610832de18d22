"""Whether there is a CUDA GPU. PyTorch alone knows, but is only loaded where there may be one."""

import ctypes
import os
import sys

from lua_compat.kernels.system import pytorch_folders

# Device files of the drivers of NVIDIA's and AMD's GPUs, the Windows Subsystem for Linux, and Tegra.
_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg", "/dev/nvhost-ctrl", "/dev/nvmap")

# Stands for every device that a mapping of devices to GPUs does not name.
ANY_DEVICE = 0

_NO_BUILD, _NO_GPU = "this build of PyTorch has no CUDA", "no CUDA GPU was found"


def why_no_cuda() -> str:
    """Returns why there is no CUDA here; an empty text if there is. May load PyTorch."""
    if "torch" not in sys.modules and (reason := why_surely_none()):
        return reason
    import torch

    if torch.cuda.is_available():
        return ""
    return _NO_BUILD if torch.version.cuda is None else _NO_GPU


def why_surely_none() -> str:
    """Returns why PyTorch will find no CUDA: it was built without, or there is neither a GPU's device in /dev
    nor the driver's library. An empty text where it may find some.
    """
    if not built_for_gpus():
        return _NO_BUILD
    if not sys.platform.startswith("linux") or any(map(os.path.exists, _DEVICES)) or _has_driver():
        return ""
    return _NO_GPU


def _has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def built_for_gpus() -> bool:
    """Returns whether the PyTorch that is installed may have CUDA; does not load it."""
    for folder in pytorch_folders():
        try:
            with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
                return any(map(_names_a_version, file))
        except OSError:
            break
    return True


def _names_a_version(line: str) -> bool:
    """Returns whether a line of PyTorch's file of versions gives CUDA's or ROCm's: None stands for none."""
    name, _, value = line.partition("=")
    return name.partition(":")[0].strip() in ("cuda", "hip") and value.strip()[:1] in ("'", '"')
