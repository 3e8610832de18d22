"""Inception v3 as dump_filters.py of Moodstocks/inception-v3.torch writes it: a HDF5 file for each layer.

Here the layers have few planes and random numbers.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from lua_compat import hdf5

# A layer: the end of its name, the height and width of its kernel, and its stride; -1 stands for a stride of
# 1 and the padding that keeps the size. A block is a list of towers, whose outputs are joined. The second
# convolution of a fork, a tower of its own, gets what the first gets.
_Layer = tuple[str, int, int, int]
_STEM: list[_Layer] = [
    ("conv", 3, 3, 2), ("conv_1", 3, 3, 1), ("conv_2", 3, 3, -1), ("pool", 3, 3, 2), ("conv_3", 1, 1, 1),
    ("conv_4", 3, 3, 1), ("pool_1", 3, 3, 2),
]  # fmt: skip
_A = [
    [("conv", 1, 1, 1)],
    [("tower_conv", 1, 1, 1), ("tower_conv_1", 5, 5, -1)],
    [("tower_1_conv", 1, 1, 1), ("tower_1_conv_1", 3, 3, -1), ("tower_1_conv_2", 3, 3, -1)],
    [("tower_2_pool", 3, 3, -1), ("tower_2_conv", 1, 1, 1)],
]
_B = [
    [("conv", 3, 3, 2)],
    [("tower_conv", 1, 1, 1), ("tower_conv_1", 3, 3, -1), ("tower_conv_2", 3, 3, 2)],
    [("pool", 3, 3, 2)],
]
_C = [
    [("conv", 1, 1, 1)],
    [("tower_conv", 1, 1, 1), ("tower_conv_1", 1, 7, -1), ("tower_conv_2", 7, 1, -1)],
    [
        ("tower_1_conv", 1, 1, 1), ("tower_1_conv_1", 7, 1, -1), ("tower_1_conv_2", 1, 7, -1),
        ("tower_1_conv_3", 7, 1, -1), ("tower_1_conv_4", 1, 7, -1),
    ],
    [("tower_2_pool", 3, 3, -1), ("tower_2_conv", 1, 1, 1)],
]  # fmt: skip
_D = [
    [("tower_conv", 1, 1, 1), ("tower_conv_1", 3, 3, 2)],
    [
        ("tower_1_conv", 1, 1, 1), ("tower_1_conv_1", 1, 7, -1), ("tower_1_conv_2", 7, 1, -1),
        ("tower_1_conv_3", 3, 3, 2),
    ],
    [("pool", 3, 3, 2)],
]  # fmt: skip
_E = [
    [("conv", 1, 1, 1)],
    [("tower_conv", 1, 1, 1), ("tower_mixed_conv", 1, 3, -1)],
    [("tower_mixed_conv_1", 3, 1, -1)],
    [("tower_1_conv", 1, 1, 1), ("tower_1_conv_1", 3, 3, -1), ("tower_1_mixed_conv", 1, 3, -1)],
    [("tower_1_mixed_conv_1", 3, 1, -1)],
    [("tower_2_pool", 3, 3, -1), ("tower_2_conv", 1, 1, 1)],
]
_BLOCKS = [_A, _A, _A, _B, _C, _C, _C, _C, _D, _E, _E]
_PLANES, _CLASSES = 4, 1008
_POOLED_BY_MAXIMUM = "mixed_10_tower_2_pool"


def dump(folder_name: str) -> Callable[[Path, int], None]:
    """Returns a maker of the folder's files."""

    def make(folder: Path, seed: int) -> None:
        draw = np.random.default_rng(seed)
        place = folder / folder_name
        place.mkdir(parents=True)
        for name, planes, height, width, stride in _layers():
            size = abs(stride)
            padding = [height // 2, width // 2] if stride < 0 else [0, 0]
            numbers: dict[str, object] = {"strides": [1, size, size, 1], "padding": padding}
            if "pool" in name:
                largest = name != "pool_3" and (stride > 0 or name == _POOLED_BY_MAXIMUM)
                numbers |= {"ksize": [1, height, width, 1], "ismax": [int(largest)]}
            else:
                scale = (2 / (height * width * planes)) ** 0.5
                numbers |= {
                    "weights": draw.standard_normal((height, width, planes, _PLANES)) * scale,
                    "beta": draw.standard_normal(_PLANES) * 0.1,
                    "gamma": draw.uniform(0.5, 1.5, _PLANES),
                    "mean": draw.standard_normal(_PLANES) * 0.1,
                    "var": draw.uniform(0.5, 1.5, _PLANES),
                }
            _write(place / f"{name}.h5", numbers)
        weights = draw.standard_normal((_PLANES * len(_E), _CLASSES))
        _write(place / "softmax.h5", {"weights": weights, "biases": draw.standard_normal(_CLASSES)})

    return make


def _layers() -> Iterator[tuple[str, int, int, int, int]]:
    """Yields the name of each file, how many planes its layer gets, and the kernel and stride."""
    planes = 3
    for name, height, width, stride in _STEM:
        yield name, planes, height, width, stride
        planes = _PLANES
    for number, towers in enumerate(_BLOCKS):
        prefix = f"mixed_{number}" if number else "mixed"
        joined = 0
        for tower in towers:
            inside = planes
            for name, height, width, stride in tower:
                fork = name.endswith("mixed_conv_1")
                yield f"{prefix}_{name}", _PLANES if fork else inside, height, width, stride
                inside = inside if "pool" in name else _PLANES
            joined += inside
        planes = joined
    yield "pool_3", planes, 8, 8, 1


def _write(path: Path, numbers: dict[str, object]) -> None:
    with hdf5.File(str(path), "w") as file:
        for name, values in numbers.items():
            file.write(f"/{name}", np.asarray(values, dtype=np.float32))
