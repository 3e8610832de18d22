"""The engine's tests share one file of what was tuned, and leave the user's alone."""

import pytest


@pytest.fixture(autouse=True)
def _tuning_file_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
