"""Whether PyTorch must be asked for a GPU when th starts."""

from pathlib import Path

import pytest

from lua_compat.runtime import cuda_presence

CPU_BUILD = "__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"
CUDA_BUILD = "__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n"


@pytest.mark.parametrize(
    ("build", "device", "driver", "expected"),
    [
        (CPU_BUILD, True, True, "this build of PyTorch has no CUDA"),
        (CUDA_BUILD, False, False, "no CUDA GPU was found"),
        (CUDA_BUILD, True, False, ""),
        (CUDA_BUILD, False, True, ""),
    ],
)
def test_a_gpu_is_looked_for_where_there_may_be_one(
    build: str, device: bool, driver: bool, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> None:
        if not driver:
            raise OSError(f"{name}: cannot open shared object file")

    (tmp_path / "version.py").write_text(build)
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(cuda_presence, "pytorch_folders", lambda: [str(tmp_path)])
    monkeypatch.setattr(cuda_presence, "_DEVICES", (str(tmp_path / ("nvidiactl" if device else "none")),))
    monkeypatch.setattr(cuda_presence.ctypes, "CDLL", load)
    monkeypatch.setattr(cuda_presence.sys, "platform", "linux")
    assert cuda_presence.why_surely_none() == expected
