"""Layers of any size by every backend, between guard pages. For many more of them:

python -m tests.nets.engine.random_layers --first 0 --count 20000
"""

import pytest

from tests.nets.engine.random_layers import check_case


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_layers(first: int) -> None:
    for seed in range(first, first + 10):
        check_case(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(100, 400, 100))
def test_many_random_layers(first: int) -> None:
    for seed in range(first, first + 100):
        check_case(seed, runs=12)
