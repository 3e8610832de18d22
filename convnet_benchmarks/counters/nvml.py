"""A GPU's clock and energy, by NVIDIA's management library (NVML)."""

import contextlib
from typing import Any

from convnet_benchmarks.counters.counter import UnreadableError
from lua_compat.optional_packages import pip_install


class NvmlGpu:
    """One GPU, by its UUID (GPU-...): the numbers of CUDA and NVML differ under CUDA_VISIBLE_DEVICES.

    Raises UnreadableError if NVML or its package is missing, or it does not know the GPU.
    """

    def __init__(self, uuid: str) -> None:
        try:
            import pynvml
        except ImportError:
            raise UnreadableError(
                f"NVML: the package nvidia-ml-py is missing ({pip_install('nvml')})"
            ) from None
        self._nvml: Any = pynvml
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
        except pynvml.NVMLError as error:
            raise UnreadableError(f"NVML: {error}") from None

    def clock_mhz(self) -> float | None:
        """Returns the clock of the multiprocessors now; None if it is not reported."""
        with contextlib.suppress(self._nvml.NVMLError):
            return float(self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM))
        return None

    def millijoules(self) -> int:
        """Returns the energy since the driver was loaded; raises UnreadableError before Volta."""
        try:
            return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle))
        except self._nvml.NVMLError as error:
            raise UnreadableError(f"gpu_joules: {error}") from None

    def close(self) -> None:
        """Lets NVML go."""
        with contextlib.suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()


class GpuEnergy:
    """Counts the joules of the GPU ``uuid``; raises UnreadableError where it does not tell them."""

    def __init__(self, uuid: str) -> None:
        self._gpu = NvmlGpu(uuid)
        try:
            self._last = self._gpu.millijoules()
        except UnreadableError:
            self._gpu.close()
            raise
        self._joules = 0.0

    def read(self) -> float:
        """Returns joules since this was made. NVML's 64 bits do not overflow, but a driver that is loaded
        again begins at 0: what it counted since then is added.
        """
        now = self._gpu.millijoules()
        grown = now - self._last
        self._last = now
        self._joules += (grown if grown >= 0 else now) / 1e3
        return self._joules

    def close(self) -> None:
        self._gpu.close()
