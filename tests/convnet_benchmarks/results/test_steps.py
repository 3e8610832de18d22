"""Steps in a history of medians: found where they are, and not in noise."""

import random

import pytest

from convnet_benchmarks.results.steps import steps


def history(*levels: tuple[int, float], noise: float = 0.01, seed: int = 1) -> list[float]:
    generator = random.Random(seed)
    return [value * (1 + generator.gauss(0, noise)) for count, value in levels for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_steps_are_found_where_they_are(seed: int) -> None:
    assert steps(history((8, 10.0), (9, 11.0), seed=seed)) == [8]
    assert steps(history((10, 10.0), (10, 12.0), (10, 9.0), seed=seed)) == [10, 20]


def test_noise_and_a_single_outlier_are_no_step() -> None:
    found = sum(bool(steps(history((20, 10.0), seed=seed))) for seed in range(40))
    assert found <= 3  # one in a hundred is expected
    flat = [10.0] * 20
    assert steps(flat) == [] and steps([*flat[:10], 30.0, *flat[11:]]) == []
    assert steps([10.0] * 4 + [20.0] * 5) == []
