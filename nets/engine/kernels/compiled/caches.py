"""How much the caches of this machine's cores hold."""

import re
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

CACHE_LINE = 64  # bytes

_TOLD = Path(
    "/sys/devices/system/cpu/cpu0/cache"
)  # by Linux: index0 is the first cache of data, index2 the second

_UNKNOWN = {0: 32 << 10, 2: 1 << 20}  # as most have them


def first_cache() -> int:
    """Returns the bytes of the cache that is nearest to a core's arithmetic."""
    return _size(0)


def second_cache() -> int:
    """Returns the bytes of the cache behind that, which is a core's own, too."""
    return _size(2)


def passes_caches(result: Tensor) -> bool:
    """Returns whether compiled code stores ``result`` past the caches: it is larger than the second ones of
    all threads together, and its channels begin at whole lines."""
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
