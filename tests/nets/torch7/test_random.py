"""The generator against the streams that real Torch7 gave for five seeds, and its own laws."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convnet_benchmarks.nets.torch7.random import Generator
from lua_compat import t7

SEEDS = ("0", "1", "42", "123456789", "4294967295")


@pytest.fixture(scope="module")
def streams() -> t7.LuaTable:
    from tests.helpers.places import GOLDEN

    return t7.load(GOLDEN / "random.t7")


def recorded(streams: t7.LuaTable, seed: int, name: str) -> np.ndarray:
    return streams[seed][name].numpy()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("random", lambda g: g.random(1300)),
        ("random_1_6", lambda g: g.random(100, 1, 6)),
        ("uniform", lambda g: g.uniform(1300)),
        ("uniform_m2_5", lambda g: g.uniform(100, -2, 5)),
        ("normal", lambda g: g.normal(1301)),
        ("normal_3_2", lambda g: g.normal(101, 3, 2)),
        ("exponential", lambda g: g.exponential(100, 1.5)),
        ("cauchy", lambda g: g.cauchy(100, 1, 2)),
        ("logNormal", lambda g: g.log_normal(100, 1, 0.5)),
        ("geometric", lambda g: g.geometric(100, 0.3)),
        ("bernoulli", lambda g: g.bernoulli(100, 0.3)),
        ("randperm", lambda g: g.randperm(50)),
        ("rand_double", lambda g: g.uniform(15).reshape(3, 5)),
        ("randn_double", lambda g: g.normal(15).reshape(3, 5)),
        ("int_random", lambda g: g.random(20, 1, 100)),
        ("byte_random", lambda g: g.random(20) % 256),
        ("float_bernoulli", lambda g: g.bernoulli(20, 0.4)),
        ("multinomial", lambda g: g.multinomial(np.array([1.0, 2, 3, 4]), 20, True)),
        ("multinomial_norep", lambda g: g.multinomial(np.array([1.0, 2, 3, 4, 5, 6]), 6)),
    ],
)
def test_stream_is_torch7s(streams: t7.LuaTable, seed: int, name: str, draw: Any) -> None:
    np.testing.assert_array_equal(draw(Generator(int(seed))), recorded(streams, seed, name))


@pytest.mark.parametrize("seed", SEEDS)
def test_float_tensors_are_torch7s(streams: t7.LuaTable, seed: int) -> None:
    for name, fill in (("rand_float", "fill_uniform"), ("randn_float", "fill_normal")):
        values = np.empty((3, 5), dtype=np.float32)
        getattr(Generator(int(seed)), fill)(values, 0, 1)
        np.testing.assert_array_equal(values, recorded(streams, seed, name))


@pytest.mark.parametrize("seed", SEEDS)
def test_distributions_share_one_stream(streams: t7.LuaTable, seed: int) -> None:
    generator = Generator(int(seed))
    generator.normal(1)  # the recording made, and dropped, one before the table
    mixed = [
        generator.normal(1),
        generator.uniform(1),
        generator.normal(1),
        generator.random(1),
        generator.normal(1),
    ]
    np.testing.assert_array_equal(np.concatenate(mixed), recorded(streams, seed, "mixed"))


@pytest.mark.parametrize("seed", SEEDS)
def test_restored_state_continues_as_torch7s(streams: t7.LuaTable, seed: int) -> None:
    generator = Generator(int(seed))
    generator.random(1)
    generator.normal(1)
    state = generator.get_state()
    for recording in streams[seed]["restored"].array():
        generator.set_state(state)
        np.testing.assert_array_equal(
            np.concatenate([generator.normal(1), generator.uniform(1)]), recording.numpy()
        )


@given(seed=st.integers(0, 2**32 - 1), first=st.integers(0, 50), second=st.integers(0, 50))
def test_two_calls_draw_what_one_call_draws(seed: int, first: int, second: int) -> None:
    for draw in ("uniform", "normal", "random"):
        once, twice = Generator(seed), Generator(seed)
        whole = getattr(once, draw)(first + second)
        parts = [getattr(twice, draw)(first), getattr(twice, draw)(second)]
        np.testing.assert_array_equal(whole, np.concatenate(parts))


@given(size=st.integers(1, 300), seed=st.integers(0, 2**32 - 1))
def test_randperm_is_a_permutation(size: int, seed: int) -> None:
    assert sorted(Generator(seed).randperm(size)) == list(range(1, size + 1))


def test_filling_rounds_the_bounds_of_a_float_tensor() -> None:
    values = np.empty(70_000, dtype=np.float32)
    Generator(3).fill_uniform(values, -0.1, 0.1)
    low, high = float(np.float32(-0.1)), float(np.float32(0.1))
    expected = (Generator(3).random_uint32(70_000) * 2.0**-32 * (high - low) + low).astype(np.float32)
    np.testing.assert_array_equal(values, expected)


def test_filling_float_normals_equals_rounding_the_double_ones() -> None:
    values = np.empty(200_001, dtype=np.float32)
    Generator(9).fill_normal(values)
    np.testing.assert_array_equal(values, Generator(9).normal(200_001).astype(np.float32))


@pytest.mark.parametrize(
    "draw",
    [
        lambda g: g.normal(3, 0, -1),
        lambda g: g.geometric(3, 1.0),
        lambda g: g.bernoulli(3, 1.5),
        lambda g: g.randperm(0),
        lambda g: g.multinomial(np.array([1.0, 2.0]), 3),
        lambda g: g.multinomial(np.zeros(2), 1),
        lambda g: g.random(3, 5, 4),
        lambda g: g.fill_uniform(np.empty((4, 4), dtype=np.float32).T[::2], 0, 1),
    ],
)
def test_arguments_out_of_range_are_refused(draw: Any) -> None:
    with pytest.raises(ValueError):
        draw(Generator(1))


def test_normal_has_the_moments_it_should() -> None:
    values = Generator(5).normal(100_000, 2.0, 3.0)
    assert math.isclose(values.mean(), 2.0, abs_tol=0.05)
    assert math.isclose(values.std(), 3.0, abs_tol=0.05)
