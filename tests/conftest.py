"""What every test starts with."""

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, and nothing about the code. Each run has the same
# examples, so that no change is blamed for one that it did not make fail; "fresh" draws others.
settings.register_profile("fresh", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("fresh"), derandomize=True)
settings.load_profile("same")


def pytest_configure() -> None:
    """Where several test processes share the cores (``-n 2``), idle threads must release theirs: by
    default OpenMP's threads spin for milliseconds, and the engine's tests take five times as long."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests and what they import stay to the end: the collector need not look at them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of the whole come first: a long one that begins last would keep the other process waiting."""
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests share what is compiled and tuned, in several processes, too, and leave the user's alone."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        yield


@pytest.fixture(scope="session", autouse=True)
def thread_count() -> int:
    """PyTorch's threads as the tests begin with."""
    import torch

    return torch.get_num_threads()


@pytest.fixture(autouse=True)
def same_thread_count(thread_count: int) -> None:
    """Commands run in this process, and fixtures of a module, may set PyTorch's threads."""
    import torch

    if torch.get_num_threads() != thread_count:
        torch.set_num_threads(thread_count)
