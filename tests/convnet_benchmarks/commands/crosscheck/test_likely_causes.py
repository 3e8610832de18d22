"""crosscheck: the cause of a difference, and numbers at the edge of their type."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convnet_benchmarks.commands.crosscheck.likely_cause import likely_cause
from tests.helpers.commands import run_python

LARGE, INFINITE = 1e308, np.inf
IMAGES = np.random.default_rng(2).standard_normal((2, 3, 4, 5))


@pytest.mark.parametrize(
    ("b", "cause"),
    [
        (IMAGES.transpose(0, 2, 3, 1), "transposed: B is A with its dimensions in the order (0, 2, 3"),
        (IMAGES.transpose(0, 2, 3, 1).reshape(IMAGES.shape), "memory layout: B holds A's values"),
        (IMAGES.reshape(6, 20), "the same values in another shape: 2x3x4x5 and 6x20"),
        (IMAGES[0], "B holds only the first sample of the batch"),
        (IMAGES[..., :3, :4], "size rounding: A is one larger, as with ceil mode in a pooling; what both"),
        (IMAGES[..., :3, :4] + 1, "size rounding: A is one larger, as with ceil mode in a pooling"),
        (IMAGES / 64, "scale: B is A * 0.015625 (1 / 64: divided by a count, as sizeAverage does?)"),
        (IMAGES * 255, "scale: B is A * 255 (multiplied by a count of 255"),
        (-IMAGES, "sign: B is -A"),
        (IMAGES + 3, "offset: B is A + 3"),
        (IMAGES[:, ::-1], "reversed along dimension 1 (RGB / BGR?)"),
        (IMAGES[..., ::-1, ::-1], "reversed along the last two dimensions (convolution / cross-correlation?"),
        (IMAGES.astype(np.float16).astype(float), "agrees to half precision"),
        (IMAGES.astype(np.float32).astype(float), "agrees to single precision"),
        (IMAGES * 1.001, "scale: B is A * 1.001"),
        (IMAGES + 0.0001, "offset: B is A + 0.0001"),
        (np.where(IMAGES > 2, IMAGES * 1.0001, IMAGES), ""),
        (np.where(IMAGES > 2, np.nan, IMAGES), "B has "),
        (IMAGES[:, :1], ""),
        (np.random.default_rng(3).standard_normal(IMAGES.shape), ""),
    ],
)  # fmt: skip
def test_likely_causes(b: Any, cause: str) -> None:
    found = likely_cause(IMAGES, np.asarray(b), 1e-9)
    assert found.startswith(cause)
    assert bool(found) == bool(cause)


def test_labels_counted_from_0_and_from_1() -> None:
    labels = np.array([3.0, 1, 5])
    assert likely_cause(labels, labels - 1, 0) == "index base: A counts from 1 (Lua), B from 0"
    assert likely_cause(labels - 1, labels, 0) == "index base: B counts from 1 (Lua), A from 0"


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (
            [np.nan, INFINITE, -INFINITE, 1],
            [np.nan, INFINITE, INFINITE, 1],
            "1 values, first at [2] A -inf, B inf",
        ),
        ([LARGE, -LARGE, LARGE], [-LARGE, LARGE, LARGE], "2 values, first at [0] A 1e+308, B -1e+308"),
        ([LARGE, -LARGE], [-LARGE, LARGE], "reversed along dimension 0"),
        ([[LARGE, 1], [INFINITE, 2]], [[LARGE, INFINITE], [1, 2]], "transposed"),
        ([1e10], [1e-300], "scale: B is A * 1e-310"),
        ([1e-150 + 0j], [1.5e158 + 1.5e158j], "1 values, first at [0]"),
    ],
)
def test_infinities_and_the_largest_numbers_say_nothing_on_stderr(
    tmp_path: Path, a: list[Any] | list[float], b: list[Any] | list[float], said: str
) -> None:
    paths = [tmp_path / name for name in ("a.npy", "b.npy")]
    for path, values in zip(paths, (a, b), strict=True):
        np.save(path, np.array(values))
    done = run_python("-m", "convnet_benchmarks", "crosscheck", *map(str, paths))
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout
