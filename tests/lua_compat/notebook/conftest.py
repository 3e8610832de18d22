"""A kernel started as Jupyter starts it, from the description that ``th --install-kernel`` writes."""

from pathlib import Path

import pytest

from tests.helpers.commands import run_th


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Jupyter's data, with the kernel."""
    pytest.importorskip("ipykernel", reason="the extra jupyter is not installed")
    prefix = tmp_path_factory.mktemp("jupyter")
    assert run_th("--install-kernel", "--prefix", prefix).returncode == 0
    return prefix / "share" / "jupyter"
