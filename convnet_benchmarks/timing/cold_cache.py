"""An empty cache before each timed pass, as after other work: what nvbench's cold measurements do.

Between the passes, outside the timed interval, a buffer of twice the size of the last-level cache is written.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import UserError

if TYPE_CHECKING:
    import torch

OPTION = "--cold-cache"
_CORES = Path("/sys/devices/system/cpu")
_FACTORS = {"K": 2**10, "M": 2**20, "G": 2**30}
_BYTES = 4  # of an element of the buffer


class ColdCache:
    """Empties the last-level cache of ``device``; raises UserError where its size is not reported."""

    def __init__(self, device: "torch.device") -> None:
        import torch

        size = _gpu_cache(device) if device.type == "cuda" else processor_cache()
        if not size:
            raise UserError(f"option {OPTION}: this system does not report the size of the cache of {device}")
        self._device = device
        self._buffer = torch.zeros(2 * size // _BYTES, dtype=torch.int32, device=device)

    def evict(self) -> None:
        """Reads and writes the buffer in every thread of PyTorch, and waits until it is done.

        It is read, too, because stores alone may go past the caches.
        """
        import torch

        self._buffer.add_(1)
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)


def processor_cache(cores: Path = _CORES) -> int:
    """Returns the bytes of all the last-level caches that this process's cores have; 0 if it is not reported.

    ``cores``: where Linux describes them.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    found: dict[tuple[int, str], int] = {}  # by level, and the cores that share it
    for core in allowed:
        for cache in (cores / f"cpu{core}" / "cache").glob("index*"):
            level, kind, size, shared = (
                _text(cache / name) for name in ("level", "type", "size", "shared_cpu_list")
            )
            if level and size and kind != "Instruction":
                found[int(level), shared] = int(size.rstrip("KMG")) * _FACTORS.get(size[-1], 1)
    last = max((level for level, _ in found), default=0)
    return sum(size for (level, _), size in found.items() if level == last) or _by_sysconf()


def _by_sysconf() -> int:
    for level in (4, 3, 2):
        name = f"SC_LEVEL{level}_CACHE_SIZE"
        if name in getattr(os, "sysconf_names", {}) and (size := os.sysconf(name)) > 0:
            return size
    return 0


def _gpu_cache(device: "torch.device") -> int:
    import torch

    return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""
