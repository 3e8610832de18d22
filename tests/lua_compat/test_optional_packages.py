"""The command that hints name works from where this package was installed."""

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest

from lua_compat import optional_packages
from lua_compat.optional_packages import pip_install

METADATA = """Metadata-Version: 2.1
Name: convnet-benchmarks
Version: 1.0
Provides-Extra: report
Requires-Dist: numpy
Requires-Dist: bokeh>=3.4; extra == "report"
Requires-Dist: matplotlib>=3.8; extra == "report"
Requires-Dist: pillow; extra == "reporter"
"""


def installed(
    monkeypatch: pytest.MonkeyPatch, folder: Path, origin: dict[str, Any] | None, clone: bool = False
) -> None:
    """Lets the package be in ``folder``/src, its metadata in ``folder``/site, direct_url.json there."""
    records = folder / "site" / "convnet_benchmarks-1.0.dist-info"
    records.mkdir(parents=True)
    (records / "METADATA").write_text(METADATA)
    if origin is not None:
        (records / "direct_url.json").write_text(json.dumps(origin))
    source = folder / "src"
    source.mkdir()
    if clone:
        (source / "pyproject.toml").touch()
    monkeypatch.setattr(optional_packages, "__file__", str(source / "lua_compat" / "optional_packages.py"))
    found = importlib.metadata.distributions
    monkeypatch.setattr(
        optional_packages, "distributions", lambda name: found(name=name, path=[str(folder / "site")])
    )


def test_a_release_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, tmp_path, None)
    assert pip_install("report") == "pip install 'convnet-benchmarks[report]'"


def test_a_clone_is_called_by_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, tmp_path, None, clone=True)
    assert pip_install("report") == f"pip install '{tmp_path}/src[report]'"
    monkeypatch.chdir(tmp_path / "src")
    assert pip_install("report") == "pip install '.[report]'"


def test_an_editable_installation_remains_editable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    origin = {"url": (tmp_path / "src").as_uri(), "dir_info": {"editable": True}}
    installed(monkeypatch, tmp_path, origin, clone=True)
    assert pip_install("report") == f"pip install -e '{tmp_path}/src[report]'"


@pytest.mark.parametrize("kind", ["dir_info", "archive_info"])
def test_packages_of_a_deleted_installation_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    installed(monkeypatch, tmp_path, {"url": (tmp_path / "gone").as_uri(), kind: {}})
    assert pip_install("report") == "pip install 'bokeh>=3.4' 'matplotlib>=3.8'"


def test_a_wheel_is_called_by_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "my wheels" / "c-1.0.whl"
    wheel.parent.mkdir()
    wheel.touch()
    installed(monkeypatch, tmp_path, {"url": wheel.as_uri(), "archive_info": {}})
    assert pip_install("report") == f"pip install 'convnet-benchmarks[report] @ {wheel.as_uri()}'"


def test_a_repository_is_called_by_its_address_and_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    origin = {"url": "https://example.org/c.git", "vcs_info": {"vcs": "git", "commit_id": "a1b2"}}
    installed(monkeypatch, tmp_path, {**origin, "subdirectory": "python"})
    address = "git+https://example.org/c.git@a1b2#subdirectory=python"
    assert pip_install("report") == f"pip install 'convnet-benchmarks[report] @ {address}'"
