"""Run by Python at its start where this folder is in PYTHONPATH: loads torch, and the fake GPU with it."""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

_ROOT = str(Path(__file__).resolve().parents[4])


class _AfterTorch(Loader):
    """Loads torch with its own loader, then puts the fake GPU into it."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self._own.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        if _ROOT not in sys.path:
            sys.path.append(_ROOT)
        from tests.helpers.fake_gpu.device import install

        install()


class _Finder(MetaPathFinder):
    """Finds torch, and nothing else."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name != "torch":
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None:
            spec.loader = _AfterTorch(spec.loader)
        return spec


sys.meta_path.insert(0, _Finder())
# At once: th looks for a GPU's device or driver before it loads PyTorch, and here there is neither.
import torch  # noqa: E402, F401
