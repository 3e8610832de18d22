"""Which algorithm kernels use for a shape, and when the candidates are timed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lua_compat.kernels.workspace import Workspace
from lua_compat.runtime.state import Runtime


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


class Candidates(dict[str, Callable[[], Callable[[], None]]]):
    """Candidates that note when they are timed."""

    def __init__(self) -> None:
        super().__init__(plain=lambda: self._run("plain"), other=lambda: self._run("other"))
        self.timed: set[str] = set()

    def _run(self, name: str) -> Callable[[], None]:
        return lambda: self.timed.add(name)


@pytest.mark.usefixtures("cache")
def test_a_net_that_runs_once_is_not_timed() -> None:
    candidates, workspace = Candidates(), Workspace()
    for layer in range(20):
        assert workspace.fastest(f"layer {layer}", candidates) == "plain"
    assert not candidates.timed


@pytest.mark.usefixtures("cache")
def test_a_net_that_continues_is_timed_once_and_later_processes_know() -> None:
    candidates, workspace = Candidates(), Workspace()
    for _ in range(10):
        assert workspace.fastest("layer", candidates) == "plain"
    assert not candidates.timed
    found = workspace.fastest("layer", candidates)
    assert candidates.timed == {"plain", "other"}
    candidates.timed.clear()
    assert {workspace.fastest("layer", candidates), Workspace().fastest("layer", candidates)} == {found}
    assert not candidates.timed


@pytest.mark.usefixtures("cache")
def test_without_timing_it_stays_with_the_first() -> None:
    candidates, workspace = Candidates(), Workspace(timing=False)
    assert {workspace.fastest("layer", candidates) for _ in range(30)} == {"plain"}
    assert not candidates.timed


@pytest.mark.usefixtures("cache")
def test_a_state_of_the_same_order_does_not_time() -> None:
    candidates, workspace = Candidates(), Runtime(same_order=True).handles.workspace
    assert {workspace.fastest("layer", candidates) for _ in range(30)} == {"plain"}
