"""``th --install-kernel``."""

import json
import sys
from pathlib import Path

import pytest

from lua_compat.cli.th import UsageError, parse
from tests.helpers.commands import run_th

ITORCH = Path("share") / "jupyter" / "kernels" / "itorch"


def test_the_description_starts_this_th(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="the extra jupyter is not installed")
    result = run_th("--cpu-as-cuda", "--install-kernel", f"--prefix={tmp_path}", "-l", "nn")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"The kernel itorch is in {tmp_path / ITORCH}\n"
    description = json.loads((tmp_path / ITORCH / "kernel.json").read_text())
    assert description["argv"] == [
        sys.executable, "-m", "lua_compat", "--cpu-as-cuda", "-l", "nn", "--kernel", "{connection_file}",
    ]  # fmt: skip
    assert (description["display_name"], description["language"]) == ("iTorch", "lua")


def test_the_user_has_a_place_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="the extra jupyter is not installed")
    result = run_th(
        "--install-kernel", "--user", environment={"JUPYTER_DATA_DIR": str(tmp_path / "data")}, fresh=True
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "data" / "kernels" / "itorch" / "kernel.json").exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel", reason="the extra jupyter is not installed")
    (tmp_path / "share").write_text("a file where a folder should be")
    result = run_th("--install-kernel", "--prefix", tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith(f"th: --install-kernel: {tmp_path / 'share'}")
    assert result.stderr.endswith("; with --user it goes into your own folder\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--user"], "--user and --prefix say where --install-kernel writes: add --install-kernel"),
        (["--install-kernel", "--prefix"], "option --prefix needs a folder after it"),
        (["--install-kernel", "-i"], "--install-kernel takes no script"),
        (["--install-kernel", "--sandbox"], "--install-kernel takes no script"),
        (["--kernel"], "option --kernel needs a Jupyter server's connection file"),
    ],
)
def test_misuse_is_one_line(words: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match="^" + problem):
        parse(words)
