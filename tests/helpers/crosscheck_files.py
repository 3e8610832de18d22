"""Files that crosscheck compares: logs recorded with Torch7, and arrays in every kind of file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

from lua_compat import t7
from tests.helpers.places import GOLDEN

LOGS = GOLDEN / "logs"


Command = Callable[..., tuple[Any, ...]]  # exit code, stdout, stderr...


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"x": rng.standard_normal((2, 3, 4)), "w": rng.standard_normal((5, 2)).astype(np.float32),
            "labels": np.arange(1, 9)}  # fmt: skip


def lua_table(values: dict[str, Any]) -> t7.LuaTable:
    return t7.LuaTable(
        {
            name: lua_table(value) if isinstance(value, dict) else t7.Tensor.from_numpy(value)
            for name, value in values.items()
        }
    )


def write(path: Path, values: dict[str, Any]) -> Path:
    """The same results in any kind of file."""
    if path.suffix == ".t7":
        t7.save(path, lua_table(values))
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            for name, value in values.items():
                file[name] = value
    elif path.suffix == ".npz":
        np.savez(path, **values)
    elif path.suffix == ".pt":
        torch.save({name: torch.from_numpy(value) for name, value in values.items()}, path)
    elif path.suffix == ".json":
        path.write_text(json.dumps({name: value.tolist() for name, value in values.items()}))
    return path
