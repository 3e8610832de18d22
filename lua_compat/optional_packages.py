"""Optional packages: the command that adds a group of them to this installation of ours."""

import json
import re
import shlex
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_PROJECT = "convnet-benchmarks"


def pip_install(extra: str) -> str:
    """Returns the pip command that installs the packages of ``extra``, a group of pyproject.toml.

    It names what was installed: a folder, a file, a repository, or a release from an index (PEP 610). If a
    folder or file is gone, it names the packages themselves.
    """
    try:
        words = _words(extra)
    except OSError:  # a sandbox may keep the installation's files from being read
        words = [f"{_PROJECT}[{extra}]"]
    return f"pip install {shlex.join(words)}"


def _words(extra: str) -> list[str]:
    clone = Path(__file__).resolve().parent.parent
    origin = _origin()
    url = str(origin.get("url", ""))
    folder = _local_path(url) if "dir_info" in origin else None
    if folder is None and (clone / "pyproject.toml").is_file():
        folder = clone  # runs without being installed
    if folder is not None:
        if not (folder / "pyproject.toml").is_file():
            return _requirements(extra)
        editable = ["-e"] if _inner(origin, "dir_info").get("editable") else []
        place = "." if folder == Path.cwd() else str(folder)
        return [*editable, f"{place}[{extra}]"]
    file = _local_path(url)
    if file is not None and not file.exists():
        return _requirements(extra)
    version_control = _inner(origin, "vcs_info")
    if version_control:
        url = f"{version_control['vcs']}+{url}@{version_control['commit_id']}"
    if origin.get("subdirectory"):
        url += f"#subdirectory={origin['subdirectory']}"
    return [f"{_PROJECT}[{extra}] @ {url}" if url else f"{_PROJECT}[{extra}]"]


def _origin() -> Mapping[str, Any]:
    """Returns direct_url.json of the installation; empty if it came from an index, or there is none."""
    for found in distributions(name=_PROJECT):
        text = found.read_text("direct_url.json")
        if text:
            origin = json.loads(text)
            return origin if isinstance(origin, dict) else {}
    return {}


def _inner(origin: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = origin.get(name)
    return found if isinstance(found, dict) else {}


def _local_path(url: str) -> Path | None:
    """Returns the path that a file: address means, None for any other."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _requirements(extra: str) -> list[str]:
    """Returns what the installed metadata requires for ``extra``."""
    for found in distributions(name=_PROJECT):
        wanted = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
        required = [text.split(";") for text in found.requires or ()]
        return [name.strip() for name, *marker in required if marker and wanted.search(marker[0])]
    return [f"{_PROJECT}[{extra}]"]
