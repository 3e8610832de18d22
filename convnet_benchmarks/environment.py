"""The machine and software a result was measured on, as plain JSON values; what cannot be learnt is null."""

import os
import platform
import re
import shutil
import subprocess
import sys
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from convnet_benchmarks.counters import open_counters

if TYPE_CHECKING:
    import torch

_ALLOCATOR_VARIABLES = re.compile(
    r"^(LD_PRELOAD|MALLOC_|GLIBC_TUNABLES|PYTORCH_.*ALLOC|OMP_|KMP_|GOMP_|MKL_|ONEDNN_|DNNL_|CUDA_|CUDNN_)"
)
_GPU_QUERY = "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu,pstate"


def collect(device: "torch.device") -> dict[str, Any]:
    """Returns everything that may explain a difference between two results on ``device``."""
    return {
        "cpu": _cpu(),
        "memory": _memory(),
        "software": _software(),
        "torch": _torch(),
        "gpu": _gpu(device),
        "counters": _counters(device),
        "variables": {k: v for k, v in sorted(os.environ.items()) if _ALLOCATOR_VARIABLES.match(k)},
        "revision": _revision(),
        "commit": _commit(os.getcwd()),
    }


def machine(device: str) -> dict[str, str]:
    """Returns the model of ``cpu``, ``cuda`` or ``cuda:1``, and PyTorch's version. Only a GPU needs torch
    loaded.
    """
    return {"device": _device_name(device), "torch": metadata.version("torch")}


def gpu_uuid(device: "torch.device") -> str | None:
    """Returns what NVIDIA's tools call a GPU: CUDA's numbers are its own under CUDA_VISIBLE_DEVICES.

    None if PyTorch does not tell it.
    """
    import torch

    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return None if uuid is None else f"GPU-{uuid}"


def _counters(device: "torch.device") -> dict[str, str]:
    """Returns what is counted while something is timed: ``read``, or why it is not."""
    counters = open_counters(gpu_uuid(device) if device.type == "cuda" else None)
    counters.close()
    return dict.fromkeys(counters.readable, "read") | counters.reasons


def _device_name(device: str) -> str:
    if device == "cpu":
        return _cpu_name()
    import torch

    return torch.cuda.get_device_name(torch.device(device))


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _run(*command: str, folder: Path | None = None) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_name() -> str:
    """Returns the processor's name: Linux's, which on ARM only lscpu knows, or a Mac's."""
    for told in (partial(_read, "/proc/cpuinfo"), partial(_run, "lscpu")):
        if found := re.search(r"^model name\s*:\s*(.*)$", told() or "", re.MULTILINE | re.IGNORECASE):
            return found[1]
    return _run("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor() or platform.machine()


def _cpu() -> dict[str, Any]:
    caches = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (_read(str(index / name)) for name in ("level", "type", "size"))
        caches[f"L{level} {kind}"] = size
    try:
        affinity: list[int] | None = sorted(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        affinity = None
    return {
        "model": _cpu_name(),
        "logical_cores": os.cpu_count(),
        "affinity": affinity,
        "caches": caches,
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _memory() -> dict[str, Any]:
    return {
        "total_kib": psutil.virtual_memory().total // 1024,
        "transparent_huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "libc": " ".join(platform.libc_ver()),
    }


def _software() -> dict[str, Any]:
    packages: dict[str, str | None] = {}
    ours = ("convnet-benchmarks", "numpy", "lupa", "h5py", "argparse-dataclass")
    for name in (*ours, "onnxruntime", "openvino"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = None
    return {"os": platform.platform(), "python": sys.version.split()[0], "packages": packages}


def _torch() -> dict[str, Any]:
    import torch

    return {
        "version": torch.__version__,
        "build": torch.__config__.show(),
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "parallel": torch.__config__.parallel_info(),
        "mkldnn": torch.backends.mkldnn.is_available(),
        "mkl": torch.backends.mkl.is_available(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "flush_denormals": _flushes_denormals(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


def _flushes_denormals() -> bool:
    import torch

    return bool((torch.tensor([1e-310], dtype=torch.float64) * 0.5 == 0).item())


def _gpu(device: "torch.device") -> dict[str, Any] | None:
    import torch

    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    state = _run(
        "nvidia-smi",
        f"--id={gpu_uuid(device) or device.index}",
        f"--query-gpu={_GPU_QUERY}",
        "--format=csv,noheader,nounits",
    )
    return {
        "index": device.index,
        "name": properties.name,
        "memory_bytes": properties.total_memory,
        "multiprocessors": properties.multi_processor_count,
        "capability": f"{properties.major}.{properties.minor}",
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "tf32_matmul": torch.backends.cuda.matmul.allow_tf32,
        "tf32_cudnn": torch.backends.cudnn.allow_tf32,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_benchmark_limit": torch.backends.cudnn.benchmark_limit,
        "fp32_precision": _fp32_precision(),
        "state": dict(zip(_GPU_QUERY.split(","), state.split(", "), strict=False)) if state else None,
    }


def _fp32_precision() -> dict[str, str]:
    """Returns the switches that PyTorch has besides allow_tf32 from 2.9 on; nothing before."""
    import torch

    cuda, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    places = {"all": torch.backends, "matmul": cuda, "cudnn": cudnn}
    places |= {f"cudnn.{name}": getattr(cudnn, name, None) for name in ("conv", "rnn")}
    found = {name: getattr(place, "fp32_precision", None) for name, place in places.items()}
    return {name: precision for name, precision in found.items() if isinstance(precision, str)}


def _revision() -> str | None:
    """Returns the git revision of this code, with + when it has changes; null when installed from a
    package.
    """
    folder = Path(__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return None
    return _commit(str(folder))


@cache
def _commit(folder: str) -> str | None:
    """Returns the git commit of a folder, with + when it has changes; null where it is in no repository."""
    commit = _run("git", "rev-parse", "HEAD", folder=Path(folder))
    changes = _run("git", "status", "--porcelain", "--untracked-files=no", folder=Path(folder))
    return None if commit is None else commit + ("+" if changes else "")
