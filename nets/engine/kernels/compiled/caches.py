"""The sizes of this machine's caches."""

import re
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

CACHE_LINE = 64  # bytes

_TOLD = Path(
    "/sys/devices/system/cpu/cpu0/cache"
)  # in Linux index0 is the first-level data cache, index2 the second-level cache

_UNKNOWN = {0: 32 << 10, 2: 1 << 20}  # typical sizes


def first_cache() -> int:
    """Returns the size in bytes of a core's first-level data cache."""
    return _size(0)


def second_cache() -> int:
    """Returns the size in bytes of a core's second-level cache."""
    return _size(2)


def passes_caches(result: Tensor) -> bool:
    """Returns whether compiled code stores ``result`` past the caches (non-temporal stores): if it is larger
    than the second-level caches of all threads together, and its pixels are aligned to cache lines."""
    steps = [step for step, size in zip(result.stride()[:-1], result.shape, strict=False) if size > 1]
    places = result.data_ptr(), *(step * result.itemsize for step in steps)
    whole = not any(place % CACHE_LINE for place in places)
    large = result.numel() * result.itemsize > second_cache() * torch.get_num_threads()
    return whole and large and result.dtype is not torch.bfloat16


@cache
def _size(index: int) -> int:
    try:
        told = (_TOLD / f"index{index}" / "size").read_text()  # "48K"
    except OSError:  # not Linux
        told = ""
    found = re.fullmatch(r"(\d+)K\s*", told)
    return int(found[1]) << 10 if found else _UNKNOWN[index]
